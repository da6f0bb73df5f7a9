// Products whose operands stay near and which are over soon: a few tiles on the operands where they lie, or another way
// of one thread. Which way is asked of several estimates, that would take as long as the product; so the answer for a
// shape is kept.
#include "cpu/small.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "cpu/caches.hpp"
#include "cpu/dots.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/narrow.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"
#include "cpu/threads.hpp"
#include "cpu/tiles.hpp"

namespace tandem::cpu {
namespace {

constexpr int bits_of_edge = 16, bits_of_terms = 13;  // of a small product; see is_small and shape_of
constexpr std::int64_t most_packed_terms = 512;       // of a B that is copied on the stack
constexpr std::int64_t long_sum = 32;

/// The work, in multiply-adds times bytes of an element, that a thread more is worth: as much as takes two microseconds
/// or so, more on processors whose vectors of 64 bytes are computed at once.
template <class T>
std::int64_t worth_a_thread(microkernel<T> const& kernel) {
  bool const is_fast = kernel.lanes * sizeof(T) == 64 && !kernel.half_costs_half;
  return is_fast ? 5 << 18 : 1 << 20;
}

template <class T>
bool is_worth_threads(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n * k * static_cast<std::int64_t>(sizeof(T)) >= worth_a_thread(kernel);
}

/// Whether op(B)'s rows lie together: of a transposed B, too, if they are short or there is one. Longer columns are
/// left to dot products.
bool has_rows_of_transposed_b(std::int64_t n, std::int64_t k, std::int64_t ldb) {
  constexpr std::int64_t short_column = 24;
  return (k == 1 && ldb == 1) || (n == 1 && k < short_column);
}
bool has_rows_of_b(problem const& p) { return !p.trans_b || has_rows_of_transposed_b(p.n, p.k, p.ldb); }

/// Whether op(A)'s rows lie together.
bool has_rows_of_a(bool trans_a, std::int64_t m, std::int64_t lda) { return !trans_a || (m == 1 && lda == 1); }

/// Whether A and B, which lie along k, are few rows of the one beside the other's terms.
bool are_dots_in_place(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t least = 24, terms = 8;  // that pay for adding up a sum's lanes
  return k >= least && std::min(m, n) * terms <= k;
}

}  // namespace

// Not a few rows of long sums beside a B beyond L1, which is asked for ahead elsewhere.
template <class T>
bool is_small(microkernel<T> const& kernel, problem const& p) {
  constexpr std::int64_t most = 128 * 128 * 128, most_of_c = 256 * 256, read = 1 << 16, many_terms = 128;
  constexpr std::int64_t few_rows = 16, near = (64 << 10) / sizeof(T);
  std::int64_t const m = p.m, n = p.n, k = p.k;
  if (k >> bits_of_terms != 0 || m > most || n > most || m * n > most_of_c || (m + n) * k > read) return false;
  if (k > most_packed_terms && !has_rows_of_b(p))
    return has_rows_of_a(p.trans_a, m, p.lda) && are_dots_in_place(m, n, k) && !is_worth_threads(kernel, m, n, k);
  if (k <= many_terms) return m * n * k <= most;
  return m * n * k <= most / 2 && (m >= few_rows || n * k <= near);
}

template <class T>
bool is_deep(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t size = sizeof(T), near = 128 << 10, few_rows = 2;
  if (k < long_sum || m > kernel.most_deep) return false;
  if (n <= 4 * kernel.lanes) return (m + n) * k * size <= host_caches().l2 && kernel.deep_tile(m, n) != nullptr;
  return m <= few_rows && n * k * size <= near;
}

namespace {

/// A tile's work on the operands where they lie, from the first row and column on; how many columns it takes is open.
template <class T>
tile_work<T> tile_in_place(problem const& p) {
  tile_work<T> w;
  w.k = p.k;
  w.a = static_cast<T const*>(p.a);
  w.a_row = p.trans_a ? 1 : p.lda, w.a_col = p.trans_a ? p.lda : 1;
  w.b = static_cast<T const*>(p.b);
  w.b_row = p.trans_b ? 1 : p.ldb;
  w.alpha = static_cast<T>(p.alpha), w.beta = static_cast<T>(p.beta);
  w.c = static_cast<T*>(p.c);
  w.ldc = p.ldc;
  return w;
}

/// Of operands whose rows of B lie together.
template <class T>
[[gnu::always_inline]] inline bool is_one_tile(microkernel<T> const& kernel, std::int64_t m, std::int64_t n,
                                               std::int64_t k) {
  constexpr std::int64_t worth_two_tiles = 100;  // elements of A
  if (n > kernel.widest * kernel.lanes || m > kernel.rows[static_cast<std::size_t>(kernel.width_of(n))]) return false;
  return m * k < worth_two_tiles || !kernel.ends_in_half(n);
}

/// One or two, along A's rows or, of a transposed A, its columns.
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return k > most_packed_terms ? 0 : columns_left(kernel, m, n, k, 2);
}
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, problem const& p) {
  return columns_left(kernel, p.m, p.n, p.k);
}

