// Which row of the table a call gets.
#pragma once

#include <string_view>

#include <tandem/kernel.hpp>

namespace tandem::dispatch {

/// What a caller asks for.
struct request {
  tandem::operation operation;
  tandem::dtype dtype;
  tandem::memory memory;    ///< of the views
  tandem::backend backend;  ///< automatic: cpu for host views, gpu for device views
  std::string_view kernel;  ///< a full name, a technique, or empty: TANDEM_KERNEL, if that names this operation
  problem const* gemm;      ///< the problem that the row has to take; null for axpy, and where nothing is multiplied
};

/// Whether C has no elements, or is beta C. A row sees no such problem, neither to run it nor to say what it costs.
inline bool is_degenerate(problem const& p) { return p.m == 0 || p.n == 0 || p.k == 0 || p.alpha == 0; }

/// Whether a call of gemm or axpy leaves the kernel open, or to whatever the CPU has.
template <class Options>
bool is_open(Options const& o) {
  return o.kernel.empty() && (o.backend == backend::automatic || o.backend == backend::cpu);
}

/// The row named, or the cheapest that fits. Throws unknown_kernel, unavailable, mixed_memory or unsupported.
kernel const& select(request const& wanted);

/// `select` for an axpy.
kernel const& select_axpy(axpy_problem const& p, axpy_options const& options);

/// The row of an axpy on the host that leaves the kernel open; nullptr where TANDEM_KERNEL has a say.
kernel const* open_axpy(dtype type);

/// Throws unless the row can run on this machine, on views in this memory, on this element type.
void check_row(kernel const& row, operation op, dtype type, memory where);

}  // namespace tandem::dispatch
