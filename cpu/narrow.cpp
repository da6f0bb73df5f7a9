// Where C has a few columns, most lanes of a vector along its rows are idle; where A is transposed its columns lie
// together, and vectors go along them: C's transpose is computed, and written turned. So is a small C of any width
// where B is transposed, too, if turning C takes less time than copying B would.
//
// An A that stays in L2 is passed over by register tiles, each with all of k, which are turned in registers; so is a
// larger one of few terms that passes once. So few sums that they would wait for themselves are turned behind deep
// tiles. Another large A is passed over by the tiles of a skinny C, in panels of k; or where terms are few, or such
// tiles would copy it, by panels of a few terms, each of whose rows is a stream, which the hardware follows by itself.
// A term is rounded once in each product of its panel, once by each later panel and at the end, at most k + 2 times.
#include "cpu/narrow.hpp"

#include <algorithm>

#include "cpu/caches.hpp"
#include "cpu/costs.hpp"
#include "cpu/dots.hpp"
#include "cpu/panels.hpp"
#include "cpu/schedule.hpp"
#include "cpu/threads.hpp"
#include "cpu/tiles.hpp"
#include "cpu/workspace.hpp"

namespace tandem::cpu {
namespace {

constexpr std::int64_t most_sums_bytes = 24 << 10;   // beside what passes, in L1
constexpr std::int64_t of_panels_bytes = 256 << 10;  // sums in L2, so that long pieces of A's columns pass

template <class T>
bool stays_in_l2(operands<T> const& o) {
  return o.m * o.k * static_cast<std::int64_t>(sizeof(T)) <= host_caches().l2 / 2;
}

/// Whether B would have to be copied for tiles along C's rows, and all operands stay in L2: turning many columns' high
/// tiles is little beside it. (Where vectors take as long as their halves, tiles are wide, and turning them takes
/// longer.)
template <class T>
bool stay_beside_transposed_b(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  return kernel.half_costs_half && o.b_col != 1 && o.n > kernel.most_turning[2] && stays_in_l2(o) &&
         ((o.m + o.n) * o.k + o.m * o.n) * size <= host_caches().l2;
}

/// Whether an A beyond half of L2 passes once, by register tiles of a narrow C. Each term is a stream of A: so they are
/// few, fewer from memory, where the hardware follows some dozen. Intel's processors would copy a transposed A for
/// tiles along C's rows; elsewhere those have to leave a quarter of their lanes idle.
template <class T>
bool passes_once(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t few_terms = 16, some_terms = 48, many_terms = 96;
  auto const& caches = host_caches();
  std::int64_t const bytes = o.m * o.k * static_cast<std::int64_t>(sizeof(T));
  bool const is_far = bytes > caches.l3 / 4;
  if (has_large_l2(caches)) {
    constexpr std::int64_t most_cols = 24;
    return o.n <= most_cols && o.k <= (is_far ? few_terms : some_terms);
  }
  constexpr std::int64_t most_cols = 20, few_cols = 3;
  std::int64_t const filled = ceil_div(o.n, kernel.lanes) * kernel.lanes;
  if (o.n > most_cols || 4 * o.n > 3 * filled) return false;
  bool const is_wide = o.n > kernel.lanes;
  if (is_wide && o.k <= few_terms && bytes <= caches.l2) return false;
  if (is_far) return o.k <= few_terms;
  return o.k <= (is_wide || o.n <= few_cols ? some_terms : many_terms);
}

/// Whether C's transpose is made by register tiles, each with all of k.
template <class T>
bool is_in_tiles(microkernel<T> const& kernel, operands<T> const& o) {
  return o.k > kernel.most_terms && (stays_in_l2(o) || passes_once(kernel, o));
}

/// Whether C's transpose is made in panels of k by the tiles of a skinny C, which read A where it lies.
template <class T>
bool is_in_panels(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t many_terms = 16;
  if (stays_in_l2(o) || is_in_tiles(kernel, o) || o.k < many_terms || o.n > 2 * kernel.mr) return false;
  auto const t = choose_tiling(host_caches(), kernel, turned(o));
  return !t.pack_a && !t.pack_b;
}

/// Whether all of C is so few sums that each would wait for itself: deep tiles, whatever share of its rows a thread
/// has, so that the order of terms is the same.
template <class T>
bool is_in_deep_tiles(microkernel<T> const& kernel, operands<T> const& o) {
  return is_in_tiles(kernel, o) && kernel.deep_tile(o.n, o.m) != nullptr;
}

/// The work of S (n x cols) = B^T A^T, the columns of which are op(A)'s rows from i on.
template <class T, class Work = tile_work<T>>
Work transposed_work(operands<T> const& o, std::int64_t i) {
  Work w;
  w.k = o.k;
  w.a = o.b, w.a_row = o.b_col, w.a_col = o.b_row;
  w.b = o.a + i, w.b_row = o.a_col;
  return w;
}

template <class T>
void sum_in_deep_tile(microkernel<T> const& kernel, operands<T> const& o, std::int64_t i, std::int64_t cols, T* sums,
                      std::int64_t apart) {
  auto w = transposed_work(o, i);
  w.cols = cols;
  w.c = sums, w.ldc = apart;
  kernel.deep_tile(o.n, cols)(w);
}

/// These rows of C in tiles that are turned in registers.
template <class T>
void multiply_in_turning_tiles(microkernel<T> const& kernel, operands<T> const& o, span_of rows) {
  auto w = transposed_work<T, turning_tile_work<T>>(o, rows.first);
  w.alpha = o.alpha, w.beta = o.beta;
  w.c = o.c + rows.first * o.ldc, w.ldc = o.ldc;
  multiply_turning_tiles(kernel, w, rows.size(), o.n);
}

/// Whether A comes from so far, in so many rows of its transpose, that C's transpose pays beside more columns, even by
/// streams with a pass over the sums for each few: from beyond L3, on Intel's processors, whose L3 is far, from beyond
/// half of L2.
template <class T>
bool comes_from_far(operands<T> const& o) {
  constexpr std::int64_t many_terms = 400;
  auto const& caches = host_caches();
  std::int64_t const near = has_large_l2(caches) ? caches.l2 / 2 : caches.l3 / 4 * 3;
  return o.k >= many_terms && o.m * o.k * static_cast<std::int64_t>(sizeof(T)) > near;
}

template <class T>
void sum_in_streams(microkernel<T> const& kernel, operands<T> const& o, std::int64_t i, std::int64_t cols, T* sums,
                    std::int64_t apart) {
  constexpr std::int64_t most = microkernel<T>::most_terms;
  auto w = transposed_work(o, i);
  w.cols = cols;
  w.c = sums, w.ldc = apart;
  for (std::int64_t p = 0; p < o.k; p += most) {
    w.a = o.b + p * o.b_row, w.b = o.a + p * o.a_col + i;
    w.beta = p == 0 ? T(0) : T(1);
    kernel.update_along[static_cast<std::size_t>(std::min(most, o.k - p) - 1)](w, o.n, false);
  }
}

/// Elements of a row of sums that a register tile takes at a time, whole lines.
template <class T>
std::int64_t sums_of_tile(microkernel<T> const& kernel, std::int64_t rows) {
  constexpr std::int64_t line = 64 / sizeof(T);
  std::int64_t const vectors = quotient(rows + kernel.lanes - 1, kernel.lanes);
  return std::max(std::min<std::int64_t>(vectors, kernel.widest) * kernel.lanes, line);
}

/// Of a small product, whether to turn C takes less time, with the multiplication of vectors along A's rows, than the
/// multiplication of vectors along C's, with the copying of a transposed B.
template <class T>
bool is_faster_turned(microkernel<T> const& kernel, operands<T> const& o) {
  if (is_in_deep_tiles(kernel, o)) return true;
  auto const cost = o.k > kernel.most_terms ? cost_of_turning<T> : cost_of_turned_sums<T>;
  auto const left = columns_left(kernel, o.m, o.n, o.k, 2);
  double along = cost_of_tiles(kernel, o.m, o.n - left, o.k, o.b_row * o.b_col, true, o.b_col != 1);
  if (left > 0) {                   // for which A is read once more
    constexpr double from_l2 = 32;  // bytes a cycle
    auto const bytes_of_a = o.m * o.k * static_cast<std::int64_t>(sizeof(T));
    along += cost_of_turned_sums(kernel, o.m, left, o.k);
    if (bytes_of_a > host_caches().l1) along += static_cast<double>(bytes_of_a) / from_l2;
  }
  return cost(kernel, o.m, o.n, o.k) <= along;
}

/// These rows of C by way of `sums`, some columns at a time. (columns of C, apart)
template <class T>
void sum_at_once(microkernel<T> const& kernel, operands<T> const& o, span_of rows, T* sums) {
  constexpr std::int64_t size = sizeof(T), line = 64 / size;
  std::int64_t const most_cols = most_sums_bytes / size / sums_of_tile(kernel, rows.size());
  row_tiles const columns(o.n, most_cols);
  std::int64_t const fits = most_sums_bytes / size / columns.size(0) / line * line;
  std::int64_t const wanted = (rows.size() + line - 1) / line * line, apart = std::min(fits, wanted);
  auto const sum = is_in_deep_tiles(kernel, o) ? sum_in_deep_tile<T> : sum_in_streams<T>;
  for (std::int64_t i = rows.first; i < rows.last; i += apart) {
    std::int64_t const height = std::min(apart, rows.last - i);
    auto part = o;
    for (std::int64_t t = 0; t < columns.count; part.b += part.n * o.b_col, part.c += part.n, ++t) {
      part.n = columns.size(t);
      sum(kernel, part, i, height, sums, apart);
      kernel.write_turned(height, part.n, o.alpha, sums, apart, o.beta, part.c + i * o.ldc, o.ldc);
    }
  }
}

/// The same in panels of k, all columns at a time.
template <class T>
void sum_in_panels(microkernel<T> const& kernel, operands<T> const& o, span_of rows, T* sums, std::int64_t bytes) {
  constexpr std::int64_t line = 64 / sizeof(T);
  auto part = turned(o);
  auto t = choose_tiling(host_caches(), kernel, part);  // whatever rows these are: the order of terms is the same
  t.dot_cols = 0, t.streaming = false;                  // the sums are read soon
  part.c = sums, part.ldc = bytes / static_cast<std::int64_t>(sizeof(T)) / o.n / line * line;
  for (std::int64_t i = rows.first; i < rows.last; i += part.ldc) {
    part.n = std::min(part.ldc, rows.last - i), part.b = o.a + i;
    multiply_panels<T>(kernel, part, t, {0, part.m}, {0, part.n}, {0, part.k}, nullptr, nullptr);
    kernel.write_turned(part.n, o.n, o.alpha, sums, part.ldc, o.beta, o.c + i * o.ldc, o.ldc);
  }
}

}  // namespace

template <class T>
bool suits_narrow(microkernel<T> const& kernel, operands<T> const& o) {
  if (o.a_row != 1) return false;
  bool const is_near = stays_in_l2(o);
  bool const is_little = o.m * o.n * o.k <= little_work || stay_beside_transposed_b(kernel, o);
  if (o.m >= o.n && !is_near && is_in_tiles(kernel, o)) return true;
  if (is_little && fills_vectors(kernel, o.m, o.n, o.k, o.b_col != 1)) return is_faster_turned(kernel, o);
  if (o.m < o.n) return false;
  if (o.m >= kernel.lanes && is_near) return is_faster_turned(kernel, o);
  // Of more work, tiles would copy A or come back to each of its rows for every few columns.
  std::int64_t const quarters = 4 * o.n, vector = kernel.lanes;
  if (quarters <= (is_near ? 8 : comes_from_far(o) ? 7 : 3) * vector) return true;
  constexpr std::int64_t long_sum = 256;  // beside which turning C is nothing
  if (o.n <= 2 * vector && is_in_panels(kernel, o) && choose_tiling(host_caches(), kernel, o).pack_a) return true;
  std::int64_t const filled = ceil_div(o.n, vector) * vector;
  bool const is_long = o.k >= long_sum && o.m >= 16 * vector;
  return (quarters <= 3 * filled || (is_long && 8 * o.n <= 7 * filled)) && is_in_panels(kernel, o);
}

template <class T>
void multiply_narrow_rows(microkernel<T> const& kernel, operands<T> const& o, span_of rows) {
  alignas(64) T sums[most_sums_bytes / sizeof(T)];
  if (is_in_panels(kernel, o)) return sum_in_panels(kernel, o, rows, sums, most_sums_bytes);
  if (is_in_tiles(kernel, o) && !is_in_deep_tiles(kernel, o)) return multiply_in_turning_tiles(kernel, o, rows);
  sum_at_once(kernel, o, rows, sums);
}

template <class T>
void multiply_narrow(microkernel<T> const& kernel, operands<T> const& o, int threads) {
  constexpr double a_microsecond = 2e4;  // bytes of A
  constexpr std::int64_t line = 64 / sizeof(T);
  double const bytes = static_cast<double>(o.m) * static_cast<double>(o.k) * sizeof(T);
  double const microseconds = std::max(bytes, bytes * static_cast<double>(o.n) / 4) / a_microsecond;
  std::int64_t const lines = (o.m + line - 1) / line;
  auto const parts =
      static_cast<int>(std::min<std::int64_t>(deserved_threads(microseconds, microseconds, threads), lines));
  auto const rows_of = [&](int part) {
    return span_of{lines * part / parts * line, std::min(lines * (part + 1) / parts * line, o.m)};
  };
  if (!is_in_panels(kernel, o))
    return run_team(parts, [&](int part) { multiply_narrow_rows(kernel, o, rows_of(part)); });
  auto* const sums =
      static_cast<std::byte*>(thread_workspace().reserve(static_cast<std::size_t>(parts * of_panels_bytes)));
  run_team(parts, [&](int part) {
    sum_in_panels(kernel, o, rows_of(part), reinterpret_cast<T*>(sums + part * of_panels_bytes), of_panels_bytes);
  });
}

template bool suits_narrow(microkernel<float> const&, operands<float> const&);
template bool suits_narrow(microkernel<double> const&, operands<double> const&);
template void multiply_narrow(microkernel<float> const&, operands<float> const&, int);
template void multiply_narrow(microkernel<double> const&, operands<double> const&, int);
template void multiply_narrow_rows(microkernel<float> const&, operands<float> const&, span_of);
template void multiply_narrow_rows(microkernel<double> const&, operands<double> const&, span_of);

}  // namespace tandem::cpu
