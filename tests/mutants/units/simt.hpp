// A row of the GPU's table as a row of the SIMT executor's.
#pragma once

#include <iterator>

#include "gpu/describe.hpp"
#include "tests/mutants/plugin.hpp"

namespace tandem::mutants {

/// The row must outlive the kernels.
inline void append_simt_row(std::vector<kernel>& rows, gpu::gemm_row const& row) {
  auto const described =
      gpu::describe({&row, 1, nullptr, 0, nullptr},
                    {.backend = backend::simt,
                     .device = false,
                     .flop_budget = row.flop_budget,
                     .run = [](gpu::gemm_row const& r, problem const& p, execution const&) { r.launch(p, nullptr); },
                     .run_axpy = {}});
  rows.insert(rows.end(), described.begin(), described.end());
}

}  // namespace tandem::mutants
