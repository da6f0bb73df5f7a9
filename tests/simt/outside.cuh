// Accesses that leave their operand or their shared array, and misaligned ones.
#pragma once

#include <cstdint>

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

// i < m is not asked: the last tile's rows lie behind the end.
__global__ void past_last_row(operands g) {
  int const i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  // BUG: access outside the operands, block (0, 2, 0), thread (0, 8, 0)
  if (j < g.n) g.c[i * g.ldc + j] = 1;
}

// p < k is not asked: within A the next row's elements stand there, behind the last row nothing does.
__global__ void past_k(operands g) {
  int const i = blockIdx.x * 16 + threadIdx.y, tx = threadIdx.x;
  float sum = 0;
  for (int p0 = 0; p0 < g.k; p0 += 16)
    // BUG: access outside the operands, block (2, 0, 0), thread (4, 7, 0)
    if (i < g.m) sum += g.a[i * g.lda + p0 + tx];
  if (i < g.m) g.c[i * g.ldc + tx] = sum;
}

__global__ void index_below_zero(operands g) {
  int const t = threadIdx.x;
  // BUG: access below an operand, thread (0, 0, 0)
  g.c[t] = g.a[t] - g.b[t - 1];
}

__global__ void reads_gap_between_rows(operands g) {
  int const i = blockIdx.x, j = threadIdx.x;
  // BUG: access between the rows of an operand, block (0, 0, 0), thread (35, 0, 0)
  g.c[i * g.ldc + j] = g.b[i * g.ldb + j + 1];
}

__global__ void writes_gap_between_rows(operands g) {
  int const i = blockIdx.x, j = threadIdx.x;
  // BUG: access between the rows of an operand, thread (36, 0, 0)
  if (j < g.ldc) g.c[i * g.ldc + j] = 1;
}

// The block takes B for its transpose, whose columns are B's rows.
__global__ void reads_gap_between_columns(operands g) {
  int const p = threadIdx.y, j = threadIdx.x;
  // BUG: access between the rows of an operand, thread (35, 0, 0)
  g.c[p * g.ldc + j] = g.b[p * g.ldb + (j + 1)];
}

// Four elements a thread, where n is no multiple of four.
__global__ void float4_leaves_operand(operands g) {
  int const e = 4 * (blockIdx.x * 32 + threadIdx.x);
  if (e < g.m * g.k) {
    // BUG: access outside the operands, block (1, 0, 0), thread (0, 0, 0)
    float4 const v = *reinterpret_cast<float4 const*>(g.a + e);
    g.c[e / 4] = v.x + v.w;
  }
}

__global__ void float4_leaves_row(operands g) {
  int const i = threadIdx.y, j = 4 * threadIdx.x;
  if (j < g.k) {
    // BUG: access between the rows of an operand, thread (4, 0, 0)
    float4 const v = *reinterpret_cast<float4 const*>(g.a + i * g.lda + j);
    g.c[i * g.ldc + j] = v.x + v.w;
  }
}

// Row 1 begins at element 21.
__global__ void misaligned_by_ld(operands g) {
  // BUG: misaligned access, thread (0, 1, 0)
  float4 const v = *reinterpret_cast<float4 const*>(g.a + threadIdx.y * g.lda);
  g.c[threadIdx.y] = v.x + v.w;
}

__global__ void misaligned_double2(operands g) {
  auto const* const from = reinterpret_cast<double const*>(g.a) + 1;
  // BUG: misaligned access, thread (0, 0, 0)
  double2 const v = *reinterpret_cast<double2 const*>(from + 2 * threadIdx.x);
  g.c[threadIdx.x] = static_cast<float>(v.x + v.y);
}

__global__ void misaligned_double(operands g) {
  // BUG: misaligned access, thread (0, 0, 0)
  *reinterpret_cast<double*>(g.c + 1 + 2 * threadIdx.x) = 0;
}

__global__ void misaligned_in_shared(operands g) {
  __shared__ __align__(16) float tile[8][17];
  int const t = threadIdx.x;
  for (int e = t; e < 8 * 17; e += 8) tile[e / 17][e % 17] = 1;
  __syncthreads();
  // BUG: misaligned access, thread (1, 0, 0)
  float4 const v = *reinterpret_cast<float4 const*>(&tile[t][4]);
  g.c[t] = v.x + v.w;
}

__global__ void writes_input(operands g) {
  int const t = threadIdx.x;
  // BUG: write to an input, thread (0, 0, 0)
  const_cast<float*>(g.a)[t] = g.b[t];
}

