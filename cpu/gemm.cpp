// The parallel outer-product GEMM: a grid of threads over C and, where C is small and k long, over k.
#include "cpu/gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "cpu/caches.hpp"
#include "cpu/dots.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/narrow.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"
#include "cpu/schedule.hpp"
#include "cpu/threads.hpp"
#include "cpu/workspace.hpp"

namespace tandem::cpu {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Part `index` of `count`, cut at multiples of `step`.
span_of share(std::int64_t size, std::int64_t index, std::int64_t count, std::int64_t step) {
  std::int64_t const units = ceil_div(size, step);
  return {std::min(units * index / count * step, size), std::min(units * (index + 1) / count * step, size)};
}

/// What the threads of one product share.
template <class T>
class product {
 public:
  product(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, execution const& e)
      : kernel_(kernel), o_(o), t_(t), grid_(choose_grid(kernel, o, t, offered_threads(e), e.reproducible)) {
    std::int64_t const panels = ceil_div(o.k, t.kc);
    apart_ = e.reproducible ? t.kc : ceil_div(panels, grid_.terms) * t.kc;
    pieces_ = choose_pieces(o, t, grid_);
  }

  void operator()() {
    plan_sums();
    reserve();  // everything that can fail happens before C is touched
    if (grid_.terms == 1)
      return run_team(grid_.parts(), pieces_, counters_,
                      [this](int thread, int part, int piece) { multiply(thread, part, piece); });
    for (first_ = 0; first_ < panels_; first_ += panels_at_once_) {
      auto const panels = static_cast<int>(ceil_div(panels_now(), grid_.terms));
      run_team(grid_.parts(), panels, counters_,
               [this](int thread, int part, int panel) { sum_apart(thread, part, panel); });
      run_team(grid_.parts(), [this](int part) { add_up(part); });
    }
  }

 private:
  span_of rows_of(int part) const { return share(o_.m, part / grid_.terms / grid_.cols, grid_.rows, 1); }
  span_of cols_of(int part) const { return share(o_.n, part / grid_.terms % grid_.cols, grid_.cols, kernel_.lanes); }
  T* packed_a(int thread) const { return packed_ + thread * (a_size_ + b_size_); }
  T* packed_b(int thread) const { return packed_a(thread) + a_size_; }
  std::int64_t panels_now() const { return std::min(panels_at_once_, panels_ - first_); }

  void reserve() {
    a_size_ = packed_a_size<T>(t_), b_size_ = packed_b_size(kernel_, t_);
    std::int64_t const packed = grid_.parts() * (a_size_ + b_size_);
    auto const parts = static_cast<std::size_t>(grid_.parts());
    auto const bytes = static_cast<std::size_t>(packed + sums_size_ * panels_at_once_) * sizeof(T);
    std::size_t const counters = (bytes + alignof(piece_counter) - 1) & -alignof(piece_counter);
    auto* const memory = static_cast<std::byte*>(thread_workspace().reserve(counters + parts * sizeof(piece_counter)));
    packed_ = reinterpret_cast<T*>(memory);
    sums_ = packed_ + packed;
    counters_ = reinterpret_cast<piece_counter*>(memory + counters);
    std::uninitialized_default_construct_n(counters_, parts);
  }

  void multiply(int thread, int part, int piece) const {
    auto const of_part = rows_of(part);
    auto const rows = share(of_part.size(), piece, pieces_, t_.rows);
    multiply_panels(kernel_, o_, t_, {of_part.first + rows.first, of_part.first + rows.last}, cols_of(part), {0, o_.k},
                    packed_a(thread), packed_b(thread));
  }

  // The sums of each panel of k lie apart until all are there, and are then added to C in the order of the panels.
  // Where a panel has kc terms, one thread would have done the same: the bits are equal.
  void plan_sums() {
    panels_ = ceil_div(o_.k, apart_);
    if (grid_.terms == 1) return;
    sums_size_ = o_.m * o_.n;
    std::int64_t const kept = most_sums / (sums_size_ * static_cast<std::int64_t>(sizeof(T)));
    panels_at_once_ = std::min(std::max<std::int64_t>(kept, grid_.terms), panels_);
  }

