// Tandem's own subjects: the plain public calls, and rows of the table.
#pragma once

#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// The call that people write, `tandem::gemm(a, b, c, options)` or `tandem::axpy`, with its checks and its choice of a
/// kernel: `tandem` on host views, `tandem_gpu` on device views.
subject plain_call(memory where = memory::host);

/// `tandem_plan`: a `gemm_plan`, made before the call.
subject plan_handle();

/// One row of the table under its own name; one that cannot run here says why in `missing`.
subject row_subject(kernel const& row);

}  // namespace tandem::bench
