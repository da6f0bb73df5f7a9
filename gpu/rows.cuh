// The one table of GPU kernels, from which the rows of both `gpu` and `simt` are made: adding a kernel is its file and
// a row here for each tile. Compiled once by nvcc and once for each way in which the SIMT executor runs the kernels.
#pragma once

#include "gpu/kernels/axpy.cuh"
#include "gpu/kernels/coalesced.cuh"
#include "gpu/kernels/naive.cuh"
#include "gpu/kernels/scale.cuh"
#include "gpu/kernels/smem_tile.cuh"
#include "gpu/kernels/thread_tile.cuh"
#include "gpu/row.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

// clang-format off
inline constexpr gpu::gemm_row gemm_rows[] = {
    // technique    element      block          warp      thread  share  budget  launch
    {"naive",       dtype::f32, {32, 8, 0,      32, 1,    1, 1},  0.008, 1e11,   launch_naive<float, 32, 8>},
    {"coalesced",   dtype::f32, {8, 32, 0,      1, 32,    1, 1},  0.07,  1e11,   launch_coalesced<float, 8, 32>},
    {"smem_tile",   dtype::f32, {16, 16, 16,    2, 16,    1, 1},  0.094, 2e11,   launch_smem_tile<float, 16>},
    {"smem_tile",   dtype::f32, {32, 32, 32,    1, 32,    1, 1},  0.1,   2e11,   launch_smem_tile<float, 32>},
    {"thread_tile", dtype::f32, {64, 64, 8,     8, 64,    4, 4},  0.41,  1e12,   launch_thread_tile<float, 64, 64, 8, 4, 4, 4>},
    {"thread_tile", dtype::f32, {128, 128, 8,   16, 128,  8, 8},  0.49,  1e12,   launch_thread_tile<float, 128, 128, 8, 8, 8, 2>},
    {"naive",       dtype::f64, {32, 8, 0,      32, 1,    1, 1},  0.015, 1e11,   launch_naive<double, 32, 8>},
    {"coalesced",   dtype::f64, {8, 32, 0,      1, 32,    1, 1},  0.06,  1e11,   launch_coalesced<double, 8, 32>},
    {"smem_tile",   dtype::f64, {16, 16, 16,    2, 16,    1, 1},  0.13,  2e11,   launch_smem_tile<double, 16>},
    {"smem_tile",   dtype::f64, {32, 32, 32,    1, 32,    1, 1},  0.14,  2e11,   launch_smem_tile<double, 32>},
    {"thread_tile", dtype::f64, {64, 64, 8,     8, 64,    4, 4},  0.42,  1e12,   launch_thread_tile<double, 64, 64, 8, 4, 4, 2>},
    {"thread_tile", dtype::f64, {128, 128, 8,   16, 128,  8, 8},  0.46,  1e12,   launch_thread_tile<double, 128, 128, 8, 8, 8, 1>},
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
