// A thread's elements of a block's tile of C, in vectors: where they lie, how they are read from shared memory,
// multiplied, and written to C.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A thread's first row and column in the block's tile. Its rows and columns come in vectors, which lie `rows_apart`
/// and `cols_apart` elements from each other.
template <class T, int rows_apart, int cols_apart>
struct thread_place {
  static constexpr int width = vector_width<T>, row_width = width, row_step = rows_apart, col_step = cols_apart;
  int row, col;
  __device__ int row_of(int i) const { return row + i / width * row_step + i % width; }
  __device__ int col_of(int j) const { return col + j / width * col_step + j % width; }
};

/// Threads in rows of `threads_n`: tm neighbouring rows of C each, and vectors of columns that alternate with those of
/// the threads beside it.
template <class T, int tm, int threads_n>
__device__ __forceinline__ auto rows_of_threads() {
  constexpr int width = vector_width<T>;
  int const thread = static_cast<int>(threadIdx.x);
  return thread_place<T, width, threads_n * width>{thread / threads_n * tm, thread % threads_n * width};
}

/// Reads step p of a tile: `count` elements, whose vectors begin at x and every `step` elements after it.
template <class Layout, int step, class T, int count>
__device__ __forceinline__ void read_fragment(T (&fragment)[count], T const* smem, int p, int x) {
  constexpr int width = vector_width<T>;
  static_assert(count % width == 0, "whole vectors");
#pragma unroll
  for (int i = 0; i < count / width; ++i) load_vector(&fragment[i * width], &smem[Layout::at(p, x + i * step)]);
}

template <class T, int tm, int tn>
__device__ __forceinline__ void add_outer_product(T (&acc)[tm][tn], T const (&a)[tm], T const (&b)[tn]) {
#pragma unroll
  for (int i = 0; i < tm; ++i)
#pragma unroll
    for (int j = 0; j < tn; ++j) acc[i][j] = fma(a[i], b[j], acc[i][j]);
}

/// Back along a row and along the next, or columns where these are the shorter ones, so that neighbouring multiply-adds
/// share an operand. The other way round is slower by 1 %: as the compiler then gives out the registers.
template <class T, int tm, int tn>
__device__ __forceinline__ void add_outer_product_in_turns(T (&acc)[tm][tn], T const (&a)[tm], T const (&b)[tn]) {
  constexpr bool rows = tm >= tn;
  constexpr int turns = rows ? tm : tn, length = rows ? tn : tm;
#pragma unroll
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int x = 0; x < length; ++x) {
      int const along = turn % 2 == 1 ? x : length - 1 - x, i = rows ? turn : along, j = rows ? along : turn;
      acc[i][j] = fma(a[i], b[j], acc[i][j]);
    }
}

/// Writes a vector of a row of C, which begins at a multiple of 16 bytes.
template <class T>
__device__ __forceinline__ void write_vector(T* c, T const* acc, T alpha, T beta) {
  constexpr int width = vector_width<T>;
  T result[width] = {};
  if (beta != T{0}) load_vector(result, c);
#pragma unroll
  for (int j = 0; j < width; ++j) write_result(result[j], alpha, acc[j], beta);
  store_vector(c, result);
}

/// Writes a vector's worth of a row of C, the `inside` of its elements that are there: as one access where `vectors`
/// says that rows begin at multiples of 16 bytes, and all are there.
template <class T>
__device__ __forceinline__ void write_results(T* c, T const* acc, int inside, bool vectors, T alpha, T beta) {
  constexpr int width = vector_width<T>;
  if (vectors && inside >= width) {
    write_vector(c, acc, alpha, beta);
  } else {
#pragma unroll
    for (int j = 0; j < width; ++j)
      if (j < inside) write_result(c[j], alpha, acc[j], beta);
  }
}

/// Writes a thread's elements of the tile of C at (i0, j0).
template <class T, int tm, int tn, class Place>
__device__ __forceinline__ void write_elements(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                               Place const& place, T const (&acc)[tm][tn], bool vectors) {
  constexpr int width = vector_width<T>;
#pragma unroll
  for (int i = 0; i < tm; ++i) {
    std::int64_t const row = i0 + place.row_of(i), col = j0 + place.col;
    if (row >= g.m) continue;
    T* const c = g.c + row * g.ldc + col;
#pragma unroll
    for (int j = 0; j < tn; j += width) {
      int const offset = place.col_of(j) - place.col;
      std::int64_t const left = g.n - col - offset;
      write_results(c + offset, &acc[i][j], left < width ? static_cast<int>(left) : width, vectors, g.alpha, g.beta);
    }
  }
}

/// As write_elements, of a C that consists of vectors. `read`: beta may be other than 0.
template <bool read, class T, int tm, int tn, class Place>
__device__ __forceinline__ void write_vectors(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                              Place const& place, T const (&acc)[tm][tn]) {
  constexpr int width = vector_width<T>;
  constexpr std::int64_t beyond_tiles = 1 << 20;
  int const inside_m = static_cast<int>(min(g.m - i0 - place.row, beyond_tiles));
  int const inside_n = static_cast<int>(min(g.n - j0 - place.col, beyond_tiles));
  T* const first = g.c + (i0 + place.row) * g.ldc + j0 + place.col;
#pragma unroll
  for (int i = 0; i < tm; ++i) {
    int const row = place.row_of(i) - place.row;
    T* const c = first + row * g.ldc;
#pragma unroll
    for (int j = 0; j < tn; j += width) {
      int const col = place.col_of(j) - place.col;
      if (row < inside_m && col < inside_n) write_vector(c + col, &acc[i][j], g.alpha, read ? g.beta : T{0});
    }
  }
}

/// The same. A large tile's code is long, runs once, and comes from memory where other kernels have run before: what is
/// likely, a beta of 0, stands by itself.
template <class T, int tm, int tn, class Place>
__device__ __forceinline__ void write_vectors(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                              Place const& place, T const (&acc)[tm][tn]) {
  if (g.beta == T{0})
    write_vectors<false>(g, i0, j0, place, acc);
  else
    write_vectors<true>(g, i0, j0, place, acc);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
