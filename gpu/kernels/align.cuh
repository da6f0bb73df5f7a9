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
  // Not earlier: between blocks of this kernel those of the next one find registers and shared memory in pieces, in
  // which fewer of them have room than a multiprocessor holds, and the last ones wait for another's end.
  let_next_kernel_start();
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
  bool along_k;        ///< contiguous in k
  bool vectors;        ///< begins_with_vectors
  bool whole_vectors;  ///< consists_of_vectors
};

/// Multiply-adds that an element of A and one of B takes on its way to shared memory, more than one of a copy does.
struct element_costs {
  double a, b;
};

/// Which operands to copy first, so that the product takes least. `costs`: of the elements where these are copied.
template <class tiling>
gpu::operand_copies cheapest_copies(problem const& p, auto const& costs) {
  constexpr auto size = sizeof(typename tiling::element);
  // Bytes that are copied in a microsecond, read and written, and microseconds of the kernel that does it.
  constexpr double copied = 3e6, call = 2.5;
  double const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  double const products = m * n * k / tiling::rate;
  auto const on_the_way = [&](gpu::operand_copies c) {
    element_costs const each = costs(c);
    return products * (each.a / tiling::bn + each.b / tiling::bm);
  };
  gpu::operand_copies best{};
  double least = on_the_way(best);
  if (least <= call) return best;
  for (gpu::operand_copies const c : {gpu::operand_copies{true, false}, {false, true}, {true, true}}) {
    double const time = on_the_way(c) + call + 2 * size * ((c.a ? m : 0) + (c.b ? n : 0)) * k / copied;
    if (time < least) best = c, least = time;
  }
  return best;
}

}  // namespace TANDEM_KERNEL_NAMESPACE
