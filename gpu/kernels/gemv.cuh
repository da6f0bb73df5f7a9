// Removes the arithmetic on padding where C is one row or one column: a product of a matrix and a vector reads the
// matrix once and is bound by that. Where the matrix lies along k, a team of threads shares a row; where it lies along
// C, a thread has a few elements of C and a block's threads share k. k is cut into slices only where the rows or
// columns are too few to keep every multiprocessor at work: adding the slices up takes another kernel.
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
  bool vectors;  ///< X can be read 16 bytes at a time, and v where X lies along k
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
      if constexpr (vectors) {
        load_vector(x, row[r] + p);
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e) x[e] = p + e < p1 ? row[r][p + e] : T{0};
      }
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = fma(x[e], v[e], sum[r][e]);
    }
  }
}

/// A team of `lanes` threads, a part of a warp or several warps, has `gemv_rows` rows of X; x: rows, y: slices.
template <class T>
__global__ void __launch_bounds__(gemv_threads) gemv_dots(matrix_vector<T> s, int lanes) {
  constexpr int width = vector_width<T>, warps = gemv_threads / 32;
  __shared__ T of_warp[gemv_rows][warps];
  let_next_kernel_start();
  wait_for_kernel_before();
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
    for (int apart = min(lanes, 32) / 2; apart > 0; apart /= 2)
      sum[r][0] += __shfl_xor_sync(0xffffffff, sum[r][0], apart);
  }
  if (lanes > 32) {
    int const warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r)
      if (lane % 32 == 0) of_warp[r][warp] = sum[r][0];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r)
      for (int other = 1; lane == 0 && other < lanes / 32; ++other) sum[r][0] += of_warp[r][warp + other];
  }
#pragma unroll
  for (int r = 0; r < gemv_rows; ++r)
    if (lane == 0 && team * gemv_rows + r < s.length) s.write(team * gemv_rows + r, sum[r][0]);
}

/// A thread's share of the sums of X's elements `apart` elements from each other, from `from` on, `inside` of which are
/// there, every `step`-th step of k in [p, p1): eight of them under way at once, and of the last ones four, which would
/// else be waited for one by one. `vectors`: neighbours, all there, which one access can read.
template <bool vectors, class T>
__device__ __forceinline__ void add_steps(T (&sum)[vector_width<T>], matrix_vector<T> const& s, T const* from,
                                          int apart, std::int64_t inside, std::int64_t p, std::int64_t p1, int step) {
  constexpr int width = vector_width<T>, at_once = 8, at_end = 4;
  auto const read = [&](T(&x)[width], T const* line) {
    if constexpr (vectors) {
      load_vector(x, line);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) x[e] = e * apart < inside ? line[e * apart] : T{0};
    }
  };
  std::int64_t const next = step * s.ld;
  for (; p + (at_once - 1) * step < p1; p += at_once * step)
#pragma unroll
    for (int u = 0; u < at_once; ++u, from += next) {
      T x[width];
      read(x, from);
      T const v = s.v[(p + u * step) * s.stride_v];
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] = fma(x[e], v, sum[e]);
    }
  for (; p < p1; p += at_end * step) {
    T x[at_end][width] = {}, v[at_end] = {};
#pragma unroll
    for (int u = 0; u < at_end; ++u, from += next) {
      if (p + u * step >= p1) continue;
      read(x[u], from);
      v[u] = s.v[(p + u * step) * s.stride_v];
    }
#pragma unroll
    for (int u = 0; u < at_end; ++u) {
      if (p + u * step >= p1) continue;
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] = fma(x[u][e], v[u], sum[e]);
    }
  }
}

/// A block has `across` threads along y, each with neighbours if they can be read as a vector, else with every
/// across-th element, and steps of k for the others; x: y, y: slices.
template <class T>
__global__ void __launch_bounds__(gemv_threads, 4) gemv_sums(matrix_vector<T> s, int across) {
  constexpr int width = vector_width<T>;
  __shared__ T sums[gemv_threads][width];  // (threads, elements of y)
  let_next_kernel_start();
  wait_for_kernel_before();
  int const thread = static_cast<int>(threadIdx.x), column = thread % across, step = gemv_threads / across;
  int const apart = s.vectors ? 1 : across;
  std::int64_t const i = std::int64_t{blockIdx.x} * across * width + column * (s.vectors ? width : 1);
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k), p = p0 + thread / across;
  std::int64_t const inside = s.length - i;
  T sum[width] = {};
  if (s.vectors && inside >= width)
    add_steps<true>(sum, s, s.x + p * s.ld + i, apart, inside, p, p1, step);
  else if (inside > 0)
    add_steps<false>(sum, s, s.x + p * s.ld + i, apart, inside, p, p1, step);
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
    if (e * apart < inside) s.write(i + e * apart, sums[thread][e]);
}

