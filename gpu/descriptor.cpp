// The GPU backend's rows: device operands are enqueued as they are, host operands go through staging.
#include "gpu/descriptor.hpp"

#include "gpu/describe.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"

namespace tandem::gpu {
namespace {

void run(gemm_row const& row, problem const& p, execution const& how) {
  if (p.memory == memory::device)
    row.launch(p, how.stream);
  else
    run_staged(p, how.stream, row.launch);
}

void run_axpy(axpy_row const& row, axpy_problem const& p, execution const& how) {
  if (p.memory == memory::device)
    row.launch(p, how.stream);
  else
    run_staged(p, how.stream, row.launch);
}

}  // namespace

backend_descriptor const& descriptor() {
  static backend_descriptor const d{
      .backend = backend::gpu,
      .unavailable = unavailable,
      .version = device_name,
      .scale = [](problem const& p, execution const& how) { device_rows().scale(p, how.stream); },
      .kernels = describe(device_rows(), {.backend = backend::gpu,
                                          .device = true,
                                          .flop_budget = 1e12,
                                          .run = run,
                                          .run_axpy = run_axpy,
                                          .multiprocessors = multiprocessors,
                                          .models = device_models})};
  return d;
}

}  // namespace tandem::gpu
