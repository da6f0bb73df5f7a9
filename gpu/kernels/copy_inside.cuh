// A vector on its way to shared memory by cp.async, which may lie across an operand's edge.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Starts to copy `width` elements, of which the first `inside` are there (none: 0 or less; all: width or more); the
/// others become 0, and are not read.
template <int width, class T>
__device__ __forceinline__ void copy_inside(shared_address to, T const* from, int inside) {
  if constexpr (width > 1)
    if (inside > 0 && inside < width) {
#pragma unroll
      for (int e = 0; e < width; ++e)
        copy_async_or_zero<sizeof(T)>(to + e * static_cast<int>(sizeof(T)), from + e, e < inside);
      return;
    }
  copy_async_or_zero<width * sizeof(T)>(to, from, inside > 0);
}
template <int width, class T>
__device__ __forceinline__ void copy_inside(T* to, T const* from, int inside) {
  copy_inside<width>(address_in_shared(to), from, inside);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
