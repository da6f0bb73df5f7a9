// Products of so few terms that C costs more than the sums.
#pragma once

#include <algorithm>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

static_assert(microkernel<float>::most_terms == most_few_terms && microkernel<double>::most_terms == most_few_terms);

/// Whether vectors go down C's rows instead of along them, with B in registers.
template <class T>
bool goes_down(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t const terms = std::min<std::int64_t>(k, kernel.most_terms);  // at once
  std::int64_t const few_rows = k <= 5 ? 8 : 32;
  return (m > n || (n > 2 * kernel.lanes && m >= few_rows)) &&
         n <= kernel.vectors_down[static_cast<std::size_t>(terms - 1)] * kernel.lanes;
}

/// Of a column of C beside rows of A that lie along k, whether dot products are faster than passes of a few terms,
/// which turn A in registers.
inline bool are_column_of_dots(std::int64_t m, std::int64_t k) {
  constexpr std::int64_t many_rows = 48;
  std::int64_t const few = has_large_l2(host_caches()) ? 5 : 4;
  return k > most_few_terms || (k > few && m < many_rows);
}

/// Whether there are so few terms, of operands that are near; `a_row` from a row of A to the next.
template <class T>
bool are_few_terms(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t a_row) {
  constexpr std::int64_t few = 4;  // else dot products are faster
  if (k > kernel.most_terms || (n == 1 && are_column_of_dots(m, k))) return false;
  // A few columns beside a transposed A are turned, if there are terms to pay for it and they leave lanes of vectors of
  // four idle.
  constexpr std::int64_t many = 6, some_columns = 4;
  bool const nearly_fill = ((n + 1) & 3) <= 1;
  return !goes_down(kernel, m, n, k) || k <= few || a_row != 1 || 2 * n > kernel.lanes ||
         (n >= some_columns && (k <= many || nearly_fill));
}

/// Whether a copy of B, whose rows lie together, would be worth its time. It is where these rows are so near to a
/// multiple of a page apart that, with C's, they meet in the few places of a set of L1. On Intel's processors, those
/// with a large L2, and on Zen 5 it is where more vectors are read than written, from rows of B across lines; the
/// numbers are measured.
template <class T>
bool copies_rows_of_b(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                      std::int64_t b_row) {
  constexpr std::int64_t line = 64, page = 4096, many_rows = 12;
  if (k == 1 || m < many_rows || goes_down(kernel, m, n, k)) return false;
  std::int64_t const apart = b_row * static_cast<std::int64_t>(sizeof(T));
  bool const across_lines = apart % line != 0;
  if (has_large_l2(host_caches())) return across_lines && m >= 32 && k >= 5;
  if (is_like_zen5(host_caches()) && across_lines && m >= 160 && k >= 7) return true;
  return (apart + line) % page <= 2 * line;
}

/// Whether rows of C are asked for before they are written: on Intel's processors, whose stores wait for what is not in
/// L1, where vectors lie across lines. `c_row` from a row of C to the next. One or two terms write stretches instead.
template <class T>
bool asks_for_rows_of_c(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                        std::int64_t c_row) {
  constexpr std::int64_t size = sizeof(T), line = 64, few = 2;
  auto const& caches = host_caches();
  return has_large_l2(caches) && c_row * size % line != 0 && m * n * size > caches.l1 && k > few &&
         !goes_down(kernel, m, n, k);
}

/// Whether there are so few terms, and C does not go past the caches.
template <class T>
bool suits_few_terms(microkernel<T> const& kernel, operands<T> const& o);

/// Whether C is so small that two threads would begin later than one ends.
template <class T>
bool is_for_one_thread(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t worth_two = 64 << 10;  // bytes of a C that is read and written
  return m * std::max<std::int64_t>(n, 64 / sizeof(T)) * static_cast<std::int64_t>(sizeof(T)) <= worth_two;
}

/// C = alpha A B + beta C on at most `threads` threads. More terms take more passes over C.
template <class T>
void multiply_few_terms(microkernel<T> const& kernel, operands<T> const& o, int threads);

extern template bool suits_few_terms(microkernel<float> const&, operands<float> const&);
extern template bool suits_few_terms(microkernel<double> const&, operands<double> const&);
extern template void multiply_few_terms(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_few_terms(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
