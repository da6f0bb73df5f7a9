// Where k is a few terms, a register tile has hardly begun when it ends. Here one loop passes over a whole row of C, or
// over a column of vectors, and each of them is read, multiplied and written in one go.
#include "cpu/few_terms.hpp"

#include <algorithm>

#include "hwy/cache_control.h"

#include "cpu/caches.hpp"
#include "cpu/panels.hpp"
#include "cpu/threads.hpp"

namespace tandem::cpu {
namespace {

/// Whether C is written once, by all terms together, in whole lines, and is too large to be found in a cache
/// afterwards.
template <class T>
bool streams(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), line = 64;
  return o.beta == 0 && o.k <= kernel.most_terms && !goes_down(kernel, o.m, o.n, o.k) &&
         o.m * o.n * size > host_caches().l3 / 2 && (o.m == 1 || o.ldc * size % line == 0) &&
         reinterpret_cast<std::uintptr_t>(o.c) % line == 0;
}

/// Lays some columns of B's rows together, `apart` from each other.
template <class T>
void lay_rows_of_b(microkernel<T> const& kernel, operands<T> const& o, T const* b, std::int64_t cols,
                   std::int64_t terms, T* out, std::int64_t apart) {
  if (o.b_col != 1) return kernel.turn(b, o.b_col, cols, terms, out, apart);
  for (std::int64_t p = 0; p < terms; ++p) std::copy_n(b + p * o.b_row, cols, out + p * apart);
}

/// The columns of B that are laid together at a time. On Intel's processors long pieces pay only beside a C beyond L2.
template <class T>
std::int64_t packed_columns(operands<T> const& o, std::int64_t fits, std::int64_t most, std::int64_t terms) {
  constexpr std::int64_t size = sizeof(T), line = 64 / size;
  bool const are_short = has_large_l2(host_caches()) && o.m * o.n * size <= host_caches().l2;
  return std::min(fits, quotient(most, are_short ? microkernel<T>::most_terms : terms) / line * line);
}

/// The rows and columns of C in one thread. B's rows stay in L1; a transposed B is turned, piece by piece.
template <class T>
void update(microkernel<T> const& kernel, operands<T> const& o, span_of rows, span_of cols) {
  constexpr std::int64_t size = sizeof(T), line = 64 / size;
  constexpr std::int64_t most = microkernel<T>::most_terms;
  constexpr std::int64_t least = 4 * line;  // as many vectors as go down C's rows
  constexpr std::int64_t packed = 2048;
  alignas(64) T packed_b[packed];
  bool const packs = o.b_col != 1 || copies_rows_of_b(kernel, rows.size(), o.n, o.k, o.b_row);
  auto const& functions = goes_down(kernel, o.m, o.n, o.k) ? kernel.update_down : kernel.update_along;
  std::int64_t const terms_at_once = std::min(o.k, most);
  std::int64_t const fits = std::max(quotient(host_caches().l1 / 3 / size, terms_at_once) / line * line, least);
  std::int64_t const step = packs ? packed_columns(o, fits, packed, terms_at_once) : fits;
  far_tile_work<T> w;
  w.a_row = o.a_row, w.a_col = o.a_col;
  w.alpha = o.alpha;
  w.ldc = o.ldc;
  w.streaming = streams(kernel, o);
  bool const across_lines = asks_for_rows_of_c(kernel, o.m, o.n, o.k, o.ldc);
  // Of a few rows hardly any have others below them that could be asked for.
  constexpr std::int64_t few_rows = 8;
  bool const reads_far_c = o.beta != 0 && o.m * o.n * size > host_caches().l3 / 4;
  w.asks_for_c = across_lines || (reads_far_c && rows.size() > few_rows);
  // Of long rows, one by one, one after the other is written, not a vector of each in turns.
  constexpr std::int64_t long_row = 1024;
  std::int64_t const rows_at_once = across_lines && o.n >= long_row ? 1 : rows.size();
  for (std::int64_t j = cols.first; j < cols.last; j += step) {
    w.cols = std::min(step, cols.last - j);
    for (std::int64_t p = 0; p < o.k; p += most) {
      std::int64_t const terms = std::min(most, o.k - p);
      w.beta = p == 0 ? o.beta : T(1);
      w.b = o.b + p * o.b_row + j * o.b_col, w.b_row = o.b_row;
      if (packs) {
        lay_rows_of_b(kernel, o, w.b, w.cols, terms, packed_b, step);
        w.b = packed_b, w.b_row = step;
      }
      for (std::int64_t i = rows.first; i < rows.last; i += rows_at_once) {
        w.a = o.a + i * o.a_row + p * o.a_col, w.c = o.c + i * o.ldc + j;
        functions[static_cast<std::size_t>(terms - 1)](w, std::min(rows_at_once, rows.last - i), w.asks_for_c);
      }
    }
  }
  // Stores past the caches are not ordered by the flag that says this part is done.
  if (w.streaming) hwy::FlushStream();
}

}  // namespace

