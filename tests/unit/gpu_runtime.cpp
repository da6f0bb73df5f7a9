// Device memory, copies, streams and events; on a machine without a GPU, that it says why.
#include <doctest/doctest.h>

#include <cstring>
#include <utility>
#include <vector>

#include <tandem/error.hpp>

#include "gpu/descriptor.hpp"
#include "gpu/runtime/device.hpp"
#include "tests/support.hpp"

namespace gpu = tandem::gpu;

TEST_SUITE_BEGIN("gpu");

TEST_CASE("without a device there is a reason, and every call throws it") {
  auto const why = gpu::unavailable();
  CHECK(gpu::descriptor().unavailable() == why);
  CHECK(gpu::device_name().empty() == !why.empty());
  CHECK((gpu::multiprocessors() == 0) == !why.empty());
  if (why.empty()) return;
  try {
    gpu::device_buffer const buffer(16);
    FAIL("a buffer without a device");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::unavailable);
    CHECK(std::strstr(e.what(), why.c_str()) != nullptr);
  }
  CHECK_THROWS_AS(gpu::synchronize(), tandem::error);
  CHECK_THROWS_AS(gpu::stream(), tandem::error);
}

TEST_CASE("bytes survive the way to the device and back, and buffers move") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  std::vector<int> const sent = {1, 2, 3, 4, 5};
  std::vector<int> got(5);
  auto const bytes = sent.size() * sizeof(int);
  gpu::stream const stream;
  gpu::device_buffer first(bytes);
  gpu::copy_to_device(first.data(), sent.data(), bytes, stream.get());
  gpu::device_buffer second(std::move(first));
  CHECK(first.data() == nullptr);
  CHECK(first.size() == 0);
  gpu::device_buffer third;
  third = std::move(second);
  CHECK(third.size() == bytes);
  gpu::copy_to_host(got.data(), third.data(), bytes, stream.get());
  CHECK(got == sent);
  gpu::device_buffer const empty(0);
  CHECK(empty.data() == nullptr);
}

TEST_CASE("too large a buffer is out_of_memory with its size, and the device works on") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  constexpr std::size_t bytes = std::size_t{1} << 50;
  try {
    gpu::device_buffer const buffer(bytes);
    FAIL("a pebibyte");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::out_of_memory);
    CHECK(std::strstr(e.what(), "1125899906842624 bytes") != nullptr);
    CHECK(std::strstr(e.what(), "cudaErrorMemoryAllocation") != nullptr);
  }
  CHECK_NOTHROW(gpu::device_buffer(16));
  CHECK_NOTHROW(gpu::synchronize());
}

TEST_CASE("events measure a stream's work") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::stream const stream;
  gpu::event before, after;
  before.record(stream.get());
  std::vector<char> const data(1 << 24);
  gpu::device_buffer const buffer(data.size());
  gpu::copy_to_device(buffer.data(), data.data(), data.size(), stream.get());
  after.record(stream.get());
  CHECK(after.since(before) > 0);
}

TEST_SUITE_END();
