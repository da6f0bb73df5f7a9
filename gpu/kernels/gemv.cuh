// Removes the arithmetic on padding where C is one row or one column: a product of a matrix and a vector reads the
// matrix once and is bound by that. Where the matrix lies along k, lanes of a warp share a row and meet by shuffles;
// where it lies along C, a thread has neighbouring elements of C and a block's threads share k. k is cut into slices
// until there is work for every multiprocessor.
#pragma once

#include "gpu/kernels/k_slices.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// y = alpha X v + beta y, (length) = (length, k) (k). X lies along k, a row every ld, or along y, a step of k every
/// ld.
template <class T>
struct matrix_vector {
  std::int64_t length, k;
  T alpha;
  T const* x;
  std::int64_t ld;
  bool along_k, vectors;  ///< of X: it can be read 16 bytes at a time, and v where X lies along k
  T const* v;
  std::int64_t stride_v;
  T beta;
  T* y;
  std::int64_t stride_y;
  std::int64_t slice;  ///< steps of k
  T* partials;         ///< (slices, length); nullptr: one slice, which writes y

  /// The sum of a slice's steps for element i, which is inside y.
  __device__ __forceinline__ void write(std::int64_t i, T sum) const {
    if (partials == nullptr)
      write_result(y[i * stride_y], alpha, sum, beta);
    else
      partials[blockIdx.y * length + i] = sum;
  }
};

inline constexpr int gemv_threads = 256, gemv_rows = 2;  // rows of X that a lane reads at once

/// The vector at `from`, of which `inside` elements are there. `vectors`: all are, and one access can read them.
template <bool vectors, class T>
__device__ __forceinline__ void read_inside(T (&to)[vector_width<T>], T const* from, std::int64_t inside) {
  constexpr int width = vector_width<T>;
  if constexpr (vectors) {
    load_vector(to, from);
  } else {
#pragma unroll
    for (int e = 0; e < width; ++e) to[e] = e < inside ? from[e] : T{0};
  }
}

/// A lane's share of the dot products of `gemv_rows` rows with v, [p0, p1) of them. `vectors`: by whole vectors.
template <bool vectors, class T>
__device__ __forceinline__ void add_dots(T (&sum)[gemv_rows][vector_width<T>], matrix_vector<T> const& s,
                                         T const* const (&row)[gemv_rows], std::int64_t p0, std::int64_t p1,
                                         int lanes) {
  constexpr int width = vector_width<T>;
#pragma unroll 4
  for (std::int64_t p = p0; p < p1; p += lanes * width) {
    T v[width];
    if constexpr (vectors) {
      load_vector(v, s.v + p);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) v[e] = p + e < p1 ? s.v[(p + e) * s.stride_v] : T{0};
    }
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r) {
      T x[width];
      read_inside<vectors>(x, row[r] + p, p1 - p);
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = fma(x[e], v[e], sum[r][e]);
    }
  }
}

/// `lanes` of a warp to `gemv_rows` rows of X; x: rows, y: slices.
template <class T>
__global__ void __launch_bounds__(gemv_threads) gemv_dots(matrix_vector<T> s, int lanes) {
  constexpr int width = vector_width<T>;
  let_next_kernel_start();
  int const lane = static_cast<int>(threadIdx.x) % lanes, step = lanes * width;
  std::int64_t const team = (std::int64_t{blockIdx.x} * gemv_threads + threadIdx.x) / lanes;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k);
  T const* row[gemv_rows];
#pragma unroll
  for (int r = 0; r < gemv_rows; ++r) row[r] = s.x + min(team * gemv_rows + r, s.length - 1) * s.ld;
  T sum[gemv_rows][width] = {};  // (rows, neighbouring steps of k)
  std::int64_t const whole = s.vectors ? p0 + (p1 - p0) / step * step : p0;
  add_dots<true>(sum, s, row, p0 + lane * width, whole, lanes);
  add_dots<false>(sum, s, row, whole + lane * width, p1, lanes);
#pragma unroll
  for (int r = 0; r < gemv_rows; ++r) {
#pragma unroll
    for (int e = 1; e < width; ++e) sum[r][0] += sum[r][e];
    for (int apart = lanes / 2; apart > 0; apart /= 2) sum[r][0] += __shfl_xor_sync(0xffffffff, sum[r][0], apart);
    if (lane == 0 && team * gemv_rows + r < s.length) s.write(team * gemv_rows + r, sum[r][0]);
  }
}

/// A thread's share of the sums of X's elements from `from` on, every `step`-th step of k in [p, p1).
template <bool vectors, class T>
__device__ __forceinline__ void add_steps(T (&sum)[vector_width<T>], matrix_vector<T> const& s, T const* from,
                                          std::int64_t inside, std::int64_t p, std::int64_t p1, int step) {
  constexpr int width = vector_width<T>;
#pragma unroll 8
  for (; p < p1; p += step) {
    T x[width];
    read_inside<vectors>(x, from, inside);
    T const v = s.v[p * s.stride_v];
#pragma unroll
    for (int e = 0; e < width; ++e) sum[e] = fma(x[e], v, sum[e]);
    from += step * s.ld;
  }
}

