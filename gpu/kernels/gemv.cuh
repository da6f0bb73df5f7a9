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
  bool beside;         ///< computed while the kernel before runs, and over only when that is

  /// The sum of a slice's steps for element i, which is inside y.
  __device__ __forceinline__ void write(std::int64_t i, T sum) const {
    if (partials == nullptr)
      write_result(y[i * stride_y], alpha, sum, beta);
    else
      partials[blockIdx.y * length + i] = sum;
  }
};

inline constexpr int dots_threads = 256, sums_threads = 512;
/// Blocks on a multiprocessor that the compiler leaves registers for, 0: as it finds best. Measured on an H200.
template <class T>
inline constexpr int dots_blocks = sizeof(T) == 4 ? 0 : 4;

/// A lane's share of the dot products of `rows` rows with v, [p0, p1) of them. `vectors`: by whole vectors.
template <bool vectors, class T, int rows>
__device__ __forceinline__ void add_dots(T (&sum)[rows][vector_width<T>], matrix_vector<T> const& s,
                                         T const* const (&row)[rows], std::int64_t p0, std::int64_t p1, int lanes) {
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
    for (int r = 0; r < rows; ++r) {
      T x[width];
      if constexpr (vectors) {
        if constexpr (sizeof(T) == 4)
          load_vector_once(x, row[r] + p);
        else
          load_vector(x, row[r] + p);  // of doubles these are the faster ones, measured on an H200
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e) x[e] = p + e < p1 ? row[r][p + e] : T{0};
      }
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = fma(x[e], v[e], sum[r][e]);
    }
  }
}

/// A team of 2^log_lanes threads, a part of a warp or several warps, has `rows` rows of X; x: rows, y: slices. A team
/// is a power of two so that no thread has to divide before it reads.
template <class T, int rows>
__global__ void __launch_bounds__(dots_threads, dots_blocks<T>) gemv_dots(matrix_vector<T> s, int log_lanes) {
  constexpr int width = vector_width<T>, warps = dots_threads / 32;
  __shared__ T of_warp[rows][warps];
  let_next_kernel_start();
  if (!s.beside) wait_for_kernel_before();
  int const lanes = 1 << log_lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1), step = lanes * width;
  std::int64_t const team = (std::int64_t{blockIdx.x} * dots_threads + threadIdx.x) >> log_lanes;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k);
  T const* row[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) row[r] = s.x + min(team * rows + r, s.length - 1) * s.ld;
  T sum[rows][width] = {};  // (rows, neighbouring steps of k)
  std::int64_t const whole = s.vectors ? p0 + ((p1 - p0) & -std::int64_t{step}) : p0;
  add_dots<true>(sum, s, row, p0 + lane * width, whole, lanes);
  add_dots<false>(sum, s, row, whole + lane * width, p1, lanes);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
#pragma unroll
    for (int e = 1; e < width; ++e) sum[r][0] += sum[r][e];
    for (int apart = min(lanes, 32) / 2; apart > 0; apart /= 2)
      sum[r][0] += __shfl_xor_sync(0xffffffff, sum[r][0], apart);
  }
  if (lanes > 32) {
    int const warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (lane % 32 == 0) of_warp[r][warp] = sum[r][0];
    __syncthreads();
    if (lane < 32) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        sum[r][0] = lane < lanes / 32 ? of_warp[r][warp + lane] : T{0};
        for (int apart = lanes / 64; apart > 0; apart /= 2) sum[r][0] += __shfl_xor_sync(0xffffffff, sum[r][0], apart);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    if (lane == 0 && team * rows + r < s.length) s.write(team * rows + r, sum[r][0]);
  wait_for_kernel_before();
}

/// A thread's share of the sums of X's elements `apart` elements from each other, from i on, `inside` of which are
/// there, every `step`-th step of k in [p, p1): twelve of them under way at once, and of the last ones four, which
/// would else be waited for one by one. `vectors`: neighbours, all there, which one access can read.
template <bool vectors, class T>
__device__ __forceinline__ void add_steps(T (&sum)[vector_width<T>], matrix_vector<T> const& s, std::int64_t i,
                                          int apart, std::int64_t inside, std::int64_t p, std::int64_t p1, int step) {
  constexpr int width = vector_width<T>, at_once = 12, at_end = 4;
  std::int64_t const next_x = step * s.ld, next_v = step * s.stride_v;
  T const* of_x = s.x + p * s.ld + i;
  T const* of_v = s.v + p * s.stride_v;
  auto const read = [&](T(&x)[width], T& v) {
    if constexpr (vectors) {
      load_vector_once(x, of_x);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) x[e] = e * apart < inside ? of_x[e * apart] : T{0};
    }
    v = *of_v;
  };
  for (; p + (at_once - 1) * step < p1; p += at_once * step) {
    T x[at_once][width], v[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u, of_x += next_x, of_v += next_v) read(x[u], v[u]);
#pragma unroll
    for (int u = 0; u < at_once; ++u)
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] = fma(x[u][e], v[u], sum[e]);
  }
  for (; p < p1; p += at_end * step) {
    T x[at_end][width] = {}, v[at_end] = {};
#pragma unroll
    for (int u = 0; u < at_end; ++u, of_x += next_x, of_v += next_v)
      if (p + u * step < p1) read(x[u], v[u]);
#pragma unroll
    for (int u = 0; u < at_end; ++u) {
      if (p + u * step >= p1) continue;
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] = fma(x[u][e], v[u], sum[e]);
    }
  }
}

