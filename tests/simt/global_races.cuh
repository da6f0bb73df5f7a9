// Races in global memory, between threads and between blocks.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

__global__ void two_threads_write_an_element(operands g) {
  int const t = threadIdx.x;
  // BUG: race in global memory, thread (1, 0, 0)
  g.c[t / 2] = g.a[t];
}

// The tiles overlap by a column.
__global__ void two_blocks_write_an_element(operands g) {
  int const j = blockIdx.x * 31 + threadIdx.x;
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  g.c[j] = g.a[j];
}

__global__ void blocks_write_the_same_value(operands g) {
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  if (threadIdx.x == 0) g.c[0] = 1;
}

__global__ void block_reads_anothers_element(operands g) {
  int const i = blockIdx.x * 32 + threadIdx.x;
  g.c[i] = g.a[i];
  __syncthreads();
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  if (blockIdx.x == 1) g.c[i] += g.c[i - 32];
}

// Every block reads the whole line; the last one writes it afterwards.
__global__ void block_writes_what_others_read(operands g) {
  int const t = threadIdx.x;
  float const sum = g.c[t] + g.c[31 - t];
  __syncthreads();
  // BUG: race in global memory, block (2, 0, 0), thread (0, 0, 0)
  if (blockIdx.x == 2) g.c[t] = sum;
}

// Each k slice adds its part with plain reads and writes.
__global__ void split_k_without_atomics(operands g) {
  int const j = threadIdx.x;
  float acc = 0;
  for (int p = blockIdx.x * 5; p < static_cast<int>(blockIdx.x + 1) * 5; ++p)
    acc = fma(g.a[p], g.b[p * g.ldb + j], acc);
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  g.c[j] = g.c[j] + acc;
}

__global__ void split_k_with_atomics(operands g) {
  int const j = threadIdx.x;
  float acc = 0;
  for (int p = blockIdx.x * 5; p < static_cast<int>(blockIdx.x + 1) * 5; ++p)
    acc = fma(g.a[p], g.b[p * g.ldb + j], acc);
  atomicAdd(&g.c[j], acc);
}

__global__ void atomic_and_plain_in_global(operands g) {
  if (threadIdx.x == 0)
    atomicAdd(&g.c[0], 1.0f);
  else if (threadIdx.x == 1)
    // BUG: race in global memory, block (0, 0, 0), thread (1, 0, 0)
    g.c[0] = 2;
}

// The last block to finish adds up what all have left. C is all zeros; its last element counts.
__global__ void last_block_adds_up(operands g) {
  __shared__ bool last;
  auto* const finished = reinterpret_cast<unsigned*>(&g.c[g.m * g.n - 1]);
  if (threadIdx.x == 0) {
    g.c[blockIdx.x] = static_cast<float>(blockIdx.x);
    __threadfence();
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) sum += g.c[block];
    g.c[gridDim.x] = sum;
  }
}

__global__ void last_block_without_fence(operands g) {
  __shared__ bool last;
  auto* const finished = reinterpret_cast<unsigned*>(&g.c[g.m * g.n - 1]);
  if (threadIdx.x == 0) {
    g.c[blockIdx.x] = static_cast<float>(blockIdx.x);
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    // BUG: race in global memory, block (3, 0, 0), thread (0, 0, 0)
    for (unsigned block = 0; block < gridDim.x; ++block) sum += g.c[block];
    g.c[gridDim.x] = sum;
  }
}

// A barrier orders a block's own accesses to global memory.
__global__ void block_reads_its_own_elements(operands g) {
  int const t = threadIdx.x, first = blockIdx.x * 64;
  g.c[first + t] = g.a[t];
  __syncthreads();
  float const other = g.c[first + 63 - t];
  __syncthreads();
  g.c[first + t] = other;
}

// Two threads each write half of a word.
__global__ void halves_of_a_word(operands g) {
  reinterpret_cast<short*>(g.c)[threadIdx.x] = static_cast<short>(threadIdx.x);
}

// The block that sets C to zero adds to it too.
__global__ void one_block_writes_zero(operands g) {
  int const t = threadIdx.x;
  if (blockIdx.x == 0) g.c[t] = 0;
  __syncthreads();
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  atomicAdd(&g.c[t], g.a[t]);
}

__global__ void reads_what_all_blocks_update(operands g) {
  int const t = threadIdx.x;
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  atomicAdd(&g.c[t], g.a[t]);
  // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
  if (g.c[t] < 0) g.c[32 + 32 * blockIdx.x + t] = 1;
}

// The last block adds up, all threads of all blocks write; the barrier before the atomic operation is missing.
__global__ void last_block_without_barrier(operands g) {
  __shared__ bool last;
  auto* const finished = reinterpret_cast<unsigned*>(&g.c[g.m * g.n - 1]);
  int const t = threadIdx.x;
  g.c[32 * blockIdx.x + t] = 1;
  __threadfence();
  if (t == 0) last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  float sum = 0;
  if (last)
    // BUG: race in global memory, block (3, 0, 0), thread (0, 0, 0)
    for (unsigned i = 0; i < 32 * gridDim.x; ++i) sum += g.c[i];
  if (last) g.c[200 + t] = sum;
}

// Each block waits for the one before and hands on a sum. One thread does all.
__global__ void chain_of_blocks(operands g) {
  auto* const done = reinterpret_cast<int*>(&g.c[100]);
  unsigned const b = blockIdx.x;
  if (threadIdx.x != 0) return;
  float sum = 0;
  if (b > 0) {
    while (atomicAdd(&done[b - 1], 0) == 0) continue;
    __threadfence();
    sum = g.c[b - 1];
  }
  g.c[b] = sum + g.a[b];
  __threadfence();
  atomicExch(&done[b], 1);
}

__global__ void chain_of_blocks_fenced_by_the_reader(operands g) {
  auto* const done = reinterpret_cast<int*>(&g.c[100]);
  unsigned const b = blockIdx.x;
  if (threadIdx.x != 0) return;
  float sum = 0;
  if (b > 0) {
    while (atomicAdd(&done[b - 1], 0) == 0) continue;
    __threadfence();
    // BUG: race in global memory, block (1, 0, 0), thread (0, 0, 0)
    sum = g.c[b - 1];
  }
  g.c[b] = sum + g.a[b];
  atomicExch(&done[b], 1);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