  void sum_apart(int thread, int part, int panel) const {
    auto const panels = share(panels_now(), part % grid_.terms, grid_.terms, 1);
    auto const i = panels.first + panel;
    if (i >= panels.last) return;  // some have one less
    auto o = o_;
    o.alpha = 1, o.beta = 0, o.ldc = o.n;
    o.c = sums_ + i * sums_size_;
    auto const p0 = (first_ + i) * apart_;
    multiply_panels(kernel_, o, t_, rows_of(part), cols_of(part), {p0, std::min(p0 + apart_, o.k)}, packed_a(thread),
                    packed_b(thread));
  }

  void add_up(int part) const {
    auto const rows = share(o_.m, part, grid_.parts(), 1);
    auto const now = panels_now();
    for (auto i = rows.first; i < rows.last; ++i)
      for (std::int64_t s = 0; s < now; ++s)
        kernel_.combine(o_.n, o_.alpha, sums_ + s * sums_size_ + i * o_.n, first_ + s == 0 ? o_.beta : T(1),
                        o_.c + i * o_.ldc);
  }

  microkernel<T> const& kernel_;
  operands<T> o_;
  tiling t_;
  grid grid_;
  int pieces_ = 1;  // of a part's rows
  std::int64_t a_size_ = 0, b_size_ = 0;
  std::int64_t apart_ = 0;  // terms of a panel
  std::int64_t panels_ = 0, panels_at_once_ = 0, sums_size_ = 0;
  std::int64_t first_ = 0;  // of the panels summed apart at present
  T* packed_ = nullptr;
  T* sums_ = nullptr;  // (panels at once, m, n)
  piece_counter* counters_ = nullptr;
};

template <class T>
tiling tiling_of(microkernel<T> const& kernel, path way, operands<T> const& o) {
  auto t = choose_tiling(host_caches(), kernel, o);
  if (way == path::packed) {
    t = packed_tiling(host_caches(), kernel, o);
  } else if (way == path::in_place) {
    t.pack_a = t.pack_b = false;
    t.mc = o.m, t.nc = o.n;
  }
  return t;
}

/// Whether C is a column whose elements lie together, and op(A)'s columns lie together as well.
bool is_row_turned(std::int64_t m, std::int64_t n, std::int64_t ldc, bool trans_a, std::int64_t lda) {
  return n == 1 && ldc == 1 && m > 1 && (trans_a || lda == 1);
}
bool is_row_turned(problem const& p) { return is_row_turned(p.m, p.n, p.ldc, p.trans_a, p.lda); }

/// The transposed product: C is a row, and op(A)'s columns are rows of B, which is read as it lies.
problem as_row(problem const& p) {
  problem row = p;
  row.m = 1, row.n = p.m, row.ldc = p.m;
  row.a = p.b, row.lda = p.ldb, row.trans_a = !p.trans_b;
  row.b = p.a, row.ldb = p.trans_a ? p.lda : p.m, row.trans_b = false;  // of lda = 1, k is 1
  return row;
}

constexpr std::int64_t most_terms_of_small = 512;

// A product whose operands stay near and which is over soon: of its time, what comes before the first multiplication is
// a large part, and a copy of B would be used by few tiles. Not a few rows of long sums beside a B beyond L1, which is
// asked for ahead elsewhere.
template <class T>
bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t most = 128 * 128 * 128, most_of_c = 256 * 256, read = 1 << 16, many_terms = 128;
  constexpr std::int64_t few_rows = 16, near = (64 << 10) / sizeof(T);
  if (k > most_terms_of_small || m > most || n > most || m * n > most_of_c || (m + n) * k > read) return false;
  if (k <= many_terms) return m * n * k <= most;
  return m * n * k <= most / 2 && (m >= few_rows || n * k <= near);
}

