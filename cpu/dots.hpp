// Products with few rows or columns as dot products: what lies together is read together, once.
#pragma once

#include <cstdint>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

/// In steps of a multiply-add of vectors: what a sum costs at its end, where its lanes are added up.
constexpr std::int64_t steps_of_sum = 5;

/// The columns of an m x n C behind its last whole vector, if they are `most` at most: as dot products they take a
/// fraction of the time of a vector, where there are enough rows and terms to be worth their beginning and end. 0:
/// none.
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t most) {
  constexpr std::int64_t many_rows = 16, many_terms = 32;
  std::int64_t const left = n & (kernel.lanes - 1);  // lanes are a power of two
  return left <= most && n > kernel.lanes && k >= many_terms && m >= many_rows ? left : 0;
}

/// Whether dot products are faster than tiles for more columns than a vector has, beside a B that lies along k and an A
/// that does not come from memory: tiles of two vectors, or of one and half of one, have lanes to spare. Where half a
/// vector costs half; Intel's processors lose up to two fifths once A is in L3.
template <class T>
bool are_some_columns(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t const lanes = kernel.lanes, of_a = m * k * static_cast<std::int64_t>(sizeof(T));
  if (n <= lanes || n >= 2 * lanes || m <= n || of_a > host_caches().l3 / 4) return false;
  std::int64_t const of_tiles = kernel.ends_in_half(n) ? lanes * 13 / 8 : lanes * 2;
  return columns_left(kernel, m, n, k, 2) == 0 && 16 * n * (k + lanes * 5 / 4) < 15 * k * of_tiles;
}

/// Whether they are for fewer columns than a vector has, where half a vector costs less than one: two thirds, since it
/// waits for as many elements of A. Columns that are no multiple of a dot tile's make narrower tiles, which load more
/// often for what they multiply. Fitted to both ways through 400 products on a Zen 4; in 48ths of an element.
template <class T>
bool are_few_of_halves(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                       bool lies_along_k) {
  std::int64_t const lanes = kernel.lanes, whole_k = (k + lanes - 1) / lanes * lanes;
  std::int64_t const of_tile = 2 * n <= lanes ? 32 * lanes : 51 * lanes;
  std::int64_t const of_dots = n > kernel.dot_cols && n % kernel.dot_cols != 0 ? 60 * n : 48 * n;
  constexpr std::int64_t of_sum = 2, of_element = 12;
  std::int64_t const copying = lies_along_k ? 0 : of_element * k;
  return of_dots * (m * (whole_k + lanes * of_sum) + copying) < m * k * of_tile;
}

/// Whether C has so few columns, A's rows lying along k, that dot products are faster than tiles. A tile's vectors lie
/// along the columns of C: each row of A takes a step for each term, however few the columns. B is laid along k first,
/// if it does not lie so, at a step or so an element.
template <class T>
bool are_few_columns(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool lies_along_k) {
  std::int64_t const lanes = kernel.lanes;
  if (kernel.half_costs_half && n >= lanes) return lies_along_k && are_some_columns(kernel, m, n, k);
  constexpr std::int64_t few_sums = 8;  // which wait for themselves in a tile: a step of so many takes no longer
  std::int64_t const sums = kernel.has_low_tiles() ? std::max(m, few_sums) : m;
  if (n >= lanes || (m <= n && sums == m)) return false;
  if (kernel.half_costs_half) return are_few_of_halves(kernel, m, n, k, lies_along_k);
  std::int64_t const copying = lies_along_k ? 0 : lanes * k;
  return n * (m * (k + lanes * steps_of_sum) + copying) < sums * k * lanes;
}

/// What computes all of so few dot products at once; null: they are more. Their sums are added in another order, so it
/// is not for a thread's share of more.
template <class T>
auto few_dots(microkernel<T> const& kernel, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t few = 4;
  return m <= few && n <= few ? kernel.few_dots[static_cast<std::size_t>(m - 1)][static_cast<std::size_t>(n - 1)]
                              : nullptr;
}

/// Whether this thread gave the same address the last time it asked.
bool is_read_again(void const* large);

/// Whether most of an A of so many bytes is still in L2 where it is read again: its rows come sooner one below the
/// other than as streams. Measured on a Zen 4.
inline bool stays_in_part(cache_sizes const& caches, std::int64_t bytes) {
  return is_like_zen4(caches) && bytes > caches.l2 / 2 && bytes < caches.l2 / 2 * 3;
}

/// The dot products of w, of an A that is read whole.
template <class T>
void multiply_rows_of(microkernel<T> const& kernel, dot_work<T>& w, std::int64_t rows, std::int64_t cols) {
  std::int64_t const bytes = rows * w.k * static_cast<std::int64_t>(sizeof(T));
  w.stays = stays_in_part(host_caches(), bytes) && is_read_again(w.a);
  kernel.dots(w, rows, cols);
}

/// Whether one operand is large and its rows lie along k, and the other is a few rows: a matrix times a vector.
template <class T>
bool suits_dots(microkernel<T> const& kernel, operands<T> const& o);

/// C = alpha A B + beta C on at most `threads` threads.
template <class T>
void multiply_dots(microkernel<T> const& kernel, operands<T> const& o, int threads);

/// The terms of one stretch of k, of which the small operand stays in L2, or, where a tile has two columns, which loads
/// almost as often as it multiplies, in L1 beside a tile's rows of the large one. Not beside a large one from memory,
/// which is better read in long stretches.
template <class T>
std::int64_t dots_stretch(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o);

/// How far ahead of what is read to ask for a large operand that lies beyond the caches, in elements; 0: not at all.
/// Its rows begin where no hardware prefetcher looks, so the next ones are asked for while these are read, some tens of
/// KiB ahead or a tile's, if L2 has room for them, and the processor gains by it. `again`: the thread read it the last
/// time, too, so that half of L3 may still have it, not a quarter.
template <class T>
std::int64_t dots_ahead(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, bool again);

extern template std::int64_t dots_stretch(cache_sizes const&, microkernel<float> const&, operands<float> const&);
extern template std::int64_t dots_stretch(cache_sizes const&, microkernel<double> const&, operands<double> const&);
extern template std::int64_t dots_ahead(cache_sizes const&, microkernel<float> const&, operands<float> const&, bool);
extern template std::int64_t dots_ahead(cache_sizes const&, microkernel<double> const&, operands<double> const&, bool);
extern template bool suits_dots(microkernel<float> const&, operands<float> const&);
extern template bool suits_dots(microkernel<double> const&, operands<double> const&);
extern template void multiply_dots(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_dots(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
