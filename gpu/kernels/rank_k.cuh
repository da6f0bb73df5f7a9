// Removes what hides behind a deep k and shows where k is a few steps: no chunks, no pipeline. A block keeps its
// columns of B in registers and runs down rows of C, a warp a row at a time, 16 bytes a lane; bound by writing C.
#pragma once

#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A block of `warps` warps makes bm rows of C, and as many columns as a warp's lanes have elements in vectors, from up
/// to bk steps of k.
template <class T, int bm_, int bk_, int warps_>
struct rank_tiling {
  using element = T;
  static constexpr int bm = bm_, bk = bk_, warps = warps_, threads = 32 * warps;
  static constexpr int tn = vector_width<T>, bn = 32 * tn;
  static constexpr int pitch_b = bn + tn;
  static_assert(bk % vector_width<T> == 0 && bm % warps == 0, "whole vectors, and as many rows for every warp");
};

/// Copies a tile of `lines` x `bx` of an operand, `steps` of them inside, to (p, x) of shared memory as `put` says,
/// with 0 outside the operand.
template <int bx, int bk, int threads, class T, class Put>
__device__ __forceinline__ void copy_thin(T const* operand, std::int64_t ld, std::int64_t x0, std::int64_t extent,
                                          int k, bool along_k, Put const& put) {
  int const thread = static_cast<int>(threadIdx.x);
  for (int at = thread; at < bx * bk; at += threads) {
    int const p = along_k ? at % bk : at / bx, x = along_k ? at / bk : at % bx;
    bool const there = p < k && x0 + x < extent;
    put(p, x, there ? operand[along_k ? (x0 + x) * ld + p : p * ld + x0 + x] : T{0});
  }
}

/// x: columns, y: rows, stepped over.
template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads)
    rank_k(gemm_operands<typename Tiling::element> g, bool vectors_of_c) {
  using T = typename Tiling::element;
  constexpr int bm = Tiling::bm, bn = Tiling::bn, bk = Tiling::bk, tn = Tiling::tn, threads = Tiling::threads;
  __shared__ __align__(16) T smem_a[bm][bk];               // (bm, bk)
  __shared__ __align__(16) T smem_b[bk][Tiling::pitch_b];  // (bk, bn), padded
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const k = static_cast<int>(g.k);
  std::int64_t const j0 = std::int64_t{blockIdx.x} * bn, left = g.n - j0 - lane * tn;
  int const inside = static_cast<int>(min(max(left, std::int64_t{0}), std::int64_t{tn}));
  copy_thin<bn, bk, threads>(g.b, g.ldb, j0, g.n, k, trans_b, [&](int p, int x, T value) { smem_b[p][x] = value; });
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, bm); tile += gridDim.y) {
    std::int64_t const i0 = tile * bm;
    copy_thin<bm, bk, threads>(g.a, g.lda, i0, g.m, k, !trans_a, [&](int p, int x, T value) { smem_a[x][p] = value; });
    __syncthreads();
    T b[bk][tn];  // (bk, tn)
#pragma unroll
    for (int p = 0; p < bk; ++p) load_vector(b[p], &smem_b[p][lane * tn]);
#pragma unroll 2
    for (int i = warp; i < bm; i += Tiling::warps) {
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
      write_results(g.c + (i0 + i) * g.ldc + j0 + lane * tn, sum, inside, vectors_of_c, g.alpha, g.beta);
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
