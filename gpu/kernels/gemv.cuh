// Removes the arithmetic on padding where C is one row or one column: a product of a matrix and a vector reads the
// matrix once and is bound by that. Where the matrix lies along k, a team of threads shares a row; where it lies along
// C, a thread has a few elements of C and a block's threads share k. k is cut into slices where blocks would else leave
// multiprocessors idle or read short pieces of rows: adding the slices up takes another kernel. A strided vector that
// many blocks would read along k is copied first.
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
  bool vectors;  ///< X can be read 16 bytes at a time
  T const* v;
  std::int64_t stride_v;
  bool vectors_of_v;  ///< v can be read 16 bytes at a time
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
template <class T, bool neighbours>
inline constexpr int dots_blocks = sizeof(T) == 4 && neighbours ? 0 : 4;

/// A lane's share of the dot products of `rows` rows with v, in [p0, p1), p0 its first step of k: a vector's number of
/// steps a round, `apart` from each other, which are all inside where X is read by vectors.
template <bool vectors_of_x, bool vectors_of_v, class T, int rows>
__device__ __forceinline__ void add_dots(T (&sum)[rows][vector_width<T>], matrix_vector<T> const& s,
                                         T const* const (&row)[rows], std::int64_t p0, std::int64_t p1, int lanes,
                                         int apart) {
  constexpr int width = vector_width<T>;
#pragma unroll 4
  for (std::int64_t p = p0; p < p1; p += lanes * width) {
    T v[width];
    if constexpr (vectors_of_v) {
      load_vector(v, s.v + p);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        v[e] = vectors_of_x || p + e * apart < p1 ? s.v[(p + e * apart) * s.stride_v] : T{0};
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      T x[width];
      if constexpr (vectors_of_x) {
        if constexpr (sizeof(T) == 4)
          load_vector_once(x, row[r] + p);
        else
          load_vector(x, row[r] + p);  // of doubles these are the faster ones, measured on an H200
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e) x[e] = p + e * apart < p1 ? row[r][p + e * apart] : T{0};
      }
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = fma(x[e], v[e], sum[r][e]);
    }
  }
}

/// The same of lanes whose steps of k are `lanes` apart, of the rounds from step p on in which all are inside, two of
/// them at once and without asking. Returns the first step that is left.
template <class T, int rows>
__device__ __forceinline__ std::int64_t add_dots_inside(T (&sum)[rows][vector_width<T>], matrix_vector<T> const& s,
                                                        T const* const (&row)[rows], std::int64_t p, std::int64_t p1,
                                                        int lanes) {
  constexpr int steps = 2 * vector_width<T>;
  for (; p + (steps - 1) * lanes < p1; p += steps * lanes) {
    T x[rows][steps], v[steps];
#pragma unroll
    for (int e = 0; e < steps; ++e) {
#pragma unroll
      for (int r = 0; r < rows; ++r) x[r][e] = row[r][p + e * lanes];
      v[e] = s.v[(p + e * lanes) * s.stride_v];
    }
#pragma unroll
    for (int e = 0; e < steps; ++e)
#pragma unroll
      for (int r = 0; r < rows; ++r) sum[r][e % vector_width<T>] = fma(x[r][e], v[e], sum[r][e % vector_width<T>]);
  }
  return p;
}

