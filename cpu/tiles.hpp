// Register tiles on operands that stay near, where they lie: no blocks, no copies. Larger products ask ahead for what
// may come from memory the first time it is read.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/panels.hpp"

namespace tandem::cpu {

/// Rows of a tile whose sums are enough to keep the arithmetic busy: more of them would only begin and end later.
template <class T>
std::int64_t enough_rows(microkernel<T> const& kernel, int width) {
  return std::min(kernel.rows[static_cast<std::size_t>(width)], kernel.enough_sums / std::max(width, 1));
}

/// Whether C's rows are one tile high although fewer would be enough: of a few more, and where vectors of B lie across
/// lines, each of which is loaded in two turns by every tile.
template <class T>
bool is_one_row_of_tiles(microkernel<T> const& kernel, std::int64_t m, int width, std::int64_t b_row) {
  constexpr std::int64_t sums = 24, line = 64 / sizeof(T);
  return m <= kernel.rows[static_cast<std::size_t>(width)] && (m * width <= sums || b_row % line != 0);
}

/// Whether rows of A for more than a few steps are so near to a multiple of a page apart that their lines meet in one
/// set of L1.
template <class T>
bool do_rows_meet(std::int64_t a_row, std::int64_t k) {
  constexpr std::int64_t size = sizeof(T), page = 4096, shift = 8, few = 2;
  return k > few && (a_row * size + shift) % page <= 2 * shift;
}

/// The rows of a tile of which a set of L1 still has all lines for the next step, and B's.
inline std::int64_t rows_of_a_set() {
  constexpr std::int64_t page = 4096, ways_of_b = 2, least = 4;
  return std::max(host_caches().l1 / page - ways_of_b, least);
}

/// The most rows of a tile of this width.
template <class T>
std::int64_t highest(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m, int width) {
  auto const most = is_one_row_of_tiles(kernel, m, width, w.b_row) ? m : enough_rows(kernel, width);
  return w.a_col == 1 && do_rows_meet<T>(w.a_row, w.k) ? std::min(most, rows_of_a_set()) : most;
}

/// Whether there is so much work (multiply-adds times bytes of an element) that asking for operands that may come from
/// memory is hardly felt where they do not, in tiles that do not end at once. Measured on a Zen 4 and an Intel server,
/// which feels it sooner.
template <class T>
bool may_ask_soon(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t few_terms = 32;
  std::int64_t const enough = is_like_zen4(host_caches()) ? 1 << 21 : 1 << 23;
  return kernel.asks_soon && k >= few_terms && m * n * k * static_cast<std::int64_t>(sizeof(T)) >= enough;
}

/// The tile of `height` rows of op(A) asks for what the next one reads: rows, or of a transposed A the ends of columns,
/// whose beginnings come with this one's.
template <class T>
void ask_for_next_a(soon_tile_work<T>& w, std::int64_t height) {
  constexpr std::int64_t size = sizeof(T), line = 64, endless = std::numeric_limits<std::int64_t>::max();
  auto const* const next = w.a + height * w.a_row;
  w.gap = 0, w.lines = endless;
  if (w.a_col != 1) {
    w.next = reinterpret_cast<char const*>(next + height - 1), w.step = w.a_col * size;
    return;
  }
  w.next = reinterpret_cast<char const*>(next), w.step = line;
  if (w.a_row != w.k) w.lines = w.k * size / line + 1, w.gap = w.a_row * size - w.lines * line;
}

/// What the tile asks for above which `above` others lie in its column. The first one asks for B where it lies; it and,
/// unless terms are few, as many of the next as C takes for a row of C at each step of k; and while A passes for the
/// first time (`is_new`) each for the next one's part of it, unless rows are so short that the hardware follows them.
template <class T>
asking ask_soon(soon_tile_work<T>& w, std::int64_t above, std::int64_t height, bool is_last, T const* first_c,
                std::int64_t m, bool is_new) {
  constexpr std::int64_t size = sizeof(T), rows_ahead = 32, many_terms = 80, short_row = 384;  // bytes
  bool const is_followed = w.a_col == 1 && w.k * size < short_row;
  bool const asks_for_a = is_new && !is_last && !is_followed;
  bool const asks_for_c = above == 0 || (w.k >= many_terms && above * w.k < m);
  if (!asks_for_a && !asks_for_c) return asking::nothing;
  w.next = reinterpret_cast<char const*>(w.a), w.step = w.gap = 0, w.lines = 1;  // which is there
  if (asks_for_a) ask_for_next_a(w, height);
  w.next_c = asks_for_c ? first_c + above * w.k * w.ldc : nullptr;
  w.last_c = first_c + (m - 1) * w.ldc;
  w.b_ahead = above == 0 ? rows_ahead * w.b_row : 0;
  return asking::soon;
}

/// The tiles of one width below each other, from w's operands on, which lie `from`; wide and low ones: what is loaded
/// of A is used for more columns. `is_new`: A passes for the first time.
template <class T, class Work>
void multiply_column_of_tiles(microkernel<T> const& kernel, source from, Work& w, std::int64_t m, bool is_new) {
  auto const* const a = w.a;
  auto* const c = w.c;
  int const width = kernel.width_of(w.cols);
  row_tiles const heights(m, highest(kernel, w, m, width));
  for (std::int64_t r = 0; r < heights.count; ++r) {
    auto const height = heights.size(r);
    auto ahead = asking::nothing;
    if constexpr (std::same_as<Work, soon_tile_work<T>>)
      ahead = ask_soon<T>(w, r, height, r + 1 == heights.count, c, m, is_new);
    kernel.tile(from, width, height, ahead)(w);
    w.a += height * w.a_row;
    w.c += height * w.ldc;
  }
  w.a = a, w.c = c;
}

/// The columns of C in tiles whose widths differ by one vector at most, but for one of half a vector at the end, beside
/// as many `rows` as keep it from waiting for its sums. A vector's lanes are a power of two, by which a shift divides.
template <class T>
struct column_tiles {
  column_tiles(microkernel<T> const& kernel, std::int64_t rows, std::int64_t columns, std::int64_t widest)
      : lanes(kernel.lanes),
        n(columns),
        in_half(rows >= many_rows && kernel.ends_in_half(n) ? n & (kernel.lanes - 1) : 0),
        widths((n - in_half + lanes - 1) >> std::countr_zero(static_cast<std::uint64_t>(lanes)), widest) {}
  std::int64_t size(std::int64_t i, std::int64_t first) const {
    return i < widths.count ? std::min(widths.size(i) * lanes, n - first) : in_half;
  }
  static constexpr std::int64_t many_rows = 6;
  std::int64_t lanes, n, in_half;
  row_tiles widths;
};

/// Vectors of the widest tiles on operands where they lie. Where registers are few, tiles of three vectors have fewer
/// rows than those of two, and a tile takes as long to begin whatever its sums: of a few rows those of which fewer
/// begin, of more the narrower ones, unless the part of B that a column of wide tiles reads stays in L1.
template <class T>
int widest_beside(microkernel<T> const& kernel, std::int64_t m, std::int64_t k) {
  constexpr int two = 2, three = 3;
  if (!kernel.has_low_tiles()) return kernel.widest;
  constexpr std::int64_t few_rows = 8;
  auto const tiles = [&](int width) { return ceil_div(m, kernel.rows[static_cast<std::size_t>(width)]); };
  bool const stays = three * kernel.lanes * k * static_cast<std::int64_t>(sizeof(T)) <= host_caches().l1 / 3 * 2;
  return (m <= few_rows || stays) && two * tiles(three) <= three * tiles(two) ? three : two;
}

/// All tiles of m x n elements, on operands whose rows lie together, from w's on.
template <class T, class Work>
void multiply_all_tiles_in_place(microkernel<T> const& kernel, Work& w, std::int64_t m, std::int64_t n) {
  column_tiles<T> const columns(kernel, m, n, widest_beside(kernel, m, w.k));
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.b += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    multiply_column_of_tiles(kernel, source::in_place, w, m, i == 0);
  }
}

