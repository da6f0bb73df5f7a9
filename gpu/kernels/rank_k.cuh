// Removes what hides behind a deep k and shows where k is a few steps: no chunks, no pipeline. A block keeps its
// columns of B in registers and runs down rows of C, a warp a row at a time, 16 bytes a lane; bound by writing C.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A block of `warps` warps makes bm x bn elements of C from up to bk steps of k. A thread has a vector of a row; a
/// warp's lanes that bn leaves over have other rows.
template <class T, int bm_, int bn_, int bk_, int warps_>
struct rank_tiling {
  using element = T;
  static constexpr int bm = bm_, bn = bn_, bk = bk_, warps = warps_, threads = 32 * warps;
  static constexpr int tn = vector_width<T>, lanes_n = bn / tn, rows = threads / lanes_n;  // rows at once
  static constexpr int pitch_a = bk + tn, pitch_b = bn + tn;
  static_assert(lanes_n <= 32 && 32 % lanes_n == 0 && bn % tn == 0, "a row's lanes are a part of a warp");
  static_assert(bk % tn == 0 && bm % rows == 0, "whole vectors, and as many rows for every thread");
  static_assert(bm * bk % threads == 0 && bn * bk % threads == 0, "every thread copies as many elements");
};

/// Copies bx x bk elements of an operand, `k` of these steps inside, to (p, x) of shared memory as `put` says, with 0
/// outside the operand.
template <int bx, int bk, int threads, class T, class Put>
__device__ __forceinline__ void copy_thin(T const* operand, std::int64_t ld, std::int64_t x0, std::int64_t extent,
                                          int k, bool along_k, Put const& put) {
  constexpr int count = bx * bk / threads;
  T value[count];
  auto const for_each = [&](auto const& f) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      int const at = i * threads + static_cast<int>(threadIdx.x);
      f(i, along_k ? at % bk : at / bx, along_k ? at / bk : at % bx);
    }
  };
  for_each([&](int i, int p, int x) {
    bool const there = p < k && x0 + x < extent;
    value[i] = there ? operand[along_k ? (x0 + x) * ld + p : p * ld + x0 + x] : T{0};
  });
  for_each([&](int i, int p, int x) { put(p, x, value[i]); });
}

/// x: columns, y: rows, stepped over.
template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads)
    rank_k(gemm_operands<typename Tiling::element> g, bool vectors_of_c) {
  using T = typename Tiling::element;
  constexpr int bm = Tiling::bm, bn = Tiling::bn, bk = Tiling::bk, tn = Tiling::tn, threads = Tiling::threads;
  __shared__ __align__(16) T smem_a[bm][Tiling::pitch_a];  // (bm, bk), padded
  __shared__ __align__(16) T smem_b[bk][Tiling::pitch_b];  // (bk, bn), padded
  int const first = static_cast<int>(threadIdx.x) / Tiling::lanes_n, k = static_cast<int>(g.k);
  int const col = static_cast<int>(threadIdx.x) % Tiling::lanes_n * tn;
  std::int64_t const j0 = std::int64_t{blockIdx.x} * bn, left = g.n - j0 - col;
  int const inside = static_cast<int>(min(max(left, std::int64_t{0}), std::int64_t{tn}));
  copy_thin<bn, bk, threads>(g.b, g.ldb, j0, g.n, k, trans_b, [&](int p, int x, T value) { smem_b[p][x] = value; });
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, bm); tile += gridDim.y) {
    std::int64_t const i0 = tile * bm;
    copy_thin<bm, bk, threads>(g.a, g.lda, i0, g.m, k, !trans_a, [&](int p, int x, T value) { smem_a[x][p] = value; });
    __syncthreads();
    T b[bk][tn];  // (bk, tn)
#pragma unroll
    for (int p = 0; p < bk; ++p) load_vector(b[p], &smem_b[p][col]);
#pragma unroll 2
    for (int i = first; i < bm; i += Tiling::rows) {
      if (i0 + i >= g.m) break;
      T sum[tn] = {};
#pragma unroll
      for (int p = 0; p < bk; p += tn) {
        T a[tn];
        load_vector(a, &smem_a[i][p]);
#pragma unroll
        for (int q = 0; q < tn; ++q)
#pragma unroll
          for (int j = 0; j < tn; ++j) sum[j] = fma(a[q], b[p + q][j], sum[j]);
      }
      write_results(g.c + (i0 + i) * g.ldc + j0 + col, sum, inside, vectors_of_c, g.alpha, g.beta);
    }
    __syncthreads();  // before the next rows of A
  }
}

/// k is at most Tiling::bk.
template <class Tiling>
void launch_rank_k(problem const& p, CUstream_st* stream) {
  using T = typename Tiling::element;
  auto const kernel = by_transposes(p.trans_a, p.trans_b, rank_k<Tiling, false, false>, rank_k<Tiling, false, true>,
                                    rank_k<Tiling, true, false>, rank_k<Tiling, true, true>);
  launch(kernel, tile_grid(p.m, p.n, Tiling::bm, Tiling::bn), dim3(Tiling::threads), 0, stream, operands_of<T>(p),
         begins_with_vectors<T>(p.c, p.ldc));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
