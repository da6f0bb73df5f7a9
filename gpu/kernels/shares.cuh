// How a persistent kernel's blocks share a product: whole tiles in rounds, as long as there is one for every block, and
// the steps of k of the tiles left over, dealt out evenly. A tile of which several blocks have a part is added up
// afterwards in the order of k, so the bits depend on the problem alone.
#pragma once

#include <algorithm>

#include "gpu/kernels/add_in_turn.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/vector.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A chunk is bk steps of k of one tile. Tiles are numbered in the order in which blocks take them.
struct shares {
  std::int64_t tiles_m, tiles_n, chunks;  ///< of C, and of a tile
  std::int64_t shared_tiles;              ///< the last ones, whose chunks are dealt out
  std::int64_t share;                     ///< of them: so many chunks to a block, one after the other
  int blocks;                             ///< of the grid

  __host__ __device__ std::int64_t whole_tiles() const { return tiles_m * tiles_n - shared_tiles; }
  __host__ __device__ std::int64_t sharers() const { return (shared_tiles * chunks + share - 1) / share; }
};

/// Deals the tiles of C out to `at_once` blocks. Parts of tiles have at least `least` chunks; they go through memory
/// and need another launch, the time of about `extra` chunks.
inline shares deal(std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t chunks, int at_once, int least, int extra) {
  std::int64_t const all = tiles_m * tiles_n, rest = all % at_once;
  std::int64_t const share = std::max<std::int64_t>((rest * chunks + at_once - 1) / at_once, least);
  if (rest == 0 || share + extra >= chunks)
    return {tiles_m, tiles_n, chunks, 0, chunks, static_cast<int>(std::min<std::int64_t>(all, at_once))};
  shares s{tiles_m, tiles_n, chunks, rest, share, at_once};
  if (all == rest) s.blocks = static_cast<int>(s.sharers());
  return s;
}

/// A tile of C by its number: down groups of `group` rows of tiles, then to the next column, so that the tiles that are
/// computed at the same time share their rows of A and columns of B in the second-level cache.
struct tile_of_c {
  std::int64_t m, n;
};
template <int group>
__device__ __forceinline__ tile_of_c find_tile(shares const& s, std::int64_t number) {
  std::int64_t const per_group = group * s.tiles_n, first = number / per_group * group;
  std::int64_t const rows = min(s.tiles_m - first, std::int64_t{group}), in_group = number % per_group;
  return {first + in_group % rows, in_group / rows};
}

/// Consecutive chunks of one tile.
struct stretch {
  std::int64_t tile, begin, end;

  __device__ bool empty() const { return begin == end; }
};

/// A block's stretches by their number; an empty one after the last.
__device__ __forceinline__ stretch find_stretch(shares const& s, int number) {
  std::int64_t const whole = s.whole_tiles(), tile = blockIdx.x + std::int64_t{number} * s.blocks;
  if (tile < whole) return {tile, 0, s.chunks};
  std::int64_t const block = blockIdx.x, first = block * s.share;
  std::int64_t const end = min(first + s.share, s.shared_tiles * s.chunks);
  if (first >= end) return {0, 0, 0};
  std::int64_t const rounds = (whole + s.blocks - 1 - block) / s.blocks;
  std::int64_t const shared = first / s.chunks + number - rounds;
  std::int64_t const from = max(first, shared * s.chunks), to = min(end, (shared + 1) * s.chunks);
  return from < to ? stretch{whole + shared, from - shared * s.chunks, to - shared * s.chunks} : stretch{0, 0, 0};
}

inline constexpr int add_threads = 128;  // few, so that blocks have room beside those whose parts they wait for

/// Adds up the tiles of which several blocks have parts: x along the tile's vectors, y the tiles. `lanes` threads share
/// a vector's parts, each with every lanes-th.
template <class T, int bm, int bn, int group, int lanes>
__global__ void __launch_bounds__(add_threads) add_parts(gemm_operands<T> g, shares s, T const* parts) {
  constexpr int width = vector_width<T>, across = add_threads / lanes, size = bm * bn;
  __shared__ T sums[lanes][across][width];
  int const x = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.y);
  std::int64_t const tile = blockIdx.y;
  std::int64_t const begin = tile * s.chunks, first = begin / s.share, last = (begin + s.chunks - 1) / s.share;
  auto const where = find_tile<group>(s, s.whole_tiles() + tile);
  int const at = (static_cast<int>(blockIdx.x) * across + x) * width;
  std::int64_t const row = where.m * bm + at / bn, col = where.n * bn + at % bn;
  wait_for_kernel_before();
  let_next_kernel_start();
  if (first == last) return;
  T sum[width] = {};
  if (at < size) {
    // The part that begins with the tile is its block's second; the others are their blocks' first.
    T const* const from = parts + 2 * first * size + at;
    add_in_turn<lanes == 1 ? 4 : 8>(sum, lane, lanes, static_cast<int>(last - first) + 1, [&](int part) {
      return from + (part == 0 ? size : std::int64_t{part} * 2 * size);
    });
  }
  if constexpr (lanes > 1) {
#pragma unroll
    for (int e = 0; e < width; ++e) sums[lane][x][e] = sum[e];
    __syncthreads();
    if (lane != 0) return;
#pragma unroll
    for (int other = 1; other < lanes; ++other)
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] += sums[other][x][e];
  }
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (at < size && row < g.m && col + e < g.n) write_result(g.c[row * g.ldc + col + e], g.alpha, sum[e], g.beta);
}

/// Enqueues the kernel that adds up the tiles of which several blocks have parts, if there are any. A tile with a deep
/// k can have a hundred: these are added by several threads, so that a small C keeps many multiprocessors at it.
template <class T, int bm, int bn, int group>
void launch_add_parts(gemm_operands<T> const& g, shares const& s, T const* parts, CUstream_st* stream) {
  if (s.shared_tiles == 0) return;
  auto const start = [&]<int lanes>() {
    constexpr int across = add_threads / lanes;
    launch_after(
        add_parts<T, bm, bn, group, lanes>,
        dim3(static_cast<unsigned>(tiles(bm * bn, across * vector_width<T>)), static_cast<unsigned>(s.shared_tiles)),
        dim3(across, lanes), 0, stream, g, s, parts);
  };
  bool const few = s.chunks <= 48 * s.share;
  few ? start.template operator()<1>() : start.template operator()<32>();
}

}  // namespace TANDEM_KERNEL_NAMESPACE
