// Races in shared memory: what tiles, double buffers and exchanges within a warp get wrong.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// An element of an operand, zero outside.
__device__ __forceinline__ float element(float const* x, int ld, int rows, int cols, int i, int j) {
  return i < rows && j < cols ? x[i * ld + j] : 0.0f;
}

__global__ void right_tile(operands g) {
  __shared__ float smem_a[16][17], smem_b[16][17];
  int const tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int p0 = 0; p0 < g.k; p0 += 16) {
    smem_a[ty][tx] = element(g.a, g.lda, g.m, g.k, i, p0 + tx);
    smem_b[ty][tx] = element(g.b, g.ldb, g.k, g.n, p0 + ty, j);
    __syncthreads();
    for (int p = 0; p < 16; ++p) acc = fma(smem_a[ty][p], smem_b[p][tx], acc);
    __syncthreads();
  }
  if (i < g.m && j < g.n) g.c[i * g.ldc + j] = acc;
}

// The first threads read what nobody has written yet, later ones what others write meanwhile.
__global__ void no_barrier_after_loads(operands g) {
  __shared__ float smem_a[16][17], smem_b[16][17];
  int const tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int p0 = 0; p0 < g.k; p0 += 16) {
    // BUG: race in shared memory, thread (1, 0, 0)
    smem_a[ty][tx] = element(g.a, g.lda, g.m, g.k, i, p0 + tx);
    // BUG: race in shared memory, thread (0, 1, 0)
    smem_b[ty][tx] = element(g.b, g.ldb, g.k, g.n, p0 + ty, j);
    for (int p = 0; p < 16; ++p) {
      // BUG: read of uninitialised shared memory, thread (0, 0, 0)
      // BUG: race in shared memory, thread (1, 0, 0)
      float const a = smem_a[ty][p];
      // BUG: read of uninitialised shared memory, thread (0, 0, 0)
      // BUG: race in shared memory, thread (0, 1, 0)
      float const b = smem_b[p][tx];
      acc = fma(a, b, acc);
    }
    __syncthreads();
  }
  if (i < g.m && j < g.n) g.c[i * g.ldc + j] = acc;
}

__global__ void no_barrier_before_next_loads(operands g) {
  __shared__ float smem_a[16][17], smem_b[16][17];
  int const tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * 16 + ty, j = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int p0 = 0; p0 < g.k; p0 += 16) {
    // BUG: race in shared memory, thread (1, 0, 0)
    smem_a[ty][tx] = element(g.a, g.lda, g.m, g.k, i, p0 + tx);
    // BUG: race in shared memory, thread (0, 1, 0)
    smem_b[ty][tx] = element(g.b, g.ldb, g.k, g.n, p0 + ty, j);
    __syncthreads();
    for (int p = 0; p < 16; ++p) {
      // BUG: race in shared memory, thread (1, 0, 0)
      float const a = smem_a[ty][p];
      // BUG: race in shared memory
      float const b = smem_b[p][tx];
      acc = fma(a, b, acc);
    }
  }
  if (i < g.m && j < g.n) g.c[i * g.ldc + j] = acc;
}

// thread_tile: a thread computes 4 x 4 elements and reads its fragments as float4.

