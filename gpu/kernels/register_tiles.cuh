// An operand's tiles on their way to shared memory through registers, for a kernel that runs through many tiles of C:
// what is contiguous in k is transposed on the way from vectors, where cp.async takes single elements. While a tile is
// multiplied the next one is fetched.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A thread's loads of an operand's tiles: the same places of each tile. The operand consists of vectors, and a tile
/// begins at one.
template <class Layout, int threads>
class register_tiles {
  using T = typename Layout::element;
  static constexpr int bx = Layout::bx, bk = Layout::bk;
  static constexpr int width = vector_width<T>;
  // Neighbouring threads read pieces of lines: of a whole one, they would meet in a bank when they store it.
  static constexpr int piece = 8, line = piece / width;             // steps of k, and loads
  static constexpr int rows = threads / line;                       // of pieces that the threads read at once,
  static constexpr int pieces_at_once = rows > bx ? rows / bx : 1;  // which are more than one of each line,
  static constexpr int in_piece = (bx + rows - 1) / rows;           // or a thread's loads of the same piece
  static constexpr int pieces = bk / piece, loads = (pieces + pieces_at_once - 1) / pieces_at_once * in_piece;
  static_assert(Layout::transposed && bk % piece == 0, "whole pieces");
  // A thread's first place in a tile: along a line, and which line.
  __device__ static int along() {
    int const thread = static_cast<int>(threadIdx.x);
    return (pieces_at_once == 1 ? 0 : thread / (line * bx) * piece) + thread % line * width;
  }
  __device__ static int across() { return static_cast<int>(threadIdx.x) / line % bx; }
  // How far a thread's i-th load lies from its first.
  __device__ static constexpr int along(int i) { return i / in_piece * pieces_at_once * piece; }
  __device__ static constexpr int across(int i) { return i % in_piece * rows; }
  // Whether the thread has an i-th load: the threads that are left over of whole pieces have none.
  __device__ static bool has(int i) {
    if (in_piece > 1) return bx % rows == 0 || across() + across(i) < bx;
    int const pieces_left = pieces - i * pieces_at_once;
    int const now = pieces_left < pieces_at_once ? pieces_left : pieces_at_once;
    return now * bx == rows || static_cast<int>(threadIdx.x) < now * line * bx;
  }

 public:
  using layout = Layout;
  static constexpr bool by_registers = true, is_single = false;
  /// All tiles are whole: a thread has loads of one line, and reads the operand's last one where its own lies outside,
  /// for elements of C that are nobody's.
  static constexpr bool fills = in_piece == 1;

  __device__ register_tiles(T const* operand, std::int64_t ld, std::int64_t extent)
      : operand_(operand), ld_(ld), extent_(extent), to_(Layout::at(along(), across())) {}

  /// The next tile is that at x0, p0.
  __device__ __forceinline__ void move_to(std::int64_t x0, std::int64_t p0) {
    inside_ = static_cast<int>(min(max(extent_ - x0, std::int64_t{0}), std::int64_t{bx}));
    from_ = operand_ + (x0 + (fills ? min(across(), inside_ - 1) : across())) * ld_ + p0 + along();
  }

  /// All bx elements of the tiles here are inside the operand, or others are read in place of what is not.
  __device__ bool whole() const { return inside_ == bx || fills; }

  /// Reads the first tile, of `steps` steps; what lies beyond them, or outside the operand, is 0.
  __device__ __forceinline__ void fetch_part(int steps) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
#pragma unroll
      for (int q = 0; q < width; ++q) value_[i][q] = T{0};
      load(i, across() + across(i) < inside_ && along() + along(i) < steps);
    }
    from_ += steps;
  }

  /// Reads the next tile, if there is one, which has all bk steps and, where it is `whole`, lies inside the operand.
  template <bool whole>
  __device__ __forceinline__ void fetch(bool is_there) {
#pragma unroll
    for (int i = 0; i < loads; ++i) load(i, is_there && (whole || across() + across(i) < inside_));
    from_ += bk;
  }

  /// Writes the tile that was read last.
  __device__ __forceinline__ void store(T* smem) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      if (!has(i)) continue;
#pragma unroll
      for (int q = 0; q < width; ++q) smem[to_ + Layout::at(along(i) + q, across(i))] = value_[i][q];
    }
  }

  /// Nothing is copied past the registers.
  __device__ __forceinline__ void copy_part(T*, int) {}
  template <bool whole>
  __device__ __forceinline__ void copy(T*) {}
  __device__ shared_address first_target(T*) const { return {}; }
  template <bool whole, int parts>
  __device__ __forceinline__ void copy_share(shared_address, int, bool) {}

 private:
  // What lies outside was 0 in the first tile, and stays so.
  __device__ __forceinline__ void load(int i, bool inside) {
    if (inside && has(i)) load_vector(value_[i], from_ + across(i) * ld_ + along(i));
  }

  T const* operand_;
  std::int64_t ld_, extent_;
  int to_;
  int inside_ = 0;
  T const* from_ = nullptr;
  T value_[loads][width];
};

}  // namespace TANDEM_KERNEL_NAMESPACE
