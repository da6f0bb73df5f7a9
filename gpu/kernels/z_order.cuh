// Halves the passes over shared memory that `warp_tile` takes for B, with the same kernel: a warp's load of 16 bytes a
// lane takes two passes instead of four where every lane i has the address of lane i ^ 1, or every lane that of lane
// i ^ 2. With the lanes in rows only the loads of A are such; along a Z lanes i and i ^ 1 have the same rows of C,
// lanes i and i ^ 2 the same columns, so the loads of both operands are.
#pragma once

#include "gpu/kernels/warp_tile.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int blocks>
void launch_z_order(problem const& p, CUstream_st* stream) {
  launch_warps<T, bm, bn, bk, wm, wn, tm, tn, blocks>(p, stream, lane_order::z);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
