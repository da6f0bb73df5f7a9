// The one table of GPU kernels, from which the rows of both `gpu` and `simt` are made: adding a kernel is its file and
// a row here for each tile. Compiled once by nvcc and once for each way in which the SIMT executor runs the kernels.
#pragma once

#include "gpu/kernels/async_copy.cuh"
#include "gpu/kernels/axpy.cuh"
#include "gpu/kernels/coalesced.cuh"
#include "gpu/kernels/double_buffer.cuh"
#include "gpu/kernels/gemv.cuh"
#include "gpu/kernels/maxas_256.cuh"
#include "gpu/kernels/maxas_64.cuh"
#include "gpu/kernels/naive.cuh"
#include "gpu/kernels/peeled.cuh"
#include "gpu/kernels/persistent.cuh"
#include "gpu/kernels/rank_k.cuh"
#include "gpu/kernels/scale.cuh"
#include "gpu/kernels/skinny.cuh"
#include "gpu/kernels/small.cuh"
#include "gpu/kernels/smem_tile.cuh"
#include "gpu/kernels/split_k.cuh"
#include "gpu/kernels/stream_k.cuh"
#include "gpu/kernels/tensor_core.cuh"
#include "gpu/kernels/thread_tile.cuh"
#include "gpu/kernels/vector_load.cuh"
#include "gpu/kernels/warp_tile.cuh"
#include "gpu/kernels/z_order.cuh"
#include "gpu/row.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// A row of one of the techniques over block_product.
template <class Tiling>
constexpr gpu::gemm_row row_of(char const* technique, void (*launch)(problem const&, CUstream_st*),
                               gpu::k_cut (*cut)(problem const&) = nullptr) {
  return {technique, dtype_of<typename Tiling::element>, tiling_of<Tiling>(), 1e12, launch, cut};
}
template <class Tiling>
constexpr gpu::gemm_row split_k_row() {
  return row_of<Tiling>("split_k", launch_split_k<Tiling>, cut_split_k<Tiling>);
}
template <class Tiling>
constexpr gpu::gemm_row stream_k_row() {
  return row_of<Tiling>("stream_k", launch_stream_k<Tiling>, cut_stream_k<Tiling>);
}
template <class Tiling>
constexpr gpu::gemm_row skinny_row() {
  return row_of<Tiling>("skinny", launch_skinny<Tiling>, cut_skinny<Tiling>);
}
template <class Tiling>
constexpr gpu::gemm_row small_row() {
  return row_of<Tiling>("small", launch_small<Tiling>);
}

template <class Tiling>
constexpr gpu::gemm_row maxas_row(char const* technique, void (*launch)(problem const&, CUstream_st*)) {
  auto row = row_of<Tiling>(technique, launch);
  row.most_elements = most_texels;
  return row;
}

/// A row of one of the techniques over persistent_block.
template <class Tiling>
constexpr gpu::gemm_row row_of_block(char const* technique) {
  gpu::gemm_row row = {
      technique,
      dtype_of<typename Tiling::element>,
      {Tiling::bm, Tiling::bn, Tiling::bk, Tiling::wm, Tiling::wn, Tiling::tm, Tiling::tn, Tiling::groups},
      1e12,
      launch_persistent<Tiling>};
  row.cut_k = cut_persistent<Tiling>;
  row.paths = paths_of<Tiling>;
  row.least_code = Tiling::least_code;
  return row;
}
template <class Tiling>
constexpr gpu::gemm_row peeled_row() {
  auto row = row_of_block<Tiling>("peeled");
  row.launch = launch_peeled<Tiling>;
  row.cut_k = cut_peeled<Tiling>;
  row.paths = paths_of_peeled<Tiling>;
  row.inside = peel<Tiling>;
  return row;
}

template <class T>
constexpr gpu::gemm_row gemv_row() {
  constexpr int width = vector_width<T>, bn = 32 * width;
  return {.technique = "gemv",
          .dtype = dtype_of<T>,
          .tiling = {.bm = 1, .bn = bn, .bk = bn, .wm = 1, .wn = bn, .tm = 1, .tn = width, .groups = 32},
          .flop_budget = 1e12,
          .launch = launch_gemv<T>,
          .cut_k = gemv_k_cut<T>,
          .one_line = true};
}

