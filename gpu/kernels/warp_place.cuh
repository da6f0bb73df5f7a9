// How the threads of a block share its tile of C by warps.
#pragma once

#include "gpu/kernels/thread_elements.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// How the lanes of a warp lie in its tile.
enum class lane_order {
  rows,  ///< row by row
  z,     ///< along a Z: the bits of a lane's number belong to n and m in turn
};

/// A warp has a tile of wm x wn, a lane tm x tn elements of it, in vectors that alternate with those of the other
/// lanes, so that a warp reads and writes neighbours.
template <class T, int bm, int bn, int wm, int wn, int tm, int tn>
__device__ __forceinline__ auto warp_place(lane_order order) {
  constexpr int width = vector_width<T>, lanes_m = wm / tm, lanes_n = wn / tn, warps_n = bn / wn;
  static_assert(bm % wm == 0 && bn % wn == 0, "a block holds whole warp tiles");
  static_assert(wm % tm == 0 && wn % tn == 0 && lanes_m * lanes_n == 32, "a warp holds whole thread tiles");
  static_assert(tm % width == 0 && tn % width == 0, "a thread holds whole vectors");
  static_assert(lanes_m == 4 || lanes_n == 4, "the fifth bit is the longer side's third");
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  auto const bit = [&](int i) { return lane >> i & 1; };
  int const z_m = bit(1) + 2 * bit(3) + (lanes_m == 8 ? 4 * bit(4) : 0);
  int const z_n = bit(0) + 2 * bit(2) + (lanes_n == 8 ? 4 * bit(4) : 0);
  int const lane_m = order == lane_order::z ? z_m : lane / lanes_n;
  int const lane_n = order == lane_order::z ? z_n : lane % lanes_n;
  return thread_place<T, lanes_m * width, lanes_n * width>{warp / warps_n * wm + lane_m * width,
                                                           warp % warps_n * wn + lane_n * width};
}

}  // namespace TANDEM_KERNEL_NAMESPACE
