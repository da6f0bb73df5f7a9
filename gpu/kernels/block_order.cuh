// In which order the blocks of a grid take the tiles of C: blocks that run at the same time should share rows of A and
// columns of B in the L2 cache.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Which tiles blocks that follow each other take: groups of so many rows of tiles come one after the other, and within
/// a group the blocks walk along m, then along n. With groups of one row they walk along n, with one group along m.
using tile_group = int;
inline constexpr tile_group n_first = 1, m_first = 0x7fffffff;

/// The grid for for_each_tile. Along n there is one block for each tile, at its place.
inline dim3 ordered_grid(std::int64_t m, std::int64_t n, int bm, int bn, tile_group group) {
  if (group == n_first) return tile_grid(m, n, bm, bn);
  constexpr std::int64_t most = 0x7fffffff;  // blocks in x
  std::int64_t const all = tiles(m, bm) * tiles(n, bn);
  return dim3(static_cast<unsigned>(all < most ? all : most));
}

/// Calls f(i0, j0) for each tile of the block's, which begins at row i0 and column j0 of C.
template <int bm, int bn, class F>
__device__ __forceinline__ void for_each_tile(std::int64_t m, std::int64_t n, tile_group group, F const& f) {
  std::int64_t const tiles_m = tiles(m, bm), tiles_n = tiles(n, bn), rows = group < tiles_m ? group : tiles_m;
  std::int64_t const blocks = std::int64_t{gridDim.x} * gridDim.y;
  for (std::int64_t tile = std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x; tile < tiles_m * tiles_n;
       tile += blocks) {
    std::int64_t const first = tile / (rows * tiles_n) * rows, place = tile - first * tiles_n;
    std::int64_t const here = tiles_m - first < rows ? tiles_m - first : rows;  // the last group has fewer
    f((first + place % here) * bm, place / here * bn);
  }
}

}  // namespace TANDEM_KERNEL_NAMESPACE
