// Removes what a small product waits for: one launch without a workspace, tiles so small that there are many, and their
// k dealt out to the warps of the block, each of which adds up a part of every chunk while the next ones are on their
// way.
#pragma once

#include "gpu/kernels/block_product.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    small(gemm_operands<typename Tiling::element> g, bool wide_a, bool wide_b) {
  using T = typename Tiling::element;
  let_next_kernel_start();
  wait_for_kernel_before();
  std::int64_t const j0 = std::int64_t{blockIdx.x} * Tiling::bn;
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, Tiling::bm); tile += gridDim.y) {
    std::int64_t const i0 = tile * Tiling::bm;
    auto const write = [&](int i, int j, T sum) { write_result(g.c[(i0 + i) * g.ldc + j0 + j], g.alpha, sum, g.beta); };
    block_product<Tiling, trans_a, trans_b>(g, wide_a, wide_b, i0, j0, 0, g.k, false, write);
  }
}

template <class Tiling>
void launch_small(problem const& p, CUstream_st* stream) {
  // Above, a launch would have to ask for it.
  static_assert(Tiling::shared_bytes(false, true) <= 48 * 1024, "shared memory that every kernel has");
  auto const g = operands_of<typename Tiling::element>(p);
  auto const kernel = by_transposes(p.trans_a, p.trans_b, small<Tiling, false, false>, small<Tiling, false, true>,
                                    small<Tiling, true, false>, small<Tiling, true, true>);
  launch_after(kernel, tile_grid(p.m, p.n, Tiling::bm, Tiling::bn), dim3(Tiling::threads),
               Tiling::shared_bytes(p.trans_a, p.trans_b), stream, g, is_wide(g.a, g.lda, p.trans_a ? p.k : p.m),
               is_wide(g.b, g.ldb, p.trans_b ? p.n : p.k));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
