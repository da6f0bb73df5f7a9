// A tile of an operand on its way from global memory through registers to shared memory.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// How much of the tile that begins at `first` lies below `extent`; 0 where it lies beyond.
__host__ __device__ constexpr int inside_tile(std::int64_t extent, std::int64_t first, int tile) {
  return extent <= first ? 0 : extent - first < tile ? static_cast<int>(extent - first) : tile;
}

/// A thread's share of the tiles that cover bx rows of op(A), or columns of op(B), bk steps of k each. Neighbouring
/// threads run along the operand's lines in memory, with `width` elements a load; a thread's loads are `step` lines
/// apart, so that one pointer and one stride address them all. With width > 1 no line ends within a load.
template <class T, int bx, int bk, int threads, bool contiguous_in_k, int width>
class tile_loader {
  static constexpr int line = (contiguous_in_k ? bk : bx) / width;  // loads side by side in memory
  static constexpr int lines = contiguous_in_k ? bx : bk;
  static constexpr int step = threads / line;
  static constexpr int loads = lines / step;
  static_assert(width == 1 || width == vector_width<T>, "elements or vectors");
  static_assert(line * width == (contiguous_in_k ? bk : bx) && threads % line == 0 && lines % step == 0 && loads > 0,
                "every thread makes as many loads, at the same place of each line");

 public:
  /// The tiles that begin at element x0 of `extent`.
  __device__ tile_loader(T const* operand, std::int64_t ld, std::int64_t extent, std::int64_t x0)
      : along_(static_cast<int>(threadIdx.x) % line * width),
        across_(static_cast<int>(threadIdx.x) / line),
        inside_(inside_tile(extent, x0, bx)),
        ld_(ld),
        from_(operand + (contiguous_in_k ? (x0 + across_) * ld + along_ : across_ * ld + x0 + along_)) {}

  /// Reads the next tile, of which `steps` steps of k are there; outside the operand lies 0.
  __device__ __forceinline__ void fetch(int steps) {
    T const* from = from_;
#pragma unroll
    for (int i = 0; i < loads; ++i, from += step * ld_) {
      int const at = across_ + i * step;
      bool const inside = contiguous_in_k ? at < inside_ && along_ < steps : along_ < inside_ && at < steps;
#pragma unroll
      for (int q = 0; q < width; ++q) value_[i][q] = T{0};
      if (inside) {
        if constexpr (width == 1)
          value_[i][0] = *from;
        else
          load_vector(value_[i], from);
      }
    }
    from_ += contiguous_in_k ? bk : bk * ld_;
  }

  /// Writes the tile that was read. A vector along k becomes elements of `width` steps.
  template <class Layout>
  __device__ __forceinline__ void store(T* smem) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      int const at = across_ + i * step;
      if constexpr (width > 1 && !contiguous_in_k) {
        store_vector(&smem[Layout::at(at, along_)], value_[i]);
      } else {
#pragma unroll
        for (int q = 0; q < width; ++q)
          smem[contiguous_in_k ? Layout::at(along_ + q, at) : Layout::at(at, along_ + q)] = value_[i][q];
      }
    }
  }

 private:
  int along_, across_;  // the thread's place in the tile: along a line, and which line
  int inside_;          // elements of the tile's bx that are there
  std::int64_t ld_;
  T const* from_;
  T value_[loads][width];
};

/// Whether both operands can be read as vectors.
template <class T>
bool operands_are_vectors(problem const& p) {
  return consists_of_vectors<T>(p.a, p.lda, p.trans_a ? p.m : p.k) &&
         consists_of_vectors<T>(p.b, p.ldb, p.trans_b ? p.k : p.n);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
