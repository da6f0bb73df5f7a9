// How a tile of an operand, bk steps of k with bx elements each, lies in shared memory so that neither the reads along
// x nor the stores of an operand that is contiguous in k meet in a bank.
#pragma once

#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Each step begins one vector further than the one before it: by a vector of padding, which leaves the order as it
/// is, or, swizzled, by the exclusive or of the vectors' numbers, which takes no memory. Threads that hold one element
/// of each of 8 steps, or a vector of them, then write to different banks.
template <class T, int bx, int bk, bool swizzled>
struct tile_layout {
  static_assert(bx * sizeof(T) % 128 == 0, "a step covers all banks alike");
  static constexpr int width = vector_width<T>;
  static constexpr int pitch = swizzled ? bx : bx + width;
  static constexpr int size = bk * pitch;
  static constexpr bool is_linear = !swizzled;  ///< at(p + q, x + y) = at(p, x) + at(q, y)

  /// Where element x of step p lies; those of a vector that begins at a multiple of its width are neighbours.
  __host__ __device__ static constexpr int at(int p, int x) { return p * pitch + (swizzled ? x ^ p % 8 * width : x); }
};

}  // namespace TANDEM_KERNEL_NAMESPACE
