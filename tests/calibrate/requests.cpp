// Launches the kernels of tests/kernels, a mark before each feature, for requests.sh. Prints the features' names.
#include <cstdio>

#include "tests/kernels/device_inputs.hpp"

using namespace tandem;

int main() {
  tests::device_inputs inputs{tests::feature_inputs()};
  for (auto const* table : {&tests::device_divergences(), &tests::device_features()})
    for (auto const& f : *table) {
      std::printf("%s\n", f.name);
      tests::start_mark();
      f.start(inputs.data(), nullptr);
      gpu::synchronize();
    }
}