/// A block has 2^log_across threads along y, each with neighbours if they can be read as a vector, else with every
/// across-th element, and steps of k for the others; x: y, y: slices. The threads of one place along y add up first
/// within their warp, then through shared memory.
template <class T>
__global__ void __launch_bounds__(sums_threads, 2) gemv_sums(matrix_vector<T> s, int log_across) {
  constexpr int width = vector_width<T>;
  __shared__ __align__(16) T sums[sums_threads * width];  // (warps, or steps if longer; threads along y; elements)
  let_next_kernel_start();
  if (!s.beside) wait_for_kernel_before();
  int const across = 1 << log_across, thread = static_cast<int>(threadIdx.x), column = thread & (across - 1);
  int const step = sums_threads >> log_across, apart = s.vectors ? 1 : across;
  std::int64_t const first = (std::int64_t{blockIdx.x} << log_across) * width;
  std::int64_t const i = first + column * (s.vectors ? width : 1), inside = s.length - i;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k), p = p0 + (thread >> log_across);
  T sum[width] = {};
  if (s.vectors && inside >= width)
    add_steps<true>(sum, s, i, apart, inside, p, p1, step);
  else if (inside > 0)
    add_steps<false>(sum, s, i, apart, inside, p, p1, step);
  for (int other = 16; other >= across; other /= 2)
#pragma unroll
    for (int e = 0; e < width; ++e) sum[e] += __shfl_xor_sync(0xffffffff, sum[e], other);
  int const line = across * width, rows = sums_threads / max(across, 32);
  if (thread % 32 < across) store_vector(sums + thread / max(across, 32) * line + column * width, sum);
  __syncthreads();
  for (int at = thread; at < line; at += sums_threads) {
    T total = sums[at];
#pragma unroll 8
    for (int row = 1; row < rows; ++row) total += sums[row * line + at];
    std::int64_t const where = first + (s.vectors ? at : at / width + at % width * across);
    if (where < s.length) s.write(where, total);
  }
  wait_for_kernel_before();
}

/// How a matrix-vector product is dealt out.
struct gemv_cut {
  int log_team;         ///< 2^log_team threads along k (dots) or along y (sums)
  int rows;             ///< that a team reads at once (dots)
  std::int64_t blocks;  ///< along y
  std::int64_t slices;  ///< of k, no more than so many; 0 is one
};

/// The exponent of the greatest power of two that is at least 1, and above neither `wanted` nor `limit`.
constexpr int log_of(std::int64_t wanted, int limit) {
  int log = 0;
  while ((2 << log) <= limit && (2 << log) <= wanted) ++log;
  return log;
}

/// Rows that lie along k: as large a team as four blocks a multiprocessor allow and a row has vectors for; of short
/// rows, one that reads a row in four to twelve rounds; and a larger one where the blocks would fill a second round of
/// places in part. Of at most 1024 rows a team reads one at a time. Slices, where rows are too few and long.
template <class T>
gemv_cut cut_dots(std::int64_t length, std::int64_t k) {
  constexpr std::int64_t places = 4 * dealt_multiprocessors, few = 1024, long_k = 8192, many_rounds = 16;
  std::int64_t const vectors = tiles(k, vector_width<T>);
  gemv_cut cut{};
  cut.rows = length <= few && k <= long_k ? 1 : 2;
  std::int64_t const rows = tiles(length, cut.rows);
  auto const blocks = [&] { return tiles(rows, dots_threads >> cut.log_team); };
  int const fast = std::max(log_of(vectors / 4, 8), log_of(vectors / 12, 128));
  cut.log_team = std::max(fast, log_of(std::min(places * dots_threads / rows, vectors), dots_threads));
  if (cut.log_team < log_of(vectors / 4, dots_threads) && blocks() > places && blocks() < 2 * places) ++cut.log_team;
  cut.blocks = blocks();
  std::int64_t const rounds = vectors >> cut.log_team;
  if (rounds >= many_rounds) cut.slices = std::min(places / cut.blocks, rounds / 4);
  return cut;
}