template <class Tiling>
constexpr gpu::gemm_row rank_k_row() {
  return {.technique = "rank_k",
          .dtype = dtype_of<typename Tiling::element>,
          .tiling = {.bm = Tiling::bm,
                     .bn = Tiling::bn,
                     .bk = Tiling::bk,
                     .wm = Tiling::lanes_n < 32 ? Tiling::bm / Tiling::warps : Tiling::bm / Tiling::rows,
                     .wn = Tiling::lanes_n < 32 ? Tiling::bn : 32 * Tiling::tn,
                     .tm = 1,
                     .tn = Tiling::tn},
          .flop_budget = 1e12,
          .launch = launch_rank_k<Tiling>,
          .most_k = Tiling::bk,
          .blocks_down = rank_k_blocks_down<Tiling>};
}

// clang-format off
inline constexpr gpu::gemm_row gemm_rows[] = {
    // technique              element     block          warp     thread  budget launch
    {"naive",                 dtype::f32, {32, 8, 0,      32, 1,   1, 1},  1e11, launch_naive<float, 32, 8>},
    {"coalesced",             dtype::f32, {8, 32, 0,      1, 32,   1, 1},  1e11, launch_coalesced<float, 8, 32>},
    {"smem_tile",             dtype::f32, {16, 16, 16,    2, 16,   1, 1},  2e11, launch_smem_tile<float, 16>},
    {"smem_tile",             dtype::f32, {32, 32, 32,    1, 32,   1, 1},  2e11, launch_smem_tile<float, 32>},
    {"thread_tile",           dtype::f32, {64, 64, 8,     8, 64,   4, 4},  1e12, launch_thread_tile<float, 64, 64, 8, 4, 4, 4>},
    {"thread_tile",           dtype::f32, {128, 128, 8,   16, 128, 8, 8},  1e12, launch_thread_tile<float, 128, 128, 8, 8, 8, 2>},
    {"vector_load",           dtype::f32, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_vector_load<float, 64, 64, 8, 8, 4, 4>},
    {"vector_load",           dtype::f32, {128, 128, 8,   16, 128, 8, 8},  1e12, launch_vector_load<float, 128, 128, 8, 8, 8, 2>},
    {"vector_load_swizzled",  dtype::f32, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_vector_load<float, 64, 64, 8, 8, 4, 4, true>},
    {"vector_load_rolled",    dtype::f32, {128, 128, 8,   16, 128, 8, 8},  1e12, launch_vector_load<float, 128, 128, 8, 8, 8, 2, false, 1>},
    {"vector_load_inner",     dtype::f32, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_vector_load<float, 64, 64, 8, 8, 4, 4, false, 8, true>},
    {"double_buffer",         dtype::f32, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_double_buffer<float, 64, 64, 8, 8, 4, 4>},
    {"double_buffer",         dtype::f32, {128, 128, 8,   16, 128, 8, 8},  1e12, launch_double_buffer<float, 128, 128, 8, 8, 8, 2>},
    {"warp_tile",             dtype::f32, {64, 64, 8,     32, 32,  8, 4},  1e12, launch_warp_tile<float, 64, 64, 8, 32, 32, 8, 4, 5>},
    {"warp_tile",             dtype::f32, {128, 128, 8,   64, 64,  16, 8},  1e12, launch_warp_tile<float, 128, 128, 8, 64, 64, 16, 8, 2>},
    {"z_order",               dtype::f32, {64, 64, 8,     32, 32,  8, 4},  1e12, launch_z_order<float, 64, 64, 8, 32, 32, 8, 4, 5>},
    {"z_order",               dtype::f32, {128, 128, 8,   64, 64,  16, 8},  1e12, launch_z_order<float, 128, 128, 8, 64, 64, 16, 8, 2>},
    {"z_order",               dtype::f32, {64, 64, 16,    32, 32,  8, 4},  1e12, launch_z_order<float, 64, 64, 16, 32, 32, 8, 4, 4>},
    {"z_order",               dtype::f32, {64, 128, 16,   32, 64,  8, 8},  1e12, launch_z_order<float, 64, 128, 16, 32, 64, 8, 8, 3>},
    {"z_order",               dtype::f32, {32, 32, 16,    16, 32,  4, 4},  1e12, launch_z_order<float, 32, 32, 16, 16, 32, 4, 4, 8>},
    {"async_copy",            dtype::f32, {32, 32, 16,    16, 32,  4, 4},  1e12, launch_async_copy<float, 32, 32, 16, 16, 32, 4, 4, 3, 8>},
    {"async_copy",            dtype::f32, {64, 64, 8,     32, 32,  8, 4},  1e12, launch_async_copy<float, 64, 64, 8, 32, 32, 8, 4, 4, 4>},
    {"async_copy",            dtype::f32, {128, 128, 8,   64, 64,  16, 8},  1e12, launch_async_copy<float, 128, 128, 8, 64, 64, 16, 8, 4, 2>},
    {"async_copy_m_first",    dtype::f32, {128, 128, 8,   64, 64,  16, 8},  1e12, launch_async_copy<float, 128, 128, 8, 64, 64, 16, 8, 4, 2, m_first>},
    {"async_copy_grouped",    dtype::f32, {128, 128, 8,   64, 64,  16, 8},  1e12, launch_async_copy<float, 128, 128, 8, 64, 64, 16, 8, 4, 2, 8>},
    {"naive",                 dtype::f64, {32, 8, 0,      32, 1,   1, 1},  1e11, launch_naive<double, 32, 8>},
    {"coalesced",             dtype::f64, {8, 32, 0,      1, 32,   1, 1},  1e11, launch_coalesced<double, 8, 32>},
    {"smem_tile",             dtype::f64, {16, 16, 16,    2, 16,   1, 1},  2e11, launch_smem_tile<double, 16>},
    {"smem_tile",             dtype::f64, {32, 32, 32,    1, 32,   1, 1},  2e11, launch_smem_tile<double, 32>},
    {"thread_tile",           dtype::f64, {64, 64, 8,     8, 64,   4, 4},  1e12, launch_thread_tile<double, 64, 64, 8, 4, 4, 2>},
    {"thread_tile",           dtype::f64, {128, 128, 8,   16, 128, 8, 8},  1e12, launch_thread_tile<double, 128, 128, 8, 8, 8, 1>},
    {"vector_load",           dtype::f64, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_vector_load<double, 64, 64, 8, 8, 4, 3>},
    {"double_buffer",         dtype::f64, {64, 64, 8,     16, 64,  8, 4},  1e12, launch_double_buffer<double, 64, 64, 8, 8, 4, 3>},
    {"warp_tile",             dtype::f64, {128, 64, 8,    32, 64,  8, 8},  1e12, launch_warp_tile<double, 128, 64, 8, 32, 64, 8, 8, 2>},
    {"z_order",               dtype::f64, {128, 64, 8,    32, 64,  8, 8},  1e12, launch_z_order<double, 128, 64, 8, 32, 64, 8, 8, 2>},
    {"async_copy",            dtype::f64, {128, 64, 8,    32, 64,  8, 8},  1e12, launch_async_copy<double, 128, 64, 8, 32, 64, 8, 8, 4, 2>},
    // Of a block_tiling:     block        thread  groups, stages, blocks on a multiprocessor
    split_k_row<block_tiling<float,  32, 32, 128,  8, 4,  8, 3, 2>>(),
    split_k_row<block_tiling<float,  32, 64, 64,   4, 8,  4, 3, 2>>(),
    split_k_row<block_tiling<float,  64, 64, 64,   8, 8,  4, 3, 2>>(),
    split_k_row<block_tiling<double, 32, 32, 64,   4, 4,  4, 3, 2>>(),
    stream_k_row<block_tiling<float,  128, 128, 16,  8, 8,  1, 4, 2>>(),
    stream_k_row<block_tiling<double, 64, 64, 16,    8, 4,  1, 3, 3>>(),
    skinny_row<block_tiling<float,  8, 128, 64,    4, 8,  8, 3, 2>>(),
    skinny_row<block_tiling<float,  16, 128, 64,   8, 8,  8, 2, 2>>(),
    skinny_row<block_tiling<double, 16, 64, 32,    4, 4,  4, 3, 2>>(),
    skinny_row<block_tiling<float,  24, 64, 64,    6, 8,  8, 3, 2>>(),
    skinny_row<block_tiling<float,  32, 128, 32,   4, 8,  1, 2, 4>>(),
    skinny_row<block_tiling<double, 32, 64, 32,    4, 4,  1, 2, 3>>(),
    gemv_row<float>(),
    gemv_row<double>(),
    // Of a rank_tiling:    block        warps, stages, blocks on a multiprocessor
    rank_k_row<rank_tiling<float,  128, 128, 16,  8, 2, 2>>(),
    rank_k_row<rank_tiling<float,  64, 32, 32,    4, 2, 3>>(),
    rank_k_row<rank_tiling<float,  128, 16, 16,   4, 2, 4>>(),
    rank_k_row<rank_tiling<float,  32, 512, 8,    4, 1, 4>>(),
    rank_k_row<rank_tiling<float,  32, 128, 8,    4, 1, 4>>(),
    rank_k_row<rank_tiling<float,  32, 128, 16,   4, 2, 4>>(),
    rank_k_row<rank_tiling<float,  32, 128, 32,   4, 1, 3>>(),
    rank_k_row<rank_tiling<float,  256, 4, 8,     4, 2, 4>>(),
    rank_k_row<rank_tiling<double, 64, 64, 16,    4, 2, 3>>(),
    rank_k_row<rank_tiling<double, 64, 32, 32,    4, 2, 2>>(),
    rank_k_row<rank_tiling<double, 128, 16, 16,   4, 2, 4>>(),
    rank_k_row<rank_tiling<double, 32, 256, 8,    4, 1, 4>>(),
    rank_k_row<rank_tiling<double, 32, 64, 8,     4, 1, 4>>(),
    rank_k_row<rank_tiling<double, 32, 64, 16,    4, 2, 4>>(),
    rank_k_row<rank_tiling<double, 256, 4, 8,     4, 2, 4>>(),
    maxas_row<maxas_tiling<float, 64, 6>>("maxas_64", launch_maxas_64<maxas_tiling<float, 64, 6>>),
    maxas_row<maxas_tiling<double, 64, 4>>("maxas_64", launch_maxas_64<maxas_tiling<double, 64, 4>>),
    maxas_row<maxas_tiling<float, 128, 2>>("maxas_256", launch_maxas_256<maxas_tiling<float, 128, 2>>),
    small_row<block_tiling<float,  16, 16, 64,     2, 4,  8, 4, 2>>(),
    small_row<block_tiling<float,  32, 32, 32,     4, 4,  4, 4, 2>>(),
    small_row<block_tiling<double, 16, 16, 32,     2, 2,  4, 4, 2>>(),
    // Of a persistent_tiling:                        warps  bk  thread  stages, blocks on a multiprocessor, groups, by_registers, in_pairs, pace, lies_down
    row_of_block<persistent_tiling<float,  4, 2,  8,  8, 16,  6, 1, 1, true,  false, copy_pace::with_first_steps>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 2,  8,  16, 8,  4, 2, 1, true,  true>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 2,  8,  8, 4,   4, 5>>("persistent"),
    row_of_block<persistent_tiling<float,  4, 1,  16, 8, 16,  4, 1, 2, true,  false, copy_pace::with_every_second>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 2,  32, 16, 8,  4, 1, 4, true,  true,  copy_pace::with_every_second>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 2,  16, 8, 8,   3, 4>>("persistent"),
    row_of_block<persistent_tiling<float,  4, 1,  16, 8, 4,   3, 4>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 4,  16, 8, 4,   3, 4>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 16, 8,  3, 1, 8, true,  false, copy_pace::with_every_second>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  32, 8, 16,  4, 2, 4, true,  true,  copy_pace::at_once, true>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 6, 8,   4, 1, 8, true,  false, copy_pace::with_every_second, true>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 8, 8,   4, 1, 8, true,  false, copy_pace::with_every_second, true>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 10, 8,  4, 1, 8, true,  false, copy_pace::with_every_second, true>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 12, 8,  4, 1, 8, true,  false, copy_pace::with_every_second, true>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 2,  8,  14, 8,  4, 2>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 1,  32, 12, 8,  4, 1, 4, true,  false, copy_pace::with_every_second>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 1,  32, 8, 12,  4, 1, 4, true,  false, copy_pace::with_every_second>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 2,  16, 12, 8,  4, 1, 2, true,  false, copy_pace::with_first_steps>>("persistent"),
    row_of_block<persistent_tiling<float,  4, 1,  16, 8, 12,  4, 1, 2, true,  false, copy_pace::with_first_steps>>("persistent"),
    row_of_block<persistent_tiling<float,  1, 1,  64, 9, 5,   4, 2, 8>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 1,  32, 10, 10, 6, 1, 4, true,  true>>("persistent"),
    row_of_block<persistent_tiling<float,  2, 1,  32, 13, 13, 4, 1, 4, false, true>>("persistent"),
    row_of_block<persistent_tiling<double, 4, 2,  8,  8, 8,   4, 1>>("persistent"),
    row_of_block<persistent_tiling<double, 2, 1,  32, 8, 8,   3, 1, 4>>("persistent"),
    // Of a tensor_tiling:         warps  warp    bk  stages, blocks on a multiprocessor, groups
    row_of_block<tensor_tiling<double, 2, 4,  64, 32,  16,  4, 1>>("tensor_core"),
    row_of_block<tensor_tiling<double, 4, 2,  32, 32,  16,  5, 1>>("tensor_core"),
    row_of_block<tensor_tiling<double, 2, 4,  32, 32,  16,  5, 1>>("tensor_core"),
    row_of_block<tensor_tiling<double, 2, 2,  32, 32,  16,  4, 3>>("tensor_core"),
    row_of_block<tensor_tiling<double, 2, 2,  32, 32,  32,  4, 1, 2>>("tensor_core"),
    row_of_block<tensor_tiling<double, 2, 2,  16, 32,  16,  4, 4>>("tensor_core"),
    row_of_block<tensor_tiling<double, 2, 2,  32, 16,  16,  4, 4>>("tensor_core"),
    row_of_block<tensor_tiling<double, 1, 4,  32, 32,  16,  4, 2>>("tensor_core"),
    row_of_block<tensor_tiling<double, 4, 1,  32, 32,  16,  4, 2>>("tensor_core"),
    row_of_block<tensor_tiling<double, 1, 1,  32, 32,  64,  3, 2, 4>>("tensor_core"),
    peeled_row<persistent_tiling<float,  4, 2,  8,  8, 16,  6, 1, 1, true,  false, copy_pace::with_first_steps>>(),
    peeled_row<persistent_tiling<float,  1, 2,  8,  16, 8,  5, 4, 1, true,  true>>(),
    peeled_row<persistent_tiling<float,  2, 1,  16, 8, 16,  4, 2, 2, true,  false, copy_pace::with_every_second>>(),
    peeled_row<persistent_tiling<float,  1, 2,  32, 16, 8,  4, 1, 4, true,  true,  copy_pace::with_every_second>>(),
    peeled_row<persistent_tiling<double, 4, 2,  8,  8, 8,   4, 1>>(),
    peeled_row<tensor_tiling<double, 2, 4,  64, 32,  16,  4, 1>>(),
};

inline constexpr gpu::axpy_row axpy_rows[] = {
    {"axpy", dtype::f32, 1e10, launch_axpy<float>},
    {"axpy", dtype::f64, 1e10, launch_axpy<double>},
};
// clang-format on

inline void scale_any(problem const& p, CUstream_st* stream) {
  if (p.dtype == dtype::f64)
    launch_scale<double>(p, stream);
  else
    launch_scale<float>(p, stream);
}

inline constexpr gpu::row_table table = {gemm_rows, sizeof gemm_rows / sizeof *gemm_rows, axpy_rows,
                                         sizeof axpy_rows / sizeof *axpy_rows, scale_any};

}  // namespace TANDEM_KERNEL_NAMESPACE
