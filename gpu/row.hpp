// One row of the GPU's table as plain data, so that each compilation of the kernel files (nvcc, the SIMT executor's)
// can hold it. Nothing inline: some of these compilations use instructions that not every machine has.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// A GEMM kernel's tiling: block bm x bn x bk, warp wm x wn, thread tm x tn. bk = 0: k is not cut.
struct tiling {
  int bm, bn, bk;
  int wm, wn;
  int tm, tn;
};

struct gemm_row {
  char const* technique;
  tandem::dtype dtype;
  gpu::tiling tiling;
  double throughput;  ///< share of the peak multiply-add rate (4096 squares, H200), by which dispatch orders the rows
  double flop_budget;
  /// Enqueues the kernel on operands that it can reach. Throws errc::device if the launch fails.
  void (*launch)(problem const&, CUstream_st*);
};

struct axpy_row {
  char const* technique;
  tandem::dtype dtype;
  double flop_budget;
  void (*launch)(axpy_problem const&, CUstream_st*);
};

/// What one compilation of the kernel files holds: `gpu/rows.cuh`.
struct row_table {
  gemm_row const* gemm;
  int gemm_count;
  axpy_row const* axpy;
  int axpy_count;
  /// C = beta C, as backend_descriptor::scale.
  void (*scale)(problem const&, CUstream_st*);
};

/// nvcc's compilation; built without CUDA, the SIMT executor's, whose launches are then never called.
row_table const& device_rows();

}  // namespace tandem::gpu
