// C = beta C, what is left of a product when k = 0 or alpha = 0; beta = 0 writes zeros without reading C.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T, int bm, int bn>
__global__ void __launch_bounds__(bm* bn) scale(std::int64_t m, std::int64_t n, T beta, T* c, std::int64_t ldc) {
  std::int64_t const j = std::int64_t{blockIdx.x} * bn + threadIdx.x;
  for (std::int64_t tile = blockIdx.y; tile < tiles(m, bm); tile += gridDim.y) {
    std::int64_t const i = tile * bm + threadIdx.y;
    if (i < m && j < n) c[i * ldc + j] = beta == T{0} ? T{0} : beta * c[i * ldc + j];
  }
}

template <class T>
void launch_scale(problem const& p, CUstream_st* stream) {
  constexpr int bm = 8, bn = 32;
  launch(scale<T, bm, bn>, tile_grid(p.m, p.n, bm, bn), dim3(bn, bm), 0, stream, p.m, p.n, static_cast<T>(p.beta),
         static_cast<T*>(p.c), p.ldc);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
