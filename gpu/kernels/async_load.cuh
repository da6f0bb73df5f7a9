// A tile of an operand on its way from global memory to shared memory by cp.async, past the registers.
#pragma once

#include "gpu/kernels/copy_inside.cuh"
#include "gpu/kernels/global_load.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A thread's share of the tiles that cover bx rows of op(A), or columns of op(B), bk steps of k each. An operand that
/// is contiguous in k is copied by single elements, which transposes it; another by vectors where its lines begin with
/// them. The first tile takes the steps that are left over of k, so that all others are whole.
template <class T, class Layout, int bx, int bk, int threads, bool contiguous_in_k, bool vectors>
class async_tile_loader {
  static constexpr int width = vectors && !contiguous_in_k ? vector_width<T> : 1;
  static constexpr int piece = 8;  // steps of k that neighbouring threads copy of a line; the layout keeps them apart
  static constexpr int pieces = contiguous_in_k ? bk / piece : 1;
  static constexpr int line = contiguous_in_k ? piece : bx / width;  // copies side by side in memory
  static constexpr int lines = contiguous_in_k ? bx : bk;
  static constexpr int step = threads / line;
  static constexpr int copies = lines / step;
  static_assert(Layout::is_linear, "one address and constants beyond it are all targets");
  static_assert(bk % piece == 0, "whole pieces");
  static_assert(threads % line == 0 && lines % step == 0 && copies > 0, "every thread makes as many copies");

 public:
  /// The tiles that begin at element x0 of `extent`.
  __device__ async_tile_loader(T const* operand, std::int64_t ld, std::int64_t extent, std::int64_t x0)
      : along_(static_cast<int>(threadIdx.x) % line * width),
        across_(static_cast<int>(threadIdx.x) / line),
        inside_(inside_tile(extent, x0, bx)),
        ld_(ld),
        from_(operand + (contiguous_in_k ? (x0 + across_) * ld + along_ : across_ * ld + x0 + along_)) {}

  /// Makes 0 of what lies beyond the operand's extent, to which nothing is ever copied, or of the whole tile.
  __device__ __forceinline__ void clear(T* smem, bool whole) const {
    for_each_copy(smem, [&](int, int x, T const*, T* to) {
      if (x < inside_ && !whole) return;
      if constexpr (width > 1) {
        T const zeros[width] = {};
        store_vector(to, zeros);
      } else {
        *to = T{0};
      }
    });
  }

  /// Starts to copy the first tile, of `steps` steps of k. The others become 0.
  __device__ __forceinline__ void copy_first(T* smem, int steps) {
    for_each_copy(smem, [&](int p, int x, T const* from, T* to) {
      if (x >= inside_) return;
      copy_inside<width>(to, from, p < steps ? inside_ - x : 0);
    });
    from_ += contiguous_in_k ? steps : steps * ld_;
  }

  /// Starts to copy the next tile, if there is one.
  __device__ __forceinline__ void copy(T* smem, bool is_there) {
    int const inside = is_there ? inside_ : 0;
    for_each_copy(smem, [&](int, int x, T const* from, T* to) {
      if (x < inside) copy_inside<width>(to, from, inside_ - x);
    });
    from_ += contiguous_in_k ? bk : bk * ld_;
  }

 private:
  /// f(p, x, from, to): from step p and element x on, the copy brings what lies at `from` to `to`.
  template <class F>
  __device__ __forceinline__ void for_each_copy(T* smem, F const& f) const {
    T const* from = from_;
    T* const to = smem + (contiguous_in_k ? Layout::at(along_, across_) : Layout::at(across_, along_));
#pragma unroll
    for (int i = 0; i < copies; ++i, from += step * ld_) {
      int const at = across_ + i * step;
#pragma unroll
      for (int q = 0; q < pieces; ++q)
        if constexpr (contiguous_in_k)
          f(along_ + q * piece, at, from + q * piece, to + Layout::at(q * piece, i * step));
        else
          f(at, along_, from, to + Layout::at(i * step, 0));
    }
  }

  int along_, across_;  // the thread's place in the tile: along a line, and which line
  int inside_;          // elements of the tile's bx that are there
  std::int64_t ld_;
  T const* from_;
};

}  // namespace TANDEM_KERNEL_NAMESPACE