__global__ void right_thread_tile(operands g) {
  __shared__ __align__(16) float smem_a[8][64], smem_b[8][64];  // (bk, bm), (bk, bn)
  int const t = threadIdx.x, i0 = blockIdx.y * 64, j0 = blockIdx.x * 64, i_thread = t / 16 * 4, j_thread = t % 16 * 4;
  float acc[4][4] = {};
  for (int p0 = 0; p0 < g.k; p0 += 8) {
    for (int e = t; e < 8 * 64; e += 256) {
      smem_a[e % 8][e / 8] = element(g.a, g.lda, g.m, g.k, i0 + e / 8, p0 + e % 8);
      smem_b[e / 64][e % 64] = element(g.b, g.ldb, g.k, g.n, p0 + e / 64, j0 + e % 64);
    }
    __syncthreads();
    for (int p = 0; p < 8; ++p) {
      float4 const a = *reinterpret_cast<float4 const*>(&smem_a[p][i_thread]);
      float4 const b = *reinterpret_cast<float4 const*>(&smem_b[p][j_thread]);
      float const left[] = {a.x, a.y, a.z, a.w}, right[] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] = fma(left[i], right[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int const row = i0 + i_thread + i, col = j0 + j_thread + j;
      if (row < g.m && col < g.n) g.c[row * g.ldc + col] = acc[i][j];
    }
}

// Only k's last step skips the barrier: no race but for k that is no multiple of 8.
__global__ void race_of_float4_in_k_tail(operands g) {
  __shared__ __align__(16) float smem_a[8][64], smem_b[8][64];
  int const t = threadIdx.x, i0 = blockIdx.y * 64, j0 = blockIdx.x * 64, i_thread = t / 16 * 4, j_thread = t % 16 * 4;
  float acc[4][4] = {};
  for (int p0 = 0; p0 < g.k; p0 += 8) {
    for (int e = t; e < 8 * 64; e += 256) {
      // BUG: race in shared memory
      smem_a[e % 8][e / 8] = element(g.a, g.lda, g.m, g.k, i0 + e / 8, p0 + e % 8);
      // BUG: race in shared memory
      smem_b[e / 64][e % 64] = element(g.b, g.ldb, g.k, g.n, p0 + e / 64, j0 + e % 64);
    }
    if (p0 + 8 <= g.k) __syncthreads();
    for (int p = 0; p < 8; ++p) {
      // BUG: race in shared memory, block (0, 0, 0)
      float4 const a = *reinterpret_cast<float4 const*>(&smem_a[p][i_thread]);
      // BUG: race in shared memory, block (0, 0, 0)
      float4 const b = *reinterpret_cast<float4 const*>(&smem_b[p][j_thread]);
      acc[0][0] = fma(a.x, b.x, acc[0][0]);
    }
    __syncthreads();
  }
  if (i0 + i_thread < g.m && j0 + j_thread < g.n) g.c[(i0 + i_thread) * g.ldc + j0 + j_thread] = acc[0][0];
}

__global__ void two_threads_write_one_word(operands g) {
  __shared__ float sums[32];
  int const t = threadIdx.x;
  // BUG: race in shared memory, thread (1, 0, 0)
  sums[t / 2] = g.a[t];
  __syncthreads();
  if (t < 32) g.c[t] = sums[t];
}

__global__ void all_threads_write_the_same_value(operands g) {
  __shared__ int rows;
  // BUG: race in shared memory, thread (1, 0, 0)
  rows = g.m;
  __syncthreads();
  g.c[threadIdx.x] = static_cast<float>(rows);
}

// The compiler must not make one store of the two, or their lines are lost.
__global__ void race_in_both_branches(operands g) {
  __shared__ float sums[2];
  int const t = threadIdx.x;
  if (t % 4 < 2)
    // BUG: race in shared memory, thread (4, 0, 0)
    sums[t % 2] = g.a[t];
  else
    // BUG: race in shared memory, thread (2, 0, 0)
    sums[t % 2] = g.b[t];
  __syncthreads();
  g.c[t] = sums[t % 2];
}

__global__ void exchange_without_syncwarp(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  // BUG: race in shared memory
  values[t] = g.a[t];
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  // BUG: race in shared memory, thread (31, 0, 0)
  g.c[t] = values[(t + 1) % 32];
}

__global__ void exchange_with_syncwarp(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  __syncwarp();
  g.c[t] = values[(t + 1) % 32];
}

// Lane 31 is left out: lane 30 reads what it writes, and it reads what lane 0 writes.
__global__ void exchange_with_partial_syncwarp(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  if (t != 31) __syncwarp(0x7fffffff);
  // BUG: race in shared memory, thread (31, 0, 0)
  g.c[t] = values[(t + 1) % 32];
}

// A shuffle brings a value, but it orders no memory.
__global__ void exchange_with_shuffle_for_a_barrier(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  float const other = __shfl_xor_sync(0xffffffff, g.a[t], 1);
  // BUG: race in shared memory, thread (0, 0, 0)
  g.c[t] = other + values[t ^ 1];
}

// Lane 0, which read first, writes what the others have read since.
__global__ void first_reader_writes(operands g) {
  __shared__ float value;
  int const t = threadIdx.x;
  if (t == 0) value = g.a[0];
  __syncthreads();
  float const mine = __shfl_down_sync(0xffffffff, value, 1);
  // BUG: race in shared memory, thread (0, 0, 0)
  if (t == 0) value = mine;
  g.c[t] = mine;
}

// Right within a warp, but the last thread of one warp reads the next one's.
__global__ void syncwarp_for_two_warps(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  // BUG: race in shared memory, thread (32, 0, 0)
  values[t] = g.a[t];
  __syncwarp();
  // BUG: read of uninitialised shared memory, thread (31, 0, 0)
  // BUG: race in shared memory, thread (63, 0, 0)
  g.c[t] = values[(t + 1) % 64];
}

__global__ void atomic_and_plain(operands g) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  // BUG: race in shared memory, thread (1, 0, 0)
  atomicAdd(&count, 1);
  // BUG: race in shared memory, thread (1, 0, 0)
  g.c[threadIdx.x] = static_cast<float>(count);
}

__global__ void atomics_and_barrier(operands g) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  g.c[threadIdx.x] = static_cast<float>(count);
}

// One barrier a step suffices for two buffers, if loads go to the one that is not read.
__global__ void double_buffer(operands g) {
  __shared__ float smem[2][64];
  int const t = threadIdx.x;
  float acc = 0;
  smem[0][t] = g.a[t];
  for (int step = 0; step < 6; ++step) {
    __syncthreads();
    if (step < 5) smem[(step + 1) % 2][t] = g.a[(step + 1) * 64 + t];
    acc += smem[step % 2][63 - t];
  }
  g.c[t] = acc;
}