template <class T>
bool suits_few_terms(microkernel<T> const& kernel, operands<T> const& o) {
  if (!are_few_terms(kernel, o.m, o.n, o.k, o.a_row)) return false;
  if (goes_down(kernel, o.m, o.n, o.k)) return true;
  constexpr std::int64_t size = sizeof(T), few = 4, line = 64;
  auto const& caches = host_caches();
  // Beyond the caches C is stored past them, by tiles, unless it is a few rows. Rows that are no whole lines are not:
  // whole ones one after the other take less than pieces of them in tiles if they are short, or not many. (Measured on
  // a Zen 4.)
  bool const is_far = o.m * o.n * size > caches.l3 / 2;
  if (is_far && o.ldc * size % line != 0) {
    constexpr std::int64_t short_row = 2048, of_few_terms = 2560;  // bytes
    std::int64_t const some_rows = o.k == 1 && size == 4 ? 64 : 128;
    bool const are_some = o.m > 2 * kernel.mr && o.m <= some_rows;
    return o.m <= few || are_some || o.n * size <= (o.k <= few ? of_few_terms : short_row);
  }
  // With more than a few terms and a B as it lies tiles take half the time on Intel's processors once C is in L3; on
  // a Zen 4 and a Zen 5 they take half more.
  if (o.k <= few || o.b_col != 1 || is_like_zen4(caches) || is_like_zen5(caches)) return o.m <= few || !is_far;
  return (o.m * o.n + o.k * o.n) * size <= caches.l2;
}

template <class T>
void multiply_few_terms(microkernel<T> const& kernel, operands<T> const& o, int threads) {
  constexpr double a_microsecond = 1e4, in_cache = 3e4;  // bytes of C
  constexpr std::int64_t few_rows = 16, units_of_piece = 32;
  if (threads == 1) return update(kernel, o, {0, o.m}, {0, o.n});
  // Of a narrow C a row takes as long as a line.
  double const row = goes_down(kernel, o.m, o.n, o.k) ? 64.0 : static_cast<double>(o.n) * sizeof(T);
  double const bytes = static_cast<double>(o.m) * row * (o.beta == 0 ? 1 : 2);
  auto const parts = deserved_threads(bytes / a_microsecond, bytes / in_cache, threads);
  bool const by_rows = o.m >= few_rows * parts;
  std::int64_t const step = by_rows ? 1 : kernel.lanes, units = ((by_rows ? o.m : o.n) + step - 1) / step;
  // Each piece would turn B anew.
  std::int64_t const worth = o.b_col == 1 ? static_cast<std::int64_t>(bytes) / bytes_of_piece : 1;
  share_units(parts, units, std::min(worth, units / units_of_piece) / parts,
              [&](int, std::int64_t first, std::int64_t last) {
                span_of const all_rows{0, o.m}, all_cols{0, o.n};
                span_of const share{first * step, std::min(last * step, by_rows ? o.m : o.n)};
                update(kernel, o, by_rows ? share : all_rows, by_rows ? all_cols : share);
              });
}

template bool suits_few_terms(microkernel<float> const&, operands<float> const&);
template bool suits_few_terms(microkernel<double> const&, operands<double> const&);
template void multiply_few_terms(microkernel<float> const&, operands<float> const&, int);
template void multiply_few_terms(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
