// How a product is cut into panels and tiles, and shared out among threads: the cost model.
#pragma once

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"

namespace tandem::cpu {

/// Bytes of sums that lie apart at a time: they stay in a cache until they are added.
inline constexpr std::int64_t most_sums = std::int64_t{2} << 20;

/// Elements of a C that is turned, which lie on the stack.
template <class T>
constexpr std::int64_t most_turned = (24 << 10) / sizeof(T);

/// Whether C's transpose is computed, and C written turned: of a small C of many terms, beside a transposed A that does
/// not stay in L2, if its columns fill their vectors much better than its rows. Either way nothing is copied.
template <class T>
bool suits_turning(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), many_terms = 512;
  if (o.a_row != 1 || o.b_col != 1 || o.k <= many_terms || o.m * o.k * size <= caches.l2 / 2) return false;
  std::int64_t const m = ceil_div(o.m, kernel.lanes) * kernel.lanes, n = ceil_div(o.n, kernel.lanes) * kernel.lanes;
  return o.n * m <= most_turned<T> && 5 * o.m * n >= 6 * o.n * m;  // o.m / m against o.n / n
}

/// A grid of parts: rows x cols blocks of C, each with `terms` shares of k. One thread works on each part.
struct grid {
  int rows = 1, cols = 1, terms = 1;
  int parts() const { return rows * cols * terms; }
};

/// How each part of a grid is cut, for threads that are done to take from others: along its rows, or along its columns.
struct pieces_of_part {
  int count = 1;
  bool of_columns = false;
};

/// The tiling of a large product: blocks of A and B packed.
template <class T>
tiling packed_tiling(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o);

/// The tiling that suits the product's shape.
template <class T>
tiling choose_tiling(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o);

/// The grid of at most `threads` parts that is done first. Where terms are shared, a sum lies apart for each
/// panels_apart panels of them if the product is to be reproducible, else for each thread's. `slowness`: of the
/// team.
template <class T>
grid choose_grid(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling const& t,
                 int threads, bool reproducible, double slowness);

/// `t` for the grid's parts: a tile may have its rows from as many stretches of a part's; where L2 is large and threads
/// are many, a part may have too few columns for a copy of A to pay, and a block of B fills a quarter of L2, since two
/// processors may be one core's. The terms of a panel, and so the bits, stay as they are.
template <class T>
tiling tiling_of_parts(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling t,
                       grid const& g);

/// A piece of rows packs B anew; one of columns packs its own of B alone, but passes over all of the part's A, which it
/// would copy anew: a part that is wide enough, beside an A that is not copied, is cut along its columns.
template <class T>
pieces_of_part choose_pieces(operands<T> const& o, tiling const& t, grid const& g);

extern template tiling packed_tiling(cache_sizes const&, microkernel<float> const&, operands<float> const&);
extern template tiling packed_tiling(cache_sizes const&, microkernel<double> const&, operands<double> const&);
extern template tiling choose_tiling(cache_sizes const&, microkernel<float> const&, operands<float> const&);
extern template tiling choose_tiling(cache_sizes const&, microkernel<double> const&, operands<double> const&);
extern template grid choose_grid(cache_sizes const&, microkernel<float> const&, operands<float> const&, tiling const&,
                                 int, bool, double);
extern template grid choose_grid(cache_sizes const&, microkernel<double> const&, operands<double> const&, tiling const&,
                                 int, bool, double);
extern template tiling tiling_of_parts(cache_sizes const&, microkernel<float> const&, operands<float> const&, tiling,
                                       grid const&);
extern template tiling tiling_of_parts(cache_sizes const&, microkernel<double> const&, operands<double> const&, tiling,
                                       grid const&);
extern template pieces_of_part choose_pieces(operands<float> const&, tiling const&, grid const&);
extern template pieces_of_part choose_pieces(operands<double> const&, tiling const&, grid const&);

}  // namespace tandem::cpu
