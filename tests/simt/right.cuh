// Right kernels that are easily taken for wrong ones.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

// The old way to add up a warp's values, with what it needs since Volta.
__global__ void warp_synchronous_sum(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x, lane = t % 32;
  values[t] = g.a[t];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    float const other = lane < half ? values[t + half] : 0.0f;
    __syncwarp();
    if (lane < half) values[t] += other;
    __syncwarp();
  }
  if (lane == 0) g.c[t / 32] = values[t];
}

// 77 threads in three dimensions: the last warp is short.
__global__ void three_dimensions(operands g) {
  __shared__ float values[77];
  int const t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  values[t] = g.a[t];
  __syncthreads();
  g.c[77 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) + t] = values[76 - t];
}

__global__ void array_of_two_purposes(operands g) {
  __shared__ __align__(16) float values[64];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  __syncthreads();
  float const other = values[63 - t];
  __syncthreads();
  auto* const words = reinterpret_cast<short*>(values);
  words[t] = static_cast<short>(t);
  words[64 + t] = static_cast<short>(-t);
  __syncthreads();
  g.c[t] = other + static_cast<float>(words[63 - t] + words[127 - t]);
}

__global__ void static_and_dynamic(operands g) {
  __shared__ float first[64];
  float* const second = dynamic_shared<float>();
  __shared__ double third[64];
  int const t = threadIdx.x;
  first[t] = g.a[t];
  second[t] = g.b[t];
  third[t] = t;
  __syncthreads();
  g.c[t] = first[63 - t] + second[63 - t] + static_cast<float>(third[63 - t]);
}

// One lane's value for all, then the next lane's.
__global__ void turns_of_lanes(operands g) {
  __shared__ float value;
  int const t = threadIdx.x;
  float sum = 0;
  for (int turn = 0; turn < 32; ++turn) {
    if (t == turn) value = g.a[t];
    __syncwarp();
    sum += value;
    __syncwarp();
  }
  g.c[t] = sum;
}

// Pairs of lanes hand on what others gave them: ordered by way of the lane between.
__global__ void chain_of_pairs(operands g) {
  __shared__ float value[2];
  int const t = threadIdx.x;
  if (t == 0) value[0] = g.a[0];
  if (t < 2) __syncwarp(3);
  if (t == 1 || t == 2) __syncwarp(6);
  if (t == 2) g.c[0] = value[0];
}

// Each block adds a row.
__global__ void add_rows(operands g) {
  int const i = blockIdx.x, j = threadIdx.x;
  if (j < g.n) g.c[i * g.ldc + j] = g.a[i * g.lda + j] + g.b[i * g.ldb + j];
}

// Reads of all blocks, writes of one thread, in separate elements of one row.
__global__ void neighbours_in_a_row(operands g) {
  int const j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < g.n) g.c[j] = g.b[j] + g.b[g.n - 1 - j];
}

// Each half of a warp by itself: all its lanes read what one of them then writes again.
__global__ void halves_with_a_word_each(operands g) {
  __shared__ float value[2];
  int const half = threadIdx.x / 16, lane = threadIdx.x % 16;
  unsigned const mask = 0xffffu << 16 * half;
  float sum = 0;
  for (int turn = 0; turn < 4; ++turn) {
    if (lane == turn) value[half] = g.a[threadIdx.x];
    __syncwarp(mask);
    sum += value[half];
    __syncwarp(mask);
  }
  g.c[threadIdx.x] = sum;
}

// Loads of constants that the compiler does not know for such.
__constant__ float ones[4] = {1, 1, 1, 1};
__constant__ float twos[4] = {2, 2, 2, 2};
struct scale {
  virtual float by() const { return 1; }
};
struct double_scale : scale {
  float by() const override { return 2; }
};
__global__ void constants(operands g) {
  scale const one;
  double_scale const two;
  scale const* const chosen = threadIdx.x % 2 == 0 ? &one : &two;
  float const* const table = g.m % 2 == 0 ? ones : twos;
  g.c[threadIdx.x] = table[threadIdx.x % 4] * chosen->by();
}

// CUDA gives a thread half a MiB of its own.
__global__ void large_array(operands g) {
  float volatile values[100000];
  for (int i = 0; i < 100000; ++i) values[i] = static_cast<float>(i);
  g.c[threadIdx.x] = values[threadIdx.x * 3000];
}

}  // namespace TANDEM_KERNEL_NAMESPACE
