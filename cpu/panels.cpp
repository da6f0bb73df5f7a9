// Loops around the microkernel, after Goto and van de Geijn (2008), whose other variant this is: a narrow block of B
// stays in half of L2, and a row of register tiles goes along it for each few rows of A. A is long and comes back from
// L3 for each block of B; where its rows lie together it is read as it lies, or is copied row by row if a tile's rows
// would meet in one set of L1. Long sums pass over C seldom.
//
// Threads share nothing that they write and wait for nobody: each packs what it needs.
//
// k is cut into panels of kc. The first panel computes fma(alpha, sum, beta C), every later one fma(alpha, sum, C). A
// product of the first panel is rounded once in each of its kc sums and once by each panel; without a fused operation
// once more, for alpha * sum: at most k + 2 roundings, as the bound gamma(k + 2) demands.
#include "cpu/panels.hpp"

#include <algorithm>

#include "hwy/cache_control.h"

#include "cpu/tiles.hpp"

namespace tandem::cpu {
namespace {

/// Terms before the end of which C is there, if it is asked for from L2.
constexpr std::int64_t long_sum = 128;

template <class T>
std::int64_t whole_lines(std::int64_t elements) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return ceil_div(elements, line) * line;
}

/// Elements from one copied row of A to the next: an odd number of lines, so that a tile's rows lie in different sets.
template <class T>
std::int64_t rows_apart(std::int64_t terms) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return (ceil_div(terms, line) | 1) * line;
}

/// Of a block's columns of B, those that have a place in panels at a time.
template <class T>
std::int64_t packed_at_a_time(microkernel<T> const& kernel, tiling const& t, std::int64_t cols) {
  if (!t.pack_b) return 0;
  return t.in_place ? t.cols : padded(kernel, cols, t.cols);
}

/// What is read some time later: `rows` of `length` elements, `apart` from each other.
template <class T>
struct rows_later {
  T const* at = nullptr;
  std::int64_t rows = 0, length = 0, apart = 0;
};

/// The work of a block's tiles, who share out the rows of the next block of B to ask for.
template <class T>
struct work_of_block : packing_tile_work<T> {
  std::int64_t askers = 0;             ///< tiles of a row of tiles that ask for B
  std::int64_t share = 0, before = 0;  ///< rows of tiles, times askers, that do, and those before them
};

/// One block: mb rows of A from i0 on, nb columns of B from j0 on, kb terms from p0 on.
template <class T>
struct block {
  microkernel<T> const& kernel;
  operands<T> const& o;
  tiling const& t;
  std::int64_t i0, mb, j0, nb, p0, kb;
  T beta;
  T* packed_a;
  T* packed_b;
  bool packs_b;           ///< B's panels are not there yet
  rows_later<T> later_b;  ///< what the next block packs of B

  // Rows that lie together stay rows, but so far apart that they leave each other alone in L1. Columns become tiles.
  void pack_a() const {
    T const* const src = o.a + i0 * o.a_row + p0 * o.a_col;
    if (o.a_col == 1) {
      for (std::int64_t i = 0; i < mb; ++i) std::copy_n(src + i * o.a_row, kb, packed_a + i * rows_apart<T>(kb));
      return;
    }
    row_tiles const tiles(mb, t.rows);
    // Tiles of one height lie side by side in the source, and go in one call.
    auto const pack = [&](std::int64_t done, std::int64_t count, std::int64_t height) {
      if (count > 0)
        kernel.pack_a[static_cast<std::size_t>(height - 1)](src + done, o.a_col, count * height, kb,
                                                            packed_a + done * kb);
    };
    pack(0, tiles.higher, tiles.height + 1);
    pack(tiles.higher * (tiles.height + 1), tiles.count - tiles.higher, tiles.height);
  }

  T const* place_of_b(std::int64_t j) const { return o.b + p0 * o.b_row + (j0 + j) * o.b_col; }
  T* panel_of_b(std::int64_t j) const { return packed_b + j * kb; }

