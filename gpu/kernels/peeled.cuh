// Removes the tiles that hang over C's edges: where whole tiles leave a few rows or columns over, these go to kernels
// for thin products, which read the large operand once, and the persistent kernel has whole tiles only. 4097 columns
// are 16 tiles of 256 and one column, not 17 tiles.
#pragma once

#include "gpu/kernels/gemv.cuh"
#include "gpu/kernels/lines_beside.cuh"
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

/// Microseconds, about, that the persistent kernel takes.
template <class tiling>
double time_of_tiles(problem const& p) {
  return time_of(deal_tiles<tiling>(p), times_of<tiling>(p));
}

/// Whether tiles leave registers for lines beside them: those of doubles take them all.
template <class T>
inline constexpr bool leaves_room = sizeof(T) == 4;

/// Whether `rows` peeled rows, `length` long, are computed beside the tiles, which take `time`.
template <class T>
bool goes_beside(std::int64_t rows, std::int64_t length, std::int64_t k, double time) {
  return leaves_room<T> && rows > 0 && rows <= most_lines && time_of_lines<T>(rows, length, k) <= time / 2;
}

/// Microseconds, about, that `rows` peeled rows, `length` long, take besides the tiles. Measured on an H200.
template <class T>
double time_of_strip(std::int64_t rows, std::int64_t length, std::int64_t k, bool beside) {
  constexpr double bytes = 3.5e6, rate = sizeof(T) == 4 ? 11e6 : 5.5e6, hindered = 8e6;  // in a microsecond
  double const large = static_cast<double>(length) * static_cast<double>(k);
  if (rows == 0) return 0;
  if (beside) return 1.5 + static_cast<double>(tiles(rows, 2)) * large / hindered;
  double const call = rows == 1 ? 3 : 7;
  return call + large * std::max(sizeof(T) / bytes, static_cast<double>(tiles(rows, 8) * 8) / rate);
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
      double const of_tiles = time_of_tiles<tiling>(part_of<T>(p, 0, 0, m, n));
      bool const columns_beside = goes_beside<T>(p.n - n, p.m, p.k, of_tiles);
      bool const rows_beside = goes_beside<T>(p.m - m, n, p.k, of_tiles);
      double const time = of_tiles + time_of_strip<T>(p.n - n, p.m, p.k, columns_beside) +
                          time_of_strip<T>(p.m - m, n, p.k, rows_beside);
      if (time < least) best = {m, n, columns_beside, rows_beside}, least = time;
    }
  return best;
}

/// A strip of C, `most_peeled` rows or `columns` at most.
template <class T>
void launch_strip(problem const& p, bool columns, bool beside, CUstream_st* stream) {
  constexpr bool single = sizeof(T) == 4;
  std::int64_t const thin = columns ? p.n : p.m;
  if constexpr (leaves_room<T>)
    if (beside) return launch_lines_beside<T>(p, columns, stream);
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

/// What of the problem the persistent kernel computes.
template <class T>
problem inside_of(problem const& p, gpu::c_extent const& extent) {
  return part_of<T>(p, 0, 0, extent.m, extent.n);
}

template <class tiling>
gpu::k_cut cut_peeled(problem const& p) {
  auto const inside = peel<tiling>(p);
  auto cut = cut_persistent<tiling>(inside_of<typename tiling::element>(p, inside));
  if (inside.m < p.m || inside.n < p.n) cut.unit = "strip";  // whose kernels sum up otherwise
  return cut;
}

template <class tiling>
gpu::operand_paths paths_of_peeled(problem const& p) {
  return paths_of<tiling>(inside_of<typename tiling::element>(p, peel<tiling>(p)));
}

template <class tiling>
void launch_peeled(problem const& p, CUstream_st* stream) {
  using T = typename tiling::element;
  auto const inside = peel<tiling>(p);
  launch_persistent<tiling>(inside_of<T>(p, inside), stream, [&] {
    auto const right = part_of<T>(p, 0, inside.n, p.m, p.n - inside.n);
    auto const below = part_of<T>(p, inside.m, 0, p.m - inside.m, inside.n);
    if (right.n > 0) launch_strip<T>(right, true, inside.columns_beside, stream);
    if (below.m > 0) launch_strip<T>(below, false, inside.rows_beside, stream);
  });
}

}  // namespace TANDEM_KERNEL_NAMESPACE