/// The same; w is not kept.
template <class T>
void multiply_tiles_in_place(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  if (!may_ask_soon(kernel, m, n, w.k)) return multiply_all_tiles_in_place(kernel, w, m, n);
  soon_tile_work<T> soon{w};
  multiply_all_tiles_in_place(kernel, soon, m, n);
}

/// The width of tiles for so many columns of C: the widest that have a few of them, since they read long pieces of A's
/// columns, or, where what they read does not stay in L1 for the next ones, those that pass over A least often. Beside
/// many columns, where vectors of half the length take half the time, the highest, if sums are not so short that tiles
/// end often: one is turned soon, and the next begins meanwhile.
template <class T>
int widest_turning(microkernel<T> const& kernel, std::int64_t n, std::int64_t k) {
  constexpr int few = 4, least = 2, some_terms = 32;
  if (kernel.half_costs_half && n > 2 * kernel.most_turning[least] && k >= some_terms) return 1;
  int width = 4;
  bool const stays = width * kernel.lanes * k * static_cast<std::int64_t>(sizeof(T)) <= host_caches().l1 / 2;
  auto const most = [&](int of) { return std::int64_t{kernel.most_turning[static_cast<std::size_t>(of)]}; };
  std::int64_t const wanted = std::min(n, stays ? few : most(least));
  while (width > least && most(width) < wanted) --width;
  return width;
}

