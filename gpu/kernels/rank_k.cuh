// Removes what hides behind a deep k and shows where k is a few steps: no chunks of k. A block keeps its columns of B
// in registers and runs down rows of C, 16 bytes a lane, with the next rows of A on their way; bound by writing C.
#pragma once

#include <algorithm>
#include <limits>

#include "gpu/kernels/copy_inside.cuh"
#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A block of `warps` warps makes bm x bn elements of C at a time from up to bk steps of k. A thread has a vector of a
/// row, or, where C's rows do not begin at multiples of 16 bytes, as many elements, lanes_n from each other, so that
/// neighbours write neighbours; where the block has more threads than a row has vectors, the others have other rows.
/// `blocks` of them are on a multiprocessor at once.
template <class T, int bm_, int bn_, int bk_, int warps_, int stages_, int blocks_>
struct rank_tiling {
  using element = T;
  static constexpr int bm = bm_, bn = bn_, bk = bk_, warps = warps_, threads = 32 * warps;
  static constexpr int blocks = blocks_;
  static constexpr int stages = stages_;  // one stage: rows are fetched when they are needed
  static constexpr int tn = vector_width<T>, lanes_n = bn / tn, rows = threads / lanes_n;  // rows at once
  static constexpr int pitch_a = bk + tn, pitch_b = bn + tn;
  static constexpr std::size_t shared_bytes = sizeof(T) * (std::size_t{stages} * bm * pitch_a + bk * pitch_b);
  static_assert(stages == 1 || stages == 2, "the rows in use, and the next ones");
  static_assert(bn % tn == 0 && threads % lanes_n == 0, "whole rows for every thread");
  static_assert(bk % tn == 0 && bm % rows == 0, "whole vectors, and as many rows for every thread");
  static_assert(shared_bytes <= 48 * 1024, "shared memory that every kernel has");
};

/// Copies bx x bk elements of an operand, from x0 on, to (x, p) or (p, x) of shared memory as `place` says, with 0
/// outside its `extent` and k steps. `vectors`: its lines begin with vectors, which lie so in shared memory too.
template <int bx, int bk, int threads, class T, class Place>
__device__ __forceinline__ void copy_thin(T const* operand, std::int64_t ld, std::int64_t x0, std::int64_t extent,
                                          int k, bool along_k, bool vectors, Place const& place) {
  constexpr int width = vector_width<T>;
  int const inside = static_cast<int>(min(extent - x0, std::int64_t{bx}));
  T const* const from = operand + (along_k ? x0 * ld : x0);
  if (vectors) {
    int const in_line = (along_k ? bk : bx) / width;
    for (int i = static_cast<int>(threadIdx.x); i < bx * bk / width; i += threads) {
      int const line = i / in_line, at = i % in_line * width;
      int const left = line < (along_k ? inside : k) ? (along_k ? k : inside) - at : 0;
      copy_inside<width>(place(along_k ? at : line, along_k ? line : at), from + line * ld + at, left);
    }
  } else {
    int const in_line = along_k ? bk : bx;
    for (int i = static_cast<int>(threadIdx.x); i < bx * bk; i += threads) {
      int const line = i / in_line, at = i % in_line;
      int const left = line < (along_k ? inside : k) ? (along_k ? k : inside) - at : 0;
      copy_inside<1>(place(along_k ? at : line, along_k ? line : at), from + line * ld + at, left);
    }
  }
}

