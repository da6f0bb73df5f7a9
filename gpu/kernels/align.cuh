// An operand copied for kernels that would have it otherwise: a step of k a line, lines of whole tiles that begin at
// multiples of 16 bytes, zeros beyond the operand.
#pragma once

#include <algorithm>

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"
#include "gpu/row.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int align_edge = 64;  // of the squares that a block copies

/// `to` has k lines of `length` elements, whole vectors, of which the first `extent` are the operand's.
template <class T>
struct aligned_copy {
  T* to;  ///< nullptr: none
  std::int64_t length;
  T const* operand;
  std::int64_t ld, extent, k;
  bool contiguous_in_k;
};

/// x: k, y: extent, stepped over; z: the operand.
template <class T>
__global__ void __launch_bounds__(256) align(aligned_copy<T> a, aligned_copy<T> b) {
  constexpr int edge = align_edge, width = vector_width<T>, lines = 256 / edge, vectors = edge / width;
  __shared__ T smem[edge][edge + 1];  // (line of the operand, along it), padded
  let_next_kernel_start();
  wait_for_kernel_before();
  auto const o = blockIdx.z == 0 ? a : b;
  int const thread = static_cast<int>(threadIdx.x), along = thread % edge, across = thread / edge;
  std::int64_t const p0 = std::int64_t{blockIdx.x} * edge;
  if (o.to == nullptr || p0 >= o.k) return;
  for (std::int64_t x0 = std::int64_t{blockIdx.y} * edge; x0 < o.length; x0 += std::int64_t{gridDim.y} * edge) {
    std::int64_t const first = (o.contiguous_in_k ? x0 : p0) + across, limit = o.contiguous_in_k ? o.extent : o.k;
    std::int64_t const place = (o.contiguous_in_k ? p0 : x0) + along;
    bool const inside = place < (o.contiguous_in_k ? o.k : o.extent);
    T const* const from = o.operand + first * o.ld + place;
    T value[edge / lines];
#pragma unroll
    for (int i = 0; i < edge / lines; ++i)
      value[i] = inside && first + i * lines < limit ? from[i * lines * o.ld] : T{0};
#pragma unroll
    for (int i = 0; i < edge / lines; ++i) smem[across + i * lines][along] = value[i];
    __syncthreads();
    int const x = thread % vectors * width;
#pragma unroll
    for (int p = thread / vectors; p < edge; p += 256 / vectors) {
      T vector[width];
#pragma unroll
      for (int e = 0; e < width; ++e) vector[e] = o.contiguous_in_k ? smem[x + e][p] : smem[p][x + e];
      if (p0 + p < o.k && x0 + x < o.length) store_vector(o.to + (p0 + p) * o.length + x0 + x, vector);
    }
    __syncthreads();  // before the next square
  }
}

template <class T>
void launch_align(aligned_copy<T> const& a, aligned_copy<T> const& b, CUstream_st* stream) {
  auto const extent = std::max(a.to != nullptr ? a.length : 0, b.to != nullptr ? b.length : 0);
  auto const steps = std::max(a.to != nullptr ? a.k : 0, b.to != nullptr ? b.k : 0);
  auto grid = tile_grid(extent, steps, align_edge, align_edge);
  grid.z = 2;
  launch_after(align<T>, grid, dim3(256), 0, stream, a, b);
}

/// How an operand lies: a step of k a line, at multiples of 16 bytes, is what copies to shared memory are fastest with.
struct operand_place {
  bool along_k, vectors;  ///< contiguous in k; begins_with_vectors
};

/// Which operands to copy first, for tiles of bm x bn: those whose elements it takes longer to bring to shared memory
/// as they lie, one by one, than to copy. An operand whose lines lie across k can be brought 16 bytes at a time only
/// if the other can too, or need not be.
template <class T>
gpu::operand_copies worth_copying(problem const& p, int bm, int bn, operand_place a, operand_place b) {
  // Measured on an H200: multiply-adds a microsecond, and how many of them an element takes that is brought by itself;
  // bytes that are copied in a microsecond, read and written, and microseconds of the kernel that does it.
  constexpr double rate = sizeof(T) == 4 ? 22.5e6 : 11e6, of_element = sizeof(T) == 4 ? 11 : 4;
  constexpr double copied = 3e6, call = 2.5;
  double const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  bool const a_badly = a.along_k || !a.vectors, b_badly = b.along_k || !b.vectors;
  double const gain_a = a_badly ? of_element * m * n * k / bn / rate - 2 * sizeof(T) * m * k / copied : 0;
  double const gain_b = b_badly ? of_element * m * n * k / bm / rate - 2 * sizeof(T) * k * n / copied : 0;
  bool const together = (!a.along_k && !a.vectors) || (!b.along_k && !b.vectors);
  if (together) return gain_a + gain_b > call ? gpu::operand_copies{a_badly, b_badly} : gpu::operand_copies{};
  double const gain = std::max(gain_a, 0.0) + std::max(gain_b, 0.0);
  return gain > call ? gpu::operand_copies{gain_a > 0, gain_b > 0} : gpu::operand_copies{};
}

}  // namespace TANDEM_KERNEL_NAMESPACE
