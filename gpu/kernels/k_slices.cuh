// k cut into slices, each of which a block of its own sums up: how many there are, what a block does with its slice,
// and the kernel that adds the slices' products up, in their order, whatever blocks finished first.
#pragma once

#include "gpu/kernels/block_product.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// Steps of k in a slice, a multiple of the tiling's chunk: of the numbers of slices that fill one to four rounds of
/// blocks, or one slice, that which takes the fewest chunk times; a block takes two besides its chunks, to fill its
/// pipeline and to write its tile, and adding up the slices takes four. k itself where one slice is best.
template <class Tiling>
constexpr std::int64_t slice_length(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t at_once = dealt_multiprocessors * Tiling::blocks, most_rounds = 4;
  std::int64_t const c_tiles = tiles(m, Tiling::bm) * tiles(n, Tiling::bn), chunks = tiles(k, Tiling::bk);
  if (c_tiles == 0 || chunks < 2) return k;
  auto const rounds = [&](std::int64_t blocks) { return (blocks + at_once - 1) / at_once; };
  std::int64_t best = chunks, least = rounds(c_tiles) * (chunks + 2);
  for (std::int64_t round = 1; round <= most_rounds; ++round) {
    std::int64_t const wanted = round * at_once / c_tiles;
    if (wanted < 2) continue;
    std::int64_t const length = (chunks + wanted - 1) / wanted, slices = (chunks + length - 1) / length;
    std::int64_t const time = rounds(c_tiles * slices) * (length + 2) + 4;
    if (time < least) best = length, least = time;
  }
  return best == chunks ? k : best * Tiling::bk;
}

template <class Tiling>
gpu::k_cut cut_into_slices(std::int64_t m, std::int64_t n, std::int64_t k, bool on_its_side) {
  auto const length = on_its_side ? slice_length<Tiling>(n, m, k) : slice_length<Tiling>(m, n, k);
  return {.unit = length < k ? "slice" : nullptr, .length = length, .on_its_side = on_its_side};
}

/// A product whose k is cut. The operands are those that the kernel sees: with C on its side, A and B change places.
template <class T>
struct sliced_product {
  gemm_operands<T> g;
  bool on_its_side;     // g.c is the transpose of a row-major matrix
  bool wide_a, wide_b;  // copies of 16 bytes can read them
  std::int64_t slice;   // steps of k
  T* partials;          // (slices, C's rows, C's columns); nullptr: one slice, which writes C
};

/// What each block of a grid of tiles (x: n, y: m, stepped over) and slices (z) does.
template <class Tiling, bool trans_a, bool trans_b>
__device__ __forceinline__ void multiply_slice(sliced_product<typename Tiling::element> const& s) {
  using T = typename Tiling::element;
  auto const& g = s.g;
  let_next_kernel_start();
  wait_for_kernel_before();
  std::int64_t const p0 = blockIdx.z * s.slice, p1 = min(p0 + s.slice, g.k);
  std::int64_t const j0 = std::int64_t{blockIdx.x} * Tiling::bn;
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, Tiling::bm); tile += gridDim.y) {
    std::int64_t const i0 = tile * Tiling::bm;
    auto const write = [&](int i, int j, T sum) {
      std::int64_t const row = s.on_its_side ? j0 + j : i0 + i, col = s.on_its_side ? i0 + i : j0 + j;
      if (s.partials == nullptr)
        write_result(g.c[row * g.ldc + col], g.alpha, sum, g.beta);
      else
        s.partials[blockIdx.z * g.m * g.n + row * (s.on_its_side ? g.m : g.n) + col] = sum;
    };
    block_product<Tiling, trans_a, trans_b>(g, s.wide_a, s.wide_b, i0, j0, p0, p1, s.on_its_side, write);
  }
}

inline constexpr int sum_threads = 256;

/// C = alpha sum + beta C, where the sum's element is `lanes` sums, each of every lanes-th slice, in order.
template <class T, int lanes>
__global__ void __launch_bounds__(sum_threads) sum_slices(gemm_operands<T> g, T const* partials, int slices) {
  constexpr int across = sum_threads / lanes;
  __shared__ T sums[lanes][across];
  int const x = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.y);
  std::int64_t const elements = g.m * g.n;
  std::int64_t const at = std::int64_t{blockIdx.x} * across + x;
  T* const c = g.c + at / g.n * g.ldc + at % g.n;
  wait_for_kernel_before();
  let_next_kernel_start();
  T sum = 0;
  if (at < elements) {
#pragma unroll 8
    for (int s = lane; s < slices; s += lanes) sum += partials[s * elements + at];
  }
  if constexpr (lanes > 1) {
    sums[lane][x] = sum;
    __syncthreads();
    if (lane != 0) return;
#pragma unroll
    for (int other = 1; other < lanes; ++other) sum += sums[other][x];
  }
  if (at < elements) write_result(*c, g.alpha, sum, g.beta);
}

/// Of a few slices a thread reads all at once; of more, several threads, so that a small C keeps many multiprocessors
/// at it. g.c is m x n, `partials` (slices, m, n).
template <class T>
void launch_sum_slices(gemm_operands<T> const& g, T const* partials, std::int64_t slices, CUstream_st* stream) {
  auto const start = [&]<int lanes>() {
    constexpr int across = sum_threads / lanes;
    launch_after(sum_slices<T, lanes>, dim3(static_cast<unsigned>(tiles(g.m * g.n, across))), dim3(across, lanes), 0,
                 stream, g, partials, static_cast<int>(slices));
  };
  constexpr int at_once = 8;
  slices <= at_once ? start.template operator()<1>() : start.template operator()<8>();
}

/// Runs the kernel of the transposes, which is multiply_slice of the operands, and adds up.
template <class Tiling>
void launch_sliced(problem const& p, bool on_its_side, CUstream_st* stream,
                   void (*nn)(sliced_product<typename Tiling::element>),
                   void (*nt)(sliced_product<typename Tiling::element>),
                   void (*tn)(sliced_product<typename Tiling::element>),
                   void (*tt)(sliced_product<typename Tiling::element>)) {
  using T = typename Tiling::element;
  auto const seen = on_its_side ? gpu::turned(p) : p;
  sliced_product<T> s{operands_of<T>(seen), on_its_side, false, false, 0, nullptr};
  s.wide_a = is_wide(s.g.a, s.g.lda, seen.trans_a ? s.g.k : s.g.m);
  s.wide_b = is_wide(s.g.b, s.g.ldb, seen.trans_b ? s.g.n : s.g.k);
  s.slice = slice_length<Tiling>(s.g.m, s.g.n, s.g.k);
  std::int64_t const slices = (s.g.k + s.slice - 1) / s.slice;

  workspace<T> const partials(slices == 1 ? 0 : slices * p.m * p.n, stream);
  s.partials = partials.data();
  auto grid = tile_grid(s.g.m, s.g.n, Tiling::bm, Tiling::bn);
  grid.z = static_cast<unsigned>(slices);
  launch_after(by_transposes(seen.trans_a, seen.trans_b, nn, nt, tn, tt), grid, dim3(Tiling::threads),
               Tiling::shared_bytes(seen.trans_a, seen.trans_b), stream, s);
  if (slices > 1) launch_sum_slices<T>(operands_of<T>(p), partials.data(), slices, stream);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