/// A block has `across` threads along y, with a vector of its elements each, and steps of k for the others; x: y, y:
/// slices.
template <class T>
__global__ void __launch_bounds__(gemv_threads) gemv_sums(matrix_vector<T> s, int across) {
  constexpr int width = vector_width<T>;
  __shared__ T sums[gemv_threads][width];  // (threads, neighbouring elements of y)
  let_next_kernel_start();
  int const thread = static_cast<int>(threadIdx.x), column = thread % across, step = gemv_threads / across;
  std::int64_t const i = (std::int64_t{blockIdx.x} * across + column) * width, inside = s.length - i;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k), p = p0 + thread / across;
  T sum[width] = {};
  if (s.vectors && inside >= width)
    add_steps<true>(sum, s, s.x + p * s.ld + i, inside, p, p1, step);
  else if (inside > 0)
    add_steps<false>(sum, s, s.x + p * s.ld + i, inside, p, p1, step);
#pragma unroll
  for (int e = 0; e < width; ++e) sums[thread][e] = sum[e];
  for (int half = gemv_threads / 2; half >= across; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
#pragma unroll
    for (int e = 0; e < width; ++e) sums[thread][e] += sums[thread + half][e];
  }
  if (thread >= across) return;
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (e < inside) s.write(i + e, sums[thread][e]);
}

/// How a matrix-vector product is dealt out.
struct gemv_cut {
  int team;             ///< threads along k (dots) or along y (sums)
  std::int64_t blocks;  ///< along y
  std::int64_t slice;   ///< steps of k
};

/// As many threads as have a vector each; slices of k until there are four blocks a multiprocessor, of 256 steps at
/// least. One block of twice the threads each, and one kernel, took longer.
template <class T>
gemv_cut cut_gemv(std::int64_t length, std::int64_t k, bool along_k) {
  constexpr int width = vector_width<T>;
  std::int64_t const vectors = tiles(along_k ? k : length, width);
  gemv_cut cut{1, 0, k};
  while (cut.team < 32 && cut.team < vectors) cut.team *= 2;
  int const of_block = along_k ? gemv_threads / cut.team * gemv_rows : cut.team * width;
  cut.blocks = tiles(length, of_block);
  constexpr std::int64_t wanted = 4 * dealt_multiprocessors, least = 256, most = 65535;
  std::int64_t const slices = std::min({wanted / std::max<std::int64_t>(cut.blocks, 1), k / least, most});
  if (slices > 1) cut.slice = tiles((k + slices - 1) / slices, 128) * 128;
  return cut;
}

inline bool is_along_k(problem const& p) { return p.n == 1 ? !p.trans_a : p.trans_b; }

template <class T>
gpu::k_cut gemv_k_cut(problem const& p) {
  auto const cut = cut_gemv<T>(p.n == 1 ? p.m : p.n, p.k, is_along_k(p));
  return {.unit = cut.slice < p.k ? "slice" : nullptr, .length = cut.slice, .on_its_side = p.n == 1};
}

/// m or n is 1.
template <class T>
void launch_gemv(problem const& p, CUstream_st* stream) {
  auto const g = operands_of<T>(p);
  bool const column = p.n == 1, along_k = is_along_k(p);
  auto const cut = cut_gemv<T>(column ? p.m : p.n, p.k, along_k);
  std::int64_t const slices = (p.k + cut.slice - 1) / cut.slice;
  matrix_vector<T> s{};
  s.length = column ? g.m : g.n, s.k = g.k, s.alpha = g.alpha, s.beta = g.beta;
  s.x = column ? g.a : g.b, s.ld = column ? g.lda : g.ldb;
  s.v = column ? g.b : g.a;
  s.stride_v = column ? (p.trans_b ? 1 : g.ldb) : (p.trans_a ? g.lda : 1);
  s.y = g.c, s.stride_y = column ? g.ldc : 1;
  s.along_k = along_k, s.vectors = begins_with_vectors<T>(s.x, s.ld);
  if (along_k) s.vectors = s.vectors && s.stride_v == 1 && begins_with_vectors<T>(s.v, 0);
  s.slice = cut.slice;
  workspace<T> const partials(slices == 1 ? 0 : slices * s.length, stream);
  s.partials = partials.data();
  launch(along_k ? gemv_dots<T> : gemv_sums<T>, dim3(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(slices)),
         dim3(gemv_threads), 0, stream, s, cut.team);
  if (slices == 1) return;
  constexpr int lanes = 8;
  launch_after(sum_slices<T, lanes>, dim3(static_cast<unsigned>(tiles(s.length, 32))), dim3(32, lanes), 0, stream, g,
               static_cast<T const*>(s.partials), static_cast<int>(slices));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