__global__ void updates_input(operands g) {
  // BUG: write to an input, thread (0, 0, 0)
  atomicAdd(const_cast<float*>(g.a) + threadIdx.x, 1.0f);
}

__global__ void past_dynamic_shared(operands g) {
  float* const values = dynamic_shared<float>();
  int const t = threadIdx.x;
  // BUG: access outside shared memory, thread (60, 0, 0)
  values[t] = g.a[t];
  __syncthreads();
  g.c[t] = values[t];
}

__global__ void dynamic_shared_not_launched(operands g) {
  float* const values = dynamic_shared<float>();
  // BUG: access outside shared memory, thread (0, 0, 0)
  values[threadIdx.x] = g.a[threadIdx.x];
}

__global__ void past_static_array(operands g) {
  __shared__ float first[32], second[32];
  int const t = threadIdx.x;
  first[t] = g.a[t];
  second[t] = g.b[t];
  __syncthreads();
  // BUG: access outside shared memory, thread (31, 0, 0)
  g.c[t] = first[t + 1] + second[t];
}

__global__ void float4_leaves_static_array(operands g) {
  __shared__ __align__(16) float values[34];
  int const t = threadIdx.x;
  for (int e = t; e < 34; e += 9) values[e] = g.a[e];
  __syncthreads();
  // BUG: access outside shared memory, thread (8, 0, 0)
  float4 const v = *reinterpret_cast<float4 const*>(&values[4 * t]);
  g.c[t] = v.x + v.y;
}

__global__ void below_static_array(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  __syncthreads();
  float const* const from = values;
  // BUG: access outside shared memory, thread (0, 0, 0)
  g.c[t] = from[t - 1];
}

// Bytes that begin at any address: the array is accessed up to its ends.
__global__ void odd_arrays(operands g) {
  __shared__ char first[3];
  __shared__ char second[6];
  __shared__ char third[5];
  int const t = threadIdx.x;
  if (t < 3) first[t] = 1;
  if (t < 6) second[t] = 2;
  if (t < 5) third[t] = 3;
  __syncthreads();
  if (t < 3) g.c[t] = static_cast<float>(first[2 - t] + second[5 - t] + third[4 - t]);
}

__global__ void past_odd_array(operands g) {
  __shared__ char values[7];
  int const t = threadIdx.x;
  // BUG: access outside shared memory, thread (7, 0, 0)
  values[t] = 1;
  __syncthreads();
  if (t < 7) g.c[t] = values[t];
}

__global__ void null_pointer(operands g) {
  float const* const nowhere = reinterpret_cast<float const*>(static_cast<std::uintptr_t>(4 * threadIdx.x));
  // BUG: access outside the operands, thread (0, 0, 0)
  g.c[threadIdx.x] = *nowhere;
}

// One load of the three, as the compiler sees it: in the last line of them.
__global__ void past_array_in_a_case(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  values[t + 32] = g.b[t];
  __syncwarp();
  float v = 0;
  switch (t % 3) {
    case 0: v = values[t]; break;
    case 1: v = values[t * 2]; break;
    // BUG: access outside shared memory, thread (5, 0, 0)
    default: v = values[t * 16];
  }
  g.c[t] = v;
}

__global__ void wild_pointer(operands g) {
  // BUG: access outside the operands, thread (0, 0, 0)
  g.c[(std::int64_t{1} << 40) + threadIdx.x] = 1;
}

// What the others do when one thread is gone: its shared elements are missing, which is no defect of theirs.
__global__ void one_thread_strays(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  // BUG: access outside the operands, thread (5, 0, 0)
  values[t] = g.a[t == 5 ? 1 << 20 : t];
  __syncthreads();
  float const sum = values[63 - t] + __shfl_down_sync(0xffffffff, values[t], 1);
  __syncthreads();
  g.c[t] = sum;
}

// A structure of two floats is copied by halves where its address allows no more.
struct two_floats {
  float x, y;
};
__global__ void copies_structures(operands g) {
  auto const* const from = reinterpret_cast<two_floats const*>(g.a + 1);
  auto* const to = reinterpret_cast<two_floats*>(g.c + 1);
  to[threadIdx.x] = from[threadIdx.x];
}

// Copies that the compiler makes a call of.
struct many_bytes {
  char bytes[35];
};
__global__ void copies_bytes(operands g) {
  auto const* const from = reinterpret_cast<many_bytes const*>(g.a);
  auto* const to = reinterpret_cast<many_bytes*>(g.c);
  to[threadIdx.x] = from[threadIdx.x];
}

}  // namespace TANDEM_KERNEL_NAMESPACE
