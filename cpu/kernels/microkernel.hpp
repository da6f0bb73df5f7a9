// What an instruction set offers the GEMM driver: register tiles, and the routines that pack for them.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace tandem::cpu {

/// One register tile's work: C (rows x cols) = alpha A B + beta C. Each element is fma(alpha, sum, beta * c), or
/// alpha * sum if beta = 0, which does not read C; sum runs through k in order.
template <class T>
struct tile_work {
  std::int64_t k = 0;
  T const* a = nullptr;  ///< element (i, p) is a[i * a_row + p * a_col]
  std::int64_t a_row = 0, a_col = 0;
  T const* b = nullptr;  ///< element (p, j) is b[p * b_row + j]
  std::int64_t b_row = 0;
  bool streaming = false;  ///< C's lines are whole, aligned, and not wanted in the caches
  T alpha = 1, beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t cols = 0;
};

/// The same for a tile that asks for what is far from the processor. A tiny product would feel it if all tiles' work
/// had these members, each of which is a store.
template <class T>
struct far_tile_work : tile_work<T> {
  bool asks_for_c = false;  ///< for as many rows of C, c_ahead elements from the tile's
  std::int64_t c_ahead = 0;
  /// Of operands read where they lie, the elements from those that a step of k reads to those which it asks for.
  std::int64_t a_ahead = 0, b_ahead = 0;
  /// Beside a packed B, what is read later, of A or of B: rows of `next_length` elements, `next_row` apart, or one row
  /// of elements `next_step` apart, one for each step of k, if that is not 0.
  T const* next = nullptr;
  std::int64_t next_rows = 0, next_row = 0, next_length = 0, next_step = 0;
};

/// The same for a tile that packs B, which it reads where it lies, for the tiles below it.
template <class T>
struct packing_tile_work : far_tile_work<T> {
  T* panel = nullptr;
};

/// The same for a tile on operands that stay near once they are there, but may come from memory: what the next ones
/// read, for L2.
template <class T>
struct soon_tile_work : tile_work<T> {
  /// Lines of A, one at each step of k, `step` bytes apart, and `gap` bytes more behind each `lines` of them.
  char const* next = nullptr;
  std::int64_t step = 0, gap = 0, lines = 1;
  /// A row of C at each step, `cols` elements of it, up to the last one, and rows of B that are `b_ahead` elements from
  /// those that are read; null: neither.
  T const* next_c = nullptr;
  T const* last_c = nullptr;
  std::int64_t b_ahead = 0;
};

/// The same for a tile that is turned, which asks for as many elements of rows of B, if that is not 0, so far behind
/// those that it reads.
template <class T>
struct turning_tile_work : tile_work<T> {
  std::int64_t b_ahead = 0;
};

/// C (rows x cols) = alpha A B + beta C as dot products: A's rows and B's columns are contiguous.
template <class T>
struct dot_work {
  std::int64_t k = 0;
  T const* a = nullptr;  ///< element (i, p) is a[i * a_row + p]
  std::int64_t a_row = 0;
  std::int64_t a_ahead = 0;  ///< of an A in memory, elements from those that are read to those which are asked for
  bool stays = false;        ///< A is still in L2, or nearly, as the call before left it
  T const* b = nullptr;      ///< element (p, j) is b[j * b_col + p]
  std::int64_t b_col = 0;
  T alpha = 1, beta = 0;
  T* c = nullptr;  ///< element (i, j) is c[i * c_row + j * c_col]
  std::int64_t c_row = 0, c_col = 0;
};

/// Where a tile reads B: from a packed panel, or where it lies.
enum class source { packed, in_place };

/// What a tile asks for ahead: nothing, or what far_tile_work or soon_tile_work, which it is given, says.
enum class asking { nothing, far, soon };

template <class T>
using tile_function = void (*)(tile_work<T> const&);

/// `asks`: w is far_tile_work, for what that says.
template <class T>
using update_function = void (*)(tile_work<T> const& w, std::int64_t rows, bool asks);

/// Copies a width x depth slice into panels of W elements a step of depth: out[panel][d][w], zeros behind the last of
/// the width. Element (w, d) is src[w * stride_w + d * stride_d]; one of the strides is 1.
template <class T>
using pack_function = void (*)(T const* src, std::int64_t stride_w, std::int64_t stride_d, std::int64_t width,
                               std::int64_t depth, T* out);

/// The same for a slice whose width lies together and is a multiple of W.
template <class T>
using pack_contiguous_function = void (*)(T const* src, std::int64_t stride_d, std::int64_t width, std::int64_t depth,
                                          T* out);