/// The product of the last columns alone.
template <class T>
operands<T> last_columns(problem const& p, std::int64_t count) {
  operands<T> columns(p);
  columns.n = count, columns.b += (p.n - count) * columns.b_col, columns.c += p.n - count;
  return columns;
}

template <class T>
[[gnu::noinline]] void multiply_columns_left(microkernel<T> const& kernel, problem const& p, std::int64_t left) {
  constexpr std::int64_t most_packed = 2 * most_packed_terms;
  T packed_b[most_packed];  // (columns, k)
  auto const columns = last_columns<T>(p, left);
  if (p.trans_a) return multiply_narrow(kernel, columns, 1);
  auto const* b = columns.b;
  std::int64_t b_col = p.ldb;
  if (!p.trans_b) {
    for (std::int64_t q = 0; q < p.k; ++q)
      for (std::int64_t j = 0; j < left; ++j) packed_b[j * p.k + q] = b[q * p.ldb + j];
    b = packed_b, b_col = p.k;
  }
  dot_work<T> w;
  w.k = p.k;
  w.a = static_cast<T const*>(p.a), w.a_row = p.lda;
  w.b = b, w.b_col = b_col;
  w.alpha = static_cast<T>(p.alpha), w.beta = static_cast<T>(p.beta);
  w.c = columns.c, w.c_row = p.ldc, w.c_col = 1;
  kernel.dots(w, p.m, left);
}

/// The tiles of m x n elements beside a transposed B: w.b is its first column, and w.b_row the elements from one to the
/// next.
template <class T>
void multiply_tiles_packed(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t most_packed = (64 / sizeof(T)) * most_packed_terms;  // one vector
  alignas(64) T packed_b[most_packed];                                        // (k, columns of a tile)
  std::int64_t const fits = quotient(most_packed, w.k * kernel.lanes);
  column_tiles<T> const columns(kernel, n, std::min(fits, kernel.nr / kernel.lanes));
  auto const* const b = w.b;
  auto const apart = w.b_row;
  w.b = packed_b;
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    kernel.pack_b[static_cast<std::size_t>(kernel.width_of(w.cols))](b + j * apart, apart, 1, w.cols, w.k, packed_b);
    multiply_column_of_tiles(kernel, source::packed, w, m);
  }
  w.b = b;
}

/// `left`: columns that are left over.
template <class T>
void multiply_tiles(microkernel<T> const& kernel, problem const& p, std::int64_t left) {
  if (left > 0) multiply_columns_left(kernel, p, left);
  auto w = tile_in_place<T>(p);
  if (has_rows_of_b(p)) return multiply_tiles_in_place(kernel, w, p.m, p.n - left);
  w.b_row = p.ldb;
  multiply_tiles_packed(kernel, w, p.m, p.n - left);
}

