// The GPU backend's rows: device operands are enqueued as they are, host operands go through staging; neither before it
// is known that they lie where their views say.
#include "gpu/descriptor.hpp"

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/describe.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/operands.hpp"
#include "gpu/runtime/staging.hpp"

namespace tandem::gpu {
namespace {

// Not by kernel::refuses: to ask the device takes CUDA, which a process that only plans does without.
void require_code(gemm_row const& row) {
  if (row.least_code == 0 || !unavailable().empty()) return;
  if (int const code = code_version(); code < row.least_code)
    throw error(errc::unsupported,
                fmt::format("{}: needs code for compute capability {}.{}; the device runs that for {}.{}",
                            row_name(row), row.least_code / 10, row.least_code % 10, code / 10, code % 10));
}

void run(gemm_row const& row, problem const& p, execution const& how) {
  require_code(row);
  if (p.memory == memory::host) return run_staged(p, how.stream, row.launch);
  check_operands(p, how.stream);
  row.launch(p, how.stream);
}

void run_axpy(axpy_row const& row, axpy_problem const& p, execution const& how) {
  if (p.memory == memory::host) return run_staged(p, how.stream, row.launch);
  check_operands(p, how.stream);
  row.launch(p, how.stream);
}

void scale(problem const& p, execution const& how) {
  check_operands(p, how.stream, operands::c);
  device_rows().scale(p, how.stream);
}

}  // namespace

backend_descriptor const& descriptor() {
  static auto const& d = *new backend_descriptor{.backend = backend::gpu,
                                                 .unavailable = unavailable,
                                                 .version = device_name,
                                                 .scale = scale,
                                                 .kernels = describe(device_rows(), {.backend = backend::gpu,
                                                                                     .device = true,
                                                                                     .flop_budget = 1e12,
                                                                                     .run = run,
                                                                                     .run_axpy = run_axpy,
                                                                                     .code_version = code_version,
                                                                                     .multiprocessors = multiprocessors,
                                                                                     .models = device_models})};
  return d;
}

}  // namespace tandem::gpu