/// The rows of a tile of dot products of so many columns: `rows`, or as many as make so many sums, if that is not 0. Of
/// one column more rows load no less for what they multiply.
constexpr std::int64_t rows_of_dot_tile(std::int64_t rows, std::int64_t sums, std::int64_t cols) {
  constexpr std::int64_t of_one_column = 4;
  return sums == 0 ? rows : cols == 1 ? of_one_column : sums / cols;
}

/// One element type's microkernels: a tile for every number of rows up to mr, or up to most_rows of one vector, and of
/// vectors up to four, as far as they fit the registers. Width 0 is half a vector, for a few columns that are left
/// over.
template <class T>
struct microkernel {
  static constexpr int most_rows = 16, widths = 5;
  std::int64_t mr = 0, nr = 0;        ///< the tile that computes the most for each element of B it loads
  int lanes = 0;                      ///< of a vector
  int widest = 0;                     ///< vectors of the widest tile with sums enough to keep the arithmetic busy
  std::array<int, widths> rows = {};  ///< the most rows of a tile, by its width; 0: there is none
  bool half_costs_half = false;       ///< half a vector takes half the time of one
  int enough_sums = 20;               ///< vectors of sums of a tile of a small product: more would only end later
  bool asks_soon = false;             ///< has tiles that are given soon_tile_work
  using by_asking = std::array<tile_function<T>, 3>;
  std::array<std::array<std::array<by_asking, most_rows>, widths>, 2> tiles = {};  // (source, width, rows - 1)
  /// By width and rows - 1: tiles on B where it lies, of `most_deep` rows times vectors and fewer, which would wait for
  /// their own sums. In whatever tile, the terms of a sum are added in the same order.
  std::array<std::array<tile_function<T>, 4>, widths> deep_tiles = {};
  int most_deep = 0;
  /// By rows - 1 and halves of vectors - 1: the same of half vectors, of which fewer lie across lines; null: there is
  /// none.
  static constexpr int most_halves = 7;
  std::array<std::array<tile_function<T>, most_halves>, 2> deep_tiles_of_halves = {};
  /// By width and rows - 1: tiles that are given packing_tile_work; null: there is none.
  std::array<std::array<tile_function<T>, most_rows>, widths> packing_tiles = {};
  /// By rows - 1 and vectors - 5: tiles of a few rows, wider than the others, that take whole rows of a B that lies
  /// where it is, which then passes as one stream; null: there is none.
  static constexpr int most_wide = 24, wide_rows = 4;
  int wide_sums = 0;  ///< rows times vectors of the largest
  std::array<std::array<tile_function<T>, most_wide - 4>, wide_rows> wide_tiles = {};
  /// The tile of at most turned_edge columns and terms, where B's columns lie together: element (p, j) is
  /// b[j * b_row + p].
  int turned_edge = 0;
  void (*turned_tile)(tile_work<T> const& w, std::int64_t rows) = nullptr;
  /// By width and C's columns - 1: tiles of C's transpose, which are turned in registers and given turning_tile_work.
  /// Of it a is B, b is A, and cols are C's rows.
  std::array<std::array<tile_function<T>, most_rows>, widths> turning_tiles = {};
  std::array<int, widths> most_turning = {};                       ///< columns, by width; 0: there is none
  std::array<pack_contiguous_function<T>, most_rows> pack_a = {};  ///< by rows - 1
  std::array<pack_function<T>, widths> pack_b = {};
  /// c[i] = fma(alpha, sums[i], beta * c[i]), as a tile would have written it.
  void (*combine)(std::int64_t n, T alpha, T const* sums, T beta, T* c) = nullptr;
  /// C (rows x cols) = alpha A B + beta C of a few terms, by their number - 1: along whole rows of C, or down its rows
  /// of at most vectors_down vectors. w.k is not read.
  static constexpr int most_terms = 8;
  std::array<int, most_terms> vectors_down = {};
  std::array<update_function<T>, most_terms> update_along = {}, update_down = {};
  /// The same of as many terms as registers hold beside a row of C or two, which are then passed over less often.
  int terms_of_few_rows = 0;
  update_function<T> update_few_rows = nullptr;
  /// C (rows x cols) = alpha S^T + beta C, S (cols x rows) with `apart` elements from row to row, a multiple of a
  /// vector's, which may all be read.
  void (*write_turned)(std::int64_t rows, std::int64_t cols, T alpha, T const* sums, std::int64_t apart, T beta, T* c,
                       std::int64_t ldc) = nullptr;
  int dot_rows = 0, dot_cols = 0;  ///< of the tile that `dots` keeps in registers
  int dot_sums = 0;                ///< of a tile of fewer columns, but one, which has more rows; 0: it has not
  static constexpr int dot_rows_of_column = 8;  ///< of one column, if A's rows are long or asked for
  /// Lays an operand along k for them, or rows of a transposed B together for few terms: out[c * apart + r] = src[r *
  /// stride + c], `apart` a multiple of a vector's elements and no less than `rows`.
  void (*turn)(T const* src, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* out,
               std::int64_t apart) = nullptr;
  void (*dots)(dot_work<T> const& w, std::int64_t rows, std::int64_t cols) = nullptr;
  /// By rows - 1 and columns - 1: the same for so few that a sum would wait for itself; null: there is none. w.a_ahead
  /// is not read.
  std::array<std::array<void (*)(dot_work<T> const& w), 4>, 4> few_dots = {};

