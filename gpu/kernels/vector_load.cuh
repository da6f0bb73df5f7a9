// Removes the scalar accesses of `thread_tile` to global memory: a load or store moves 16 bytes, a quarter of the
// instructions, and the threads of a warp write whole 32-byte sectors of C, where they wrote 4 bytes in each of 32. An
// operand that is contiguous in k is transposed on its way into shared memory.
#pragma once

#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/global_load.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/tile_layout.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Adds a tile's products. The outer product of a step after the other, or, `inner`, each element's products of all
/// steps after the other's.
template <class LayoutA, class LayoutB, int bk, int unroll, bool inner, class T, int tm, int tn, class Place>
__device__ __forceinline__ void multiply_tiles(T (&acc)[tm][tn], T const* smem_a, T const* smem_b, Place const& place) {
  if constexpr (inner) {
    T a[bk][tm], b[bk][tn];  // (bk, tm), (bk, tn)
#pragma unroll
    for (int p = 0; p < bk; ++p) {
      read_fragment<LayoutA, Place::row_step>(a[p], smem_a, p, place.row);
      read_fragment<LayoutB, Place::col_step>(b[p], smem_b, p, place.col);
    }
#pragma unroll
    for (int i = 0; i < tm; ++i)
#pragma unroll
      for (int j = 0; j < tn; ++j)
#pragma unroll
        for (int p = 0; p < bk; ++p) acc[i][j] = fma(a[p][i], b[p][j], acc[i][j]);
  } else {
#pragma unroll unroll
    for (int p = 0; p < bk; ++p) {
      T a[tm], b[tn];  // (tm), (tn)
      read_fragment<LayoutA, Place::row_step>(a, smem_a, p, place.row);
      read_fragment<LayoutB, Place::col_step>(b, smem_b, p, place.col);
      add_outer_product(acc, a, b);
    }
  }
}

/// `blocks` of them share a multiprocessor; `unroll` steps of k are one trip of a loop.
template <class T, int bm, int bn, int bk, int tm, int tn, int blocks, bool swizzled, int unroll, bool inner,
          bool trans_a, bool trans_b, bool vectors>
__global__ void __launch_bounds__(bm / tm * (bn / tn), blocks) vector_load(gemm_operands<T> g, bool vectors_of_c) {
  static_assert(bm % tm == 0 && bn % tn == 0, "a block holds whole thread tiles");
  constexpr int threads_n = bn / tn, threads = bm / tm * threads_n, width = vectors ? vector_width<T> : 1;
  using layout_a = tile_layout<T, bm, bk, swizzled>;
  using layout_b = tile_layout<T, bn, bk, swizzled>;
  __shared__ __align__(16) T smem_a[layout_a::size];  // (bk, bm)
  __shared__ __align__(16) T smem_b[layout_b::size];  // (bk, bn)
  auto const place = rows_of_threads<T, tm, threads_n>();

  for (std::int64_t tile_m = blockIdx.y; tile_m < tiles(g.m, bm); tile_m += gridDim.y) {
    std::int64_t const i0 = tile_m * bm, j0 = std::int64_t{blockIdx.x} * bn;
    tile_loader<T, bm, bk, threads, !trans_a, width> a(g.a, g.lda, g.m, i0);
    tile_loader<T, bn, bk, threads, trans_b, width> b(g.b, g.ldb, g.n, j0);
    T acc[tm][tn] = {};  // (tm, tn)
    for (std::int64_t p0 = 0; p0 < g.k; p0 += bk) {
      int const steps = inside_tile(g.k, p0, bk);
      a.fetch(steps);
      b.fetch(steps);
      a.template store<layout_a>(smem_a);
      b.template store<layout_b>(smem_b);
      __syncthreads();
      multiply_tiles<layout_a, layout_b, bk, unroll, inner>(acc, smem_a, smem_b, place);
      __syncthreads();
    }
    write_elements(g, i0, j0, place, acc, vectors_of_c);
  }
}

template <class T, int bm, int bn, int bk, int tm, int tn, int blocks, bool swizzled = false, int unroll = bk,
          bool inner = false>
void launch_vector_load(problem const& p, CUstream_st* stream) {
  auto const start = [&]<bool trans_a, bool trans_b, bool vectors>() {
    launch(vector_load<T, bm, bn, bk, tm, tn, blocks, swizzled, unroll, inner, trans_a, trans_b, vectors>,
           tile_grid(p.m, p.n, bm, bn), dim3(bm / tm * (bn / tn)), 0, stream, operands_of<T>(p),
           begins_with_vectors<T>(p.c, p.ldc));
  };
  with_constants(start, p.trans_a, p.trans_b, operands_are_vectors<T>(p));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