/// The same by several threads, each with some rows: an element's terms are added in one order, whatever tile has it.
template <class T>
[[gnu::noinline]] void multiply_tiles_of_rows(microkernel<T> const& kernel, problem const& p, int threads) {
  auto const left = columns_left(kernel, p);
  // How these sums are made depends on the size of A, not of a share of it.
  bool const turns = left > 0 && p.trans_a;
  auto const parts = static_cast<int>(std::min<std::int64_t>(threads, p.m));
  run_team(parts, [&](int part) {
    auto const rows = share(p.m, part, parts, 1);
    if (turns) multiply_narrow_rows(kernel, last_columns<T>(p, left), rows);
    auto q = p;
    q.m = rows.size(), q.n -= turns ? left : 0;
    q.a = static_cast<T const*>(p.a) + rows.first * (p.trans_a ? 1 : p.lda);
    q.c = static_cast<T*>(p.c) + rows.first * p.ldc;
    multiply_tiles(kernel, q, turns ? 0 : left);
  });
}

/// Threads for a small product, one for as much work as this. Nobody is woken for it, which takes longer than all of
/// it: threads take part where one product follows the other.
template <class T>
int threads_of_small(microkernel<T> const& kernel, problem const& p, execution const& e) {
  std::int64_t const work = p.m * p.n * p.k * static_cast<std::int64_t>(sizeof(T)), worth = worth_a_thread(kernel);
  if (work < worth) return 1;
  int const threads = std::min(offered_threads(e), static_cast<int>(1 + work / worth));
  return threads > 1 && is_team_wanted_often() ? threads : 1;
}

constexpr std::int64_t some_products = 500;  // dot products need some length before they are worth their beginning
constexpr std::int64_t few_products = 1024, long_edge = 128;  // of so few the tiles, unless C's rows are long
constexpr std::int64_t most_turned_bytes = 16 << 10;          // of C's transpose, on the stack

/// Of few terms, whether C is large enough for one loop over it to begin sooner than tiles end. Tiles take longer if B
/// is transposed, but then this loop has B turned as well.
template <class T>
bool is_worth_a_loop(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool turns_b) {
  std::int64_t const few = 6, many = turns_b ? 4096 : 1000;
  return m >= long_edge || n >= long_edge || m * n >= many || (!turns_b && (k <= few || goes_down(kernel, m, n, k)));
}

/// The ways through a small product. On a tile's work: one tile, or several (with B packed, if it is transposed); a
/// tile of so few columns and terms that a transposed B is turned in registers; tiles of C's transpose, beside a
/// transposed A and B's columns or its rows; a few terms beside a B that stays in L1 as it lies; a column of dot
/// products, or dot products of operands along k; a few rows of long sums; a few whole rows in registers, or parts of
/// them. On a problem, by several threads if it is worth them: passes over C, dot products, C's transpose, and tiles
/// beside columns that are left over.
enum class way {
  open,
  one_tile,
  tiles,
  packed_tiles,
  turned_tile,
  turned_tiles_of_columns,
  turned_tiles_of_rows,
  few_terms_near,
  column,
  dots_near,
  deep_tiles,
  wide_tile,
  wide_tiles,
  few_terms,
  dots,
  narrow,
  tiles_and_columns
};

constexpr bool is_of_tile_work(way known) { return known < way::few_terms; }

// What follows is not where a tiny product begins, which would pay for its stack frame.
template <class T>
[[gnu::noinline]] void multiply_deep(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  column_tiles<T> const columns(kernel, n, kernel.most_deep / m);
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.b += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    kernel.deep_tile(m, w.cols)(w);
  }
}

// Elements of A, and terms, of which dot products are a column; else the sums end as soon in tiles.
constexpr std::int64_t worth_dots = 256, few_of_a_row = 5, long_dot = 20;

/// Whether a column of so many rows is done sooner by a tile than by dot products.
inline bool ends_soon_in_tile(std::int64_t m, std::int64_t k) {
  constexpr std::int64_t few_rows = 4;
  return (m > few_rows || k < long_dot) && m * k < worth_dots;
}

