// Writing a tile of C whose rows do not begin at multiples of 16 bytes: by way of shared memory, so that a warp writes
// neighbours in one access. Its lanes' own elements, one by one, would write parts of many sectors.
#pragma once

#include "gpu/kernels/thread_elements.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A vector of accumulators to shared memory, times `one` (see times_one). Some of them nvcc 13.0 stores by elements,
/// the first at an address above all; a line of their own keeps them apart in the executor's counts.
template <class T>
__device__ __forceinline__ void store_scaled(T* to, T const* from, T one) {
  using vector = typename vector_of<T>::type;
  T v[vector_width<T>];
#pragma unroll
  for (int x = 0; x < vector_width<T>; ++x) v[x] = one * from[x];
  if constexpr (vector_width<T> == 4)
    *reinterpret_cast<vector*>(to) = vector{v[0], v[1], v[2], v[3]};
  else
    *reinterpret_cast<vector*>(to) = vector{v[0], v[1]};
}

/// Elements of shared memory that a warp takes, for `rows_each` rows of C of each of its threads.
template <int tn, int rows_each>
constexpr int along_rows_size = 32 * tn* rows_each;

/// Where lanes have single rows of C, these lie so many elements apart in shared memory, besides their own: two of them
/// that are stored at once fall into different banks.
template <class T>
constexpr int single_rows_apart(int lanes_n) {
  return lanes_n * vector_width<T>;
}
template <class T, int tn, int lanes_n>
constexpr int along_single_rows_size = 32 / lanes_n*(lanes_n* tn + single_rows_apart<T>(lanes_n));

/// As write_elements, for threads that share C by warps, whose lanes have vectors of rows or (`Place::row_width` = 1)
/// single ones. A turn takes one row of each vector, or all (`rows_each` = row_width). `of_warp`: shared memory of the
/// warp's own, along_rows_size elements, or of single rows along_single_rows_size.
template <int rows_each, class T, int tm, int tn, class Place>
__device__ __forceinline__ void write_warp_along_rows(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                                      Place const& place, T const (&acc)[tm][tn], T* of_warp) {
  constexpr int width = vector_width<T>, lanes_n = Place::col_step / width, lanes_m = 32 / lanes_n;
  constexpr int rows = lanes_m * rows_each, cols = lanes_n * tn;  // in shared memory
  constexpr int pitch = cols + (Place::row_width == 1 ? single_rows_apart<T>(lanes_n) : 0);
  constexpr int row_step = Place::row_width / rows_each;                // rows of C between those in shared memory
  constexpr int across = cols < 32 ? cols : 32, at_once = 32 / across;  // elements and rows that the lanes write
  static_assert(Place::row_step == lanes_m * Place::row_width, "a warp's vectors of rows follow one another");
  static_assert(cols % across == 0 && 32 % across == 0 && rows % at_once == 0, "a warp writes whole lines of rows");
  static_assert(rows_each == 1 || rows_each == Place::row_width, "a turn takes a row of each vector, or all");
  int const lane = static_cast<int>(threadIdx.x) % 32, lane_row = lane / across, lane_col = lane % across;
  int const row_in_warp = place.row % (lanes_m * tm), col_in_warp = place.col % cols;
  std::int64_t const row0 = i0 + place.row - row_in_warp, col0 = j0 + place.col - col_in_warp + lane_col;
  int const inside_m = static_cast<int>(min(g.m - row0, std::int64_t{lanes_m * tm}));
  int const inside_n = static_cast<int>(min(g.n - col0, std::int64_t{cols}));
  T* const mine = of_warp + row_in_warp / Place::row_width * rows_each * pitch + col_in_warp;
  T const one = times_one(g);
#pragma unroll
  for (int i = 0; i < tm; i += rows_each) {
#pragma unroll
    for (int r = 0; r < rows_each; ++r)
#pragma unroll
      for (int j = 0; j < tn; j += width)
        store_scaled(mine + r * pitch + place.col_of(j) - place.col, &acc[i + r][j], one);
    __syncwarp();
    int const first = place.row_of(i) - place.row + lane_row * row_step;
    T* c = g.c + (row0 + first) * g.ldc + col0;
    // What is likely, a beta of 0, by itself: the code of all turns runs once, and comes from memory.
    auto const write_turn = [&]<bool read>() {
#pragma unroll 4
      for (int row = 0; row < rows; row += at_once, c += at_once * row_step * g.ldc)
#pragma unroll
        for (int col = 0; col < cols; col += across)
          if (first + row * row_step < inside_m && col < inside_n)
            write_result(c[col], g.alpha, of_warp[(row + lane_row) * pitch + lane_col + col], read ? g.beta : T{0});
    };
    if (g.beta == T{0})
      write_turn.template operator()<false>();
    else
      write_turn.template operator()<true>();
    __syncwarp();
  }
}

/// The same by all warps of a block. `smem`, which nobody reads after the next barrier, has along_rows_size elements a
/// warp.
template <int rows_each, class T, int tm, int tn, class Place>
__device__ __forceinline__ void write_along_rows(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                                 Place const& place, T const (&acc)[tm][tn], T* smem) {
  int const warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  write_warp_along_rows<rows_each>(g, i0, j0, place, acc, smem + warp * along_rows_size<tn, rows_each>);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
