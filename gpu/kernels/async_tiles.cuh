// An operand's tiles on their way to shared memory by cp.async, for a kernel that runs through many tiles of C: as they
// lie, by 16 bytes where that can be, or transposed, an element a copy, whatever their alignment.
#pragma once

#include "gpu/kernels/copy_inside.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A thread's copies of an operand's tiles: the same places of each tile. The other operand's have the same steps of k.
/// `ends_between`: no line of the operand ends within a vector.
template <class Layout, int threads, bool vectors, bool ends_between>
class async_tiles {
  using T = typename Layout::element;
  static constexpr int bx = Layout::bx, bk = Layout::bk;
  static constexpr bool contiguous_in_k = Layout::contiguous_in_k, transposed = Layout::transposed;
  static constexpr int width = vectors && !transposed ? vector_width<T> : 1;
  static constexpr int line = contiguous_in_k ? bk : bx, lines = contiguous_in_k ? bx : bk;  // as they lie in memory
  // What is transposed is copied in pieces of lines: of a whole one, neighbouring threads would meet in a bank.
  static constexpr int piece = transposed ? 8 : line / width;  // copies side by side in memory
  static constexpr int pieces = transposed ? line / piece : 1;
  // The threads stand in rows of `columns`, a line a row; those that are left over copy nothing.
  static constexpr int columns = piece < threads ? piece : threads, rows = threads / columns;
  static constexpr int in_line = piece / columns, in_piece = in_line * ((lines + rows - 1) / rows);
  static constexpr int copies = pieces * in_piece, on_line = pieces * in_line, lines_of_thread = copies / on_line;
  static_assert(piece % columns == 0, "whole rows of threads copy a line");
  // A thread's first place in a tile: along a line, and which line.
  __device__ static int along() { return static_cast<int>(threadIdx.x) % columns * width; }
  __device__ static int across() { return static_cast<int>(threadIdx.x) / columns; }
  // How far a thread's i-th copy lies from its first.
  __device__ static constexpr int along(int i) { return i / in_piece * piece + i % in_line * columns * width; }
  __device__ static constexpr int across(int i) { return i % in_piece / in_line * rows; }
  // Whether the thread has an i-th copy.
  __device__ static bool has(int i) {
    int const rows_left = lines - across(i) < rows ? lines - across(i) : rows;
    return rows_left * columns == threads || across() < rows_left;
  }
  // Where what is so far along a line, and in that line, goes to.
  __device__ static constexpr int target(int along, int across) {
    return contiguous_in_k ? Layout::at(along, across) : Layout::at(across, along);
  }

 public:
  using layout = Layout;
  static constexpr bool by_registers = false;
  static constexpr bool fills = false;           ///< all tiles are whole, whatever lies outside the operand
  static constexpr bool is_single = width == 1;  ///< elements are copied one by one

  __device__ async_tiles(T const* operand, std::int64_t ld, std::int64_t extent)
      : operand_(operand), ld_(ld), extent_(extent), to_(target(along(), across())) {}

  /// The next tile is that at x0, p0.
  __device__ __forceinline__ void move_to(std::int64_t x0, std::int64_t p0) {
    inside_ = static_cast<int>(min(max(extent_ - x0, std::int64_t{0}), std::int64_t{bx}));
    if constexpr (contiguous_in_k)
      from_ = operand_ + (x0 + across()) * ld_ + p0 + along();
    else
      from_ = operand_ + (p0 + across()) * ld_ + x0 + (has_others() ? instead(x0) : along());
    if (has_others()) inside_ = bx;
  }

  /// All bx elements of the tiles here are inside the operand, or others are copied in place of what is not.
  __device__ bool whole() const { return inside_ == bx; }

