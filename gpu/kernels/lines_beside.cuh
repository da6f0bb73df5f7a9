// Removes the wait for a strip of a few rows or columns of C: it is computed while the kernel before computes the
// others, in blocks so small that a multiprocessor has room for one beside those of a kernel that takes nearly all
// registers. Kernels that need more of them come only when all else is done.
#pragma once

#include <algorithm>

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Y = alpha X V + beta Y, (length, lines) = (length, k) (k, lines). X lies along k, a row every ld, or along Y's
/// lines, a step of k every ld.
template <class T>
struct lines_product {
  std::int64_t length, k;
  int lines;
  T alpha;
  T const* x;
  std::int64_t ld;
  T const* v;
  std::int64_t stride_v, next_v;  ///< from a step of k to the next, and from a line to the next
  T beta;
  T* y;
  std::int64_t stride_y, next_y;  ///< along a line, and from a line to the next

  /// The sum for element i of a line, if they are there.
  __device__ __forceinline__ void write(std::int64_t i, int line, T sum) const {
    if (i < length && line < lines) write_result(y[i * stride_y + line * next_y], alpha, sum, beta);
  }
};

inline constexpr int most_lines = 4;
inline constexpr int line_threads = 128, line_warps = line_threads / 32;
inline constexpr int line_blocks = 16;  // on a multiprocessor, were there room: so a thread has 32 registers
inline constexpr int line_block = 8;    // elements along a line that a block has

/// The kernel is over only when the one before it is, for those that wait for it. One block sees to that: the others
/// leave their places.
__device__ __forceinline__ void end_after_kernel_before() {
  if (blockIdx.x == 0 && blockIdx.y == 0) wait_for_kernel_before();
}

/// X lies along k: a warp has two rows of it, its lanes share k. y: as many lines as are made at once.
template <class T, int lines>
__global__ void __launch_bounds__(line_threads, line_blocks) lines_of_dots(lines_product<T> s) {
  constexpr int rows = line_block / line_warps, at_once = lines == 1 ? 4 : 2;
  let_next_kernel_start();
  int const lane = static_cast<int>(threadIdx.x) % 32, line = static_cast<int>(blockIdx.y) * lines;
  std::int64_t const first = std::int64_t{blockIdx.x} * line_block + static_cast<int>(threadIdx.x) / 32 * rows;
  T const* row[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) row[r] = s.x + min(first + r, s.length - 1) * s.ld;
  T const* v = s.v + line * s.next_v + lane * s.stride_v;
  T sum[lines][rows] = {};
  std::int64_t p = lane;
  auto const add = [&]<int count>() {
    T x[count][rows];
#pragma unroll
    for (int u = 0; u < count; ++u)
#pragma unroll
      for (int r = 0; r < rows; ++r) x[u][r] = row[r][p + u * 32];
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      T const* const of_line = v + min(l, s.lines - 1 - line) * s.next_v;
#pragma unroll
      for (int u = 0; u < count; ++u) {
        T const of_v = of_line[u * 32 * s.stride_v];
#pragma unroll
        for (int r = 0; r < rows; ++r) sum[l][r] = fma(x[u][r], of_v, sum[l][r]);
      }
    }
    v += count * 32 * s.stride_v;
    p += count * 32;
  };
  while (p + (at_once - 1) * 32 < s.k) add.template operator()<at_once>();
  while (p < s.k) add.template operator()<1>();
#pragma unroll
  for (int l = 0; l < lines; ++l)
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      for (int apart = 16; apart > 0; apart /= 2) sum[l][r] += __shfl_xor_sync(0xffffffff, sum[l][r], apart);
      if (lane == 0) s.write(first + r, line + l, sum[l][r]);
    }
  end_after_kernel_before();
}

