// Removes the turns that loads and arithmetic take in `vector_load`: while a tile is multiplied the next one is on its
// way from global memory to registers, and while a step of k is multiplied the next one comes from shared memory. Of
// two buffers one is read and one is written, so a step of bk takes one barrier.
#pragma once

#include "gpu/kernels/along_rows.cuh"
#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/global_load.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/tile_layout.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// The block's whole work, for threads whose elements lie at `place` in its tile of C.
template <class T, int bm, int bn, int bk, int tm, int tn, bool trans_a, bool trans_b, bool vectors, class Place>
__device__ __forceinline__ void multiply_double_buffered(gemm_operands<T> const& g, bool vectors_of_c,
                                                         Place const& place) {
  static_assert(bk % 2 == 0, "the fragments of a tile's first step are always the same of the two");
  constexpr int threads = bm / tm * (bn / tn), width = vectors ? vector_width<T> : 1;
  using layout_a = tile_layout<T, bm, bk, false>;
  using layout_b = tile_layout<T, bn, bk, false>;
  __shared__ __align__(16) T smem_a[2][layout_a::size];  // (2, bk, bm)
  __shared__ __align__(16) T smem_b[2][layout_b::size];  // (2, bk, bn)
  // Threads that share C by warps write unaligned rows by way of shared memory; to others it would cost registers.
  constexpr bool along_rows = Place::row_step > vector_width<T>;
  static_assert(!along_rows || threads / 32 * along_rows_size<tn, 1> <= 2 * layout_a::size, "rows of C have a place");

  for (std::int64_t tile_m = blockIdx.y; tile_m < tiles(g.m, bm); tile_m += gridDim.y) {
    std::int64_t const i0 = tile_m * bm, j0 = std::int64_t{blockIdx.x} * bn;
    tile_loader<T, bm, bk, threads, !trans_a, width> next_a(g.a, g.lda, g.m, i0);
    tile_loader<T, bn, bk, threads, trans_b, width> next_b(g.b, g.ldb, g.n, j0);
    T acc[tm][tn] = {};    // (tm, tn)
    T a[2][tm], b[2][tn];  // (2, tm), (2, tn)
    auto const fetch = [&](std::int64_t p0) {
      int const steps = inside_tile(g.k, p0, bk);
      next_a.fetch(steps);
      next_b.fetch(steps);
    };
    auto const store = [&](int buffer) {
      next_a.template store<layout_a>(smem_a[buffer]);
      next_b.template store<layout_b>(smem_b[buffer]);
      __syncthreads();
    };
    auto const read = [&](int fragment, int buffer, int p) {
      read_fragment<layout_a, Place::row_step>(a[fragment], smem_a[buffer], p, place.row);
      read_fragment<layout_b, Place::col_step>(b[fragment], smem_b[buffer], p, place.col);
    };

    fetch(0);
    store(0);
    read(0, 0, 0);
    int buffer = 0;
    // Behind the last tile follows one of zeros, which nobody multiplies.
    for (std::int64_t p0 = bk; p0 < g.k + bk; p0 += bk, buffer ^= 1) {
      fetch(p0);
#pragma unroll
      for (int p = 0; p < bk; ++p) {
        if (p + 1 < bk) {
          read((p + 1) % 2, buffer, p + 1);
        } else {
          store(buffer ^ 1);
          read(0, buffer ^ 1, 0);
        }
        add_outer_product(acc, a[p % 2], b[p % 2]);
      }
    }
    if constexpr (along_rows) {
      if (vectors_of_c)
        write_elements(g, i0, j0, place, acc, true);
      else
        write_along_rows<1>(g, i0, j0, place, acc, smem_a[0]);
    } else {
      write_elements(g, i0, j0, place, acc, vectors_of_c);
    }
    __syncthreads();  // the next tile of C begins in a buffer that others may still read
  }
}

/// `blocks` of them share a multiprocessor.
template <class T, int bm, int bn, int bk, int tm, int tn, int blocks, bool trans_a, bool trans_b, bool vectors>
__global__ void __launch_bounds__(bm / tm * (bn / tn), blocks) double_buffer(gemm_operands<T> g, bool vectors_of_c) {
  static_assert(bm % tm == 0 && bn % tn == 0, "a block holds whole thread tiles");
  multiply_double_buffered<T, bm, bn, bk, tm, tn, trans_a, trans_b, vectors>(g, vectors_of_c,
                                                                             rows_of_threads<T, tm, bn / tn>());
}

template <class T, int bm, int bn, int bk, int tm, int tn, int blocks>
void launch_double_buffer(problem const& p, CUstream_st* stream) {
  auto const start = [&]<bool trans_a, bool trans_b, bool vectors>() {
    launch(double_buffer<T, bm, bn, bk, tm, tn, blocks, trans_a, trans_b, vectors>, tile_grid(p.m, p.n, bm, bn),
           dim3(bm / tm * (bn / tn)), 0, stream, operands_of<T>(p), begins_with_vectors<T>(p.c, p.ldc));
  };
  with_constants(start, p.trans_a, p.trans_b, operands_are_vectors<T>(p));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
