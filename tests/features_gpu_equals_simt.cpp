// Each feature of the kernels' language on the GPU against the SIMT executor's run of the same source: the same bits,
// or within the bound where the hardware's order of a sum is its own.
#include <doctest/doctest.h>

#include <string>

#include <tandem/error.hpp>

#include "gpu/runtime/texture.hpp"
#include "tests/kernels/device_inputs.hpp"
#include "tests/support.hpp"

using namespace tandem;
using namespace tandem::tests;

namespace {

feature_output run_on_device(feature const& f, feature_inputs const& in) {
  device_inputs inputs(in);
  feature_output out(feature_elements);
  gpu::copy_to_device(inputs.out().data(), out.data(), inputs.out().size());
  f.start(inputs.data(), nullptr);
  gpu::copy_to_host(out.data(), inputs.out().data(), inputs.out().size());
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
    CHECK(differences(f, got, run_on_host(*on_host++, in)) == "");
  }
}

TEST_CASE("textures that the device does not take are errors that say why") {
  if (!has_backend(backend::gpu)) return;
  gpu::device_buffer const memory(4096);
  auto const message = [&](std::size_t offset, std::size_t count) -> std::string {
    auto const format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    try {
      gpu::release_texture(gpu::hold_texture(static_cast<char*>(memory.data()) + offset, count, format, nullptr));
    } catch (error const& e) {
      return e.what();
    }
    return {};
  };
  CHECK(message(0, 1024).empty());
  CHECK(message(4, 10).find("texture of 10 elements of 4 bytes") == 0);
  CHECK(message(4, 10).find("4 bytes past a multiple of") != std::string::npos);
  CHECK(message(0, std::size_t{1} << 40).find("the device takes") != std::string::npos);
}

TEST_CASE("texture objects are shared, kept, and destroyed only when nobody holds them") {
  if (!has_backend(backend::gpu)) return;
  gpu::device_buffer const memory(std::size_t{1} << 20);
  auto const hold = [&](std::size_t count) {
    return gpu::hold_texture(memory.data(), count, cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned),
                             nullptr);
  };
  auto const first = hold(1);
  for (std::size_t count = 2; count < 5000; ++count) gpu::release_texture(hold(count));
  auto const again = hold(1);
  CHECK(again.object == first.object);
  cudaResourceDesc description;
  CHECK(cudaGetTextureObjectResourceDesc(&description, first.object) == cudaSuccess);
  gpu::release_texture(first);
  gpu::release_texture(again);
}

TEST_SUITE_END();
