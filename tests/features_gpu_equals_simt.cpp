// Each feature of the kernels' language on the GPU against the SIMT executor's run of the same source: the same bits,
// or within the bound where the hardware's order of a sum is its own.
#include <doctest/doctest.h>

#include <string>

#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "tests/kernels/feature.hpp"
#include "tests/support.hpp"

using namespace tandem;
using namespace tandem::tests;

namespace {

template <class T>
gpu::device_buffer on_device(std::vector<T> const& data) {
  gpu::device_buffer buffer(data.size() * sizeof(T));
  gpu::copy_to_device(buffer.data(), data.data(), buffer.size());
  return buffer;
}

feature_output run_on_device(feature const& f, feature_inputs const& in) {
  feature_output out(feature_elements);
  auto const floats = on_device(in.f), doubles = on_device(in.d), ints = on_device(in.i), result = on_device(out);
  f.start({static_cast<float const*>(floats.data()), static_cast<double const*>(doubles.data()),
           static_cast<int const*>(ints.data()), result.data()},
          nullptr);
  gpu::copy_to_host(out.data(), result.data(), result.size());
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("features, GPU equals SIMT");

TEST_CASE("each feature of the kernels' language does the same on the GPU and on the SIMT executor") {
  if (!has_backend(backend::gpu)) return;
  if (auto const reason = why_no_device_features(); !reason.empty()) {
    MESSAGE("skipped: the test's kernels are for compute capability 8.0 and later: ", reason);
    return;
  }
  feature_inputs const in;
  auto on_host = host_features().begin();
  REQUIRE(host_features().size == device_features().size);
  for (auto const& f : device_features()) {
    std::string const name = f.name;
    CAPTURE(name);
    feature_output got;
    REQUIRE_NOTHROW(got = run_on_device(f, in));
    CHECK(agree(f, got, run_on_host(*on_host++, in)));
  }
}

TEST_SUITE_END();
