// Tandem's own subjects: the plain public calls, and rows of the table.
#pragma once

#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// `tandem`: the call that people write, `tandem::gemm(a, b, c, options)` or `tandem::axpy`, with its checks and its
/// choice of a kernel, on host views.
subject plain_call();

/// One row of the table under its own name; one that cannot run here says why in `missing`.
subject row_subject(kernel const& row);

}  // namespace tandem::bench
