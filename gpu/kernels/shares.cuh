// How a persistent kernel's blocks share a product: whole tiles in rounds, as long as there is one for every block, and
// the tiles left over as they are, cut into slices of k, or by the steps of k, dealt out evenly: whatever takes least.
// A tile of which several blocks have a part is added up afterwards in the order of k, so the bits depend on the
// problem alone.
//
// Shares that begin anywhere in k keep blocks equally busy, but a block has parts of two tiles, and tiles that have
// rows of B in common, say, read them at different times: where there is more of B than a cache keeps, it comes from
// memory for each of these tiles. Of slices blocks that follow each other multiply the same one of neighbouring tiles,
// and each has one part; but their number seldom fills the multiprocessors.
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
  std::int64_t share;                     ///< of them: so many chunks to a block, one after the other, or to a slice
  std::int64_t slices;                    ///< of each of them; 0: shares begin anywhere
  int blocks;                             ///< of the grid

  __host__ __device__ std::int64_t whole_tiles() const { return tiles_m * tiles_n - shared_tiles; }
  __host__ __device__ std::int64_t sharers() const { return (shared_tiles * chunks + share - 1) / share; }
  /// Parts of tiles that there is room for: a block's share has parts of two tiles or is all of a part.
  std::int64_t parts() const { return slices > 0 ? slices * shared_tiles : 2 * sharers(); }
};

/// What deal() goes by, in microseconds.
struct block_times {
  int blocks;          ///< that a multiprocessor holds
  double chunk;        ///< a multiprocessor's multiply-adds of a chunk
  double part;         ///< a part of a tile, written and read again
  double from_memory;  ///< what shares that begin anywhere read
};

/// About how long the blocks take. Fitted to which way of dealing tiles out was the fastest on an H100: a block takes 8
/// us besides its chunks for each tile or part, to begin and to write it; a multiprocessor with one of several blocks
/// reaches three quarters of its rate.
inline double time_of(shares const& s, block_times const& t) {
  constexpr double stretch = 8, adding = 2, alone = 0.75;
  std::int64_t const at_once = std::int64_t{dealt_multiprocessors} * t.blocks;
  auto const time = [&](std::int64_t blocks, std::int64_t chunks) {
    std::int64_t const rounds = blocks / at_once, last = tiles(blocks % at_once, dealt_multiprocessors);
    double const reached = t.blocks == 1 ? 1 : alone + (1 - alone) * static_cast<double>(last - 1) / (t.blocks - 1);
    double const each = static_cast<double>(chunks) * t.chunk;
    return static_cast<double>(rounds) * (t.blocks * each + stretch) +
           (last == 0 ? 0 : static_cast<double>(last) * each / reached + stretch);
  };
  double const whole = time(s.whole_tiles(), s.chunks);
  if (s.shared_tiles == 0) return whole;
  if (s.slices > 0) {
    std::int64_t const parts = s.slices * s.shared_tiles;
    return whole + time(parts, s.share) + adding + static_cast<double>(parts) * t.part;
  }
  double const second = std::min(static_cast<double>(s.share) / static_cast<double>(s.chunks), 1.0) * stretch;
  return std::max(whole + time(s.sharers(), s.share) + second, t.from_memory) + adding +
         static_cast<double>(s.shared_tiles + s.sharers()) * t.part;
}

/// Deals the tiles of C out to the blocks. Parts of tiles have at least `least` chunks.
inline shares deal(std::int64_t tiles_m, std::int64_t tiles_n, std::int64_t chunks, std::int64_t least,
                   block_times const& t) {
  constexpr std::int64_t most_rounds = 4;
  std::int64_t const at_once = std::int64_t{dealt_multiprocessors} * t.blocks;
  std::int64_t const all = tiles_m * tiles_n, rest = all % at_once;
  auto const with_blocks = [&](std::int64_t shared, std::int64_t share, std::int64_t slices, std::int64_t parts) {
    auto const blocks = std::min(shared < all || shared == 0 ? all : parts, at_once);
    return shares{tiles_m, tiles_n, chunks, shared, share, slices, static_cast<int>(blocks)};
  };
  auto best = with_blocks(0, chunks, 0, 0);
  if (rest == 0) return best;
  double shortest = time_of(best, t);
  auto const consider = [&](std::int64_t share, bool slices) {
    if (share < least || share >= chunks) return;
    std::int64_t const parts = slices ? tiles(chunks, share) * rest : tiles(rest * chunks, share);
    auto const s = with_blocks(rest, share, slices ? tiles(chunks, share) : 0, parts);
    double const time = time_of(s, t);
    if (time < shortest) best = s, shortest = time;
  };
  consider(std::max(tiles(rest * chunks, at_once), least), false);
  for (std::int64_t round = 1; round <= most_rounds; ++round)
    if (std::int64_t const slices = std::min(round * at_once / rest, chunks); slices > 1)
      consider(std::max(tiles(chunks, slices), least), true);
  return best;
}

/// A tile of C by its number: down groups of `group` rows of tiles, then to the next column, so that the tiles that are
/// computed at the same time share their rows of A and columns of B in the second-level cache.
struct tile_of_c {
  std::int64_t m, n;
};
template <int group>
__device__ __forceinline__ tile_of_c find_tile(shares const& s, std::int64_t number) {
  // 32 bits hold the number of tiles of any C that a device has memory for.
  auto const tiles_m = static_cast<unsigned>(s.tiles_m), tiles_n = static_cast<unsigned>(s.tiles_n);
  unsigned const per_group = min(tiles_m, unsigned{group}) * tiles_n, at = static_cast<unsigned>(number);
  unsigned const first = at / per_group * group, in_group = at % per_group;
  unsigned const rows = min(tiles_m - first, unsigned{group});
  return {first + in_group % rows, in_group / rows};
}