  // The tile of whole vectors that packs B's rows on its way; null: there is none.
  tile_function<T> packing_tile(std::int64_t height) const {
    return packs_b && t.tiles_pack_b && o.b_col == 1 ? kernel.packing_tile(kernel.width_of(t.cols), height) : nullptr;
  }
  tile_function<T> packing_tile_of(std::int64_t i, std::int64_t height) const {
    return i == 0 ? packing_tile(height) : nullptr;
  }

  // What the first row of tiles does not.
  void pack_b(std::int64_t first_height) const {
    auto const pack = [&](std::int64_t first, std::int64_t count, int width) {
      if (count > 0)
        kernel.pack_b[static_cast<std::size_t>(width)](place_of_b(first), o.b_col, o.b_row, count, kb,
                                                       panel_of_b(first));
    };
    std::int64_t const rest = tiled_cols() % t.cols, whole = tiled_cols() - rest;
    if (packing_tile(first_height) == nullptr) pack(0, whole, kernel.width_of(t.cols));
    pack(whole, rest, kernel.width_of(rest));
  }

  std::int64_t tiled_cols() const { return j0 + nb == o.n ? nb - t.dot_cols : nb; }

  // The last columns of B, each along k.
  T* columns_along_k() const { return packed_b + kb * packed_at_a_time(kernel, t, tiled_cols()); }
  void lay_columns() const {
    T* const to = columns_along_k();
    T const* const src = o.b + p0 * o.b_row + (o.n - t.dot_cols) * o.b_col;
    for (std::int64_t p = 0; p < kb; ++p)
      for (std::int64_t j = 0; j < t.dot_cols; ++j) to[j * kb + p] = src[p * o.b_row + j * o.b_col];
  }

  void multiply_columns(std::int64_t i, std::int64_t height) const {
    tile_work<T> rows;
    locate_a(rows, i, height);
    dot_work<T> w;
    w.k = kb;
    w.a = rows.a, w.a_row = rows.a_row;
    w.b = columns_along_k(), w.b_col = kb;
    w.alpha = o.alpha, w.beta = beta;
    w.c = o.c + (i0 + i) * o.ldc + o.n - t.dot_cols, w.c_row = o.ldc, w.c_col = 1;
    kernel.dots(w, height, t.dot_cols);
  }

  void locate_a(tile_work<T>& w, std::int64_t i, std::int64_t height) const {
    if (!t.pack_a)
      w.a = o.a + (i0 + i) * o.a_row + p0 * o.a_col, w.a_row = o.a_row, w.a_col = o.a_col;
    else if (o.a_col == 1)
      w.a = packed_a + i * rows_apart<T>(kb), w.a_row = rows_apart<T>(kb), w.a_col = 1;
    else
      w.a = packed_a + i * kb, w.a_row = 1, w.a_col = height;
  }

  // What the block's tiles have in common.
  work_of_block<T> work_of_tiles() const {
    work_of_block<T> w;
    w.k = kb;
    w.b_row = o.b_row;
    w.a_ahead = t.a_ahead;
    w.alpha = o.alpha, w.beta = beta;
    if (later_b.rows > 0) share_out_b(w);
    return w;
  }

  // What those of `height` rows from row i of the block on have in common besides.
  void turn_to_rows(work_of_block<T>& w, std::int64_t i, std::int64_t height) const {
    locate_a(w, i, height);
    w.ldc = o.ldc;
    w.b_ahead = i == 0 || t.b_stays ? t.b_ahead : 0;
  }

