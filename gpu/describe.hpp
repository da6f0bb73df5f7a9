// Makes a backend's kernels of the one table of GPU kernels.
#pragma once

#include <functional>
#include <vector>

#include <tandem/kernel.hpp>

#include "gpu/row.hpp"
#include "gpu/tuning.hpp"

namespace tandem::gpu {

/// How a backend runs the table's rows.
struct row_runner {
  tandem::backend backend;
  bool device;         ///< takes operands in device memory too
  double flop_budget;  ///< the most that a row gets
  std::function<void(gemm_row const&, problem const&, execution const&)> run;
  std::function<void(axpy_row const&, axpy_problem const&, execution const&)> run_axpy;
  /// The compute capability, as 90, whose code the device runs: a row that needs a later one's has no finite cost.
  /// Unset: any row's.
  int (*code_version)() = nullptr;
  /// How many multiprocessors the rows' costs are for.
  int (*multiprocessors)() = nullptr;
  /// What these costs are estimated by, infinite for a row without a model. Unset: the rows have no cost.
  model_table const& (*models)() = nullptr;
};

/// A row's name without its backend: "persistent.f32.128x256x8".
std::string row_name(gemm_row const& row);

/// The table must outlive the kernels.
std::vector<kernel> describe(row_table const& table, row_runner const& runner);

}  // namespace tandem::gpu