/// x: columns, y: rows, stepped over.
template <class Tiling, bool trans_a, bool trans_b, bool vectors_of_c>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    rank_k(gemm_operands<typename Tiling::element> g, bool vectors_of_a, bool vectors_of_b) {
  using T = typename Tiling::element;
  constexpr int bm = Tiling::bm, bn = Tiling::bn, bk = Tiling::bk, tn = Tiling::tn, threads = Tiling::threads;
  constexpr int stages = Tiling::stages, pitch_a = Tiling::pitch_a, pitch_b = Tiling::pitch_b;
  T* const smem_a = dynamic_shared<T>();             // (stages, bm, bk), padded
  T* const smem_b = smem_a + stages * bm * pitch_a;  // (bk, bn), padded
  int const first = static_cast<int>(threadIdx.x) / Tiling::lanes_n, k = static_cast<int>(g.k);
  int const lane = static_cast<int>(threadIdx.x) % Tiling::lanes_n;
  int const col = vectors_of_c ? lane * tn : lane;
  std::int64_t const j0 = std::int64_t{blockIdx.x} * bn, tiles_m = tiles(g.m, bm);
  int const inside = static_cast<int>(min(g.n - j0, std::int64_t{bn})) - col;
  auto const copy_rows = [&](std::int64_t tile, int stage) {
    if (tile < tiles_m)
      copy_thin<bm, bk, threads>(g.a, g.lda, tile * bm, g.m, k, !trans_a, vectors_of_a,
                                 [&](int p, int x) { return smem_a + (stage * bm + x) * pitch_a + p; });
    commit_async();
  };
  let_next_kernel_start();
  wait_for_kernel_before();
  std::int64_t tile = blockIdx.y;
  copy_thin<bn, bk, threads>(g.b, g.ldb, j0, g.n, k, trans_b, vectors_of_b,
                             [&](int p, int x) { return smem_b + p * pitch_b + x; });
  copy_rows(tile, 0);
  wait_async<0>();
  __syncthreads();
  T b[bk][tn];  // (bk, tn)
#pragma unroll
  for (int p = 0; p < bk; ++p) {
    T const* const line = smem_b + p * pitch_b + col;
    if constexpr (vectors_of_c) {
      load_vector(b[p], line);
    } else {
#pragma unroll
      for (int j = 0; j < tn; ++j) b[p][j] = line[j * Tiling::lanes_n];
    }
  }

  for (int stage = 0;; stage = (stage + 1) % stages) {
    std::int64_t const i0 = tile * bm;
    tile += gridDim.y;
    if constexpr (stages > 1) copy_rows(tile, (stage + 1) % stages);
#pragma unroll 2
    for (int i = first; i < bm; i += Tiling::rows) {
      if (i0 + i >= g.m) break;
      T sum[tn] = {};
#pragma unroll
      for (int p = 0; p < bk; p += tn) {
        T a[tn];
        load_vector(a, smem_a + (stage * bm + i) * pitch_a + p);
#pragma unroll
        for (int q = 0; q < tn; ++q)
#pragma unroll
          for (int j = 0; j < tn; ++j) sum[j] = fma(a[q], b[p + q][j], sum[j]);
      }
      T* const c = g.c + (i0 + i) * g.ldc + j0 + col;
      if constexpr (vectors_of_c) {
        write_results(c, sum, inside, true, g.alpha, g.beta);
      } else {
#pragma unroll
        for (int j = 0; j < tn; ++j)
          if (j * Tiling::lanes_n < inside) write_result(c[j * Tiling::lanes_n], g.alpha, sum[j], g.beta);
      }
    }
    if (tile >= tiles_m) break;
    if constexpr (stages == 1) {
      __syncthreads();  // before the next rows of A
      copy_rows(tile, 0);
    }
    wait_async<0>();
    __syncthreads();
  }
}

/// How many blocks share the `down` tiles of each of `across` columns of tiles, where `places` blocks run at once: each
/// fetches its columns of B, which takes about as long as two tiles, and if they are few, a last round that is nearly
/// empty is long. On an H200 this took 3 % longer than the best of up to twelve rounds, in the mean of 142
/// measurements.
inline std::int64_t blocks_down(std::int64_t across, std::int64_t down, std::int64_t places) {
  constexpr int most_rounds = 12;
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (int round = 1; round <= most_rounds; ++round) {
    std::int64_t const blocks = std::clamp<std::int64_t>(round * places / across, 1, down);
    std::int64_t const rounds = (across * blocks + places - 1) / places, each = (down + blocks - 1) / blocks;
    std::int64_t const time = (2 * rounds + 1) * (each + 2);
    if (time <= least) best = blocks, least = time;
    if (blocks == down) break;
  }
  return best;
}

/// How many blocks share the rows of each column of tiles of C.
template <class Tiling>
std::int64_t rank_k_blocks_down(problem const& p) {
  return blocks_down(tiles(p.n, Tiling::bn), tiles(p.m, Tiling::bm), dealt_multiprocessors * Tiling::blocks);
}

/// k is at most Tiling::bk.
template <class Tiling>
void launch_rank_k(problem const& p, CUstream_st* stream) {
  using T = typename Tiling::element;
  auto grid = tile_grid(p.m, p.n, Tiling::bm, Tiling::bn);
  grid.y = static_cast<unsigned>(rank_k_blocks_down<Tiling>(p));
  // Vectors of A go to neighbours in shared memory only along k, those of B only across it.
  bool const vectors_of_a = !p.trans_a && begins_with_vectors<T>(p.a, p.lda);
  bool const vectors_of_b = !p.trans_b && begins_with_vectors<T>(p.b, p.ldb);
  auto const start = [&]<bool trans_a, bool trans_b, bool vectors_of_c>() {
    launch_after(rank_k<Tiling, trans_a, trans_b, vectors_of_c>, grid, dim3(Tiling::threads), Tiling::shared_bytes,
                 stream, operands_of<T>(p), vectors_of_a, vectors_of_b);
  };
  with_constants(start, p.trans_a, p.trans_b, begins_with_vectors<T>(p.c, p.ldc));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