  /// The width of the narrowest tile that takes this many columns, and its elements.
  int width_of(std::int64_t cols) const {
    if (rows[0] > 0 && 2 * cols <= lanes) return 0;
    return cols <= lanes ? 1 : cols <= 2 * lanes ? 2 : cols <= 3 * lanes ? 3 : 4;
  }
  /// Whether the last vector of so many columns is half empty, and this processor gains by that.
  bool ends_in_half(std::int64_t cols) const {
    std::int64_t const rest = cols & (lanes - 1);  // lanes are a power of two
    return half_costs_half && cols > lanes && rest > 0 && 2 * rest <= lanes;
  }
  /// Null: there is none.
  tile_function<T> deep_tile(std::int64_t tile_rows, std::int64_t cols) const {
    if (tile_rows > most_deep || cols > 4 * lanes) return nullptr;
    return deep_tiles[static_cast<std::size_t>(width_of(cols))][static_cast<std::size_t>(tile_rows - 1)];
  }
  /// Whether sixteen registers, not 32, make tiles low.
  bool has_low_tiles() const { return widest == 3; }
  /// The rows of a tile of so many columns that `dots` keeps in registers.
  std::int64_t dot_rows_beside(std::int64_t cols) const { return rows_of_dot_tile(dot_rows, dot_sums, cols); }
  /// Null: there is none, or this processor gains nothing by it.
  tile_function<T> deep_tile_of_halves(std::int64_t tile_rows, std::int64_t cols) const {
    std::int64_t const halves = (2 * cols + lanes - 1) / lanes;
    if (!half_costs_half || tile_rows * halves > most_halves || tile_rows > std::ssize(deep_tiles_of_halves))
      return nullptr;
    return deep_tiles_of_halves[static_cast<std::size_t>(tile_rows - 1)][static_cast<std::size_t>(halves - 1)];
  }
  /// Null: there is none.
  tile_function<T> wide_tile(std::int64_t tile_rows, std::int64_t cols) const {
    std::int64_t const vectors = (cols + lanes - 1) / lanes;
    if (tile_rows > wide_rows || vectors <= 4 || vectors > most_wide) return nullptr;
    return wide_tiles[static_cast<std::size_t>(tile_rows - 1)][static_cast<std::size_t>(vectors - 5)];
  }
  /// The most vectors of such a tile.
  std::int64_t widest_of(std::int64_t tile_rows) const { return wide_sums / tile_rows; }
  /// Null: there is none.
  tile_function<T> packing_tile(int width, std::int64_t tile_rows) const {
    return packing_tiles[static_cast<std::size_t>(width)][static_cast<std::size_t>(tile_rows - 1)];
  }
  std::int64_t elements(int width) const { return width == 0 ? lanes / 2 : width * lanes; }
  tile_function<T> tile(source b, int width, std::int64_t tile_rows, asking ahead = asking::nothing) const {
    auto const& of_width = tiles[static_cast<std::size_t>(b)][static_cast<std::size_t>(width)];
    return of_width[static_cast<std::size_t>(tile_rows - 1)][static_cast<std::size_t>(ahead)];
  }
};

/// y[i * stride_y] = fma(alpha, x[i * stride_x], y[i * stride_y]) for 0 <= i < n.
template <class T>
using axpy_function = void (*)(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y);

/// One instruction set: a row of the table for each element type.
struct instruction_set {
  std::string_view technique;     ///< the second part of its rows' names
  int vector_bytes = 0;           ///< the width of its registers; wider is preferred
  bool (*supported)() = nullptr;  ///< by this processor and operating system
  std::string_view missing;       ///< the reason where it is not
  microkernel<float> f32;
  microkernel<double> f64;
  axpy_function<float> axpy_f32 = nullptr;  ///< null where there is no fused multiply-add
  axpy_function<double> axpy_f64 = nullptr;
};

/// This architecture's instruction sets, best first.
std::span<instruction_set const* const> instruction_sets();

}  // namespace tandem::cpu