/// Of a small product that is not one tile. The other ways need some length before they are worth their beginning.
template <class T>
way way_of_several(microkernel<T> const& kernel, operands<T> const& o) {
  bool const is_worth = is_worth_a_loop(kernel, o.m, o.n, o.k, o.b_col != 1);
  if ((is_worth && suits_few_terms(kernel, o)) || (o.b_col == 1 && streams_rows(o))) return way::few_terms;
  if (o.m * o.n * o.k >= some_products && suits_dots(kernel, o)) return way::dots;
  return suits_narrow(kernel, o) ? way::narrow : way::tiles_and_columns;
}

/// One that takes a problem.
template <class T>
[[gnu::noinline]] void multiply_several(microkernel<T> const& kernel, way known, problem const& p, int threads) {
  operands<T> const o(p);
  if (known == way::few_terms) return multiply_few_terms(kernel, o, 1);
  if (known == way::dots) return multiply_dots(kernel, o, threads);
  if (known == way::narrow) return multiply_narrow(kernel, o, threads);
  if (threads > 1) return multiply_tiles_of_rows(kernel, p, threads);
  multiply_tiles(kernel, p, columns_left(kernel, p));
}

/// Elements from row to row of C's transpose, whole vectors.
template <class T>
std::int64_t turned_apart(microkernel<T> const& kernel, std::int64_t m) {
  return quotient(m + kernel.lanes - 1, kernel.lanes) * kernel.lanes;
}

/// Of a transposed A and a C of at most half a vector's columns, whether C's transpose is there sooner, whose vectors
/// are full. The fewer columns there are, and if B has to be turned for the other ways, the fewer terms are enough.
template <class T>
bool suits_turned_tiles(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool trans_b) {
  constexpr std::int64_t size = sizeof(T), some_terms = 9, many_terms = 64;  // of which sums are split
  if (k > many_terms || n < 2 || 2 * n > kernel.lanes || m < kernel.lanes) return false;
  std::int64_t const enough = trans_b ? (n <= 4 ? 2 : some_terms) : n <= 3 ? n + 2 : some_terms;
  return k >= enough && turned_apart(kernel, m) * n * size <= most_turned_bytes;
}

template <class T>
[[gnu::noinline]] way look_closely(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                                   bool trans_a, bool trans_b, std::int64_t lda, std::int64_t b_row) {
  constexpr std::int64_t many_products = 2000, few_rows_turned = 32, terms_turned = 16;
  constexpr std::int64_t near = 4096, worth_turning = 800;  // elements that stay in L1; of A
  constexpr std::int64_t long_of_columns = 60;
  if (trans_b && m <= few_rows_turned && n <= kernel.turned_edge && k <= kernel.turned_edge) return way::turned_tile;
  bool const a_along_k = has_rows_of_a(trans_a, m, lda);
  if (n == 1 && b_row == 1 && a_along_k && k > few_of_a_row && !ends_soon_in_tile(m, k)) return way::column;
  if (!trans_b && are_whole_rows(kernel, m, n, k)) return way::wide_tile;
  if (!trans_b && is_deep(kernel, m, n, k)) return way::deep_tiles;
  if (!trans_b && m <= kernel.wide_rows && are_in_wide_tiles(host_caches(), kernel, m, n, k)) return way::wide_tiles;
  bool const may_be_columns = !trans_a && !trans_b && (kernel.half_costs_half || k > long_of_columns);
  bool const in_columns = may_be_columns && are_few_columns(kernel, m, n, k, b_row == 1);
  if (in_columns) return way::open;
  bool const turned = trans_a && m >= 4 * n && m * k >= worth_turning && kernel.deep_tile(n, m) != nullptr;
  if (!trans_b && !turned && is_one_tile(kernel, m, n, k)) return way::one_tile;
  auto const tiles = trans_b ? way::packed_tiles : way::tiles;
  bool const is_alone = !is_worth_threads(kernel, m, n, k);
  if (trans_b && a_along_k && are_dots_in_place(m, n, k)) return is_alone ? way::dots_near : way::open;
  // Of few, rows of a transposed A, which are turned first, have to be longer.
  std::int64_t const terms_a_row = trans_a && m * n * k < many_products ? 10 : 5;
  if (trans_b && k >= terms_a_row * std::min(m, n) && m * n * k >= some_products) return way::open;
  if (!trans_b && n * k <= near && is_worth_a_loop(kernel, m, n, k, false) &&
      are_few_terms(kernel, m, n, k, trans_a ? 1 : lda) && !copies_rows_of_b(kernel, m, n, k, b_row) &&
      !asks_for_rows_of_c(kernel, m, n, k, n))
    return way::few_terms_near;
  if (m * n * k <= few_products && n <= long_edge) return tiles;
  bool const may_be_turned = trans_b && m >= kernel.lanes && k >= terms_turned;
  bool const may_be_narrow = trans_a && (may_be_turned || (m >= n && n <= 2 * kernel.lanes));
  if (may_be_narrow || turned || streams_rows<T>(m, n)) return way::open;
  if (!trans_a && !trans_b && are_few_columns(kernel, m, n, k, b_row == 1)) return way::open;
  if (k <= kernel.most_terms && is_worth_a_loop(kernel, m, n, k, trans_b)) return way::open;
  return is_alone && columns_left(kernel, m, n, k) == 0 ? tiles : way::open;
}

