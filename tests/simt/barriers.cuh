// Barriers and operations of a warp that not all threads come to.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

__global__ void barrier_in_divergent_code(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  values[t] = g.a[t];
  if (t < 16) __syncthreads();
  g.c[t] = values[t];
  // BUG: divergent barrier, thread (16, 0, 0)
  __syncthreads();
}

__global__ void early_return_before_barrier(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  if (t >= 50) return;
  values[t] = g.a[t];
  // BUG: divergent barrier, thread (0, 0, 0)
  __syncthreads();
  g.c[t] = values[49 - t];
}

// The barrier is the kernel's last call.
__global__ void early_return_before_last_barrier(operands g) {
  if (threadIdx.x == 0) return;
  g.c[threadIdx.x] = 0;
  // BUG: divergent barrier, thread (1, 0, 0)
  __syncthreads();
}

__global__ void other_barrier_in_each_branch(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  if (t < 32) {
    values[t] = g.a[t];
    __syncthreads();
  } else {
    values[t] = g.b[t];
    // BUG: divergent barrier, thread (32, 0, 0)
    __syncthreads();
  }
  g.c[t] = values[63 - t];
}

// The compiler must not make one call of the two.
__global__ void nothing_but_other_barriers(operands) {
  if (threadIdx.x % 2 == 0)
    __syncthreads();
  else
    // BUG: divergent barrier, thread (1, 0, 0)
    __syncthreads();
}

__global__ void barrier_in_loop_of_each_thread(operands g) {
  int const t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i <= t % 3; ++i) {
    sum += g.a[i];
    // BUG: divergent barrier
    __syncthreads();
  }
  g.c[t] = sum;
}

__global__ void barrier_in_uniform_loop(operands g) {
  __shared__ float values[64];
  int const t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < g.k; ++i) {
    if (i > 0) __syncthreads();
    values[t] = g.a[i] + t;
    __syncthreads();
    sum += values[63 - t];
    if (i + 3 > g.k) continue;
    __syncthreads();
    if (g.k > 10 && i == 11) break;
  }
  g.c[t] = sum;
}

// Exited threads are missed by no later barrier, and by no operation that does not name them.
__global__ void early_exit(operands g) {
  int const t = threadIdx.x;
  if (t >= 48) return;
  unsigned const mask = t < 32 ? 0xffffffffu : 0x0000ffffu;
  float sum = g.a[t];
  for (int delta = 8; delta > 0; delta /= 2) sum += __shfl_xor_sync(mask, sum, delta);
  g.c[t] = sum;
}

__global__ void butterflies(operands g) {
  int const t = threadIdx.x;
  float sum = g.a[t];
  for (int delta = 4; delta > 0; delta /= 2) sum += __shfl_xor_sync(0xffffffff, sum, delta, 8);
  float const first = __shfl_sync(0xffffffff, sum, 0, 16);
  float const below = __shfl_up_sync(0xffffffff, sum, 3, 4), above = __shfl_down_sync(0xffffffff, sum, 3, 4);
  g.c[t] = first + below + above;
}

__global__ void halves_of_a_warp(operands g) {
  __shared__ float values[32];
  int const t = threadIdx.x;
  unsigned const mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
  for (int step = 0; step < 3; ++step) {
    values[t] = g.a[t + step];
    __syncwarp(mask);
    float const other = values[t ^ 15];
    __syncwarp(mask);
    g.c[t] = other;
  }
  if (t < 16) {
    if (__any_sync(0xffff, t == 3) != 0) g.c[t] += __shfl_xor_sync(0xffff, static_cast<float>(t), 8);
  } else {
    g.c[t] += __shfl_xor_sync(0xffff0000, static_cast<float>(t), 4);
  }
}

// A half of the warp waits for the half that does not come.
__global__ void half_at_barrier_half_at_shuffle(operands g) {
  int const t = threadIdx.x;
  float value = g.a[t];
  if (t < 16)
    // BUG: deadlock, thread (0, 0, 0)
    value = __shfl_down_sync(0xffffffff, value, 1);
  else
    __syncthreads();
  g.c[t] = value;
}

// Threads run one after the other, so what the first ones wait for never comes.
__global__ void spin_on_a_later_thread(operands g) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  if (threadIdx.x < 60) {
    // BUG: deadlock, thread (0, 0, 0)
    while (*static_cast<int volatile*>(&done) == 0) {
    }
  } else {
    // BUG: race in shared memory
    done = 1;
  }
  g.c[threadIdx.x] = 1;
}

__global__ void masks_that_do_not_agree(operands g) {
  int const t = threadIdx.x;
  // BUG: deadlock, thread (0, 0, 0)
  g.c[t] = __shfl_down_sync(t == 5 ? 0x7fffffffu : 0xffffffffu, g.a[t], 1);
}

__global__ void mask_without_the_caller(operands g) {
  int const t = threadIdx.x;
  // BUG: divergent operation of a warp, thread (16, 0, 0)
  // BUG: deadlock
  g.c[t] = __shfl_xor_sync(0x0000ffff, g.a[t], 1);
}

__global__ void syncwarp_mask_without_the_caller(operands g) {
  int const t = threadIdx.x;
  g.c[t] = g.a[t];
  // BUG: divergent operation of a warp, thread (31, 0, 0)
  // BUG: deadlock
  __syncwarp(0x7fffffff);
}

__global__ void shuffle_from_exited_lane(operands g) {
  int const t = threadIdx.x;
  if (t >= 20) return;
  // BUG: divergent operation of a warp, thread (4, 0, 0)
  g.c[t] = __shfl_down_sync(0xffffffff, g.a[t], 16);
}

// The last warp has 8 threads.
__global__ void shuffle_from_lane_that_never_was(operands g) {
  int const t = threadIdx.x;
  float sum = g.a[t];
  // BUG: divergent operation of a warp, thread (32, 0, 0)
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_xor_sync(0xffffffff, sum, delta);
  g.c[t] = sum;
}

__global__ void shuffle_from_outside_the_mask(operands g) {
  int const t = threadIdx.x;
  // BUG: divergent operation of a warp, thread (0, 0, 0)
  if (t < 16) g.c[t] = __shfl_sync(0xffff, g.a[t], 16);
}

__global__ void other_shuffle_in_each_branch(operands g) {
  int const t = threadIdx.x;
  float value = g.a[t];
  if (t < 16) {
    value += 1;
    value = __shfl_xor_sync(0xffffffff, value, 16);
  } else {
    value += 2;
    // BUG: divergent operation of a warp, thread (16, 0, 0)
    value = __shfl_xor_sync(0xffffffff, value, 16);
  }
  g.c[t] = value;
}

// The others' value is that of lanes that give none.
__global__ void shuffle_meets_syncwarp(operands g) {
  int const t = threadIdx.x;
  float value = g.a[t];
  if (t < 16)
    value = __shfl_xor_sync(0xffffffff, value, 16);
  else
    // BUG: divergent operation of a warp, thread (16, 0, 0)
    __syncwarp();
  g.c[t] = value;
}

__global__ void vote_meets_vote(operands g) {
  int const t = threadIdx.x;
  unsigned votes = 0;
  if (t % 2 == 0)
    // BUG: divergent operation of a warp, thread (2, 0, 0)
    votes = __ballot_sync(0xffffffff, t > 3);
  else
    // BUG: divergent operation of a warp, thread (1, 0, 0)
    votes = __ballot_sync(0xffffffff, t > 5);
  g.c[t] = static_cast<float>(votes & 7);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