/// A team of 2^log_lanes threads, a part of a warp or several warps, has `rows` rows of X; x: rows, y: slices. A team
/// is a power of two so that no thread has to divide before it reads. A lane's steps of k are neighbours, which it
/// reads by vectors where it can, or else a team's lanes' are: then an access meets the fewest lines.
template <class T, int rows, bool neighbours>
__global__ void __launch_bounds__(dots_threads, dots_blocks<T, neighbours>)
    gemv_dots(matrix_vector<T> s, int log_lanes) {
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
  T sum[rows][width] = {};  // (rows, steps of k)
  if constexpr (neighbours) {
    std::int64_t const whole = s.vectors ? p0 + ((p1 - p0) & -std::int64_t{step}) : p0;
    if (s.vectors_of_v)
      add_dots<true, true>(sum, s, row, p0 + lane * width, whole, lanes, 1);
    else
      add_dots<true, false>(sum, s, row, p0 + lane * width, whole, lanes, 1);
    add_dots<false, false>(sum, s, row, whole + lane * width, p1, lanes, 1);
  } else {
    std::int64_t const left = add_dots_inside(sum, s, row, p0 + lane, p1, lanes);
    add_dots<false, false>(sum, s, row, left, p1, lanes, lanes);
  }
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

/// A thread's share of the sums of X's elements from i on, `fixed_apart` from each other or, if that is 0, `across`,
/// every `step`-th step of k in [p, p1): some of them under way at once, as many as registers hold, and of the last
/// ones four, which would else be waited for one by one. All of the elements are inside y, neighbours then read as one
/// vector, or y has `inside` more from i on: what is not there is y's last element once more, for nobody.
template <int fixed_apart, bool all_inside, class T>
__device__ __forceinline__ void add_steps(T (&sum)[vector_width<T>], matrix_vector<T> const& s, std::int64_t i,
                                          int across, std::int64_t inside, std::int64_t p, std::int64_t p1, int step) {
  constexpr int width = vector_width<T>, at_once = all_inside ? 12 : 8, at_end = 4;
  int const last = static_cast<int>(inside) - 1;
  std::int64_t const next_x = step * s.ld, next_v = step * s.stride_v;
  T const* of_x = s.x + p * s.ld + i;
  T const* of_v = s.v + p * s.stride_v;
  auto const read = [&](T(&x)[width], T& v) {
    if constexpr (fixed_apart == 1 && all_inside) {
      load_vector_once(x, of_x);
    } else {
      int const apart = fixed_apart > 0 ? fixed_apart : across;
#pragma unroll
      for (int e = 0; e < width; ++e) x[e] = __ldcs(of_x + (all_inside ? e * apart : min(e * apart, last)));
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

/// A block has 2^log_across threads along y and steps of k for the others; x: y, y: slices. A thread has a vector's
/// number of elements, `fixed_apart` from each other: 1 where X can be read by vectors, else 32, or with fewer threads
/// along y, for which it is 0, as many. The threads of one place along y add up first within their warp, then through
/// shared memory.
template <class T, int fixed_apart>
__global__ void __launch_bounds__(sums_threads, 2) gemv_sums(matrix_vector<T> s, int log_across) {
  constexpr int width = vector_width<T>;
  __shared__ __align__(16) T sums[sums_threads * width];  // (warps, or steps if longer; threads along y; elements)
  let_next_kernel_start();
  if (!s.beside) wait_for_kernel_before();
  int const across = 1 << log_across, thread = static_cast<int>(threadIdx.x), column = thread & (across - 1);
  int const step = sums_threads >> log_across, apart = fixed_apart > 0 ? fixed_apart : across;
  std::int64_t const first = (std::int64_t{blockIdx.x} << log_across) * width;
  auto const first_of = [&](int place) {
    if constexpr (fixed_apart == 0) return first + place;
    return first + place / apart * apart * width + place % apart;
  };
  std::int64_t const i = first_of(column), inside = s.length - i;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k), p = p0 + (thread >> log_across);
  T sum[width] = {};
  // One way for all threads of a warp: two would be gone one after the other.
  if (__all_sync(0xffffffff, (width - 1) * apart < inside))
    add_steps<fixed_apart, true>(sum, s, i, across, inside, p, p1, step);
  else
    add_steps<fixed_apart, false>(sum, s, i, across, inside, p, p1, step);
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
    std::int64_t const where = first_of(at / width) + at % width * apart;
    if (where < s.length) s.write(where, total);
  }
  wait_for_kernel_before();
}

inline constexpr int gather_threads = 256;

/// to[p] = from[p * stride], p < k.
template <class T>
__global__ void __launch_bounds__(gather_threads)
    gather_vector(T* to, T const* from, std::int64_t stride, std::int64_t k) {
  wait_for_kernel_before();
  let_next_kernel_start();
  std::int64_t const p = std::int64_t{blockIdx.x} * gather_threads + threadIdx.x;
  if (p < k) to[p] = from[p * stride];
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

/// The fewest slices (before their steps are rounded up to 16), no more than `most`, with which `blocks` in each leave
/// less than an eighth of the places in their rounds empty, if ten rounds have room for such.
inline std::int64_t slices_that_fill(std::int64_t blocks, int places, std::int64_t most) {
  constexpr std::int64_t most_rounds = 10;
  constexpr double filled = 0.88;
  std::int64_t slices = 1;
  for (std::int64_t rounds = tiles(blocks, places); rounds <= most_rounds; ++rounds) {
    slices = std::min(rounds * places / blocks, most);
    if (slices == most || static_cast<double>(blocks * slices) >= filled * static_cast<double>(rounds * places)) break;
  }
  return slices;
}

/// Rows that lie along k: as large a team as four blocks a multiprocessor allow and a row has vectors for; of short
/// rows, one that reads a row in four to twelve rounds; and a larger one where blocks would leave a fifth of the places
/// in their rounds empty. Of at most 1024 rows a team reads one at a time. Slices, where rows are too few and long;
/// many rows of a very long k are read by warps, in slices that fill the places.
template <class T>
gemv_cut cut_dots(std::int64_t length, std::int64_t k) {
  constexpr int places = 4 * dealt_multiprocessors;
  constexpr std::int64_t few = 1024, long_k = 8192, many_rounds = 16;
  constexpr std::int64_t very_long_k = 34000, many = 512, least_rounds = 8;
  std::int64_t const vectors = tiles(k, vector_width<T>);
  gemv_cut cut{};
  cut.rows = length <= few && k <= long_k ? 1 : 2;
  std::int64_t const rows = tiles(length, cut.rows);
  auto const blocks = [&] { return tiles(rows, dots_threads >> cut.log_team); };
  if (length >= many && k >= very_long_k) {
    cut.log_team = 5;
    cut.blocks = blocks();
    cut.slices = slices_that_fill(cut.blocks, places, (vectors >> cut.log_team) / least_rounds);
    return cut;
  }
  constexpr int largest = sizeof(T) == 4 ? 64 : 128;
  int const fast = std::max(log_of(vectors / 4, 8), log_of(vectors / 12, largest));
  cut.log_team = std::max(fast, log_of(std::min(places * std::int64_t{dots_threads} / rows, vectors), dots_threads));
  auto const leaves_a_fifth = [&] { return blocks() > places && blocks() * 5 < tiles(blocks(), places) * places * 4; };
  while (cut.log_team < log_of(vectors / 4, dots_threads) && leaves_a_fifth()) ++cut.log_team;
  cut.blocks = blocks();
  std::int64_t const rounds = vectors >> cut.log_team;
  if (rounds >= many_rounds) cut.slices = std::min(places / cut.blocks, rounds / 4);
  return cut;
}

/// What reading X takes in blocks of sums, in bytes: two blocks for three multiprocessors read nearly as fast as any;
/// of more than one for each the last ones count a little; and short pieces of rows take longer, the shortest most
/// where rows begin anywhere, which those of such a length do if they lie close together. How they do lie is not asked:
/// the cut, and with it the bits, follow from the sizes alone. Fitted to 62 matrices on an H200, each with rows of
/// vectors and with rows that begin anywhere.
template <class T>
double cost_of_sums(std::int64_t length, std::int64_t k, int log_across, std::int64_t blocks) {
  constexpr double enough = 2.0 / 3, of_last = 0.3, between = 64;  // bytes
  double const places = dealt_multiprocessors, all = static_cast<double>(blocks);
  double const rounds = static_cast<double>(tiles(blocks, dealt_multiprocessors));
  double const lacking = rounds > 1 ? of_last * (rounds * places / all - 1) : std::max(enough * places / all - 1, 0.0);
  double const piece = static_cast<double>(16 << log_across), at_most = length % vector_width<T> == 0 ? 2 : 3.5;
  return static_cast<double>(length * k) * sizeof(T) * (1 + lacking) * std::min(1 + between / piece, at_most);
}

/// Rows that lie along y, all steps of k in one block: as few threads along y as leave a block for most
/// multiprocessors, or of a large matrix, whose lines are read whole, two; more where k is too short for the others.
template <class T>
gemv_cut cut_whole_sums(std::int64_t length, std::int64_t k) {
  constexpr std::int64_t large = 32 << 20;
  constexpr std::int64_t one_round = sizeof(T) == 4 ? 120 : dealt_multiprocessors;
  std::int64_t const vectors = tiles(length, vector_width<T>);
  gemv_cut cut{};
  bool const is_large = length * k * static_cast<std::int64_t>(sizeof(T)) > large;
  int const most = std::max(6, log_of(sums_threads * 16 / k, sums_threads));
  auto const blocks = [&] { return tiles(vectors, 1 << cut.log_team); };
  auto const fits = [&] { return blocks() <= (is_large && cut.log_team >= 3 ? 2 * dealt_multiprocessors : one_round); };
  cut.log_team = log_of(sums_threads / 4 / k, sums_threads);
  while (cut.log_team < most && !fits()) ++cut.log_team;
  cut.blocks = blocks();
  return cut;
}

/// The same in slices of k: pieces of 512 bytes of a row, if it has as many, and as few slices as leave few places for
/// blocks, two a multiprocessor, empty in the last round. `slices` 0: k is too short for as many threads.
template <class T>
gemv_cut cut_sliced_sums(std::int64_t length, std::int64_t k) {
  constexpr std::int64_t least_steps = 12;  // of a thread
  std::int64_t const vectors = tiles(length, vector_width<T>);
  gemv_cut cut{};
  cut.log_team = log_of(vectors, 32);
  cut.blocks = tiles(vectors, 1 << cut.log_team);
  std::int64_t const most = (k << cut.log_team) / (sums_threads * least_steps);
  if (most > 0) cut.slices = slices_that_fill(cut.blocks, 2 * dealt_multiprocessors, most);
  return cut;
}

/// Rows that lie along y: slices of k where they are read so much better that adding them up pays.
template <class T>
gemv_cut cut_sums(std::int64_t length, std::int64_t k) {
  constexpr double adding = 20e6;  // the bytes that are read meanwhile
  auto const whole = cut_whole_sums<T>(length, k), sliced = cut_sliced_sums<T>(length, k);
  if (sliced.slices == 0) return whole;
  double const of_whole = cost_of_sums<T>(length, k, whole.log_team, whole.blocks);
  double const of_sliced = cost_of_sums<T>(length, k, sliced.log_team, sliced.blocks * sliced.slices);
  return of_sliced + (sliced.slices > 1 ? adding : 0) < of_whole ? sliced : whole;
}

/// Steps of k in a slice.
inline std::int64_t slice_of(gemv_cut const& cut, std::int64_t k) {
  constexpr std::int64_t most_slices = 65535;
  std::int64_t const slices = std::min(cut.slices, most_slices);
  return slices > 1 ? tiles((k + slices - 1) / slices, 16) * 16 : std::max<std::int64_t>(k, 1);
}

inline bool is_along_k(problem const& p) { return p.n == 1 ? !p.trans_a : p.trans_b; }

/// Fitted to some two hundred shapes in two types on an H200, to teams of 4 to 256 threads, one or two rows and up to
/// 66 slices of each. `beside`: slices of sums would wait for the kernel before.
template <class T>
gemv_cut cut_gemv(std::int64_t length, std::int64_t k, bool along_k, bool beside) {
  length = std::max<std::int64_t>(length, 1), k = std::max<std::int64_t>(k, 1);  // of an empty product there is a plan
  return along_k ? cut_dots<T>(length, k) : beside ? cut_whole_sums<T>(length, k) : cut_sums<T>(length, k);
}

template <class T>
gpu::k_cut gemv_k_cut(problem const& p) {
  std::int64_t const slice = slice_of(cut_gemv<T>(p.n == 1 ? p.m : p.n, p.k, is_along_k(p), false), p.k);
  return {.unit = slice < p.k ? "slice" : nullptr, .length = slice, .on_its_side = p.n == 1};
}

/// Whether v is copied first: the blocks read all of it, and with it what lies between its elements in the 32 bytes
/// that an access moves at least. Where that comes to 30 MB more than the copy moves, it takes less time, measured on
/// an H200.
template <class T>
bool is_gathered(gemv_cut const& cut, std::int64_t stride, std::int64_t k) {
  constexpr std::int64_t moved = 32, size = sizeof(T), much = 30'000'000;  // bytes
  return (cut.blocks - 1) * k * (std::min(stride, moved / size) - 1) * size > much;
}

/// m or n is 1. `beside`: the kernel before it in the stream has waited for what was before, and has nothing to do with
/// these operands.
template <class T>
void launch_gemv(problem const& p, CUstream_st* stream, bool beside) {
  auto const g = operands_of<T>(p);
  bool const column = p.n == 1, along_k = is_along_k(p);
  matrix_vector<T> s{};
  s.length = column ? g.m : g.n, s.k = g.k, s.alpha = g.alpha, s.beta = g.beta;
  s.x = column ? g.a : g.b, s.ld = column ? g.lda : g.ldb;
  s.v = column ? g.b : g.a;
  s.stride_v = column ? (p.trans_b ? 1 : g.ldb) : (p.trans_a ? g.lda : 1);
  s.y = g.c, s.stride_y = column ? g.ldc : 1;
  auto const cut = cut_gemv<T>(s.length, s.k, along_k, beside);
  s.slice = slice_of(cut, s.k);
  std::int64_t const slices = (s.k + s.slice - 1) / s.slice, of_partials = slices == 1 ? 0 : slices * s.length;
  bool const gathers = along_k && !beside && is_gathered<T>(cut, s.stride_v, s.k);
  std::int64_t const of_v = gathers ? tiles(s.k, vector_width<T>) * vector_width<T> : 0;
  workspace<T> const memory(of_v + of_partials, stream);
  if (of_partials > 0) s.partials = memory.data() + of_v;
  s.beside = beside && memory.data() == nullptr;  // the workspace may be that of the kernel before
  if (gathers) {
    launch_after(gather_vector<T>, dim3(static_cast<unsigned>(tiles(s.k, gather_threads))), dim3(gather_threads), 0,
                 stream, memory.data(), s.v, s.stride_v, s.k);
    s.v = memory.data(), s.stride_v = 1;
  }
  s.vectors = begins_with_vectors<T>(s.x, s.ld);
  s.vectors_of_v = s.stride_v == 1 && begins_with_vectors<T>(s.v, 0);
  bool const neighbours = s.k % vector_width<T> == 0;  // else rows that lie close together begin anywhere
  auto const start = s.beside ? launch_beside<matrix_vector<T>, int> : launch_after<matrix_vector<T>, int>;
  start(!along_k        ? (s.vectors          ? gemv_sums<T, 1>
                           : cut.log_team < 5 ? gemv_sums<T, 0>
                                              : gemv_sums<T, 32>)
        : cut.rows == 1 ? (neighbours ? gemv_dots<T, 1, true> : gemv_dots<T, 1, false>)
                        : (neighbours ? gemv_dots<T, 2, true> : gemv_dots<T, 2, false>),
        dim3(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(slices)),
        dim3(along_k ? dots_threads : sums_threads), 0, stream, s, cut.log_team);
  if (slices > 1) launch_sum_slices<T>(g, s.partials, slices, stream);
}

template <class T>
void launch_gemv(problem const& p, CUstream_st* stream) {
  launch_gemv<T>(p, stream, false);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
