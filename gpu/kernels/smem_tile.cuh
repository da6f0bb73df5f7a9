// Removes the repeated global reads of `coalesced`: a block copies a tile of A and one of B to shared memory, where
// each element is then read `tile` times.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T, int tile, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(tile* tile) smem_tile(gemm_operands<T> g) {
  static_assert(tile % 16 == 0 && tile * tile <= 1024, "whole half-warps, and a block of at most 1024 threads");
  constexpr int bm = tile, bn = tile, bk = tile;
  // One column of padding: a transposed operand is written down a column, which would otherwise be one bank.
  __shared__ T smem_a[bm][bk + 1];  // (bm, bk)
  __shared__ T smem_b[bk][bn + 1];  // (bk, bn)
  int const tx = threadIdx.x, ty = threadIdx.y;

  for (std::int64_t tile_m = blockIdx.y; tile_m < tiles(g.m, bm); tile_m += gridDim.y) {
    std::int64_t const i0 = tile_m * bm, j0 = std::int64_t{blockIdx.x} * bn;
    T acc = 0;
    for (std::int64_t p0 = 0; p0 < g.k; p0 += bk) {
      // A warp always runs along the operand's rows in memory. Outside the matrix lies 0: whether a thread loads
      // depends on the element that it loads, never on the one that it computes.
      if constexpr (trans_a) {
        bool const inside = i0 + tx < g.m && p0 + ty < g.k;
        smem_a[tx][ty] = inside ? g.a[(p0 + ty) * g.lda + i0 + tx] : T{0};
      } else {
        bool const inside = i0 + ty < g.m && p0 + tx < g.k;
        smem_a[ty][tx] = inside ? g.a[(i0 + ty) * g.lda + p0 + tx] : T{0};
      }
      if constexpr (trans_b) {
        bool const inside = p0 + tx < g.k && j0 + ty < g.n;
        smem_b[tx][ty] = inside ? g.b[(j0 + ty) * g.ldb + p0 + tx] : T{0};
      } else {
        bool const inside = p0 + ty < g.k && j0 + tx < g.n;
        smem_b[ty][tx] = inside ? g.b[(p0 + ty) * g.ldb + j0 + tx] : T{0};
      }
      __syncthreads();
#pragma unroll
      for (int p = 0; p < bk; ++p) acc = fma(smem_a[ty][p], smem_b[p][tx], acc);
      __syncthreads();
    }
    std::int64_t const i = i0 + ty, j = j0 + tx;
    if (i < g.m && j < g.n) write_result(g.c[i * g.ldc + j], g.alpha, acc, g.beta);
  }
}

template <class T, int tile>
void launch_smem_tile(problem const& p, CUstream_st* stream) {
  auto const kernel = p.trans_a ? (p.trans_b ? smem_tile<T, tile, true, true> : smem_tile<T, tile, true, false>)
                                : (p.trans_b ? smem_tile<T, tile, false, true> : smem_tile<T, tile, false, false>);
  launch(kernel, tile_grid(p.m, p.n, tile, tile), dim3(tile, tile), 0, stream, operands_of<T>(p));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
