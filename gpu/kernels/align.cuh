// An operand copied for kernels that would have it otherwise: a step of k a line, lines of whole tiles that begin at
// multiples of 16 bytes, zeros around it.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int align_edge = 64;  // of the squares that a block copies

/// `to` has `steps` lines of `length` elements, of which k lines of `extent` are the operand. x: k, y: extent, stepped
/// over.
template <class T, bool contiguous_in_k>
__global__ void __launch_bounds__(256) align(T* to, std::int64_t length, std::int64_t steps, T const* operand,
                                             std::int64_t ld, std::int64_t extent, std::int64_t k) {
  constexpr int edge = align_edge, rows = 256 / edge;
  let_next_kernel_start();
  int const along = static_cast<int>(threadIdx.x) % edge, across = static_cast<int>(threadIdx.x) / edge;
  std::int64_t const p0 = std::int64_t{blockIdx.x} * edge;
  for (std::int64_t x0 = std::int64_t{blockIdx.y} * edge; x0 < length; x0 += std::int64_t{gridDim.y} * edge) {
    T value[edge / rows];
    std::int64_t const first = (contiguous_in_k ? x0 : p0) + across, limit = contiguous_in_k ? extent : k;
    std::int64_t const place = (contiguous_in_k ? p0 : x0) + along;
    bool const inside = place < (contiguous_in_k ? k : extent);
    T const* const from = operand + first * ld + place;
#pragma unroll
    for (int i = 0; i < edge / rows; ++i) value[i] = inside && first + i * rows < limit ? from[i * rows * ld] : T{0};
    if constexpr (contiguous_in_k) {
      __shared__ T smem[edge][edge + 1];  // (edge of x, edge of k), padded
#pragma unroll
      for (int i = 0; i < edge / rows; ++i) smem[across + i * rows][along] = value[i];
      __syncthreads();
#pragma unroll
      for (int i = 0; i < edge / rows; ++i) value[i] = smem[along][across + i * rows];
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < edge / rows; ++i) {
      std::int64_t const p = p0 + across + i * rows, x = x0 + along;
      if (p < steps && x < length) to[p * length + x] = value[i];
    }
  }
  wait_for_kernel_before();  // the other operand's: whoever waits for this one waits for both
}

/// `second`: the other operand's is the kernel before it in the stream.
template <class T>
void launch_align(T* to, std::int64_t length, std::int64_t steps, T const* operand, std::int64_t ld,
                  std::int64_t extent, std::int64_t k, bool contiguous_in_k, bool second, CUstream_st* stream) {
  auto const kernel = contiguous_in_k ? align<T, true> : align<T, false>;
  auto const grid = tile_grid(length, steps, align_edge, align_edge);
  if (second)
    launch_after(kernel, grid, dim3(256), 0, stream, to, length, steps, operand, ld, extent, k);
  else
    launch(kernel, grid, dim3(256), 0, stream, to, length, steps, operand, ld, extent, k);
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
