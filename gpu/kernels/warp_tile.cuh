// Removes shared-memory reads of `double_buffer`: the warps of a block have nearly square tiles of C of their own,
// which take fewer values of A and B, and a thread's tile grows to 16 x 8, which makes 128 multiply-adds of 24 values
// where 8 x 8 makes 64 of 16.
#pragma once

#include "gpu/kernels/double_buffer.cuh"
#include "gpu/kernels/warp_place.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// `blocks` of them share a multiprocessor.
template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int blocks, bool trans_a, bool trans_b,
          bool vectors>
__global__ void __launch_bounds__(bm / tm * (bn / tn), blocks)
    warp_tile(gemm_operands<T> g, bool vectors_of_c, lane_order order) {
  let_next_kernel_start();
  wait_for_kernel_before();
  multiply_double_buffered<T, bm, bn, bk, tm, tn, trans_a, trans_b, vectors>(
      g, vectors_of_c, warp_place<T, bm, bn, wm, wn, tm, tn>(order));
}

template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int blocks>
void launch_warps(problem const& p, CUstream_st* stream, lane_order order) {
  auto const start = [&]<bool trans_a, bool trans_b, bool vectors>() {
    launch_after(warp_tile<T, bm, bn, bk, wm, wn, tm, tn, blocks, trans_a, trans_b, vectors>,
                 tile_grid(p.m, p.n, bm, bn), dim3(bm / tm * (bn / tn)), 0, stream, operands_of<T>(p),
                 begins_with_vectors<T>(p.c, p.ldc), order);
  };
  with_constants(start, p.trans_a, p.trans_b, operands_are_vectors<T>(p));
}

template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int blocks>
void launch_warp_tile(problem const& p, CUstream_st* stream) {
  launch_warps<T, bm, bn, bk, wm, wn, tm, tn, blocks>(p, stream, lane_order::rows);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
