// Launches the kernels of tests/kernels, a mark before each feature, for requests.sh. Prints the features' names.
#include <cstdio>

#include "gpu/runtime/device.hpp"
#include "tests/kernels/feature.hpp"

using namespace tandem;

namespace {

template <class T>
gpu::device_buffer on_device(std::vector<T> const& data) {
  gpu::device_buffer buffer(data.size() * sizeof(T));
  gpu::copy_to_device(buffer.data(), data.data(), buffer.size());
  return buffer;
}

}  // namespace

int main() {
  tests::feature_inputs const in;
  auto const floats = on_device(in.f), doubles = on_device(in.d), ints = on_device(in.i);
  gpu::device_buffer const out(tests::feature_bytes);
  for (auto const* table : {&tests::device_divergences(), &tests::device_features()})
    for (auto const& f : *table) {
      std::printf("%s\n", f.name);
      tests::start_mark();
      f.start({static_cast<float const*>(floats.data()), static_cast<double const*>(doubles.data()),
               static_cast<int const*>(ints.data()), out.data()},
              nullptr);
      gpu::synchronize();
    }
}
