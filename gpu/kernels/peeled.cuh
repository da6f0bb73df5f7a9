// Removes the tiles that hang over C's edges: where whole tiles leave a few rows or columns over, these go to kernels
// for thin products, which read the large operand once, and the persistent kernel has whole tiles only. 4097 columns
// are 16 tiles of 256 and one column, not 17 tiles.
#pragma once

#include "gpu/kernels/gemv.cuh"
#include "gpu/kernels/persistent.cuh"
#include "gpu/kernels/skinny.cuh"
#include "gpu/kernels/split_k.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int most_peeled = 64;  // rows or columns

/// The rectangle of C at (i0, j0), as a problem of its own.
template <class T>
problem part_of(problem const& p, std::int64_t i0, std::int64_t j0, std::int64_t m, std::int64_t n) {
  auto part = p;
  part.m = m, part.n = n;
  part.a = static_cast<T const*>(p.a) + i0 * (p.trans_a ? 1 : p.lda);
  part.b = static_cast<T const*>(p.b) + j0 * (p.trans_b ? p.ldb : 1);
  part.c = static_cast<T*>(p.c) + i0 * p.ldc + j0;
  return part;
}

/// Microseconds, about, of `rows` peeled rows, `length` long. Measured on an H200, as what follows.
template <class T>
double time_of_strip(std::int64_t rows, std::int64_t length, std::int64_t k) {
  constexpr double bytes = 3.5e6, rate = sizeof(T) == 4 ? 11e6 : 5.5e6;  // in a microsecond
  double const call = rows == 1 ? 3 : 7;
  double const large = static_cast<double>(length) * static_cast<double>(k);
  return rows == 0 ? 0 : call + large * std::max(sizeof(T) / bytes, static_cast<double>(tiles(rows, 8) * 8) / rate);
}

/// The same of the persistent kernel.
template <class tiling>
double time_of_tiles(problem const& p) {
  return time_of(deal_tiles<tiling>(p), times_of<tiling>(p));
}

/// C's rows and columns that the persistent kernel computes; the others are peeled, where that takes less time.
template <class tiling>
gpu::c_extent peel(problem const& p) {
  using T = typename tiling::element;
  auto const without_strip = [](std::int64_t extent, int tile) {
    std::int64_t const over = extent % tile;
    return over <= most_peeled && over < extent ? extent - over : extent;
  };
  std::int64_t const whole_m = without_strip(p.m, tiling::bm), whole_n = without_strip(p.n, tiling::bn);
  gpu::c_extent best{p.m, p.n};
  if (whole_m == p.m && whole_n == p.n) return best;
  double least = time_of_tiles<tiling>(p);
  for (auto const m : {p.m, whole_m})
    for (auto const n : {p.n, whole_n}) {
      if (m == p.m && n == p.n) continue;
      double const time = time_of_tiles<tiling>(part_of<T>(p, 0, 0, m, n)) + time_of_strip<T>(p.n - n, p.m, p.k) +
                          time_of_strip<T>(p.m - m, n, p.k);
      if (time < least) best = {m, n}, least = time;
    }
  return best;
}

/// A strip of C, `most_peeled` rows or columns at most.
template <class T>
void launch_strip(problem const& p, CUstream_st* stream) {
  constexpr bool single = sizeof(T) == 4;
  std::int64_t const thin = std::min(p.m, p.n);
  if (thin == 1)
    launch_gemv<T>(p, stream, true);
  else if (thin <= 8 && single)
    launch_skinny<block_tiling<float, 8, 128, 64, 4, 8, 8, 3, 2>>(p, stream);
  else if (thin <= 16)
    launch_skinny<std::conditional_t<single, block_tiling<float, 16, 128, 64, 8, 8, 8, 2, 2>,
                                     block_tiling<double, 16, 64, 32, 4, 4, 4, 3, 2>>>(p, stream);
  else if (thin <= 32)
    launch_skinny<std::conditional_t<single, block_tiling<float, 32, 128, 32, 4, 8, 1, 2, 4>,
                                     block_tiling<double, 32, 64, 32, 4, 4, 1, 2, 3>>>(p, stream);
  else
    launch_split_k<std::conditional_t<single, block_tiling<float, 64, 64, 64, 8, 8, 4, 3, 2>,
                                      block_tiling<double, 32, 32, 64, 4, 4, 4, 3, 2>>>(p, stream);
}

template <class tiling>
problem peeled_inside(problem const& p) {
  auto const inside = peel<tiling>(p);
  return part_of<typename tiling::element>(p, 0, 0, inside.m, inside.n);
}

template <class tiling>
gpu::k_cut cut_peeled(problem const& p) {
  auto const inside = peeled_inside<tiling>(p);
  auto cut = cut_persistent<tiling>(inside);
  if (inside.m < p.m || inside.n < p.n) cut.unit = "strip";  // whose kernels sum up otherwise
  return cut;
}

template <class tiling>
gpu::operand_paths paths_of_peeled(problem const& p) {
  return paths_of<tiling>(peeled_inside<tiling>(p));
}

template <class tiling>
void launch_peeled(problem const& p, CUstream_st* stream) {
  using T = typename tiling::element;
  auto const inside = peeled_inside<tiling>(p);
  launch_persistent<tiling>(inside, stream, [&] {
    if (inside.n < p.n) launch_strip<T>(part_of<T>(p, 0, inside.n, p.m, p.n - inside.n), stream);
    if (inside.m < p.m) launch_strip<T>(part_of<T>(p, inside.m, 0, p.m - inside.m, inside.n), stream);
  });
}

}  // namespace TANDEM_KERNEL_NAMESPACE
