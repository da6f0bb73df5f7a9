// Where operands lie: what may be given as a view of device memory, and what the errors say of the rest.
#include <doctest/doctest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <tandem/axpy.hpp>
#include <tandem/error.hpp>
#include <tandem/gemm.hpp>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/window.hpp"
#include "tests/support.hpp"

namespace gpu = tandem::gpu;

namespace {

constexpr std::int64_t size = 8;
constexpr std::size_t bytes = size * size * sizeof(float);

tandem::matrix_view<float> view(void* data, tandem::memory where = tandem::memory::device) {
  return {static_cast<float*>(data), size, size, size, tandem::layout::row_major, where};
}

std::string message_of(tandem::errc code, auto const& call) {
  try {
    call();
  } catch (tandem::error const& e) {
    CHECK(e.code() == code);
    return e.what();
  }
  FAIL("no error");
  return {};
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

// Ones in A and B, which must lie where host and device can write.
void check_product(void* a, void* b, void* c, CUstream_st* stream = nullptr) {
  std::vector<float> const ones(size * size, 1);
  std::vector<float> got(size * size);
  REQUIRE(cudaMemcpy(a, ones.data(), bytes, cudaMemcpyDefault) == cudaSuccess);
  REQUIRE(cudaMemcpy(b, ones.data(), bytes, cudaMemcpyDefault) == cudaSuccess);
  tandem::gemm(view(a), view(b), view(c), {.stream = stream});
  gpu::synchronize(stream);
  REQUIRE(cudaMemcpy(got.data(), c, bytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(got == std::vector<float>(size * size, float(size)));
}

}  // namespace

TEST_SUITE_BEGIN("gpu operands");

TEST_CASE("host pointers in device views are an error that names the operand, and nothing is written") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::device_buffer const x(bytes), y(bytes), z(bytes);
  std::vector<float> host(size * size, 5);
  auto const of = [&](void* a, void* b, void* c) {
    return message_of(tandem::errc::mixed_memory, [&] { tandem::gemm(view(a), view(b), view(c)); });
  };
  CHECK(contains(of(host.data(), y.data(), z.data()), "A is a view of device memory, but its data at 0x"));
  CHECK(contains(of(x.data(), host.data(), z.data()), "B is a view of device memory"));
  CHECK(contains(of(x.data(), y.data(), host.data()), "C is a view of device memory"));
  // Nothing but C is looked at where no product is left.
  CHECK(contains(message_of(tandem::errc::mixed_memory,
                            [&] { tandem::gemm(view(x.data()), view(y.data()), view(host.data()), {.alpha = 0}); }),
                 "C is a view of device memory"));
  CHECK(host == std::vector<float>(size * size, 5));
  tandem::vector_view<float> const in_x(static_cast<float*>(x.data()), size, 1, tandem::memory::device);
  tandem::vector_view<float> const in_host(host.data(), size, 1, tandem::memory::device);
  CHECK(contains(message_of(tandem::errc::mixed_memory, [&] { tandem::axpy(1, in_host, in_x); }), "x is a view of"));
  CHECK(contains(message_of(tandem::errc::mixed_memory, [&] { tandem::axpy(1, in_x, in_host); }), "y is a view of"));
  check_product(x.data(), y.data(), z.data());
}

TEST_CASE("device pointers in host views are an error that names the operand") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::device_buffer const device(bytes);
  std::vector<float> x(size * size), y(size * size), z(size * size, 5);
  auto const of = [&](void* a, void* b, void* c) {
    return message_of(tandem::errc::mixed_memory, [&] {
      tandem::gemm(view(a, tandem::memory::host), view(b, tandem::memory::host), view(c, tandem::memory::host),
                   {.backend = tandem::backend::gpu});
    });
  };
  CHECK(contains(of(device.data(), y.data(), z.data()), "A is a view of host memory, but its data at 0x"));
  CHECK(contains(of(x.data(), device.data(), z.data()), "B is a view of host memory"));
  CHECK(contains(of(x.data(), y.data(), device.data()), "C is a view of host memory"));
  CHECK(z == std::vector<float>(size * size, 5));
}

TEST_CASE("managed, pinned, registered, mapped and pooled memory are legal in device views") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::device_buffer const x(bytes), y(bytes);
  void *managed = nullptr, *pinned = nullptr, *pooled = nullptr;
  REQUIRE(cudaMallocManaged(&managed, bytes) == cudaSuccess);
  check_product(x.data(), managed, y.data());
  check_product(x.data(), y.data(), managed);
  cudaFree(managed);
  REQUIRE(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped) == cudaSuccess);
  check_product(pinned, x.data(), y.data());
  check_product(x.data(), y.data(), pinned);
  cudaFreeHost(pinned);
  std::vector<float> registered(4096);
  REQUIRE(cudaHostRegister(registered.data(), registered.size() * sizeof(float), cudaHostRegisterMapped) ==
          cudaSuccess);
  check_product(registered.data() + 100, x.data(), y.data());
  cudaHostUnregister(registered.data());
  gpu::device_window const window(bytes);  // by cuMemMap
  check_product(window.data(), x.data(), y.data());
  check_product(x.data(), y.data(), window.data());
  gpu::stream const stream;
  REQUIRE(cudaMallocAsync(&pooled, bytes, stream.get()) == cudaSuccess);
  gpu::synchronize(stream.get());
  check_product(x.data(), pooled, y.data(), stream.get());
  cudaFreeAsync(pooled, stream.get());
}

