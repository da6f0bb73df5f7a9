// Removes the arithmetic on padding, and the second reading of the large operand, where C is a few rows or columns: a
// tile is as thin as C is and long in its other edge, so that each element of the large operand passes through one
// block once; where n is the smaller, C lies on its side. Bound by memory, so k is cut as well until every place has a
// block.
#pragma once

#include "gpu/kernels/k_slices.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks) skinny(sliced_product<typename Tiling::element> s) {
  static_assert(Tiling::bm < Tiling::bn, "m is the thin edge");
  multiply_slice<Tiling, trans_a, trans_b>(s);
}

template <class Tiling>
void launch_skinny(problem const& p, CUstream_st* stream) {
  launch_sliced<Tiling>(p, p.n < p.m, stream, skinny<Tiling, false, false>, skinny<Tiling, false, true>,
                        skinny<Tiling, true, false>, skinny<Tiling, true, true>);
}

template <class Tiling>
gpu::k_cut cut_skinny(problem const& p) {
  return cut_into_slices<Tiling>(p.m, p.n, p.k, p.n < p.m);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
