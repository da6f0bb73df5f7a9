// One kernel for each tool of compute-sanitizer, with what that tool is there to find.
#include "tests/sanitize/planted.hpp"

#include <cuda_runtime.h>

namespace {

constexpr int threads = 64;

__global__ void past_the_end(float* p, int count) {
  if (static_cast<int>(threadIdx.x) <= count) p[threadIdx.x] = 1;
}

__global__ void without_a_barrier(float* p) {
  __shared__ float smem[threads];
  smem[threadIdx.x] = p[threadIdx.x];
  p[threadIdx.x] = smem[threads - 1 - threadIdx.x];
}

__global__ void never_written(float* p) { p[threadIdx.x] += 1; }

// One lane more than the mask has.
__global__ void with_a_wrong_mask(float* p) {
  unsigned const half = __ballot_sync(~0U, threadIdx.x % 32 < 16);
  if (threadIdx.x % 32 <= 16) {
    __syncwarp(half);
    p[threadIdx.x] = 1;
  }
}

}  // namespace

bool plant(std::string const& tool) {
  float* p = nullptr;
  constexpr int count = 48;  // of floats
  if (cudaMalloc(&p, (tool == "memcheck" ? count : threads) * sizeof(float)) != cudaSuccess) return false;
  if (tool != "initcheck") cudaMemset(p, 0, (tool == "memcheck" ? count : threads) * sizeof(float));
  if (tool == "memcheck") past_the_end<<<1, threads>>>(p, count);
  if (tool == "racecheck") without_a_barrier<<<1, threads>>>(p);
  if (tool == "initcheck") never_written<<<1, threads>>>(p);
  if (tool == "synccheck") with_a_wrong_mask<<<1, threads>>>(p);
  cudaDeviceSynchronize();  // memcheck makes an error of what it found
  cudaFree(p);
  return true;
}