/// Open: it depends on the threads. `packs`: B is transposed, and its rows do not lie together.
template <class T>
[[gnu::noinline]] way way_of(microkernel<T> const& kernel, problem const& p, bool packs) {
  std::int64_t const b_row = packs || !p.trans_b ? p.ldb : 1;
  if (p.trans_a && suits_turned_tiles(kernel, p.m, p.n, p.k, packs))
    return packs ? way::turned_tiles_of_columns : way::turned_tiles_of_rows;
  bool const is_short = p.k < long_sum && (p.n > 1 || ends_soon_in_tile(p.m, p.k));
  if (!packs && is_short && is_one_tile(kernel, p.m, p.n, p.k)) return way::one_tile;
  auto const known = look_closely(kernel, p.m, p.n, p.k, p.trans_a, packs, p.lda, b_row);
  if (known != way::open || is_worth_threads(kernel, p.m, p.n, p.k)) return known;
  auto const several = way_of_several(kernel, operands<T>(p));
  if (several != way::tiles_and_columns || columns_left(kernel, p) > 0) return several;
  return packs ? way::packed_tiles : way::tiles;
}

/// C's transpose in tiles, beside a transposed A, whose columns are then the rows of what is multiplied along them.
template <class T>
[[gnu::noinline]] void multiply_turned_tiles(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m,
                                             std::int64_t n, bool trans_b) {
  alignas(64) T sums[most_turned_bytes / sizeof(T)];  // (n, apart)
  std::int64_t const apart = turned_apart(kernel, m);
  tile_work<T> t;
  t.k = w.k;
  t.a = w.b, t.a_row = trans_b ? w.b_row : 1, t.a_col = trans_b ? 1 : w.b_row;
  t.b = w.a, t.b_row = w.a_col;
  t.c = sums, t.ldc = apart;
  if (w.k <= kernel.most_terms) {
    t.cols = m;
    kernel.update_along[static_cast<std::size_t>(w.k - 1)](t, n, false);
  } else {
    multiply_tiles_in_place(kernel, t, n, m);
  }
  kernel.write_turned(m, n, w.alpha, sums, apart, w.beta, w.c, w.ldc);
}

/// A few terms beside a B that stays in L1.
template <class T>
[[gnu::noinline]] void multiply_few_terms_near(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  auto const& functions = goes_down(kernel, m, w.cols, w.k) ? kernel.update_down : kernel.update_along;
  functions[static_cast<std::size_t>(w.k - 1)](w, m, false);
}

