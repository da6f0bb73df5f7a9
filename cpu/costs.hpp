// What the ways of a product cost beside a transposed operand, where either operand may have to be turned, or C:
// estimates in cycles, fitted to 12000 random products whose operands stay near on a Zen 4 and 9000 on an Intel server.
// Only how they compare matters.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/caches.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/panels.hpp"
#include "cpu/tiles.hpp"

namespace tandem::cpu {

/// Register tiles, and the cycles that a step of k takes in all of them.
struct tile_count {
  double tiles = 0, step = 0;
};

inline constexpr double latency_of_fma = 4;  // of a multiply-add, for which the next one of a sum waits

/// Tiles of rows x cols elements, with vectors along the columns; `most`: rows of a tile, by its width.
template <class T, class Most>
tile_count count_tiles(microkernel<T> const& kernel, std::int64_t rows, std::int64_t cols, std::int64_t widest,
                       Most const& most) {
  constexpr double of_half = 0.5, loads = 2;  // a cycle
  double const of_vector = kernel.half_costs_half ? 1 : of_half;
  tile_count all;
  column_tiles<T> const columns(kernel, rows, cols, widest);
  for (std::int64_t i = 0, j = 0, size = 0; j < cols; j += size, ++i) {
    size = columns.size(i, j);
    int const width = kernel.width_of(size);
    auto const count = static_cast<double>(row_tiles(rows, most(width)).count);
    double const height = static_cast<double>(rows) / count, vectors = std::max(width, 1);
    double const multiplying = height * (width == 0 ? of_half : vectors * of_vector);
    all.tiles += count;
    all.step += count * std::max({latency_of_fma, multiplying, (height + vectors) / loads});
  }
  return all;
}

template <class T>
double vectors_of(microkernel<T> const& kernel, std::int64_t edge) {
  return static_cast<double>(quotient(edge + kernel.lanes - 1, kernel.lanes));
}

/// Tiles along C's rows; `packs`: of a B that is turned first. Beside few columns a transposed A beyond L1 passes in
/// short pieces.
template <class T>
double cost_of_tiles(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t b_row,
                     bool trans_a, bool packs) {
  constexpr double begin = 122, of_tile = 3.75, of_step = 1.04, of_row = 0.5;  // of a vector of C
  constexpr double of_part = 6;                                                // of one, without mask registers
  constexpr double of_far_step = 1.1 * of_step;
  constexpr std::int64_t many_terms = 32, size = sizeof(T);
  auto const count = count_tiles(kernel, m, n, widest_beside(kernel, m, k), [&](int width) {
    return is_one_row_of_tiles(kernel, m, width, b_row) ? m : enough_rows(kernel, width);
  });
  bool const is_far = trans_a && m * k * size > host_caches().l1 && n < 2 * kernel.lanes && k >= many_terms;
  double const of_column = kernel.half_costs_half ? 4.8 : 3.5;  // of a vector of B
  double const packing = packs ? of_column * static_cast<double>(n) * vectors_of(kernel, k) : 0;
  bool const ends_in_part = kernel.lanes * size < 64 && n % kernel.lanes != 0;
  double const writing = of_row * vectors_of(kernel, n) + (ends_in_part ? of_part : 0);
  return begin + of_tile * count.tiles + (is_far ? of_far_step : of_step) * count.step * static_cast<double>(k) +
         writing * static_cast<double>(m) + packing;
}

/// Tiles along C's columns, each of which is turned in registers, square by square.
template <class T>
double cost_of_turning(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr double begin = 99, of_tile = 13;
  int const widest = widest_turning(kernel, n, k);
  double const of_step = widest == 1 ? 1.04 : 1.08, of_row = widest == 1 ? 0.5 : 1.15;  // of a square
  std::int64_t const edge = kernel.turned_edge;
  auto const squares = static_cast<double>(quotient(m + edge - 1, edge) * quotient(n + edge - 1, edge));
  auto const count = count_tiles(kernel, n, m, widest,
                                 [&](int width) { return kernel.most_turning[static_cast<std::size_t>(width)]; });
  return begin + of_tile * count.tiles + of_step * count.step * static_cast<double>(k) +
         of_row * static_cast<double>(edge) * squares;
}

/// Passes of a few terms over the sums of C's transpose, which are turned at the end.
template <class T>
double cost_of_turned_sums(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr double begin = 150, of_element = sizeof(T) / 6.0;
  auto const cols = static_cast<double>(n);
  return begin + cols * vectors_of(kernel, m) * static_cast<double>(k) + of_element * cols * static_cast<double>(m);
}

/// Passes of a few terms over C, along its rows or down them, beside a transposed B, which is turned first.
template <class T>
double cost_of_few_terms(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr double begin = 150, of_element = 0.5, of_row = 2.5, of_store = 0.5;
  constexpr double of_step_down = 0.65, of_store_down = 1, of_element_down = 1.1;
  bool const in_halves = kernel.half_costs_half;
  auto const terms = static_cast<double>(k), rows = static_cast<double>(m), elements = static_cast<double>(n * k);
  double const vectors = rows * vectors_of(kernel, n);
  if (goes_down(kernel, m, n, k))
    return begin + (of_step_down * terms + of_store_down) * vectors * (in_halves ? 1 : 0.5) +
           of_element_down * elements;
  return begin + (terms + of_store) * vectors * (in_halves ? 1 : 0.55) + of_element * elements + of_row * rows;
}

/// Dot products; `turns`: of a transposed A, which is turned first.
template <class T>
double cost_of_dots(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool turns) {
  constexpr double begin = 136, of_sum = 1.3, of_tile = 7;
  constexpr double begin_turned = 200, of_step_turned = 1.1, of_sum_turned = 0.3, of_tile_turned = 25,
                   of_element = 0.56;
  auto const sums = static_cast<double>(m * n);
  row_tiles const columns(std::min(m, n), kernel.dot_cols);
  row_tiles const rows(std::max(m, n), kernel.dot_rows_beside(columns.size(0)));
  auto const tiles = static_cast<double>(rows.count * columns.count);
  double const of_vector = kernel.half_costs_half ? 1 : 0.5,
               of_step = kernel.half_costs_half || kernel.has_low_tiles() ? 1.14 : 1.42;
  double const step = std::max(latency_of_fma * tiles, sums * of_vector) * vectors_of(kernel, k);
  return turns ? begin_turned + of_step_turned * step + of_sum_turned * sums + of_tile_turned * tiles +
                     of_element * static_cast<double>(m * k)
               : begin + of_step * step + of_sum * sums + of_tile * tiles;
}

}  // namespace tandem::cpu
