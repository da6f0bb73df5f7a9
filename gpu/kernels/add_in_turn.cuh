// Parts of a sum, read from memory several at a time, so that their latencies overlap, and added in their order.
#pragma once

#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Adds parts first, first + step, ... below `count` to the sums, each `width` elements at place(part), a multiple of
/// as many. `at_once`: not more than eight, for which a thread has conditions, and not more than there mostly are.
template <int at_once, class T, int width, class F>
__device__ __forceinline__ void add_in_turn(T (&sum)[width], int first, int step, int count, F const& place) {
  static_assert(at_once <= 8);
  for (int part = first; part < count; part += at_once * step) {
    T value[at_once][width];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if (part + i * step < count) load_vector<width>(value[i], place(part + i * step));
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int x = 0; x < width; ++x)
        if (part + i * step < count) sum[x] += value[i][x];
  }
}

}  // namespace TANDEM_KERNEL_NAMESPACE