template <class T>
bool is_small(problem const& p) {
  return is_small<T>(p.m, p.n, p.k);
}

/// Whether op(B)'s rows lie together: of a transposed B, too, if they are short or there is one. Longer columns are
/// left to dot products.
bool has_rows_of_transposed_b(std::int64_t n, std::int64_t k, std::int64_t ldb) {
  constexpr std::int64_t short_column = 24;
  return (k == 1 && ldb == 1) || (n == 1 && k < short_column);
}
bool has_rows_of_b(problem const& p) { return !p.trans_b || has_rows_of_transposed_b(p.n, p.k, p.ldb); }

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

/// Rows of a tile whose sums are enough to keep the arithmetic busy: more of them would only begin and end later.
template <class T>
std::int64_t enough_rows(microkernel<T> const& kernel, int width) {
  constexpr int sums = 20;
  return std::min(kernel.rows[static_cast<std::size_t>(width)], sums / std::max(width, 1));
}

/// One or two, along A's rows or, of a transposed A, its columns.
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, problem const& p) {
  return columns_left(kernel, p.m, p.n, p.k, 2);
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
  constexpr std::int64_t most_packed = 2 * most_terms_of_small;
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

/// The tiles of one width below each other, from w's operands on, which lie `from`; wide and low ones: what is loaded
/// of A is used for more columns.
template <class T>
void multiply_column_of_tiles(microkernel<T> const& kernel, source from, tile_work<T>& w, std::int64_t m) {
  auto const* const a = w.a;
  auto* const c = w.c;
  int const width = kernel.width_of(w.cols);
  row_tiles const heights(m, enough_rows(kernel, width));
  for (std::int64_t r = 0; r < heights.count; ++r) {
    auto const height = heights.size(r);
    kernel.tile(from, width, height)(w);
    w.a += height * w.a_row;
    w.c += height * w.ldc;
  }
  w.a = a, w.c = c;
}

/// The columns of C in tiles whose widths differ by one vector at most, but for one of half a vector at the end.
template <class T>
struct column_tiles {
  column_tiles(microkernel<T> const& kernel, std::int64_t columns, std::int64_t widest)
      : lanes(kernel.lanes),
        n(columns),
        in_half(kernel.ends_in_half(n) ? n & (kernel.lanes - 1) : 0),
        widths(quotient(n - in_half + lanes - 1, lanes), widest) {}
  std::int64_t size(std::int64_t i, std::int64_t first) const {
    return i < widths.count ? std::min(widths.size(i) * lanes, n - first) : in_half;
  }
  std::int64_t lanes, n, in_half;
  row_tiles widths;
};

/// All tiles of m x n elements, on operands whose rows lie together, from w's on.
template <class T>
void multiply_tiles_in_place(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  column_tiles<T> const columns(kernel, n, kernel.widest);
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.b += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    multiply_column_of_tiles(kernel, source::in_place, w, m);
  }
}

