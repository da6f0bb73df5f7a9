// Several callers of a kernel of device memory, without a device: the runtime is this file's own, over host memory, and
// harness/callers.cpp is compiled into the test, which therefore calls it.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/callers.hpp"
#include "tests/unit/harness_planted.hpp"

namespace {

std::atomic<bool> device_lost = false;
std::atomic<int> blocking_streams = 0;

void use_device() {
  if (device_lost) throw tandem::error(tandem::errc::device, "the device is lost");
}

}  // namespace

namespace tandem::gpu {

device_buffer::device_buffer(std::size_t bytes) : data_(std::malloc(bytes)), size_(bytes) {}
device_buffer::~device_buffer() { std::free(data_); }
device_buffer::device_buffer(device_buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
device_buffer& device_buffer::operator=(device_buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
void copy_to_device(void* device, void const* host, std::size_t bytes, CUstream_st*) {
  use_device();
  std::memcpy(device, host, bytes);
}
void copy_to_host(void* host, void const* device, std::size_t bytes, CUstream_st*) {
  use_device();
  std::memcpy(host, device, bytes);
}
void synchronize(CUstream_st*) { use_device(); }
stream::stream(bool blocking) : stream_(reinterpret_cast<CUstream_st*>(this)) { blocking_streams += blocking; }
stream::~stream() = default;

}  // namespace tandem::gpu

using namespace tandem::harness;
using namespace harness_test;

namespace {

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What becomes of four callers of 64 x 48 products of threes and ones.
class product {
 public:
  product() {
    alone_.test = parse_case("f32:nn:64x48x40:callers=4");
    alone_.memory = tandem::memory::device;
    alone_.a = a_.data(), alone_.b = b_.data(), alone_.c = c_.data();
  }
  template <class F>
  std::string by(F f) const {
    auto kernel = planted<float>("on a device", std::move(f));
    kernel.memory = tandem::memory::device;
    auto const inner = kernel.run;
    kernel.run = [inner](gemm_call const& x) {
      CHECK_MESSAGE((x.stream != nullptr && x.memory == tandem::memory::device), "no stream of the caller's own");
      return inner(x);
    };
    return call_at_once(kernel, alone_);
  }

 private:
  std::vector<float> a_ = std::vector<float>(64 * 40, 3), b_ = std::vector<float>(40 * 48, 1);
  std::vector<float> c_ = std::vector<float>(64 * 48, 120);
  gemm_call alone_;
};

}  // namespace

TEST_SUITE_BEGIN("harness: callers at once on a device");

TEST_CASE("a right kernel is called again and again, with half the rows now and then, on streams that do not block") {
  std::atomic<int> calls = 0, half = 0;
  auto const said = product().by([&](element_access<float> const& x) {
    ++calls;
    half += x.p.m == 32;
    multiply_anything(x);
  });
  CHECK(said == "");
  CHECK(calls >= 4 * 24);
  CHECK(calls % 8 == 0);
  CHECK(half >= 24);  // every other call of every other caller
  CHECK(half < calls / 2);
  CHECK(blocking_streams == 0);
}

TEST_CASE("one wrong call among many is found, whichever of its row it is") {
  for (int const which : {1, 30, 31, 32, 77}) {
    std::atomic<int> calls = 0;
    auto const said = product().by([&](element_access<float> const& x) {
      multiply_anything(x);
      if (++calls == which) x.c(1, 2) = 5;
    });
    CHECK_MESSAGE(has(said, "C(1, 2) is 5, "), said);
  }
  auto const lazy = product().by([](element_access<float> const&) {});
  CHECK_MESSAGE(has(lazy, "C(0, 0) is nan"), lazy);
  auto const throws = product().by([](element_access<float> const&) { throw std::runtime_error("no"); });
  CHECK_MESSAGE(has(throws, "threw: no"), throws);
}

TEST_CASE("a device that is lost on the way is an error with the caller that met it first") {
  std::atomic<int> calls = 0;
  try {
    product().by([&](element_access<float> const& x) {
      multiply_anything(x);
      if (++calls == 40) device_lost = true;
    });
    FAIL("the device was lost");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::device);
    CHECK(has(e.what(), " of 4, call "));
    CHECK(has(e.what(), "the device is lost"));
  }
  device_lost = false;
}

TEST_SUITE_END();
