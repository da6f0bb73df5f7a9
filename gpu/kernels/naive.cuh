// One thread an element of C, m on threadIdx.x: the definition, and the baseline that every rung is measured against.
// Nothing is removed yet: a warp walks down a column of C, so its 32 accesses to A and C lie in 32 different rows.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T, int bm, int bn>
__global__ void __launch_bounds__(bm* bn) naive(gemm_operands<T> g, bool trans_a, bool trans_b) {
  static_assert(bm % 32 == 0, "a warp lies along m");
  std::int64_t const a_row = trans_a ? 1 : g.lda, a_col = trans_a ? g.lda : 1;
  std::int64_t const b_row = trans_b ? 1 : g.ldb, b_col = trans_b ? g.ldb : 1;
  std::int64_t const j = std::int64_t{blockIdx.x} * bn + threadIdx.y;
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, bm); tile += gridDim.y) {
    std::int64_t const i = tile * bm + threadIdx.x;
    if (i >= g.m || j >= g.n) return;  // the tiles to come lie beyond as well
    T acc = 0;
    for (std::int64_t p = 0; p < g.k; ++p) acc = fma(g.a[i * a_row + p * a_col], g.b[p * b_row + j * b_col], acc);
    write_result(g.c[i * g.ldc + j], g.alpha, acc, g.beta);
  }
}

template <class T, int bm, int bn>
void launch_naive(problem const& p, CUstream_st* stream) {
  launch(naive<T, bm, bn>, tile_grid(p.m, p.n, bm, bn), dim3(bm, bn), 0, stream, operands_of<T>(p), p.trans_a,
         p.trans_b);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