/// How a matrix-vector product is dealt out.
struct gemv_cut {
  int team;             ///< threads along k (dots) or along y (sums)
  std::int64_t blocks;  ///< along y
  std::int64_t slice;   ///< steps of k
};

/// The greatest power of two, at most `limit` and at least 1, that is not above `wanted`.
inline int power_of_two(std::int64_t wanted, int limit) {
  int power = 1;
  while (power < limit && 2 * power <= wanted) power *= 2;
  return power;
}

/// Four blocks of 256 threads a multiprocessor read memory as fast as more do. Along k: as large a team as they allow
/// and a row has vectors for, of 16 at least if each then has four vectors; so a row's sum is soon there. Along y: one
/// column of threads for so short a k that each thread has four steps, 16 for others, whose lines of 256 bytes are
/// whole; more where there were too many blocks. Slices, if there are too few, of what a thread reads without waiting.
/// On an H200 most of 42 shapes are so within a tenth of the best of teams and slices of 1, 2, 4 to 256.
template <class T>
gemv_cut cut_gemv(std::int64_t length, std::int64_t k, bool along_k) {
  constexpr int width = vector_width<T>;
  constexpr std::int64_t places = 4 * dealt_multiprocessors, most_slices = 65535;
  length = std::max<std::int64_t>(length, 1), k = std::max<std::int64_t>(k, 1);  // of an empty product there is a plan
  gemv_cut cut{1, 0, k};
  std::int64_t slices = 0;
  if (along_k) {
    std::int64_t const vectors = tiles(k, width), rows = tiles(length, gemv_rows);
    int const fast = power_of_two(std::min(vectors / 4, std::int64_t{16}), 16);
    int const fits = power_of_two(std::min(places * gemv_threads / rows, vectors), gemv_threads);
    cut.team = std::max(fast, fits);
    cut.blocks = tiles(rows, gemv_threads / cut.team);
    slices = std::min(places / cut.blocks, vectors / cut.team / 4);
  } else {
    constexpr std::int64_t short_k = 1024;
    int const most = k <= short_k / 2 ? 64 : 16;
    std::int64_t const vectors = tiles(length, width);
    int const fast = k <= short_k ? power_of_two(4 * gemv_threads / k, most) : most;
    int const fits = power_of_two(2 * tiles(vectors, places) - 1, most);
    cut.team = power_of_two(vectors, std::max(fast, fits));
    cut.blocks = tiles(vectors, cut.team);
    if (k > short_k) slices = std::min((places + cut.blocks / 2) / cut.blocks, k * cut.team / gemv_threads / 4);
  }
  slices = std::min(slices, most_slices);
  if (slices > 1) cut.slice = tiles((k + slices - 1) / slices, 16) * 16;
  return cut;
}

inline bool is_along_k(problem const& p) { return p.n == 1 ? !p.trans_a : p.trans_b; }

template <class T>
gpu::k_cut gemv_k_cut(problem const& p) {
  auto const cut = cut_gemv<T>(p.n == 1 ? p.m : p.n, p.k, is_along_k(p));
  return {.unit = cut.slice < p.k ? "slice" : nullptr, .length = cut.slice, .on_its_side = p.n == 1};
}

/// m or n is 1. `early`: before the kernel before it in the stream ends.
template <class T>
void launch_gemv(problem const& p, CUstream_st* stream, bool early) {
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
  s.vectors = begins_with_vectors<T>(s.x, s.ld);
  if (along_k) s.vectors = s.vectors && s.stride_v == 1 && begins_with_vectors<T>(s.v, 0);
  s.slice = cut.slice;
  workspace<T> const partials(slices == 1 ? 0 : slices * s.length, stream);
  s.partials = partials.data();
  auto const start = early ? launch_after<matrix_vector<T>, int> : launch<matrix_vector<T>, int>;
  start(along_k ? gemv_dots<T> : gemv_sums<T>, dim3(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(slices)),
        dim3(gemv_threads), 0, stream, s, cut.team);
  if (slices == 1) return;
  constexpr int lanes = 8;
  launch_after(sum_slices<T, lanes>, dim3(static_cast<unsigned>(tiles(s.length, 32))), dim3(32, lanes), 0, stream, g,
               static_cast<T const*>(s.partials), static_cast<int>(slices));
}

template <class T>
void launch_gemv(problem const& p, CUstream_st* stream) {
  launch_gemv<T>(p, stream, false);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
