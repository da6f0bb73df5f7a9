// Removes the idle multiprocessors of a small C with a deep k, whose few tiles keep few blocks busy: k is cut into
// slices, so that there is a block for every place, and each reads its part of A and B at the memory's pace.
#pragma once

#include "gpu/kernels/k_slices.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks) split_k(sliced_product<typename Tiling::element> s) {
  multiply_slice<Tiling, trans_a, trans_b>(s);
}

template <class Tiling>
void launch_split_k(problem const& p, CUstream_st* stream) {
  launch_sliced<Tiling>(p, false, stream, split_k<Tiling, false, false>, split_k<Tiling, false, true>,
                        split_k<Tiling, true, false>, split_k<Tiling, true, true>);
}

template <class Tiling>
gpu::k_cut cut_split_k(problem const& p) {
  return cut_into_slices<Tiling>(p.m, p.n, p.k, false);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