/// A column of dot products.
template <class T>
[[gnu::noinline]] void multiply_column(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  dot_work<T> d;
  d.k = w.k;
  d.a = w.a, d.a_row = w.a_row, d.b = w.b;
  d.alpha = w.alpha, d.beta = w.beta;
  d.c = w.c, d.c_row = w.ldc;
  if (auto const few = few_dots(kernel, m, 1)) return few(d);
  kernel.dots(d, m, 1);
}

/// Dot products of the rows of A and the columns of B, which lie along k; few of the one stay while the other's pass.
template <class T>
[[gnu::noinline]] void multiply_dots_in_place(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  dot_work<T> d;
  d.k = w.k;
  d.a = w.a, d.a_row = w.a_row, d.b = w.b, d.b_col = w.b_row;
  d.alpha = w.alpha, d.beta = w.beta;
  d.c = w.c, d.c_row = w.ldc, d.c_col = 1;
  if (auto const few = few_dots(kernel, m, w.cols)) return few(d);
  if (m >= w.cols) return kernel.dots(d, m, w.cols);
  std::swap(d.a, d.b), std::swap(d.a_row, d.b_col), std::swap(d.c_row, d.c_col);
  kernel.dots(d, w.cols, m);
}

template <class T>
[[gnu::always_inline]] inline void multiply_at_once(microkernel<T> const& kernel, way known, tile_work<T>& w,
                                                    std::int64_t m, std::int64_t n) {
  w.cols = n;
  if (known == way::one_tile) return kernel.tile(source::in_place, kernel.width_of(n), m)(w);
  if (known == way::tiles) return multiply_tiles_in_place(kernel, w, m, n);
  if (known == way::packed_tiles) return multiply_tiles_packed(kernel, w, m, n);
  if (known == way::turned_tile) return kernel.turned_tile(w, m);
  if (known == way::turned_tiles_of_columns) return multiply_turned_tiles(kernel, w, m, n, true);
  if (known == way::turned_tiles_of_rows) return multiply_turned_tiles(kernel, w, m, n, false);
  if (known == way::few_terms_near) return multiply_few_terms_near(kernel, w, m);
  if (known == way::column) return multiply_column(kernel, w, m);
  if (known == way::dots_near) return multiply_dots_in_place(kernel, w, m);
  if (known == way::wide_tile) return kernel.wide_tile(m, n)(w);
  if (known == way::wide_tiles) return multiply_in_wide_tiles(kernel, w, m);
  multiply_deep(kernel, w, m, n);
}

}  // namespace

template <class T>
void multiply_deep(microkernel<T> const& kernel, problem const& p) {
  auto w = tile_in_place<T>(p);
  multiply_deep(kernel, w, p.m, p.n);
}

template <class T>
void multiply_small(microkernel<T> const& kernel, problem const& p, execution const& e) {
  bool const packs = !has_rows_of_b(p);
  auto w = tile_in_place<T>(p);
  if (packs) w.b_row = p.ldb;
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (!is_of_tile_work(known)) return multiply_several(kernel, known, p, threads_of_small(kernel, p, e));
  multiply_at_once(kernel, known, w, p.m, p.n);
}