  // Sets out the work of the tile of these rows and of the columns from j on; returns the tile.
  tile_function<T> prepare(work_of_block<T>& w, std::int64_t i, std::int64_t height, std::int64_t j) const {
    w.b = t.pack_b ? panel_of_b(j) : place_of_b(j);
    w.c = o.c + (i0 + i) * o.ldc + j0 + j;
    w.cols = std::min(t.cols, tiled_cols() - j);
    int const width = kernel.width_of(w.cols);
    w.streaming = t.streaming && w.cols == kernel.elements(width);
    w.asks_for_c = !w.streaming && (t.asks_for_c || (t.pack_b && kb > long_sum));
    w.c_ahead = t.asks_for_next_c ? next_c(i, height, j) : t.c_ahead;
    w.next_rows = 0, w.next_step = 0;
    if (t.pack_b) ask_ahead(w, i, height, j);
    if (auto const packing = w.cols == t.cols ? packing_tile_of(i, height) : nullptr) {
      constexpr std::int64_t rows_ahead = 32;
      w.b = place_of_b(j), w.b_ahead = rows_ahead * o.b_row, w.panel = panel_of_b(j);
      return packing;
    }
    bool const asks = w.asks_for_c || w.a_ahead != 0 || w.b_ahead != 0 || w.next_rows > 0;
    return kernel.tile(t.pack_b ? source::packed : source::in_place, width, height,
                       asks ? asking::far : asking::nothing);
  }

  void multiply(work_of_block<T>& w, std::int64_t i, std::int64_t height, std::int64_t j) const {
    prepare(w, i, height, j)(w);
  }

  // A row of tiles. All but the last mostly differ in their place alone: what is the same is set out once.
  void multiply_row(work_of_block<T>& w, std::int64_t i, std::int64_t height) const {
    std::int64_t const cols = tiled_cols(), of_b = t.cols * (t.pack_b ? kb : o.b_col);
    std::int64_t j = 0;
    if (later_b.rows == 0 && packing_tile_of(i, height) == nullptr && cols > t.cols) {
      auto const tile = prepare(w, i, height, 0);
      for (; j + t.cols < cols; j += t.cols, w.b += of_b, w.c += t.cols) tile(w);
    }
    for (; j < cols; j += t.cols) multiply(w, i, height, j);
  }

  // Whether what tiles ask for does not depend on their row.
  bool are_rows_alike() const {
    return tiled_cols() == nb && later_b.rows == 0 && !t.asks_for_next_c && !(t.pack_b && asks_last_for_a());
  }

  // Rows of tiles of one height, below each other, that are; or each with the next rows of as many stretches.
  void multiply_like_rows(work_of_block<T>& w, std::int64_t i, std::int64_t height, std::int64_t count) const {
    std::int64_t const apart = t.has_streams ? count : 1, next = t.has_streams ? 1 : height;
    std::int64_t const of_b = t.cols * (t.pack_b ? kb : o.b_col), of_c = next * o.ldc;
    std::int64_t const of_a = t.pack_a && o.a_col != 1 ? height * kb : next * w.a_row;
    w.a_row *= apart, w.ldc *= apart;
    std::int64_t const last = (nb - 1) / t.cols * t.cols;
    auto of_last = w;
    auto const tile = prepare(w, i, height, 0), last_tile = prepare(of_last, i, height, last);
    auto const* const b = w.b;
    for (; count > 0; --count, of_last.a += of_a, of_last.c += of_c) {
      if (last > 0) w.a = of_last.a, w.b = b, w.c = of_last.c - last;
      for (std::int64_t j = 0; j < last; j += t.cols, w.b += of_b, w.c += t.cols) tile(w);
      last_tile(of_last);
    }
  }

  // Elements from a tile's C to the next one's, in a row of tiles or below it.
  std::int64_t next_c(std::int64_t i, std::int64_t height, std::int64_t j) const {
    if (j + t.cols < tiled_cols()) return t.cols;
    return i + height < mb ? height * o.ldc - j : 0;
  }

  // Whether the last tile of a row of tiles asks for what the first of the next row reads of A. A single one does where
  // A's rows are not over at once, and too short for the hardware to look ahead along them, or A is transposed.
  bool asks_last_for_a() const {
    constexpr std::int64_t size = sizeof(T), least = 128, most = 1024;  // bytes of a row
    bool const is_not_followed = o.a_col != 1 || kb * size <= most;
    return t.asks_for_a && (tiled_cols() > t.cols || (kb * size >= least && is_not_followed));
  }

