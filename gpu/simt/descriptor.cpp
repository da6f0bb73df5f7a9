// The SIMT backend's rows: every row of the GPU's table, run by the executor on host memory.
#include "gpu/simt/descriptor.hpp"

#include "gpu/describe.hpp"
#include "gpu/simt/rows.hpp"

namespace tandem::simt {
namespace {

gpu::row_table const& rows() {
  auto const* const fma = plain_fma_rows();
  return fma != nullptr ? *fma : plain_rows();
}

// Never a tuning file's: what the executor does must not depend on a file.
gpu::model_table const& models() {
  static gpu::model_table const table(rows(), gpu::built_in_model);
  return table;
}

}  // namespace

backend_descriptor const& descriptor() {
  static auto const& d = *new backend_descriptor{
      .backend = backend::simt,
      .unavailable = {},
      .version =
          [] {
            return std::string("GPU kernels on the CPU, plain mode, fma by ") +
                   (plain_fma_rows() != nullptr ? "hardware" : "the C library");
          },
      .scale = {},
      .kernels = gpu::describe(
          rows(), {.backend = backend::simt,
                   .device = false,
                   .flop_budget = 1e7,  // thin shapes fill whole tiles: up to 128 times the work
                   .run = [](gpu::gemm_row const& row, problem const& p, execution const&) { row.launch(p, nullptr); },
                   .run_axpy = [](gpu::axpy_row const& row, axpy_problem const& p,
                                  execution const&) { row.launch(p, nullptr); },
                   .multiprocessors = [] { return 1; },
                   .models = models})};
  return d;
}

}  // namespace tandem::simt
