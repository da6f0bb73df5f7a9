// An operand copied for kernels that would have it otherwise: a step of k a line, lines of whole tiles that begin at
// multiples of 16 bytes, zeros around it.
#pragma once

#include <algorithm>

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int align_edge = 64;  // of the squares that a block copies

/// `to` has `steps` lines of `length` elements, whole vectors, of which k lines of `extent` are the operand.
template <class T>
struct aligned_copy {
  T* to;  ///< nullptr: none
  std::int64_t length, steps;
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
  auto const o = blockIdx.z == 0 ? a : b;
  int const thread = static_cast<int>(threadIdx.x), along = thread % edge, across = thread / edge;
  std::int64_t const p0 = std::int64_t{blockIdx.x} * edge;
  if (o.to == nullptr || p0 >= o.steps) return;
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
      if (p0 + p < o.steps && x0 + x < o.length) store_vector(o.to + (p0 + p) * o.length + x0 + x, vector);
    }
    __syncthreads();  // before the next square
  }
}

template <class T>
void launch_align(aligned_copy<T> const& a, aligned_copy<T> const& b, CUstream_st* stream) {
  auto const extent = std::max(a.to != nullptr ? a.length : 0, b.to != nullptr ? b.length : 0);
  auto const steps = std::max(a.to != nullptr ? a.steps : 0, b.to != nullptr ? b.steps : 0);
  auto grid = tile_grid(extent, steps, align_edge, align_edge);
  grid.z = 2;
  launch(align<T>, grid, dim3(256), 0, stream, a, b);
}

/// Whether an operand that has a line for a step of k lies as `align` would make it.
template <class T>
bool is_aligned(void const* operand, std::int64_t ld, std::int64_t extent, int bx, std::int64_t k, int bk) {
  return begins_with_vectors<T>(operand, ld) && extent % bx == 0 && k % bk == 0;
}

/// Whether copying, which takes bytes, pays: the multiply-adds then take a tenth of their time less, and a quarter
/// where the operands as they are cannot be read 16 bytes at a time.
inline bool aligning_pays(problem const& p, bool vectors) {
  std::int64_t const least = vectors ? 1500 : 1000;
  return p.m >= least && p.n >= least;
}

}  // namespace TANDEM_KERNEL_NAMESPACE