TEST_CASE("a thread that has not used CUDA yet may begin with a product") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::device_buffer const x(bytes), y(bytes), z(bytes);
  std::vector<float> const ones(size * size, 1);
  std::vector<float> got(size * size);
  gpu::copy_to_device(x.data(), ones.data(), bytes);
  gpu::copy_to_device(y.data(), ones.data(), bytes);
  std::string failure;
  std::thread([&] {
    try {
      tandem::gemm(view(x.data()), view(y.data()), view(z.data()));
      gpu::synchronize();
    } catch (std::exception const& e) {
      failure = e.what();
    }
  }).join();
  CHECK(failure.empty());
  gpu::copy_to_host(got.data(), z.data(), bytes);
  CHECK(got == std::vector<float>(size * size, float(size)));
}

TEST_CASE("operands are looked up while a stream is captured, also those that the graph allocates") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  gpu::device_buffer const x(bytes), y(bytes), z(bytes);
  std::vector<float> const ones(size * size, 1);
  std::vector<float> got(size * size);
  gpu::copy_to_device(x.data(), ones.data(), bytes);
  gpu::copy_to_device(y.data(), ones.data(), bytes);
  gpu::stream const stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  void* between = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMallocAsync(&between, bytes, stream.get()) == cudaSuccess);
  CHECK_NOTHROW(tandem::gemm(view(x.data()), view(y.data()), view(between), {.stream = stream.get()}));
  CHECK_NOTHROW(tandem::gemm(view(between), view(y.data()), view(z.data()), {.stream = stream.get()}));
  REQUIRE(cudaFreeAsync(between, stream.get()) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(replay, stream.get()) == cudaSuccess);
  gpu::synchronize(stream.get());
  gpu::copy_to_host(got.data(), z.data(), bytes);
  CHECK(got == std::vector<float>(size * size, float(size * size)));
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}

TEST_CASE("operands on another device are an error with the operand and both devices") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  int devices = 0, current = 0;
  REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
  if (devices < 2) return tandem::tests::skip("one device only");
  REQUIRE(cudaGetDevice(&current) == cudaSuccess);
  int const other = current == 0 ? 1 : 0;
  gpu::device_buffer const x(bytes), y(bytes), z(bytes);
  void* far = nullptr;
  REQUIRE(cudaSetDevice(other) == cudaSuccess);
  REQUIRE(cudaMalloc(&far, bytes) == cudaSuccess);
  REQUIRE(cudaSetDevice(current) == cudaSuccess);
  auto const of = [&](void* a, void* b, void* c) {
    return message_of(tandem::errc::mixed_memory, [&] { tandem::gemm(view(a), view(b), view(c)); });
  };
  auto const both =
      "lies in memory of device " + std::to_string(other) + ", but the current device is " + std::to_string(current);
  for (auto const& [name, what] : {std::pair("A", of(far, y.data(), z.data())),
                                   {"B", of(x.data(), far, z.data())},
                                   {"C", of(x.data(), y.data(), far)}}) {
    CHECK(what.starts_with(name + std::string("'s data at 0x")));
    CHECK(contains(what, both));
  }
  check_product(x.data(), y.data(), z.data());
  // Where it is the current one all is well, and host views run there.
  REQUIRE(cudaSetDevice(other) == cudaSuccess);
  std::vector<float> ones(size * size, 1), got(size * size);
  tandem::gemm(view(ones.data(), tandem::memory::host), view(ones.data(), tandem::memory::host),
               view(got.data(), tandem::memory::host), {.backend = tandem::backend::gpu});
  CHECK(got == std::vector<float>(size * size, float(size)));
  int after = -1;
  REQUIRE(cudaGetDevice(&after) == cudaSuccess);
  CHECK(after == other);
  cudaFree(far);
  REQUIRE(cudaSetDevice(current) == cudaSuccess);
}

TEST_SUITE_END();
