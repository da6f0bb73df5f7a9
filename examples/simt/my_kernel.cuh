// C = A B for square matrices of n x n, one 16 x 16 tile of C a block. Ordinary CUDA: nvcc compiles this file too.
// To plant a bug, take away one of the barriers, or one of the three comparisons with n.
#pragma once

constexpr int tile = 16;

__global__ void multiply(int n, float const* a, float const* b, float* c) {
  __shared__ float smem_a[tile][tile], smem_b[tile][tile];
  int const tx = threadIdx.x, ty = threadIdx.y;
  int const row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
  float sum = 0;
  for (int p0 = 0; p0 < n; p0 += tile) {
    smem_a[ty][tx] = row < n && p0 + tx < n ? a[row * n + p0 + tx] : 0.0f;
    smem_b[ty][tx] = p0 + ty < n && col < n ? b[(p0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int p = 0; p < tile; ++p) sum = fma(smem_a[ty][p], smem_b[p][tx], sum);
#ifndef PLANT_A_BUG
    __syncthreads();
#endif
  }
  if (row < n && col < n) c[row * n + col] = sum;
}