  /// Starts to copy a tile that has all bk steps and, where it is `whole`, lies inside the operand; 0 outside it, where
  /// nothing is read.
  template <bool whole>
  __device__ __forceinline__ void copy(T* smem) {
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      if (!has(i)) continue;
      T* const to_i = smem + to(i);
      T const* const from_i = from_ + from(i);
      if constexpr (whole)
        copy_async<width * sizeof(T)>(to_i, from_i);
      else if constexpr (contiguous_in_k)
        copy_async_or_zero<width * sizeof(T)>(to_i, from_i, inside_ - across() - across(i) > 0);
      else if constexpr (ends_between)
        copy_async_or_zero<width * sizeof(T)>(to_i, from_i, inside_ - along() - along(i) > 0);
      else
        copy_inside<width>(to_i, from_i, inside_ - along() - along(i));
    }
    advance(bk);
  }

  /// Where the thread's first element of a tile goes.
  __device__ shared_address first_target(T* smem) const {
    auto first = address_in_shared(smem + to_);
    keep(first);
    return first;
  }

  /// As copy(), but only the `part`-th of `parts` shares of the thread's copies, which come in turn, line by line, and
  /// nothing unless the tile is `there`. A line's address is made of that of the line before: all of them at once would
  /// take registers.
  template <bool whole, int parts>
  __device__ __forceinline__ void copy_share(shared_address first, int part, bool there) {
    static_assert(Layout::period == 1, "the same distances in all threads");
#pragma unroll
    for (int turn = 0; turn < copies; ++turn) {
      if (turn * parts / copies != part) continue;
      int const of_line = turn / on_line, at = turn % on_line;
      int const i = at / in_line * in_piece + of_line * in_line + at % in_line;
      if (there && has(i)) {
        auto const to_i = first + target(along(i), across(i)) * static_cast<int>(sizeof(T));
        if constexpr (whole)
          copy_async<width * sizeof(T)>(to_i, from_ + along(i));
        else if constexpr (contiguous_in_k)
          copy_async_or_zero<width * sizeof(T)>(to_i, from_ + along(i), inside_ - across() - across(i) > 0);
        else
          copy_inside<width>(to_i, from_ + along(i), inside_ - along() - along(i));
      }
      if (at < on_line - 1) continue;
      constexpr int past = (lines_of_thread - 1) * rows;  // from the first line to the last one
      if (of_line < lines_of_thread - 1)
        from_ += rows * ld_;
      else
        from_ += contiguous_in_k ? bk - past * ld_ : (bk - past) * ld_;
      keep(from_);
    }
  }

  /// As copy(), a tile of `steps` steps, with 0 for the others.
  __device__ __forceinline__ void copy_part(T* smem, int steps) {
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      if (!has(i)) continue;
      int const line_left = (contiguous_in_k ? steps : inside_) - along() - along(i);
      int const lines_left = (contiguous_in_k ? inside_ : steps) - across() - across(i);
      copy_inside<width>(smem + to(i), from_ + from(i), lines_left > 0 ? line_left : 0);
    }
    advance(steps);
  }

  /// Nothing goes through registers.
  __device__ __forceinline__ void fetch_part(int) {}
  template <bool whole>
  __device__ __forceinline__ void fetch(bool) {}
  __device__ __forceinline__ void store(T*) const {}

 private:
  /// Whether threads whose copies lie outside copy others in their place: the elements of C that these make are
  /// nobody's, and no copy asks what is inside. (Where single elements are copied, leaving some out saves more.)
  __device__ bool has_others() const {
    return width > 1 && !contiguous_in_k && !ends_between && in_line == 1 && extent_ % width == 0;
  }
  /// Where along a line the thread copies from, besides x0: of the tile before, or again of the only one.
  __device__ int instead(std::int64_t x0) const {
    return along() < inside_ ? along() : x0 >= bx ? along() - bx : along() % inside_;
  }

  /// Where the thread's i-th copy goes. The places of lines that are a multiple of `period` apart differ by the same in
  /// all threads.
  __device__ __forceinline__ int to(int i) const {
    int const over = across(i) % Layout::period;
    return (over == 0 ? to_ : target(along(), across() + over)) + target(along(i), across(i) - over);
  }
  __device__ __forceinline__ std::int64_t from(int i) const { return across(i) * ld_ + along(i); }

  __device__ __forceinline__ void advance(int steps) { from_ += contiguous_in_k ? std::int64_t{steps} : steps * ld_; }

  T const* operand_;
  std::int64_t ld_, extent_;
  int to_;
  int inside_ = 0;
  T const* from_ = nullptr;
};

}  // namespace TANDEM_KERNEL_NAMESPACE
