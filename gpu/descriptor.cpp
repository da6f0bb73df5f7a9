// The GPU backend's rows: device operands are enqueued as they are, host operands go through staging; neither before it
// is known that they lie where their views say.
#include "gpu/descriptor.hpp"

#include "gpu/describe.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/operands.hpp"
#include "gpu/runtime/staging.hpp"

namespace tandem::gpu {
namespace {

void run(gemm_row const& row, problem const& p, execution const& how) {
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
  static backend_descriptor const d{.backend = backend::gpu,
                                    .unavailable = unavailable,
                                    .version = device_name,
                                    .scale = scale,
                                    .kernels = describe(device_rows(), {.backend = backend::gpu,
                                                                        .device = true,
                                                                        .flop_budget = 1e12,
                                                                        .parallel_blocks = multiprocessors,
                                                                        .run = run,
                                                                        .run_axpy = run_axpy,
                                                                        .multiprocessors = multiprocessors,
                                                                        .models = device_models})};
  return d;
}

}  // namespace tandem::gpu
