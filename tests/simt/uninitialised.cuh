// Reads of shared memory that the block has not written.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

__global__ void reads_padding_column(operands g) {
  __shared__ float tile[16][17];
  int const tx = threadIdx.x, ty = threadIdx.y;
  tile[ty][tx] = g.a[ty * 16 + tx];
  __syncthreads();
  // BUG: read of uninitialised shared memory, thread (15, 0, 0)
  g.c[ty * 16 + tx] = tile[ty][tx + 1];
}

// A tile that is not filled with zeros behind k's end: what the step before left there is initialised, so that only
// the first step can tell.
__global__ void k_tail_not_filled(operands g) {
  __shared__ float smem_a[16][17], smem_b[16][17];
  int const tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int p0 = 0; p0 < g.k; p0 += 16) {
    if (i < g.m && p0 + tx < g.k) smem_a[ty][tx] = g.a[i * g.lda + p0 + tx];
    if (p0 + ty < g.k && j < g.n) smem_b[ty][tx] = g.b[(p0 + ty) * g.ldb + j];
    __syncthreads();
    for (int p = 0; p < 16; ++p) {
      // BUG: read of uninitialised shared memory, block (0, 0, 0), thread (0, 0, 0)
      float const a = smem_a[ty][p];
      // BUG: read of uninitialised shared memory, block (0, 0, 0), thread (0, 0, 0)
      float const b = smem_b[p][tx];
      acc = fma(a, b, acc);
    }
    __syncthreads();
  }
  if (i < g.m && j < g.n) g.c[i * g.ldc + j] = acc;
}

// The compiler must not make one load of the two, or their lines are lost.
__global__ void read_in_both_branches(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  float v;
  if (t % 2 == 0) {
    // BUG: read of uninitialised shared memory, thread (0, 0, 0)
    v = values[t];
    v = v * 3;
  } else {
    // BUG: read of uninitialised shared memory, thread (1, 0, 0)
    v = values[t];
    v = v + 5;
  }
  g.c[t] = v;
}

__global__ void first_use_of_other_buffer(operands g) {
  __shared__ float smem[2][64];
  int const t = threadIdx.x;
  float acc = 0;
  smem[0][t] = g.a[t];
  for (int step = 0; step < 4; ++step) {
    __syncthreads();
    // BUG: read of uninitialised shared memory, thread (0, 0, 0)
    acc += smem[(step + 1) % 2][63 - t];
    __syncthreads();
    smem[(step + 1) % 2][t] = g.a[t];
  }
  g.c[t] = acc;
}

__global__ void uninitialised_dynamic(operands g) {
  float* const values = dynamic_shared<float>();
  int const t = threadIdx.x;
  if (t != 7) values[t] = g.a[t];
  __syncthreads();
  // BUG: read of uninitialised shared memory, thread (56, 0, 0)
  g.c[t] = values[63 - t];
}

// The first block's values are still there when the second one runs, on this executor and often on a GPU.
__global__ void left_by_the_block_before(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  if (blockIdx.x == 0) values[t] = g.a[t];
  __syncthreads();
  // BUG: read of uninitialised shared memory, block (1, 0, 0), thread (0, 0, 0)
  g.c[blockIdx.x * 32 + t] = values[31 - t];
}

__global__ void histogram_not_zeroed(operands g) {
  __shared__ int bins[8];
  int const t = threadIdx.x;
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  atomicAdd(&bins[t % 8], 1);
  __syncthreads();
  if (t < 8) g.c[t] = static_cast<float>(bins[t]);
}

__global__ void half_of_a_float4_written(operands g) {
  __shared__ __align__(16) float values[128];
  int const t = threadIdx.x;
  *reinterpret_cast<float2*>(&values[4 * t]) = make_float2(1, 2);
  __syncthreads();
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  float4 const v = *reinterpret_cast<float4 const*>(&values[4 * t]);
  g.c[t] = v.x + v.w;
}

__global__ void one_byte_not_written(operands g) {
  __shared__ char values[64];
  int const t = threadIdx.x;
  if (t != 9) values[t] = 1;
  __syncthreads();
  // BUG: read of uninitialised shared memory, thread (9, 0, 0)
  g.c[t] = values[t];
}

// The array that nobody writes: no compiler may put zeros in place of the loads.
__global__ void never_written(operands g) {
  __shared__ float values[64];
  __shared__ int count;
  int const t = threadIdx.x;
  __syncthreads();
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  g.c[t] = values[63 - t];
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  g.c[64 + t] = static_cast<float>(count);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