namespace {

/// The ways of the shapes that came last, a word each: threads may read and write them at once.
class ways_met {
 public:
  template <class Find>
  way of(std::uint64_t shape, Find const& find) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    auto& word = words_[shape * spread >> (64 - bits)];
    auto const met = word.load(std::memory_order_relaxed);
    if (met >> of_way == shape) [[likely]]
      return static_cast<way>(met & ((1 << of_way) - 1));
    way const found = find();
    word.store(shape << of_way | static_cast<std::uint64_t>(found), std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr int bits = 8, of_way = 5;
  static_assert(static_cast<int>(way::tiles_and_columns) < 1 << of_way);  // the last
  std::array<std::atomic<std::uint64_t>, 1 << bits> words_ = {};
};

/// One kernel's small products.
template <class T>
struct small_products {
  explicit small_products(microkernel<T> const& k) : kernel(k) {}
  microkernel<T> const& kernel;
  mutable ways_met ways;
};

/// All that a way depends on, in a word that is not 0. Of the elements between rows of B it is how they lie to pages.
template <class T>
[[gnu::always_inline]] inline std::uint64_t shape_of(std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a,
                                                     bool trans_b, std::int64_t lda, std::int64_t ldb) {
  constexpr std::uint64_t page = 4096 / sizeof(T);
  auto const u = [](auto x) { return static_cast<std::uint64_t>(x); };
  return u(m) << 43 | u(n) << 27 | u(k) << 14 | u(trans_a) << 13 | u(trans_b) << 12 | u(lda == 1) << 11 |
         u(ldb == 1) << 10 | (u(ldb) & (page - 1));
}

template <class T>
problem problem_of(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c, T alpha,
                   T beta) {
  return {.dtype = dtype_of<T>,
          .m = c.rows(),
          .n = c.cols(),
          .k = a.cols(),
          .alpha = static_cast<double>(alpha),
          .a = a.data(),
          .lda = a.ld(),
          .trans_a = a.layout() == layout::col_major,
          .b = b.data(),
          .ldb = b.ld(),
          .trans_b = b.layout() == layout::col_major,
          .beta = static_cast<double>(beta),
          .c = c.data(),
          .ldc = c.ld()};
}

/// What a shape that comes again does not need.
template <class T>
[[gnu::noinline]] way find_way(microkernel<T> const& kernel, matrix_view<T const> const& a,
                               matrix_view<T const> const& b, matrix_view<T> const& c, bool packs) {
  auto const p = problem_of<T>(a, b, c, 1, 0);
  return is_small(kernel, p) ? way_of(kernel, p, packs) : way::open;
}

template <class T>
[[gnu::noinline]] void multiply_one_of_several(microkernel<T> const& kernel, way known, matrix_view<T const> const& a,
                                               matrix_view<T const> const& b, matrix_view<T> const& c, T alpha,
                                               T beta) {
  multiply_several(kernel, known, problem_of<T>(a, b, c, alpha, beta), 1);
}

template <class T>
bool multiply_tiny(void const* state, matrix_view<T const> const& a, matrix_view<T const> const& b,
                   matrix_view<T> const& c, T alpha, T beta) {
  auto const& products = *static_cast<small_products<T> const*>(state);
  auto const& kernel = products.kernel;
  std::int64_t const m = c.rows(), n = c.cols(), k = a.cols();
  bool const trans_a = a.layout() == layout::col_major, trans_b = b.layout() == layout::col_major;
  if (is_row_turned(m, n, c.ld(), trans_a, a.ld())) {  // the transposed product, whose C is a row
    matrix_view<T> const row(c.data(), 1, m, m);
    matrix_view<T const> const rows_of_a(a.data(), k, m, trans_a ? a.ld() : m);
    return multiply_tiny(state, b.transposed(), rows_of_a, row, alpha, beta);
  }
  if ((m | n) >> bits_of_edge != 0 || k >> bits_of_terms != 0) return false;
  bool const packs = trans_b && !has_rows_of_transposed_b(n, k, b.ld());
  std::int64_t const b_row = packs || !trans_b ? b.ld() : 1;
  auto const known = products.ways.of(shape_of<T>(m, n, k, trans_a, trans_b, a.ld(), b.ld()),
                                      [&] { return find_way(kernel, a, b, c, packs); });
  if (known == way::open) return false;
  if (!is_of_tile_work(known)) {
    multiply_one_of_several(kernel, known, a, b, c, alpha, beta);
    return true;
  }
  tile_work<T> w;
  w.k = k;
  w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
  w.b = b.data(), w.b_row = b_row;
  w.alpha = alpha, w.beta = beta;
  w.c = c.data(), w.ldc = c.ld();
  multiply_at_once(kernel, known, w, m, n);
  return true;
}

}  // namespace

template <class T>
tiny_gemm<T> tiny_of(microkernel<T> const& kernel) {
  return {multiply_tiny<T>, std::make_shared<small_products<T> const>(kernel)};
}

namespace {

/// A way that takes a tile's work.
template <class T, way known>
struct prepared_at_once {
  microkernel<T> const& kernel;
  tile_work<T> work;
  std::int64_t m, n;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_at_once const*>(state);
    auto w = s.work;
    w.a = static_cast<T const*>(a), w.b = static_cast<T const*>(b), w.c = static_cast<T*>(c);
    multiply_at_once(s.kernel, known, w, s.m, s.n);
  }
};

template <class T>
struct prepared_several {
  microkernel<T> const& kernel;
  way known;
  problem p;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_several const*>(state);
    auto p = s.p;
    p.a = a, p.b = b, p.c = c;
    multiply_several(s.kernel, s.known, p, 1);
  }
};

