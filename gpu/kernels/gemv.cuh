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
  bool along_k, vectors;  ///< of X: its rows can be read 16 bytes at a time
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

/// The vector at `from`, of which `inside` elements are there.
template <class T>
__device__ __forceinline__ void read_inside(T (&to)[vector_width<T>], T const* from, std::int64_t inside,
                                            bool vectors) {
  constexpr int width = vector_width<T>;
  if (vectors && inside >= width) {
    load_vector(to, from);
  } else {
#pragma unroll
    for (int e = 0; e < width; ++e) to[e] = e < inside ? from[e] : T{0};
  }
}

/// `lanes` of a warp to `gemv_rows` rows of X; x: rows, y: slices.
template <class T>
__global__ void __launch_bounds__(gemv_threads) gemv_dots(matrix_vector<T> s, int lanes) {
  constexpr int width = vector_width<T>;
  let_next_kernel_start();
  int const lane = static_cast<int>(threadIdx.x) % lanes;
  std::int64_t const team = (std::int64_t{blockIdx.x} * gemv_threads + threadIdx.x) / lanes;
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k);
  T const* row[gemv_rows];
  bool there[gemv_rows];
#pragma unroll
  for (int r = 0; r < gemv_rows; ++r) {
    std::int64_t const i = team * gemv_rows + r;
    there[r] = i < s.length;
    row[r] = s.x + (there[r] ? i : 0) * s.ld;
  }
  T sum[gemv_rows][width] = {};  // (rows, neighbouring steps of k)
#pragma unroll 4
  for (std::int64_t p = p0 + lane * width; p < p1; p += lanes * width) {
    std::int64_t const inside = p1 - p;
    T v[width];
    if (s.stride_v == 1) {
      read_inside(v, s.v + p, inside, reinterpret_cast<std::uintptr_t>(s.v) % 16 == 0);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) v[e] = e < inside ? s.v[(p + e) * s.stride_v] : T{0};
    }
#pragma unroll
    for (int r = 0; r < gemv_rows; ++r) {
      T x[width];
      read_inside(x, row[r] + p, there[r] ? inside : 0, s.vectors);
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = fma(x[e], v[e], sum[r][e]);
    }
  }
#pragma unroll
  for (int r = 0; r < gemv_rows; ++r) {
#pragma unroll
    for (int e = 1; e < width; ++e) sum[r][0] += sum[r][e];
    for (int apart = lanes / 2; apart > 0; apart /= 2) sum[r][0] += __shfl_xor_sync(0xffffffff, sum[r][0], apart);
    if (lane == 0 && there[r]) s.write(team * gemv_rows + r, sum[r][0]);
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
  std::int64_t const p0 = blockIdx.y * s.slice, p1 = min(p0 + s.slice, s.k);
  T sum[width] = {};
  if (inside > 0) {
    T const* from = s.x + (p0 + thread / across) * s.ld + i;
#pragma unroll 8
    for (std::int64_t p = p0 + thread / across; p < p1; p += step) {
      T x[width];
      read_inside(x, from, inside, s.vectors);
      T const v = s.v[p * s.stride_v];
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] = fma(x[e], v, sum[e]);
      from += step * s.ld;
    }
  }
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

/// As many threads as have a vector each; slices of k until there are four blocks a multiprocessor, of 512 steps at
/// least.
template <class T>
gemv_cut cut_gemv(std::int64_t length, std::int64_t k, bool along_k) {
  constexpr int width = vector_width<T>;
  std::int64_t const vectors = tiles(along_k ? k : length, width);
  gemv_cut cut{1, 0, k};
  while (cut.team < 32 && cut.team < vectors) cut.team *= 2;
  int const of_block = along_k ? gemv_threads / cut.team * gemv_rows : cut.team * width;
  cut.blocks = tiles(length, of_block);
  constexpr std::int64_t wanted = 4 * dealt_multiprocessors, least = 512, most = 65535;
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
