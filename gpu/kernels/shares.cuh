// How a persistent kernel's blocks share a product: whole tiles in rounds, as long as there is one for every block, and
// the steps of k of the tiles left over, dealt out evenly. A tile of which several blocks have a part is added up
// afterwards in the order of k, so the bits depend on the problem alone.
#pragma once

#include <algorithm>

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

/// Adds up the tiles of which several blocks have parts: x along the tile's vectors, y the tiles.
template <class T, int bm, int bn, int group>
__global__ void __launch_bounds__(add_threads) add_parts(gemm_operands<T> g, shares s, T const* parts) {
  constexpr int width = vector_width<T>;
  std::int64_t const tile = blockIdx.y;
  std::int64_t const begin = tile * s.chunks, first = begin / s.share, last = (begin + s.chunks - 1) / s.share;
  auto const where = find_tile<group>(s, s.whole_tiles() + tile);
  int const at = static_cast<int>(blockIdx.x * add_threads + threadIdx.x) * width;
  std::int64_t const row = where.m * bm + at / bn, col = where.n * bn + at % bn;
  wait_for_kernel_before();
  let_next_kernel_start();
  if (first == last) return;
  // The part that begins with the tile is its block's second; the others are their blocks' first.
  T const* from = parts + 2 * first * bm * bn + at;
  T sum[width];
  load_vector(sum, from + bm * bn);
#pragma unroll 4
  for (std::int64_t sharer = first; sharer < last; ++sharer) {
    from += 2 * bm * bn;
    T part[width];
    load_vector(part, from);
#pragma unroll
    for (int x = 0; x < width; ++x) sum[x] += part[x];
  }
#pragma unroll
  for (int x = 0; x < width; ++x)
    if (row < g.m && col + x < g.n) write_result(g.c[row * g.ldc + col + x], g.alpha, sum[x], g.beta);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
