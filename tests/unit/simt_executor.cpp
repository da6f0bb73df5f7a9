// The SIMT executor by itself, on kernels of the test's own and on rungs launched with a grid that is too short.
#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include <tandem/error.hpp>

#define TANDEM_KERNEL_NAMESPACE tandem::simt::executor_test
#include <tandem/simt/words.hpp>

#include "gpu/kernels/smem_tile.cuh"
#include "gpu/kernels/thread_tile.cuh"
#include "tests/unit/gpu_problems.hpp"

namespace tandem::simt::executor_test {

__global__ void number_threads(long* out) {
  long const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  long const block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] += 1 + block * 100000 + thread;
}

__global__ void reverse(int* data) {
  int* const copy = dynamic_shared<int>();
  int const t = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  int* const mine = data + blockIdx.x * size;
  copy[t] = mine[t];
  __syncthreads();
  mine[t] = copy[size - 1 - t];
}

// After r rounds thread t holds the sum of t, …, t + r: a barrier that lets one thread run ahead gives another sum.
__global__ void add_neighbours(long* sums, int rounds) {
  __shared__ long values[64];
  int const t = static_cast<int>(threadIdx.x);
  long sum = t;
  for (int r = 1; r <= rounds; ++r) {
    values[t] = r == 1 ? t : values[t];
    __syncthreads();
    long const next = values[(t + 1) % 64];
    __syncthreads();
    values[t] = next;
    sum += next;
  }
  sums[t] = sum;
}

__global__ void half_exits(int* out) {
  __shared__ int count[1];
  if (threadIdx.x == 0) count[0] = 0;
  __syncthreads();
  if (threadIdx.x % 2 != 0) return;
  count[0] += 1;
  __syncthreads();
  out[threadIdx.x] = count[0];
}

__global__ void throw_in_thread(unsigned thrower, int* went_on) {
  __syncthreads();
  if (threadIdx.x == thrower) throw std::runtime_error("from the kernel");
  __syncthreads();
  *went_on += 1;
}

template <class T>
std::vector<T> product(gpu_problems::host_problem<T> problem, void (*kernel)(gemm_operands<T>), dim3 grid, dim3 block) {
  launch(kernel, grid, block, 0, nullptr, operands_of<T>(problem.canonical()));
  return problem.c;
}

}  // namespace tandem::simt::executor_test

using namespace tandem::simt::executor_test;

TEST_SUITE_BEGIN("simt");

TEST_CASE("every thread of every block runs once and knows its place") {
  std::vector<long> out(2 * 3 * 2 * 5 * 4 * 3);
  launch(number_threads, dim3(2, 3, 2), dim3(5, 4, 3), 0, nullptr, out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    long const block = static_cast<long>(i) / 60, thread = static_cast<long>(i) % 60;
    REQUIRE(out[i] == 1 + block * 100000 + thread);
  }
}

TEST_CASE("dynamic shared memory and a barrier") {
  for (unsigned const size : {1u, 33u, 1024u}) {
    std::vector<int> data(3 * size);
    std::iota(data.begin(), data.end(), 0);
    launch(reverse, dim3(3), dim3(size), size * sizeof(int), nullptr, data.data());
    for (unsigned i = 0; i < data.size(); ++i)
      REQUIRE(data[i] == static_cast<int>(i / size * size + (size - 1 - i % size)));
  }
}

TEST_CASE("no thread passes a barrier before all have arrived") {
  constexpr int rounds = 50;
  std::vector<long> sums(64);
  launch(add_neighbours, dim3(1), dim3(64), 0, nullptr, sums.data(), rounds);
  for (int t = 0; t < 64; ++t) {
    long expected = 0;
    for (int r = 0; r <= rounds; ++r) expected += (t + r) % 64;
    REQUIRE(sums[t] == expected);
  }
}

TEST_CASE("a barrier does not wait for threads that have exited") {
  std::vector<int> out(64, -1);
  launch(half_exits, dim3(1), dim3(64), 0, nullptr, out.data());
  for (int t = 0; t < 64; ++t) REQUIRE(out[t] == (t % 2 == 0 ? 32 : -1));
}

TEST_CASE("an exception in a kernel reaches the launch, and the next launch works") {
  for (unsigned const thrower : {0u, 17u, 63u}) {
    int went_on = 0;
    CHECK_THROWS_WITH_AS(launch(throw_in_thread, dim3(4), dim3(64), 0, nullptr, thrower, &went_on), "from the kernel",
                         std::runtime_error);
    std::vector<int> data{0, 1, 2, 3};
    launch(reverse, dim3(1), dim3(4), 4 * sizeof(int), nullptr, data.data());
    CHECK(data == std::vector<int>{3, 2, 1, 0});
    CHECK(went_on == 0);
  }
}

TEST_CASE("atomics on bits give the value before, one thread after the other") {
  unsigned words[3] = {0xffu, 0, 0};
  launch(
      +[](unsigned* w) {
        unsigned const mine = 1u << threadIdx.x;
        atomicAnd(&w[0], ~mine);
        atomicOr(&w[1], mine);
        if (atomicXor(&w[2], 3u) == 0) atomicXor(&w[2], 4u);
      },
      dim3(1), dim3(4), 0, nullptr, words);
  CHECK(words[0] == 0xf0);
  CHECK(words[1] == 0xf);
  CHECK(words[2] == 4);
}

TEST_CASE("a launch that no GPU takes is an error") {
  std::vector<long> out(1);
  auto const code = [&](dim3 grid, dim3 block, std::size_t shared = 0) {
    try {
      launch(number_threads, grid, block, shared, nullptr, out.data());
    } catch (tandem::error const& e) {
      return e.code();
    }
    return tandem::errc::unavailable;
  };
  CHECK(code(dim3(1), dim3(1025)) == tandem::errc::device);
  CHECK(code(dim3(1), dim3(32, 33)) == tandem::errc::device);
  CHECK(code(dim3(1, 65536), dim3(1)) == tandem::errc::device);
  CHECK(code(dim3(0), dim3(1)) == tandem::errc::device);
  CHECK(code(dim3(1), dim3(1), 300000) == tandem::errc::device);
  CHECK(out[0] == 0);
}

TEST_CASE("the tiled rungs step over the tiles that the grid does not reach") {
  gpu_problems::host_problem<float> const f({16 * 10 + 5, 20, 19, false, true, 1, 2, 1});
  CHECK(gpu_problems::wrong_elements(f, product(f, smem_tile<float, 16, false, true>, dim3(2, 3), dim3(16, 16))) == 0);
  gpu_problems::host_problem<double> const d({32 * 5 + 1, 70, 9, true, false, -1, 0, 4});
  auto const kernel = thread_tile<double, 32, 32, 8, 4, 4, 1, true, false>;
  CHECK(gpu_problems::wrong_elements(d, product<double>(d, kernel, dim3(3, 2), dim3(64))) == 0);
}

TEST_SUITE_END();
