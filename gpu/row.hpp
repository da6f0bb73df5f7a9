// One row of the GPU's table as plain data, so that each compilation of the kernel files (nvcc, the SIMT executor's)
// can hold it. Nothing inline: some of these compilations use instructions that not every machine has.
#pragma once

#include <cstdint>

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// A GEMM kernel's tiling: block bm x bn x bk, warp wm x wn, thread tm x tn. bk = 0: k is not cut.
struct tiling {
  int bm, bn, bk;
  int wm, wn;
  int tm, tn;
  int groups = 1;  ///< of a block's threads, each of which sums up its share of every bk steps of k
};

/// How a row cuts a problem besides its tiling.
struct k_cut {
  /// What a block's part of k is called where an element's sum is put together from several blocks'; "strip" where
  /// edges of C go to other kernels; nullptr where neither is so.
  char const* unit = nullptr;
  std::int64_t length = 0;   ///< its steps of k; 0: parts of several tiles, each up to all of k
  bool on_its_side = false;  ///< the kernel multiplies turned(problem), and its tiles are bn x bm of C
  /// Of blocks that stay on their multiprocessor and run through tiles: how many there are, and how many of the tiles
  /// are dealt out to them in shares of so many chunks of k; with a `length`, each share is a slice of one tile. 0: a
  /// block computes one tile, or its slice of it.
  std::int64_t blocks = 0, shared_tiles = 0, share = 0;
};

/// The same product with C on its side, C^T = op(B)^T op(A)^T, but for C's pointer and leading dimension, which are as
/// they were.
problem turned(problem p);

/// Which operands a row copies to another place before it multiplies.
struct operand_copies {
  bool a = false, b = false;
};

/// How operands come to where they are multiplied: those that the kernel sees, which with C on its side are B and A.
struct operand_paths {
  operand_copies copied = {};
  bool single_a = false, single_b = false;  ///< element by element
};

/// The upper left part of C, in rows and columns, and whether the columns on its right and the rows below are computed
/// while it is.
struct c_extent {
  std::int64_t m, n;
  bool columns_beside = false, rows_beside = false;
};

struct gemm_row {
  char const* technique;
  tandem::dtype dtype;
  gpu::tiling tiling;
  double flop_budget;
  /// Enqueues the kernel on operands that it can reach. Throws errc::device if the launch fails.
  void (*launch)(problem const&, CUstream_st*);
  /// Unset: by its tiling alone.
  gpu::k_cut (*cut_k)(problem const&) = nullptr;
  std::int64_t most_elements = 0;  ///< that A or B may span, gaps included; 0: any
  std::int64_t most_k = 0;         ///< steps of k; 0: any
  bool one_line = false;           ///< C must be one row or one column
  int least_code = 0;              ///< the compute capability, as 90, from which on code has what the row needs; 0: any
  /// Unset: from where they lie, by vectors where lines begin at multiples of 16 bytes.
  gpu::operand_paths (*paths)(problem const&) = nullptr;
  /// What of C the row's tiles cover; strips beside and below it go to kernels for thin products. Unset: all.
  gpu::c_extent (*inside)(problem const&) = nullptr;
  /// How many blocks share the tiles of each column of tiles. Unset: each tile has its own.
  std::int64_t (*blocks_down)(problem const&) = nullptr;
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