/// Consecutive chunks of one tile.
struct stretch {
  std::int64_t tile, begin, end;

  __device__ bool empty() const { return begin == end; }
};

/// A block's stretches by their number; an empty one after the last.
__device__ __forceinline__ stretch find_stretch(shares const& s, std::int64_t block, int number) {
  std::int64_t const whole = s.whole_tiles(), tile = block + std::int64_t{number} * s.blocks;
  if (tile < whole) return {tile, 0, s.chunks};
  if (s.slices > 0) {
    std::int64_t const part = tile - whole, begin = part / s.shared_tiles * s.share;
    if (begin >= s.chunks) return {0, 0, 0};
    return {whole + part % s.shared_tiles, begin, min(begin + s.share, s.chunks)};
  }
  std::int64_t const first = block * s.share;
  std::int64_t const end = min(first + s.share, s.shared_tiles * s.chunks);
  if (first >= end) return {0, 0, 0};
  std::int64_t const rounds = (whole + s.blocks - 1 - block) / s.blocks;
  std::int64_t const shared = first / s.chunks + number - rounds;
  std::int64_t const from = max(first, shared * s.chunks), to = min(end, (shared + 1) * s.chunks);
  return from < to ? stretch{whole + shared, from - shared * s.chunks, to - shared * s.chunks} : stretch{0, 0, 0};
}

/// Where the block's part of a tile goes. Of shares that begin anywhere, a part that begins with its tile is its
/// block's second.
__device__ __forceinline__ std::int64_t find_part(shares const& s, std::int64_t block, stretch const& part) {
  if (s.slices > 0) return part.begin / s.share * s.shared_tiles + part.tile - s.whole_tiles();
  return 2 * block + (part.begin == 0 ? 1 : 0);
}

inline constexpr int add_threads = 128;  // few, so that blocks have room beside those whose parts they wait for

/// Adds up the tiles of which several blocks have parts: x along the tile's vectors, y the tiles. `lanes` threads share
/// a vector's parts, each with every lanes-th. `on_its_side`: g.c is the transpose of a row-major matrix.
template <class T, int bm, int bn, int group, int lanes>
__global__ void __launch_bounds__(add_threads)
    add_parts(gemm_operands<T> g, shares s, T const* parts, bool on_its_side) {
  constexpr int width = vector_width<T>, across = add_threads / lanes, size = bm * bn;
  __shared__ __align__(16) T sums[lanes][across][width];
  int const x = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.y);
  std::int64_t const tile = blockIdx.y;
  std::int64_t const begin = tile * s.chunks, first = begin / s.share, last = (begin + s.chunks - 1) / s.share;
  std::int64_t const count = s.slices > 0 ? s.slices : last - first + 1;
  auto const where = find_tile<group>(s, s.whole_tiles() + tile);
  int const at = (static_cast<int>(blockIdx.x) * across + x) * width;
  std::int64_t const row = where.m * bm + at / bn, col = where.n * bn + at % bn;
  wait_for_kernel_before();
  let_next_kernel_start();
  if (count == 1) return;
  T sum[width] = {};
  if (at < size) {
    // Of slices, a tile's parts lie as far from each other as there are tiles; of shares, two parts of a block.
    std::int64_t const from = s.slices > 0 ? tile : 2 * first + 1;
    std::int64_t const to_second = s.slices > 0 ? s.shared_tiles : 1, apart = s.slices > 0 ? s.shared_tiles : 2;
    add_in_turn<lanes == 1 ? 4 : 8>(sum, lane, lanes, static_cast<int>(count), [&](int part) {
      return parts + (from + (part == 0 ? 0 : to_second + (part - 1) * apart)) * size + at;
    });
  }
  if constexpr (lanes > 1) {
    store_vector(sums[lane][x], sum);
    __syncthreads();
    if (lane != 0) return;
#pragma unroll
    for (int other = 1; other < lanes; ++other) {
      T others[width];
      load_vector(others, sums[other][x]);
#pragma unroll
      for (int e = 0; e < width; ++e) sum[e] += others[e];
    }
  }
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (at < size && row < g.m && col + e < g.n) {
      std::int64_t const in_c = on_its_side ? (col + e) * g.ldc + row : row * g.ldc + col + e;
      write_result(g.c[in_c], g.alpha, sum[e], g.beta);
    }
}

/// Enqueues the kernel that adds up the tiles of which several blocks have parts, if there are any. A tile with a deep
/// k can have a hundred: one thread would wait for one load after the other, while a small C leaves most
/// multiprocessors idle. How many share a vector was measured on an H100, on 39 products of 2 to 150 parts.
template <class T, int bm, int bn, int group>
void launch_add_parts(gemm_operands<T> const& g, shares const& s, T const* parts, bool on_its_side,
                      CUstream_st* stream) {
  if (s.shared_tiles == 0) return;
  auto const start = [&]<int lanes>() {
    constexpr int across = add_threads / lanes;
    launch_after(
        add_parts<T, bm, bn, group, lanes>,
        dim3(static_cast<unsigned>(tiles(bm * bn, across * vector_width<T>)), static_cast<unsigned>(s.shared_tiles)),
        dim3(across, lanes), 0, stream, g, s, parts, on_its_side);
  };
  auto const has_at_most = [&](std::int64_t most) { return s.chunks <= most * s.share; };
  if (has_at_most(4))
    start.template operator()<1>();
  else if (has_at_most(48))
    start.template operator()<4>();
  else
    start.template operator()<16>();
}

}  // namespace TANDEM_KERNEL_NAMESPACE