/// The same where B is transposed: w.b is its first column, and w.b_row the elements from one to the next.
template <class T>
void multiply_tiles_packed(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t most_packed = (64 / sizeof(T)) * most_terms_of_small;  // one vector
  alignas(64) T packed_b[most_packed];                                          // (k, columns of a tile)
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

/// The work, in multiply-adds times bytes of an element, that a thread more is worth: as much as takes two microseconds
/// or so, more on processors whose vectors of 64 bytes are computed at once.
template <class T>
std::int64_t worth_a_thread(microkernel<T> const& kernel) {
  bool const is_fast = kernel.lanes * sizeof(T) == 64 && !kernel.half_costs_half;
  return is_fast ? 5 << 18 : 1 << 20;
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

/// Whether A and B, which lie along k, are few rows of the one beside the other's terms.
bool are_dots_in_place(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t least = 24, terms = 8;  // that pay for adding up a sum's lanes
  return k >= least && std::min(m, n) * terms <= k;
}

constexpr std::int64_t many_products = 2000;  // dot products need some length before they are worth their beginning
constexpr std::int64_t few_products = 1024, long_edge = 128;  // of so few the tiles, unless C's rows are long

/// Of few terms, whether C is large enough for one loop over it to begin sooner than tiles end. Tiles take longer if B
/// is transposed, but then this loop has B turned as well.
template <class T>
bool is_worth_a_loop(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool turns_b) {
  std::int64_t const few = 6, many = turns_b ? 4096 : 1000;
  return m >= long_edge || n >= long_edge || m * n >= many || (!turns_b && (k <= few || goes_down(kernel, m, n, k)));
}

/// A small product that is not one tile. The other ways need some length before they are worth their beginning.
template <class T>
void multiply_several(microkernel<T> const& kernel, problem const& p, execution const& e) {
  operands<T> const o(p);
  int const threads = threads_of_small(kernel, p, e);
  bool const is_worth = is_worth_a_loop(kernel, p.m, p.n, p.k, o.b_col != 1);
  if ((is_worth && suits_few_terms(kernel, o)) || (o.b_col == 1 && streams_rows(o)))
    return multiply_few_terms(kernel, o, 1);
  if (p.m * p.n * p.k >= many_products && suits_dots(kernel, o)) return multiply_dots(kernel, o, threads);
  if (suits_narrow(kernel, o)) return multiply_narrow(kernel, o, threads);
  if (threads > 1) return multiply_tiles_of_rows(kernel, p, threads);
  multiply_tiles(kernel, p, columns_left(kernel, p));
}

/// What is known at a glance of a small product: that it is one tile, or several by one thread (with B packed, if it is
/// transposed), since none of the other ways takes so many terms, columns and rows; a tile of so few columns and terms
/// that a transposed B is turned in registers; a few terms beside a B that stays in L1 as it lies; a column of dot
/// products, or dot products of operands along k; a few rows of long sums; a few whole rows in registers, or parts of
/// them.
enum class glance {
  unclear,
  one_tile,
  tiles,
  packed_tiles,
  turned_tile,
  few_terms,
  column,
  dots,
  deep_tiles,
  wide_tile,
  wide_tiles
};

constexpr std::int64_t long_sum = 32;

/// Whether C has so few rows, and k is so long, that tiles whose steps of k are summed apart are faster: where C is one
/// tile each of its sums would wait for itself; where it is several, so would those of two rows, and B has to be near,
/// since each tile reads a part of its rows.
template <class T>
bool is_deep(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t near = 1 << 16, near_bytes = 128 << 10, few_rows = 2;
  if (k < long_sum || m > kernel.most_deep || (m + n) * k > near) return false;
  if (n <= 4 * kernel.lanes) return kernel.deep_tile(m, n) != nullptr;
  return m <= few_rows && n * k * static_cast<std::int64_t>(sizeof(T)) <= near_bytes;
}

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

template <class T>
[[gnu::noinline]] glance look_closely(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                                      bool trans_a, bool trans_b, std::int64_t lda, std::int64_t b_row) {
  constexpr std::int64_t terms_a_row = 5, few_rows_turned = 32, terms_turned = 16;
  constexpr std::int64_t near = 4096, worth_turning = 800;  // elements that stay in L1; of A
  constexpr std::int64_t long_of_columns = 128;
  if (trans_b && m <= few_rows_turned && n <= kernel.turned_edge && k <= kernel.turned_edge) return glance::turned_tile;
  bool const a_along_k = !trans_a || (m == 1 && lda == 1);
  if (n == 1 && b_row == 1 && a_along_k && k > few_of_a_row && !ends_soon_in_tile(m, k)) return glance::column;
  if (!trans_b && are_whole_rows(kernel, m, n, k)) return glance::wide_tile;
  if (!trans_b && is_deep(kernel, m, n, k)) return glance::deep_tiles;
  if (!trans_b && m <= kernel.wide_rows && are_in_wide_tiles(host_caches(), kernel, m, n, k)) return glance::wide_tiles;
  bool const in_columns = !trans_a && !trans_b && k > long_of_columns && are_few_columns(kernel, m, n, k, b_row == 1);
  if (in_columns) return glance::unclear;
  bool const turned = trans_a && m >= 4 * n && m * k >= worth_turning && kernel.deep_tile(n, m) != nullptr;
  if (!trans_b && !turned && is_one_tile(kernel, m, n, k)) return glance::one_tile;
  auto const tiles = trans_b ? glance::packed_tiles : glance::tiles;
  bool const is_alone = m * n * k * static_cast<std::int64_t>(sizeof(T)) < worth_a_thread(kernel);
  if (trans_b && a_along_k && are_dots_in_place(m, n, k)) return is_alone ? glance::dots : glance::unclear;
  if (trans_b && k >= terms_a_row * std::min(m, n) && m * n * k >= many_products) return glance::unclear;
  if (!trans_b && n * k <= near && is_worth_a_loop(kernel, m, n, k, false) &&
      are_few_terms(kernel, m, n, k, trans_a ? 1 : lda) && !copies_rows_of_b(kernel, m, n, k, b_row))
    return glance::few_terms;
  if (m * n * k <= few_products && n <= long_edge) return tiles;
  bool const may_be_turned = trans_b && m >= kernel.lanes && k >= terms_turned;
  bool const may_be_narrow = trans_a && (may_be_turned || (m >= n && n <= 2 * kernel.lanes));
  if (may_be_narrow || turned || streams_rows<T>(m, n)) return glance::unclear;
  if (!trans_a && !trans_b && are_few_columns(kernel, m, n, k, b_row == 1)) return glance::unclear;
  if (k <= kernel.most_terms && is_worth_a_loop(kernel, m, n, k, trans_b)) return glance::unclear;
  return is_alone && columns_left(kernel, m, n, k, 2) == 0 ? tiles : glance::unclear;
}

/// What is one tile is known first, by few instructions and in few registers.
template <class T>
[[gnu::always_inline]] inline glance glance_at(microkernel<T> const& kernel, std::int64_t m, std::int64_t n,
                                               std::int64_t k, bool trans_a, bool trans_b, std::int64_t lda,
                                               std::int64_t b_row) {
  if (!trans_b && k < long_sum && (n > 1 || ends_soon_in_tile(m, k)) && is_one_tile(kernel, m, n, k))
    return glance::one_tile;
  return look_closely(kernel, m, n, k, trans_a, trans_b, lda, b_row);
}

/// A few terms beside a B that stays in L1.
template <class T>
[[gnu::noinline]] void multiply_few_terms_near(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  auto const& functions = goes_down(kernel, m, w.cols, w.k) ? kernel.update_down : kernel.update_along;
  functions[static_cast<std::size_t>(w.k - 1)]({w}, m);
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
[[gnu::always_inline]] inline void multiply_at_once(microkernel<T> const& kernel, glance known, tile_work<T>& w,
                                                    std::int64_t m, std::int64_t n) {
  w.cols = n;
  if (known == glance::one_tile) return kernel.tile(source::in_place, kernel.width_of(n), m)(w);
  if (known == glance::tiles) return multiply_tiles_in_place(kernel, w, m, n);
  if (known == glance::packed_tiles) return multiply_tiles_packed(kernel, w, m, n);
  if (known == glance::turned_tile) return kernel.turned_tile(w, m);
  if (known == glance::few_terms) return multiply_few_terms_near(kernel, w, m);
  if (known == glance::column) return multiply_column(kernel, w, m);
  if (known == glance::dots) return multiply_dots_in_place(kernel, w, m);
  if (known == glance::wide_tile) return kernel.wide_tile(m, n)(w);
  if (known == glance::wide_tiles) return multiply_in_wide_tiles(kernel, w, m);
  multiply_deep(kernel, w, m, n);
}

template <class T>
void multiply_small(microkernel<T> const& kernel, problem const& p, execution const& e) {
  bool const packs = !has_rows_of_b(p);
  auto w = tile_in_place<T>(p);
  if (packs) w.b_row = p.ldb;
  auto const known = glance_at(kernel, p.m, p.n, p.k, p.trans_a, packs, p.lda, w.b_row);
  if (known == glance::unclear) return multiply_several(kernel, p, e);
  multiply_at_once(kernel, known, w, p.m, p.n);
}

// Not where a tiny product begins, which would pay for its stack frame.
template <class T>
[[gnu::noinline]] void multiply_large(microkernel<T> const& kernel, path way, problem const& p, execution const& e) {
  operands<T> const o(p);
  int const threads = offered_threads(e);
  bool const is_open = way == path::chosen;
  if (is_open && suits_few_terms(kernel, o)) return multiply_few_terms(kernel, o, threads);
  if (way == path::dots || (is_open && suits_dots(kernel, o))) return multiply_dots(kernel, o, threads);
  if (is_open && suits_narrow(kernel, o)) return multiply_narrow(kernel, o, threads);
  if (is_open && o.b_col == 1 && is_deep(kernel, o.m, o.n, o.k)) {
    auto w = tile_in_place<T>(p);
    return multiply_deep(kernel, w, p.m, p.n);
  }
  auto const t = tiling_of(kernel, way, o);
  if (t.all_rows && t.cols == o.n && o.k <= t.kc)
    return multiply_panels<T>(kernel, o, t, {0, o.m}, {0, o.n}, {0, o.k}, nullptr, nullptr);
  product<T>(kernel, o, t, e)();
}

template <class T>
[[gnu::noinline]] void multiply_turned(microkernel<T> const& kernel, problem const& p, execution const& e) {
  auto const row = as_row(p);
  if (is_small<T>(row)) return multiply_small(kernel, row, e);
  multiply_large(kernel, path::chosen, row, e);
}

}  // namespace

std::string refusal(path way, problem const& p) {
  if (way == path::in_place && p.trans_b) return "B is transposed: its rows do not lie together";
  if (way == path::dots && p.trans_a && !p.trans_b) return "neither A's rows nor B's columns lie together";
  return {};
}

template <class T>
void gemm(microkernel<T> const& kernel, path way, problem const& p, execution const& e) {
  if (way == path::chosen) {
    if (is_row_turned(p)) return multiply_turned(kernel, p, e);
    if (is_small<T>(p)) return multiply_small(kernel, p, e);
  }
  multiply_large(kernel, way, p, e);
}

template <class T>
bool multiply_tiny(void const* state, matrix_view<T const> const& a, matrix_view<T const> const& b,
                   matrix_view<T> const& c, T alpha, T beta) {
  auto const& kernel = *static_cast<microkernel<T> const*>(state);
  std::int64_t const m = c.rows(), n = c.cols(), k = a.cols();
  bool const trans_a = a.layout() == layout::col_major, trans_b = b.layout() == layout::col_major;
  if (is_row_turned(m, n, c.ld(), trans_a, a.ld())) {  // the transposed product, whose C is a row
    matrix_view<T> const row(c.data(), 1, m, m);
    matrix_view<T const> const rows_of_a(a.data(), k, m, trans_a ? a.ld() : m);
    return multiply_tiny(state, b.transposed(), rows_of_a, row, alpha, beta);
  }
  if (!is_small<T>(m, n, k)) return false;
  bool const packs = trans_b && !has_rows_of_transposed_b(n, k, b.ld());
  std::int64_t const b_row = packs || !trans_b ? b.ld() : 1;
  auto const known = glance_at(kernel, m, n, k, trans_a, packs, a.ld(), b_row);
  if (known == glance::unclear) return false;
  tile_work<T> w;
  w.k = k;
  w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
  w.b = b.data(), w.b_row = b_row;
  w.alpha = alpha, w.beta = beta;
  w.c = c.data(), w.ldc = c.ld();
  multiply_at_once(kernel, known, w, m, n);
  return true;
}

namespace {

/// What is known at a glance.
template <class T, glance known>
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

/// What is more.
template <class T>
struct prepared_tiles {
  microkernel<T> const& kernel;
  problem p;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_tiles const*>(state);
    auto p = s.p;
    p.a = a, p.b = b, p.c = c;
    multiply_several(s.kernel, p, {.threads = 1});
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

/// What was known at a glance, by a function that does that alone.
template <class T, glance first, glance... others>
prepared_gemm prepare_at_once(microkernel<T> const& kernel, glance known, tile_work<T> const& w, problem const& p,
                              bool as_column) {
  if constexpr (sizeof...(others) > 0)
    if (known != first) return prepare_at_once<T, others...>(kernel, known, w, p, as_column);
  return prepare(prepared_at_once<T, first>{kernel, w, p.m, p.n}, as_column);
}

}  // namespace

template <class T>
prepared_gemm prepare_tile(microkernel<T> const& kernel, problem const& given) {
  bool const is_column = is_row_turned(given);
  auto const p = is_column ? as_row(given) : given;
  if (!is_small<T>(p)) return {};
  auto w = tile_in_place<T>(p);
  bool const packs = !has_rows_of_b(p);
  if (packs) w.b_row = p.ldb;
  auto const known = glance_at(kernel, p.m, p.n, p.k, p.trans_a, packs, p.lda, w.b_row);
  if (known != glance::unclear)
    return prepare_at_once<T, glance::one_tile, glance::tiles, glance::packed_tiles, glance::turned_tile,
                           glance::few_terms, glance::column, glance::dots, glance::deep_tiles, glance::wide_tile,
                           glance::wide_tiles>(kernel, known, w, p, is_column);
  return prepare(prepared_tiles<T>{kernel, p}, is_column);
}

template <class T>
plan plan_of(microkernel<T> const& kernel, path way, problem const& p) {
  if (way == path::chosen && is_row_turned(p)) {
    auto turned = plan_of(kernel, way, as_row(p));
    for (auto& level : turned.levels) std::swap(level.m, level.n);
    return turned;
  }
  if (way == path::dots)
    return {{{.name = "stretch", .m = 0, .n = 0, .k = dots_stretch(operands<T>(p)), .memory = "L2"},
             {.name = "register",
              .m = kernel.dot_rows,
              .n = kernel.dot_cols,
              .k = kernel.lanes,
              .memory = "registers",
              .keeps_c = true}}};
  auto const t = tiling_of(kernel, way, operands<T>(p));
  return {{{.name = "pc", .m = 0, .n = 0, .k = t.kc, .memory = "memory"},
           {.name = "ic", .m = t.mc, .n = 0, .k = t.kc, .memory = "L3"},
           {.name = "jc", .m = t.mc, .n = t.nc, .k = t.kc, .memory = "L2"},
           {.name = "ir", .m = t.rows, .n = t.nc, .k = t.kc, .memory = "L1"},
           {.name = "register", .m = t.rows, .n = t.cols, .k = 1, .memory = "registers", .keeps_c = true}}};
}

template void gemm(microkernel<float> const&, path, problem const&, execution const&);
template void gemm(microkernel<double> const&, path, problem const&, execution const&);
template bool multiply_tiny(void const*, matrix_view<float const> const&, matrix_view<float const> const&,
                            matrix_view<float> const&, float, float);
template bool multiply_tiny(void const*, matrix_view<double const> const&, matrix_view<double const> const&,
                            matrix_view<double> const&, double, double);
template prepared_gemm prepare_tile(microkernel<float> const&, problem const&);
template prepared_gemm prepare_tile(microkernel<double> const&, problem const&);
template plan plan_of(microkernel<float> const&, path, problem const&);
template plan plan_of(microkernel<double> const&, path, problem const&);

}  // namespace tandem::cpu
