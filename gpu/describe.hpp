// Makes a backend's kernels of the one table of GPU kernels.
#pragma once

#include <functional>
#include <vector>

#include <tandem/kernel.hpp>

#include "gpu/row.hpp"

namespace tandem::gpu {

/// How a backend runs the table's rows.
struct row_runner {
  tandem::backend backend;
  bool device;         ///< takes operands in device memory too
  double flop_budget;  ///< the most that a row gets
  /// How many blocks run at once.
  std::function<int()> parallel_blocks;
  std::function<void(gemm_row const&, problem const&, execution const&)> run;
  std::function<void(axpy_row const&, axpy_problem const&, execution const&)> run_axpy;
};

/// The table must outlive the kernels.
std::vector<kernel> describe(row_table const& table, row_runner const& runner);

}  // namespace tandem::gpu