  // The others ask for what the next block packs of B.
  void ask_ahead(work_of_block<T>& w, std::int64_t i, std::int64_t height, std::int64_t j) const {
    if (j + t.cols >= tiled_cols() && asks_last_for_a()) return ask_for_a(w, i, height);
    if (later_b.rows > 0) ask_for_b(w, height, i * w.askers + height * quotient(j, t.cols));
  }

  void ask_for_a(far_tile_work<T>& w, std::int64_t i, std::int64_t height) const {
    w.next = w.a + height * w.a_row;
    if (w.a_col == 1)
      w.next_row = w.a_row, w.next_length = kb, w.next_rows = std::min(height, mb - i - height);
    else if (!t.pack_a && i + height < mb)  // the ends of columns, whose beginnings come with this tile's
      w.next += height - 1, w.next_rows = w.next_row = w.next_length = 1, w.next_step = w.a_col;
  }

  // The tiles share out B's rows from the last tile backwards: what is asked for long before would leave L2.
  void share_out_b(work_of_block<T>& w) const {
    constexpr std::int64_t size = sizeof(T), line = 64;
    w.askers = quotient(tiled_cols() + t.cols - 1, t.cols) - (asks_last_for_a() ? 1 : 0);
    std::int64_t const all = mb * w.askers;
    std::int64_t const rows_of_tile = quotient(kb, quotient(later_b.length * size, line) + 1) + 1;
    w.share = std::min(all, (quotient(later_b.rows, rows_of_tile) + 1) * t.rows);
    w.before = all - w.share;
  }

  // A tile of `height` rows, before which tiles of `done` rows have passed that ask for B.
  void ask_for_b(work_of_block<T>& w, std::int64_t height, std::int64_t done) const {
    std::int64_t const begun = done - w.before;
    if (begun < 0) return;
    std::int64_t const first = quotient(later_b.rows * begun, w.share);
    w.next = later_b.at + first * later_b.apart;
    w.next_row = later_b.apart, w.next_length = later_b.length;
    w.next_rows = quotient(later_b.rows * (begun + height), w.share) - first;
  }

  // Of B, the columns of one row of tiles after the other, each in the same place, which stays in L1.
  void multiply_strips(tile_work<T>& w) const {
    std::int64_t const cols = tiled_cols();
    w.b = packed_b;
    for (std::int64_t j = 0; j < cols; j += t.cols, w.c += t.cols) {
      w.cols = std::min(t.cols, cols - j);
      kernel.pack_b[static_cast<std::size_t>(kernel.width_of(w.cols))](place_of_b(j), o.b_col, o.b_row, w.cols, kb,
                                                                       packed_b);
      multiply_column_of_tiles(kernel, source::packed, w, mb, false);
    }
  }

  void multiply_in_place() const {
    tile_work<T> w;
    w.k = kb;
    locate_a(w, 0, mb);
    w.b = place_of_b(0), w.b_row = o.b_row;
    w.alpha = o.alpha, w.beta = beta;
    w.c = o.c + i0 * o.ldc + j0, w.ldc = o.ldc;
    if (t.pack_b)
      multiply_strips(w);
    else
      multiply_tiles_in_place(kernel, w, mb, tiled_cols());
    if (tiled_cols() < nb) lay_columns(), multiply_columns(0, mb);
  }

