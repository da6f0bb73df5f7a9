// cp.async and textures.
#pragma once

#include "tests/simt/planted.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

__global__ void right_copy(operands g) {
  __shared__ __align__(16) float tile[64];
  int const t = threadIdx.x;
  if (t < 16) copy_async<16>(&tile[4 * t], g.a + 4 * t);
  commit_async();
  wait_async<0>();
  __syncthreads();
  g.c[t] = tile[63 - t];
}

// The last copy has 12 bytes to bring and fills 4 with zero.
__global__ void right_copy_of_a_part(operands g) {
  __shared__ __align__(16) float tile[64];
  int const t = threadIdx.x, left = g.k * 4 - t * 16;
  copy_async<16>(&tile[4 * t], g.a + (left > 0 ? 4 * t : 0), left >= 16 ? 16 : left > 0 ? left : 0);
  commit_async();
  wait_async<0>();
  __syncthreads();
  g.c[t] = tile[63 - t] + tile[t];
}

// Three stages: while one is multiplied two are on their way.
__global__ void right_stages(operands g) {
  __shared__ float tile[3][64];
  int const t = threadIdx.x;
  float acc = 0;
  for (int stage = 0; stage < 2; ++stage) {
    copy_async<4>(&tile[stage][t], g.a + stage * 64 + t);
    commit_async();
  }
  for (int step = 0; step < 6; ++step) {
    wait_async<1>();
    __syncthreads();
    if (step + 2 < 6) copy_async<4>(&tile[(step + 2) % 3][t], g.a + (step + 2) * 64 + t);
    commit_async();
    acc += tile[step % 3][63 - t];
  }
  g.c[t] = acc;
}

__global__ void read_before_wait(operands g) {
  __shared__ float tile[64];
  int const t = threadIdx.x;
  copy_async<4>(&tile[t], g.a + t);
  commit_async();
  // BUG: access to a copy that was not waited for, thread (0, 0, 0)
  float const early = tile[t];
  wait_async<0>();
  g.c[t] = early;
}

__global__ void wait_without_commit(operands g) {
  __shared__ float tile[64];
  int const t = threadIdx.x;
  copy_async<4>(&tile[t], g.a + t);
  wait_async<0>();
  // BUG: access to a copy that was not waited for, thread (0, 0, 0)
  g.c[t] = tile[t];
}

// Of the two groups on their way only the older one is waited for.
__global__ void wait_for_too_few_groups(operands g) {
  __shared__ float tile[2][64];
  int const t = threadIdx.x;
  copy_async<4>(&tile[0][t], g.a + t);
  commit_async();
  copy_async<4>(&tile[1][t], g.a + 64 + t);
  commit_async();
  wait_async<1>();
  __syncthreads();
  float const first = tile[0][63 - t];
  // BUG: access to a copy that was not waited for, thread (0, 0, 0)
  float const second = tile[1][63 - t];
  g.c[t] = first + second;
}

// Each thread waits for its own copies; others' need a barrier too.
__global__ void waited_without_barrier(operands g) {
  __shared__ float tile[64];
  int const t = threadIdx.x;
  // BUG: race in shared memory, thread (32, 0, 0)
  copy_async<4>(&tile[t], g.a + t);
  commit_async();
  wait_async<0>();
  // BUG: read of uninitialised shared memory, thread (0, 0, 0)
  // BUG: race in shared memory, thread (32, 0, 0)
  g.c[t] = tile[63 - t];
}

__global__ void write_over_a_copy(operands g) {
  __shared__ float tile[64];
  int const t = threadIdx.x;
  copy_async<4>(&tile[t], g.a + t);
  commit_async();
  // BUG: access to a copy that was not waited for, thread (0, 0, 0)
  tile[t] = 0;
  wait_async<0>();
  g.c[t] = tile[t];
}

// The copy goes where the others still read.
__global__ void copy_over_what_is_read(operands g) {
  __shared__ float tile[64];
  int const t = threadIdx.x;
  tile[t] = g.a[t];
  __syncthreads();
  // BUG: race in shared memory, thread (32, 0, 0)
  float const sum = tile[63 - t];
  // BUG: race in shared memory, thread (32, 0, 0)
  copy_async<4>(&tile[t], g.a + 64 + t);
  commit_async();
  wait_async<0>();
  __syncthreads();
  g.c[t] = sum + tile[63 - t];
}

__global__ void misaligned_copy(operands g) {
  __shared__ __align__(16) float tile[64];
  int const t = threadIdx.x;
  // BUG: misaligned access, thread (0, 0, 0)
  copy_async<16>(&tile[4 * t], g.a + 4 * t + 1);
  commit_async();
  wait_async<0>();
}

// The source has to be aligned for 16 bytes, of which 4 are read.
__global__ void misaligned_copy_of_a_part(operands g) {
  __shared__ __align__(16) float tile[64];
  int const t = threadIdx.x;
  // BUG: misaligned access, thread (0, 0, 0)
  copy_async<16>(&tile[4 * t], g.a + 4 * t + 1, 4);
  commit_async();
  wait_async<0>();
}

__global__ void copy_from_outside(operands g) {
  __shared__ __align__(16) float tile[64];
  int const t = threadIdx.x;
  // BUG: access outside the operands, thread (15, 0, 0)
  copy_async<16>(&tile[4 * t], g.a + g.m * g.k - 60 + 4 * t);
  commit_async();
  wait_async<0>();
}

// Outside a texture lies zero.
__global__ void texture_out_of_range(operands g) {
  linear_texture<float> const texture(g.a, static_cast<std::size_t>(g.k), nullptr);
  int const t = threadIdx.x;
  g.c[t] = tex1Dfetch<float>(texture.object(), t - 4);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