/// X lies along the lines: a block has line_block neighbours of it, 32 bytes, and its threads share k. y: as many lines
/// as are made at once.
template <class T, int lines>
__global__ void __launch_bounds__(line_threads, line_blocks) lines_of_sums(lines_product<T> s) {
  constexpr int at_once = lines == 1 ? 8 : 3, steps = line_threads / line_block;
  __shared__ T sums[lines][steps][line_block];
  let_next_kernel_start();
  int const thread = static_cast<int>(threadIdx.x), place = thread % line_block, step = thread / line_block;
  int const line = static_cast<int>(blockIdx.y) * lines;
  std::int64_t const first = std::int64_t{blockIdx.x} * line_block;
  T const* x = s.x + step * s.ld + min(first + place, s.length - 1);
  T const* v = s.v + line * s.next_v + step * s.stride_v;
  T sum[lines] = {};
  auto const add = [&]<int count>() {
    T of_x[count];
#pragma unroll
    for (int u = 0; u < count; ++u, x += steps * s.ld) of_x[u] = *x;
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      T const* of_v = v + min(l, s.lines - 1 - line) * s.next_v;
#pragma unroll
      for (int u = 0; u < count; ++u, of_v += steps * s.stride_v) sum[l] = fma(of_x[u], *of_v, sum[l]);
    }
    v += count * steps * s.stride_v;
  };
  std::int64_t left = s.k - step;
  for (; left > (at_once - 1) * steps; left -= at_once * steps) add.template operator()<at_once>();
  for (; left > 0; left -= steps) add.template operator()<1>();
#pragma unroll
  for (int l = 0; l < lines; ++l) sums[l][step][place] = sum[l];
  __syncthreads();
  if (thread < lines * line_block) {
    int const l = thread / line_block, at = thread % line_block;
    T total = sums[l][0][at];
#pragma unroll
    for (int other = 1; other < steps; ++other) total += sums[l][other][at];
    s.write(first + at, line + l, total);
  }
  end_after_kernel_before();
}

/// Microseconds, about, that lines take beside other kernels, with one block on a multiprocessor. Measured on an H200.
template <class T>
double time_of_lines(std::int64_t lines, std::int64_t length, std::int64_t k) {
  constexpr double bytes = 0.5e6, steps = 128;  // in a microsecond: of all multiprocessors, and of a block
  double const reading = static_cast<double>(length) * static_cast<double>(k) * sizeof(T) / bytes;
  return static_cast<double>(tiles(lines, 2)) * std::max(reading, static_cast<double>(k) / steps);
}

/// A strip of C of up to most_lines rows, or `columns`. The kernel before it in the stream has waited for what was
/// before, and has nothing to do with C's elements here.
template <class T>
void launch_lines_beside(problem const& p, bool columns, CUstream_st* stream) {
  auto const g = operands_of<T>(p);
  bool const along_k = columns ? !p.trans_a : p.trans_b;
  lines_product<T> s{};
  s.length = columns ? g.m : g.n, s.k = g.k, s.alpha = g.alpha, s.beta = g.beta;
  s.lines = static_cast<int>(columns ? g.n : g.m);
  s.x = columns ? g.a : g.b, s.ld = columns ? g.lda : g.ldb;
  s.v = columns ? g.b : g.a;
  s.stride_v = columns ? (p.trans_b ? 1 : g.ldb) : (p.trans_a ? g.lda : 1);
  s.next_v = columns ? (p.trans_b ? g.ldb : 1) : (p.trans_a ? 1 : g.lda);
  s.y = g.c, s.stride_y = columns ? g.ldc : 1, s.next_y = columns ? 1 : g.ldc;
  bool const single = s.lines == 1;
  auto const kernel = along_k ? (single ? lines_of_dots<T, 1> : lines_of_dots<T, 2>)
                              : (single ? lines_of_sums<T, 1> : lines_of_sums<T, 2>);
  dim3 const grid(static_cast<unsigned>(tiles(s.length, line_block)),
                  static_cast<unsigned>(tiles(s.lines, single ? 1 : 2)));
  launch_beside(kernel, grid, dim3(line_threads), 0, stream, s);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