__global__ void double_buffer_wrong_index(operands g) {
  __shared__ float smem[2][64];
  int const t = threadIdx.x;
  float acc = 0;
  smem[0][t] = g.a[t];
  smem[1][t] = g.a[64 + t];
  for (int step = 0; step < 6; ++step) {
    __syncthreads();
    // BUG: race in shared memory
    if (step < 5) smem[step % 2][t] = g.a[(step + 1) * 64 + t];
    // BUG: race in shared memory
    acc += smem[step % 2][63 - t];
  }
  g.c[t] = acc;
}

// Blocks that have whole tiles are right.
__global__ void race_in_last_block(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x, i = blockIdx.x * 64 + t;
  bool const whole = blockIdx.x * 64 + 64 <= static_cast<unsigned>(g.m * g.n);
  // BUG: race in shared memory, block (22, 0, 0)
  values[t] = i < g.m * g.n ? g.c[i] : 0.0f;
  if (whole) __syncthreads();
  // BUG: read of uninitialised shared memory, block (22, 0, 0), thread (0, 0, 0)
  float const other = values[63 - t];
  if (i < g.m * g.n) g.c[i] = other;
}

__global__ void race_in_dynamic_shared(operands g) {
  float* const values = dynamic_shared<float>();
  int const t = threadIdx.x, size = blockDim.x;
  values[t] = g.a[t];
  __syncthreads();
  for (int half = size / 2; half > 0; half /= 2)
    // BUG: race in shared memory
    if (t < half) values[t] += values[t + half];
  if (t == 0) g.c[0] = values[0];
}

__global__ void sum_in_dynamic_shared(operands g) {
  float* const values = dynamic_shared<float>();
  int const t = threadIdx.x, size = blockDim.x;
  values[t] = g.a[t];
  __syncthreads();
  for (int half = size / 2; half > 0; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t == 0) g.c[0] = values[0];
}

// Neighbours overlap in one float.
__global__ void race_of_doubles(operands g) {
  __shared__ __align__(16) float values[130];
  int const t = threadIdx.x;
  // BUG: race in shared memory, thread (1, 0, 0)
  *reinterpret_cast<double*>(&values[t / 2 * 2]) = g.a[t];
  __syncthreads();
  g.c[t] = values[t / 2 * 2];
}

__global__ void race_of_float4(operands g) {
  __shared__ __align__(16) float values[256];
  int const t = threadIdx.x;
  *reinterpret_cast<float4*>(&values[4 * t]) = make_float4(1, 2, 3, 4);
  // BUG: race in shared memory, thread (63, 0, 0)
  g.c[t] = values[4 * t + 4 < 256 ? 4 * t + 3 : 0];
}

// Threads that write neighbouring bytes or halves of a word do not race.
template <class T>
__global__ void neighbours_in_a_word(operands g) {
  __shared__ T values[67];
  int const t = threadIdx.x;
  values[t] = static_cast<T>(t);
  __syncthreads();
  values[t + 3 < 67 ? t + 3 : t - 64] = static_cast<T>(t);
  __syncthreads();
  g.c[t] = static_cast<float>(values[63 - t]);
}

// A barrier that the compiler copies into both branches is still one.
__global__ void one_barrier_on_one_line(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  float sum = 0;
  for (int step = 0; step < g.m % 7; ++step) {
    values[t] = t % 2 == 0 ? g.a[t + step] : g.b[t + step];
    __syncthreads();
    sum += t % 2 == 0 ? values[63 - t] * 2 : values[t ^ 1];
    __syncthreads();
  }
  g.c[t] = sum;
}

__global__ void race_of_bytes(operands g) {
  __shared__ char values[65];
  int const t = threadIdx.x;
  if (t == 0) values[64] = 0;
  // BUG: race in shared memory, thread (33, 0, 0)
  values[t] = static_cast<char>(t);
  if (t == 32) values[33] = 0;
  __syncthreads();
  g.c[t] = static_cast<float>(values[t + 1]);
}

// Each thread's own update hides neither its write before nor the updates of others.
__global__ void own_update_after_own_write(operands g) {
  __shared__ int counts[64];
  int const t = threadIdx.x;
  // BUG: race in shared memory, thread (1, 0, 0)
  counts[t] = 0;
  atomicAdd(&counts[t], 1);
  // BUG: race in shared memory, thread (1, 0, 0)
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  atomicAdd(&counts[t ^ 1], 1);
  __syncthreads();
  g.c[t] = static_cast<float>(counts[t]);
}

// The word is shared by 32 lanes of which only half have waited for each other.
__global__ void write_what_the_other_half_reads(operands g) {
  __shared__ float value;
  int const t = threadIdx.x;
  if (t == 0) value = g.a[0];
  __syncwarp();
  float const mine = value;
  __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
  // BUG: race in shared memory, thread (0, 0, 0)
  if (t == 0) value = 0;
  g.c[t] = mine;
}

}  // namespace TANDEM_KERNEL_NAMESPACE