/// Rows that lie along y: as few threads along y as leave a block for most multiprocessors, or of a large matrix, whose
/// lines are read whole, two; more where k is too short for the others. Slices, of 256 bytes of a row if it has as
/// many, only where y is so short and k so long that adding them up pays.
template <class T>
gemv_cut cut_sums(std::int64_t length, std::int64_t k) {
  constexpr std::int64_t large = 32 << 20, very_long_k = 6144, few_vectors = 120, sliced_blocks = 200;
  constexpr std::int64_t one_round = sizeof(T) == 4 ? 100 : dealt_multiprocessors;
  std::int64_t const vectors = tiles(length, vector_width<T>);
  gemv_cut cut{};
  if (vectors <= few_vectors && k > very_long_k) {
    cut.log_team = log_of(vectors, 16);
    cut.blocks = tiles(vectors, 1 << cut.log_team);
    cut.slices = std::min(sliced_blocks / cut.blocks, (k << cut.log_team) / sums_threads / 8);
    return cut;
  }
  bool const is_large = length * k * static_cast<std::int64_t>(sizeof(T)) > large;
  int const most = std::max(6, log_of(sums_threads * 16 / k, sums_threads));
  auto const blocks = [&] { return tiles(vectors, 1 << cut.log_team); };
  auto const fits = [&] { return blocks() <= (is_large && cut.log_team >= 3 ? 2 * dealt_multiprocessors : one_round); };
  cut.log_team = log_of(sums_threads / 4 / k, sums_threads);
  while (cut.log_team < most && !fits()) ++cut.log_team;
  cut.blocks = blocks();
  return cut;
}

/// The fastest on an H200 of teams of 1 to 256 threads, of one or two rows, and of 1 to 64 slices, on 38 shapes in two
/// types, but for a twentieth on most.
template <class T>
gemv_cut cut_gemv(std::int64_t length, std::int64_t k, bool along_k) {
  length = std::max<std::int64_t>(length, 1), k = std::max<std::int64_t>(k, 1);  // of an empty product there is a plan
  return along_k ? cut_dots<T>(length, k) : cut_sums<T>(length, k);
}

/// Steps of k in a slice.
inline std::int64_t slice_of(gemv_cut const& cut, std::int64_t k) {
  constexpr std::int64_t most_slices = 65535;
  std::int64_t const slices = std::min(cut.slices, most_slices);
  return slices > 1 ? tiles((k + slices - 1) / slices, 16) * 16 : std::max<std::int64_t>(k, 1);
}

inline bool is_along_k(problem const& p) { return p.n == 1 ? !p.trans_a : p.trans_b; }

template <class T>
gpu::k_cut gemv_k_cut(problem const& p) {
  auto const cut = cut_gemv<T>(p.n == 1 ? p.m : p.n, p.k, is_along_k(p));
  std::int64_t const slice = slice_of(cut, p.k);
  return {.unit = slice < p.k ? "slice" : nullptr, .length = slice, .on_its_side = p.n == 1};
}

/// m or n is 1. `beside`: the kernel before it in the stream has waited for what was before, and has nothing to do with
/// these operands.
template <class T>
void launch_gemv(problem const& p, CUstream_st* stream, bool beside) {
  auto const g = operands_of<T>(p);
  bool const column = p.n == 1, along_k = is_along_k(p);
  auto const cut = cut_gemv<T>(column ? p.m : p.n, p.k, along_k);
  std::int64_t const slice = slice_of(cut, p.k), slices = (p.k + slice - 1) / slice;
  matrix_vector<T> s{};
  s.length = column ? g.m : g.n, s.k = g.k, s.alpha = g.alpha, s.beta = g.beta;
  s.x = column ? g.a : g.b, s.ld = column ? g.lda : g.ldb;
  s.v = column ? g.b : g.a;
  s.stride_v = column ? (p.trans_b ? 1 : g.ldb) : (p.trans_a ? g.lda : 1);
  s.y = g.c, s.stride_y = column ? g.ldc : 1;
  s.vectors = begins_with_vectors<T>(s.x, s.ld);
  if (along_k) s.vectors = s.vectors && s.stride_v == 1 && begins_with_vectors<T>(s.v, 0);
  s.slice = slice;
  workspace<T> const partials(slices == 1 ? 0 : slices * s.length, stream);
  s.partials = partials.data();
  s.beside = beside && slices == 1;  // the workspace may be that of the kernel before
  auto const start = s.beside ? launch_beside<matrix_vector<T>, int> : launch_after<matrix_vector<T>, int>;
  start(!along_k        ? gemv_sums<T>
        : cut.rows == 1 ? gemv_dots<T, 1>
                        : gemv_dots<T, 2>,
        dim3(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(slices)),
        dim3(along_k ? dots_threads : sums_threads), 0, stream, s, cut.log_team);
  if (slices > 1) launch_sum_slices<T>(g, s.partials, slices, stream);
}

template <class T>
void launch_gemv(problem const& p, CUstream_st* stream) {
  launch_gemv<T>(p, stream, false);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
