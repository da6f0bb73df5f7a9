// The outer-product GEMM on panels: what one thread does to its block of C.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

/// A half-open range of rows, columns or terms.
struct span_of {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
  /// A range that is counted from this one's beginning.
  span_of part(span_of const& of) const { return {first + of.first, first + of.last}; }
};

/// a / b, neither negative and b not 0. Nearly all are small, and many processors divide those several times faster.
inline std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Part `index` of `count`, cut at multiples of `step`.
inline span_of share(std::int64_t size, std::int64_t index, std::int64_t count, std::int64_t step) {
  std::int64_t const units = ceil_div(size, step);
  return {std::min(units * index / count * step, size), std::min(units * (index + 1) / count * step, size)};
}

/// The same with parts whose sizes are as count, count - 1, ..., 1: those who take parts as they come are then done at
/// nearly the same time.
inline span_of falling_share(std::int64_t size, std::int64_t index, std::int64_t count, std::int64_t step) {
  std::int64_t const units = ceil_div(size, step), all = count * (count + 1) / 2;
  auto const begin = [&](std::int64_t i) {
    std::int64_t const left = count - i;
    return std::min(units * (all - left * (left + 1) / 2) / all * step, size);
  };
  return {begin(index), begin(index + 1)};
}

/// Rows in tiles that differ by one row at most, so that no thin one is left at the end.
struct row_tiles {
  row_tiles(std::int64_t rows, std::int64_t most) {
    // A tiny product would feel the divisions.
    if (rows <= most) {
      height = rows;
      return;
    }
    if (rows <= 2 * most) {
      count = 2, height = rows >> 1, higher = rows & 1;
      return;
    }
    count = quotient(rows + most - 1, most);
    height = quotient(rows, count), higher = rows - height * count;
  }
  std::int64_t size(std::int64_t i) const { return height + (i < higher ? 1 : 0); }
  std::int64_t count = 1, height = 0, higher = 0;
};

/// How a product is cut. kc and panels_apart, and so the bits of a product, depend on the sizes, the layout and the
/// caches alone; what is packed and how C is stored also on how the operands lie to cache lines.
struct tiling {
  std::int64_t kc = 0;  ///< terms of one pass over C, a panel
  /// Of so many panels the sums are made apart, and then added to C; 1: only where threads share k.
  std::int64_t panels_apart = 1;
  std::int64_t mc = 0;      ///< rows of A that are packed at a time
  std::int64_t nc = 0;      ///< columns of B that are packed at a time
  std::int64_t rows = 0;    ///< the most rows of a register tile
  std::int64_t cols = 0;    ///< columns of a register tile
  bool pack_a = false;      ///< else A is read where it lies
  bool pack_b = false;      ///< else B is read where it lies, which it must not be if it is transposed
  bool b_stays = false;     ///< B, read where it lies, stays in L2: row of tiles by row of tiles, as if it were packed
  bool b_is_near = false;   ///< B, read where it lies, comes soon in whatever pieces of its rows
  bool in_place = false;    ///< all operands stay near: one block, nothing asked for, and of it none copied
                            ///< (cpu/tiles.hpp), or with pack_b the columns of B that a tile reads, one after the other
  bool all_rows = false;    ///< a tile has all rows of C, and some columns, or all, of a B that is read where it lies
  bool by_rows = false;     ///< one row or two of C are passed over whole, a panel at a time
  bool asks_for_c = false;  ///< tiles ask for C, which lies beyond L2
  std::int64_t c_ahead = 0;  ///< columns from a tile to the one whose C is asked for while it works
  bool streaming = false;    ///< C goes past the caches
  /// Of operands read where they lie, the elements from those that a step of k reads to those which it asks for.
  std::int64_t a_ahead = 0, b_ahead = 0;
  bool tiles_pack_b = true;      ///< B is packed by the first row of tiles, if there are such tiles, not before it
  bool asks_for_a = true;        ///< the last tile of a row of tiles asks for A's rows of the next
  bool asks_for_b = false;       ///< what the next block packs of B is asked for while this one is used
  bool asks_for_next_c = false;  ///< a tile asks for the C of the next one, not for that which is c_ahead
  bool has_streams = false;      ///< each row of a tile is in a stretch of A's rows of its own, or with by_rows each
                                 ///< row of B that passes at a time in a stretch of B's
  std::int64_t dot_cols = 0;     ///< of the last columns of C, which are dot products along A's rows
};