  void multiply() const {
    if (t.in_place) return multiply_in_place();
    row_tiles const tiles(mb, t.rows);
    std::int64_t const cols = tiled_cols();
    bool const has_columns = cols < nb;
    if (packs_b) pack_b(tiles.size(0));
    if (has_columns) lay_columns();
    auto w = work_of_tiles();
    if (t.pack_b || t.b_stays) {  // a tile's rows of A lie in L1
      bool const alike = are_rows_alike();
      for (std::int64_t i = 0, done = 0, count = 1; i < tiles.count; i += count) {
        auto const height = tiles.size(i);
        turn_to_rows(w, done, height);
        count = alike && i > 0 ? (i < tiles.higher ? tiles.higher : tiles.count) - i : 1;
        if (count > 1)
          multiply_like_rows(w, done, height, count);
        else
          multiply_row(w, done, height);
        if (has_columns) multiply_columns(done, height);
        done += count * height;
      }
      return;
    }
    // A panel of B that was just read lies in L1.
    for (std::int64_t j = 0; j < cols; j += t.cols)
      for (std::int64_t i = 0, done = 0; i < tiles.count; done += tiles.size(i++)) {
        turn_to_rows(w, done, tiles.size(i));
        multiply(w, done, tiles.size(i), j);
      }
    if (has_columns) multiply_columns(0, mb);
  }
};

/// One or two whole rows of C, some terms at a time: those that follow each other, or each from a stretch of them,
/// whose rows of B are then one stream.
template <class T>
void multiply_rows(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, span_of rows, span_of cols,
                   span_of terms) {
  far_tile_work<T> w;
  w.a = o.a + rows.first * o.a_row + terms.first * o.a_col, w.a_row = o.a_row;
  w.b = o.b + terms.first * o.b_row + cols.first, w.b_ahead = t.b_ahead;
  w.alpha = o.alpha, w.beta = o.beta;
  w.c = o.c + rows.first * o.ldc + cols.first, w.ldc = o.ldc;
  w.cols = cols.size();
  auto const pass = [&](update_function<T> update, std::int64_t times, std::int64_t apart, std::int64_t next) {
    w.a_col = apart * o.a_col, w.b_row = apart * o.b_row;
    for (std::int64_t i = 0; i < times; ++i) {
      update(w, rows.size(), t.b_ahead != 0);
      w.a += next * o.a_col, w.b += next * o.b_row;
      w.beta = 1;
    }
  };
  constexpr std::int64_t most = microkernel<T>::most_terms;
  auto const update = t.kc > most ? kernel.update_few_rows : kernel.update_along.back();
  std::int64_t const times = terms.size() / t.kc;
  if (t.has_streams) {
    pass(update, times, times, 1);
    w.a += (t.kc - 1) * w.a_col, w.b += (t.kc - 1) * w.b_row;
  } else {
    pass(update, times, 1, t.kc);
  }
  std::int64_t left = terms.size() - times * t.kc;
  for (std::int64_t now; left > 0; left -= now) {
    now = std::min(left, most);
    pass(kernel.update_along[static_cast<std::size_t>(now - 1)], 1, 1, now);
  }
}

/// All rows of C, panel by panel.
template <class T>
void multiply_all_rows(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, span_of cols,
                       span_of terms) {
  tile_work<T> w;
  w.a = o.a + terms.first * o.a_col, w.a_row = o.a_row, w.a_col = o.a_col;
  w.b = o.b + terms.first * o.b_row + cols.first, w.b_row = o.b_row;
  w.alpha = o.alpha, w.beta = o.beta;
  w.c = o.c + cols.first, w.ldc = o.ldc;
  for (std::int64_t p = terms.first; p < terms.last; p += t.kc) {
    w.k = std::min(t.kc, terms.last - p);
    w.cols = cols.size();
    multiply_in_wide_tiles(kernel, w, o.m);
    w.a += w.k * o.a_col, w.b += w.k * o.b_row;
    w.beta = 1;
  }
}