/// A column computed as a row, where A and B have changed places.
template <class Row>
struct prepared_column {
  Row row;

  static void call(void const* state, void const* a, void const* b, void* c) {
    Row::call(&static_cast<prepared_column const*>(state)->row, b, a, c);
  }
};

template <class Prepared>
prepared_gemm prepare(Prepared const& prepared, bool as_column) {
  if (as_column)
    return {prepared_column<Prepared>::call,
            std::make_shared<prepared_column<Prepared> const>(prepared_column<Prepared>{prepared})};
  return {Prepared::call, std::make_shared<Prepared const>(prepared)};
}

/// By a function that goes this way alone.
template <class T, way first, way... others>
prepared_gemm prepare_at_once(microkernel<T> const& kernel, way known, tile_work<T> const& w, problem const& p,
                              bool as_column) {
  if constexpr (sizeof...(others) > 0)
    if (known != first) return prepare_at_once<T, others...>(kernel, known, w, p, as_column);
  return prepare(prepared_at_once<T, first>{kernel, w, p.m, p.n}, as_column);
}

}  // namespace

template <class T>
prepared_gemm prepare_small(microkernel<T> const& kernel, problem const& given) {
  bool const is_column = is_row_turned(given);
  auto const p = is_column ? as_row(given) : given;
  if (!is_small(kernel, p)) return {};
  auto w = tile_in_place<T>(p);
  bool const packs = !has_rows_of_b(p);
  if (packs) w.b_row = p.ldb;
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (is_of_tile_work(known))
    return prepare_at_once<T, way::one_tile, way::tiles, way::packed_tiles, way::turned_tile,
                           way::turned_tiles_of_columns, way::turned_tiles_of_rows, way::few_terms_near, way::column,
                           way::dots_near, way::deep_tiles, way::wide_tile, way::wide_tiles>(kernel, known, w, p,
                                                                                             is_column);
  return prepare(prepared_several<T>{kernel, known, p}, is_column);
}

template bool is_small(microkernel<float> const&, problem const&);
template bool is_small(microkernel<double> const&, problem const&);
template bool is_deep(microkernel<float> const&, std::int64_t, std::int64_t, std::int64_t);
template bool is_deep(microkernel<double> const&, std::int64_t, std::int64_t, std::int64_t);
template void multiply_deep(microkernel<float> const&, problem const&);
template void multiply_deep(microkernel<double> const&, problem const&);
template void multiply_small(microkernel<float> const&, problem const&, execution const&);
template void multiply_small(microkernel<double> const&, problem const&, execution const&);
template tiny_gemm<float> tiny_of(microkernel<float> const&);
template tiny_gemm<double> tiny_of(microkernel<double> const&);
template prepared_gemm prepare_small(microkernel<float> const&, problem const&);
template prepared_gemm prepare_small(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