/// Whether C is a few rows that fit the registers whole, of more than a few terms.
template <class T>
bool are_whole_rows(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return k > kernel.most_terms && kernel.wide_tile(m, n) != nullptr;
}

/// Whether C is a few rows of which tiles take many columns at a time, with all their terms, or hundreds: B's rows pass
/// in parts, but C is passed over once. Beyond half of L3 only whole rows are streams; on Intel's processors beyond L2;
/// on a Zen 4 beyond a quarter of L3, and beside one row of C sooner. On others whole rows of B, a few terms at a time,
/// are as fast beside one row or two of C, unless B stays in L1 or C would be passed over often.
template <class T>
bool are_in_wide_tiles(cache_sizes const& caches, microkernel<T> const& kernel, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  constexpr std::int64_t size = sizeof(T), many_terms = 64, much = 256 << 10, few_rows = 2;
  if (m > kernel.wide_rows || k <= kernel.most_terms || n <= kernel.widest_of(m) * kernel.lanes) return false;
  if (kernel.widest_of(m) <= 4) return false;
  std::int64_t const bytes = n * k * size;
  if (has_large_l2(caches)) return bytes <= caches.l2;
  if (is_like_zen4(caches)) return bytes <= (m == 1 ? 2 * caches.l2 : caches.l3 / 4);
  if (m <= few_rows && bytes > caches.l1 && (k < many_terms || bytes < much)) return false;
  return bytes <= caches.l3 / 2;
}

/// Whether C is one or two rows so long that whole ones are passed over at a time, each row of B a stream.
template <class T>
bool streams_rows(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t most_rows = 2, least = 1024;  // bytes of a row
  return m <= most_rows && n * static_cast<std::int64_t>(sizeof(T)) >= least;
}
template <class T>
bool streams_rows(operands<T> const& o) {
  return streams_rows<T>(o.m, o.n);
}

/// The elements of `n` columns in panels of `cols`, the last of the narrowest width that takes it.
template <class T>
std::int64_t padded(microkernel<T> const& kernel, std::int64_t n, std::int64_t cols) {
  std::int64_t const rest = n % cols;
  return n - rest + (rest == 0 ? 0 : kernel.elements(kernel.width_of(rest)));
}

/// The columns from w's operands on, of which w.cols are wanted, in tiles of all m rows, as wide as registers allow. On
/// the way w is changed: a copy would wait for the stores that have just made it.
template <class T>
void multiply_in_wide_tiles(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m);

/// Elements of packed A and packed B that a thread needs, each a multiple of a cache line.
template <class T>
std::int64_t packed_a_size(tiling const& t);
template <class T>
std::int64_t packed_b_size(microkernel<T> const& kernel, tiling const& t);

/// The block rows x cols of C = alpha A B + o.beta C, summed over `terms`, which begin at a multiple of kc.
template <class T>
void multiply_panels(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, span_of rows, span_of cols,
                     span_of terms, T* packed_a, T* packed_b);

extern template void multiply_in_wide_tiles(microkernel<float> const&, tile_work<float>&, std::int64_t);
extern template void multiply_in_wide_tiles(microkernel<double> const&, tile_work<double>&, std::int64_t);
extern template std::int64_t packed_a_size<float>(tiling const&);
extern template std::int64_t packed_a_size<double>(tiling const&);
extern template std::int64_t packed_b_size(microkernel<float> const&, tiling const&);
extern template std::int64_t packed_b_size(microkernel<double> const&, tiling const&);
extern template void multiply_panels(microkernel<float> const&, operands<float> const&, tiling const&, span_of, span_of,
                                     span_of, float*, float*);
extern template void multiply_panels(microkernel<double> const&, operands<double> const&, tiling const&, span_of,
                                     span_of, span_of, double*, double*);

}  // namespace tandem::cpu
