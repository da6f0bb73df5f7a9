// Removes the shared-memory reads of `smem_tile`, two for each multiply-add: a thread keeps a tm x tn tile of C in
// registers, reads tm + tn values a step of k, and makes tm * tn multiply-adds of them, an outer product.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A row of a tile in shared memory has 16 bytes of padding after every 128: threads that read 32 or 64 bytes each,
/// side by side, then fall into different banks, and so do the steps of k that an operand contiguous in k writes at
/// once.
template <class T>
__host__ __device__ constexpr int padded(int x) {
  return x + x / (128 / int{sizeof(T)}) * (16 / int{sizeof(T)});
}

/// Copies rows [x0, x0 + bx) of an operand, steps [p0, p0 + bk) of k, to a tile of shared memory, with 0 outside
/// extent x k. Neighbouring threads run along the operand's rows in memory; a thread's elements are `step` rows apart,
/// so that one pointer and one stride address them all.
template <class T, int bx, int bk, int threads, bool contiguous_in_k, int pitch>
__device__ __forceinline__ void load_tile(T (&smem)[bk][pitch], T const* operand, std::int64_t ld, std::int64_t extent,
                                          std::int64_t k, std::int64_t x0, std::int64_t p0) {
  constexpr int line = contiguous_in_k ? bk : bx;  // elements that lie side by side in memory
  constexpr int step = threads / line;
  static_assert(threads % line == 0 && bx * bk % threads == 0, "every thread loads the same column of lines");
  int const along = static_cast<int>(threadIdx.x) % line, across = static_cast<int>(threadIdx.x) / line;
  std::int64_t const first = contiguous_in_k ? x0 : p0, limit = contiguous_in_k ? extent : k;
  bool const inside_line = contiguous_in_k ? p0 + along < k : x0 + along < extent;
  T const* from = operand + (first + across) * ld + (contiguous_in_k ? p0 : x0) + along;
#pragma unroll
  for (int i = 0; i < bx * bk / threads; ++i) {
    int const at = across + i * step;
    T const value = inside_line && first + at < limit ? from[i * step * ld] : T{0};
    if constexpr (contiguous_in_k)
      smem[along][padded<T>(at)] = value;
    else
      smem[at][padded<T>(along)] = value;
  }
}

/// Reads `count` neighbours of a tile's row, 16 bytes an access.
template <class T, int count>
__device__ __forceinline__ void read_fragment(T (&fragment)[count], T const* row, int x) {
  using vector = typename vector_of<T>::type;
  constexpr int width = sizeof(vector) / sizeof(T);
  static_assert(count % width == 0, "whole vectors");
#pragma unroll
  for (int i = 0; i < count; i += width) {
    vector const v = *reinterpret_cast<vector const*>(row + padded<T>(x + i));
    fragment[i] = v.x;
    fragment[i + 1] = v.y;
    if constexpr (width == 4) {
      fragment[i + 2] = v.z;
      fragment[i + 3] = v.w;
    }
  }
}

/// `blocks` of them share a multiprocessor: fewer registers a thread, but the others compute while one loads.
template <class T, int bm, int bn, int bk, int tm, int tn, int blocks, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(bm / tm * (bn / tn), blocks) thread_tile(gemm_operands<T> g) {
  static_assert(bm % tm == 0 && bn % tn == 0, "a block holds whole thread tiles");
  static_assert(bm * sizeof(T) % 128 == 0 && bn * sizeof(T) % 128 == 0, "the padding counts whole 128 bytes");
  constexpr int threads_n = bn / tn, threads = bm / tm * threads_n;
  constexpr int pitch_a = padded<T>(bm - 1) + 1, pitch_b = padded<T>(bn - 1) + 1;
  __shared__ __align__(16) T smem_a[bk][pitch_a];  // (bk, bm), padded
  __shared__ __align__(16) T smem_b[bk][pitch_b];  // (bk, bn), padded
  int const i_thread = static_cast<int>(threadIdx.x) / threads_n * tm;
  int const j_thread = static_cast<int>(threadIdx.x) % threads_n * tn;

  for (std::int64_t tile_m = blockIdx.y; tile_m < tiles(g.m, bm); tile_m += gridDim.y) {
    std::int64_t const i0 = tile_m * bm, j0 = std::int64_t{blockIdx.x} * bn;
    T acc[tm][tn] = {};  // (tm, tn)
    for (std::int64_t p0 = 0; p0 < g.k; p0 += bk) {
      load_tile<T, bm, bk, threads, !trans_a>(smem_a, g.a, g.lda, g.m, g.k, i0, p0);
      load_tile<T, bn, bk, threads, trans_b>(smem_b, g.b, g.ldb, g.n, g.k, j0, p0);
      __syncthreads();
#pragma unroll
      for (int p = 0; p < bk; ++p) {
        T a[tm], b[tn];  // (tm), (tn)
        read_fragment(a, smem_a[p], i_thread);
        read_fragment(b, smem_b[p], j_thread);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
          for (int j = 0; j < tn; ++j) acc[i][j] = fma(a[i], b[j], acc[i][j]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < tm; ++i)
#pragma unroll
      for (int j = 0; j < tn; ++j) {
        std::int64_t const row = i0 + i_thread + i, col = j0 + j_thread + j;
        if (row < g.m && col < g.n) write_result(g.c[row * g.ldc + col], g.alpha, acc[i][j], g.beta);
      }
  }
}

template <class T, int bm, int bn, int bk, int tm, int tn, int blocks>
void launch_thread_tile(problem const& p, CUstream_st* stream) {
  auto const kernel = p.trans_a ? (p.trans_b ? thread_tile<T, bm, bn, bk, tm, tn, blocks, true, true>
                                             : thread_tile<T, bm, bn, bk, tm, tn, blocks, true, false>)
                                : (p.trans_b ? thread_tile<T, bm, bn, bk, tm, tn, blocks, false, true>
                                             : thread_tile<T, bm, bn, bk, tm, tn, blocks, false, false>);
  launch(kernel, tile_grid(p.m, p.n, bm, bn), dim3(bm / tm * (bn / tn)), 0, stream, operands_of<T>(p));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
