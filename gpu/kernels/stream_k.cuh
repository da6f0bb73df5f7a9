// Removes the last, partly filled round of blocks: the chunks of all tiles stand in one line, tile after tile, and
// every block takes an equal share of it, whatever tiles that cuts. A tile that lies in several shares is put together
// from them by a second kernel, in their order.
#pragma once

#include "gpu/kernels/block_product.cuh"
#include "gpu/kernels/k_slices.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// How the chunks are dealt out: tile t has chunks [t, t + 1) * chunks, share s begins at the start of share s.
struct shared_chunks {
  std::int64_t tiles_n, chunks;  // tiles in a row of C; chunks in a tile
  std::int64_t least, longer;    // chunks in a share; shares that have one more, the first ones

  __host__ __device__ std::int64_t begin(std::int64_t share) const {
    return share * least + (share < longer ? share : longer);
  }
  /// Whether every share begins with a tile.
  bool are_whole_tiles() const { return chunks == 1 || (longer == 0 && least % chunks == 0); }
};

template <class Tiling>
shared_chunks share_chunks(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t& shares) {
  std::int64_t const tiles_n = tiles(n, Tiling::bn), chunks = tiles(k, Tiling::bk);
  std::int64_t const all = tiles(m, Tiling::bm) * tiles_n * chunks, most = dealt_multiprocessors * Tiling::blocks;
  shares = all < most ? all : most;
  return {tiles_n, chunks, all / shares, all % shares};
}

/// Each share has room for the tile that it does not begin, and for one that it does not end.
template <class Tiling>
inline constexpr std::int64_t partial_elements = std::int64_t{Tiling::bm} * Tiling::bn;

template <class Tiling, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    stream_k(gemm_operands<typename Tiling::element> g, bool wide_a, bool wide_b, shared_chunks s,
             typename Tiling::element* partials) {
  using T = typename Tiling::element;
  let_next_kernel_start();
  wait_for_kernel_before();
  std::int64_t const end = s.begin(blockIdx.x + 1);
  for (std::int64_t at = s.begin(blockIdx.x); at < end;) {
    std::int64_t const tile = at / s.chunks, first = at % s.chunks;
    std::int64_t const last = min(s.chunks, first + (end - at));  // chunks [first, last) of the tile
    std::int64_t const i0 = tile / s.tiles_n * Tiling::bm, j0 = tile % s.tiles_n * Tiling::bn;
    bool const whole = first == 0 && last == s.chunks;
    T* const partial = partials + (2 * std::int64_t{blockIdx.x} + (first == 0 ? 1 : 0)) * partial_elements<Tiling>;
    auto const write = [&](int i, int j, T sum) {
      if (whole)
        write_result(g.c[(i0 + i) * g.ldc + j0 + j], g.alpha, sum, g.beta);
      else
        partial[i * Tiling::bn + j] = sum;
    };
    block_product<Tiling, trans_a, trans_b>(g, wide_a, wide_b, i0, j0, first * Tiling::bk, min(last * Tiling::bk, g.k),
                                            false, write);
    at += last - first;
  }
}

/// Puts together the tile that share blockIdx.x begins and does not end, if there is one; gridDim.y blocks share its
/// rows.
template <class Tiling>
__global__ void __launch_bounds__(256)
    join_shares(gemm_operands<typename Tiling::element> g, shared_chunks s, typename Tiling::element const* partials) {
  using T = typename Tiling::element;
  wait_for_kernel_before();
  let_next_kernel_start();
  std::int64_t const share = blockIdx.x, end = s.begin(share + 1);
  std::int64_t const tile = (end - 1) / s.chunks, tile_begin = tile * s.chunks, tile_end = tile_begin + s.chunks;
  if (end == tile_end || tile_begin < s.begin(share)) return;
  std::int64_t const i0 = tile / s.tiles_n * Tiling::bm, j0 = tile % s.tiles_n * Tiling::bn;
  std::int64_t last = share + 1;  // the share with the tile's end
  while (s.begin(last + 1) < tile_end) ++last;

  constexpr int step = 256 / Tiling::bn;
  static_assert(256 % Tiling::bn == 0, "threads lie along rows");
  int const j = static_cast<int>(threadIdx.x) % Tiling::bn;
  for (int i = static_cast<int>(blockIdx.y) * step + static_cast<int>(threadIdx.x) / Tiling::bn; i < Tiling::bm;
       i += static_cast<int>(gridDim.y) * step) {
    if (i0 + i >= g.m || j0 + j >= g.n) continue;
    T const* const at = partials + i * Tiling::bn + j;
    T sum = at[(2 * share + 1) * partial_elements<Tiling>];
#pragma unroll 8
    for (std::int64_t other = share + 1; other <= last; ++other) sum += at[2 * other * partial_elements<Tiling>];
    write_result(g.c[(i0 + i) * g.ldc + j0 + j], g.alpha, sum, g.beta);
  }
}

template <class Tiling>
void launch_stream_k(problem const& p, CUstream_st* stream) {
  using T = typename Tiling::element;
  auto const g = operands_of<T>(p);
  std::int64_t shares = 0;
  auto const s = share_chunks<Tiling>(p.m, p.n, p.k, shares);
  workspace<T> const partials(s.are_whole_tiles() ? 0 : 2 * shares * partial_elements<Tiling>, stream);
  auto const kernel = by_transposes(p.trans_a, p.trans_b, stream_k<Tiling, false, false>, stream_k<Tiling, false, true>,
                                    stream_k<Tiling, true, false>, stream_k<Tiling, true, true>);
  launch_after(kernel, dim3(static_cast<unsigned>(shares)), dim3(Tiling::threads),
               Tiling::shared_bytes(p.trans_a, p.trans_b), stream, g, is_wide(g.a, g.lda, p.trans_a ? p.k : p.m),
               is_wide(g.b, g.ldb, p.trans_b ? p.n : p.k), s, partials.data());
  if (s.are_whole_tiles()) return;
  constexpr unsigned parts = 8;
  launch_after(join_shares<Tiling>, dim3(static_cast<unsigned>(shares), parts), dim3(256), 0, stream, g, s,
               static_cast<T const*>(partials.data()));
}

template <class Tiling>
gpu::k_cut cut_stream_k(problem const& p) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return {};
  std::int64_t shares = 0;
  auto const s = share_chunks<Tiling>(p.m, p.n, p.k, shares);
  if (s.are_whole_tiles()) return {};
  return {.unit = "share", .length = s.least < s.chunks ? s.least * Tiling::bk : 0};
}

}  // namespace TANDEM_KERNEL_NAMESPACE