/// How many columns of C's transpose (m columns, n rows) ahead tiles of so many `cols` ask for rows of op(A), `row`
/// elements apart, which may come from memory: whole tiles, further along longer rows. The hardware follows a few rows,
/// each a stream, and short ones, all as one; an A of L1's size comes soon; and beside so few columns of C that loads
/// take the time there is none for more. Measured on a Zen 4.
template <class T>
std::int64_t columns_ahead(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t row, std::int64_t cols) {
  constexpr std::int64_t size = sizeof(T), little = 32 << 10, least_columns = 4;
  constexpr std::int64_t short_row = 768, long_row = 2048, far = 512, near = 256;  // bytes
  if (m * k * size < little || n < least_columns || row * size < short_row) return 0;
  return ceil_div((row * size >= long_row ? far : near) / size, cols) * cols;
}

/// C (m x n) beside a transposed A, in tiles along its columns that are turned in registers. Of w, a is op(B), b is A,
/// and c is C, not its transpose; w is not kept. The first of the tiles beside each other ask for A.
template <class T>
void multiply_turning_tiles(microkernel<T> const& kernel, turning_tile_work<T>& w, std::int64_t m, std::int64_t n) {
  auto const* const of_b = w.a;
  auto* c = w.c;
  column_tiles<T> const columns(kernel, n, m, widest_turning(kernel, n, w.k));
  auto const ahead = columns_ahead<T>(m, n, w.k, w.b_row, columns.size(0, 0));
  for (std::int64_t i = 0, j = 0; j < m; j += w.cols, w.b += w.cols, c += w.cols * w.ldc, ++i) {
    w.cols = columns.size(i, j);
    auto const width = static_cast<std::size_t>(kernel.width_of(w.cols));
    row_tiles const heights(n, kernel.most_turning[width]);
    w.a = of_b, w.c = c;
    w.b_ahead = j + ahead < m ? ahead : 0;
    for (std::int64_t r = 0; r < heights.count; ++r, w.b_ahead = 0) {
      auto const height = heights.size(r);
      kernel.turning_tiles[width][static_cast<std::size_t>(height - 1)](w);
      w.a += height * w.a_row, w.c += height;
    }
  }
}

}  // namespace tandem::cpu