/// What is packed of B for the block behind that at (i0, j0, p0), if this is to be asked for.
template <class T>
rows_later<T> packed_next(operands<T> const& o, tiling const& t, span_of rows, span_of cols, span_of terms,
                          std::int64_t i0, std::int64_t j0, std::int64_t p0) {
  bool const is_one_block = t.nc >= cols.size();
  j0 += t.nc;
  if (j0 >= cols.last) j0 = cols.first, i0 += t.mc;
  if (i0 >= rows.last) i0 = rows.first, p0 += t.kc;
  bool const is_packed = p0 < terms.last && (i0 == rows.first || !is_one_block);
  if (!t.pack_b || !is_packed) return {};
  std::int64_t const nb = std::min(t.nc, cols.last - j0), kb = std::min(t.kc, terms.last - p0);
  T const* const at = o.b + p0 * o.b_row + j0 * o.b_col;
  if (o.b_col == 1 && o.b_row == nb) {  // which lies together
    constexpr std::int64_t length = 1024 / sizeof(T);
    return {at, kb * nb / length, length, length};
  }
  if (!t.asks_for_b) return {};
  if (o.b_col == 1) return {at, kb, nb, o.b_row};
  return {at, nb, kb, o.b_col};
}

}  // namespace

template <class T>
void multiply_in_wide_tiles(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m) {
  auto const n = w.cols;
  auto const* const b = w.b;
  auto* const c = w.c;
  row_tiles const widths(ceil_div(n, kernel.lanes), kernel.widest_of(m));
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.b += w.cols, w.c += w.cols, ++i) {
    w.cols = std::min(widths.size(i) * kernel.lanes, n - j);
    auto const wide = kernel.wide_tile(m, w.cols);
    (wide != nullptr ? wide : kernel.tile(source::in_place, kernel.width_of(w.cols), m))(w);
  }
  w.b = b, w.c = c, w.cols = n;
}

template <class T>
std::int64_t packed_a_size(tiling const& t) {
  return t.pack_a ? t.mc * rows_apart<T>(t.kc) : 0;
}

template <class T>
std::int64_t packed_b_size(microkernel<T> const& kernel, tiling const& t) {
  return whole_lines<T>(t.kc * (packed_at_a_time(kernel, t, t.nc) + t.dot_cols));
}

template <class T>
void multiply_panels(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, span_of rows, span_of cols,
                     span_of terms, T* packed_a, T* packed_b) {
  if (t.all_rows) return multiply_all_rows(kernel, o, t, cols, terms);
  if (t.by_rows) {
    if (rows.size() > 0) multiply_rows(kernel, o, t, rows, cols, terms);
    return;
  }
  for (std::int64_t p0 = terms.first; p0 < terms.last; p0 += t.kc) {
    std::int64_t const kb = std::min(t.kc, terms.last - p0);
    T const beta = p0 == terms.first ? o.beta : T(1);
    for (std::int64_t i0 = rows.first; i0 < rows.last; i0 += t.mc) {
      std::int64_t const mb = std::min(t.mc, rows.last - i0);
      for (std::int64_t j0 = cols.first; j0 < cols.last; j0 += t.nc) {
        std::int64_t const nb = std::min(t.nc, cols.last - j0);
        auto const later = packed_next(o, t, rows, cols, terms, i0, j0, p0);
        bool const packs_b = t.pack_b && (i0 == rows.first || nb < cols.size());
        block<T> const part{kernel, o, t, i0, mb, j0, nb, p0, kb, beta, packed_a, packed_b, packs_b, later};
        if (t.pack_a && j0 == cols.first) part.pack_a();
        part.multiply();
      }
    }
  }
  // Stores past the caches are not ordered by the flag that says this part is done.
  if (t.streaming) hwy::FlushStream();
}

template void multiply_in_wide_tiles(microkernel<float> const&, tile_work<float>&, std::int64_t);
template void multiply_in_wide_tiles(microkernel<double> const&, tile_work<double>&, std::int64_t);
template std::int64_t packed_a_size<float>(tiling const&);
template std::int64_t packed_a_size<double>(tiling const&);
template std::int64_t packed_b_size(microkernel<float> const&, tiling const&);
template std::int64_t packed_b_size(microkernel<double> const&, tiling const&);
template void multiply_panels(microkernel<float> const&, operands<float> const&, tiling const&, span_of, span_of,
                              span_of, float*, float*);
template void multiply_panels(microkernel<double> const&, operands<double> const&, tiling const&, span_of, span_of,
                              span_of, double*, double*);

}  // namespace tandem::cpu
