// The compilations of the kernel files that the executor can run.
#pragma once

#include "gpu/row.hpp"

namespace tandem::simt {

/// For every machine: fma is the C library's.
gpu::row_table const& plain_rows();

/// For x86 processors with FMA and AVX2; the same bits, an order of magnitude faster. nullptr elsewhere.
gpu::row_table const* plain_fma_rows();

/// Instrumented, for sessions; nullptr where `no_checked_rows` says why.
gpu::row_table const* checked_rows();

/// Why there are none; nullptr where there are.
char const* no_checked_rows();

}  // namespace tandem::simt
