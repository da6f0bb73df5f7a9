// The compilations of the kernel files that plain mode can run.
#pragma once

#include "gpu/row.hpp"

namespace tandem::simt {

/// For every machine: fma is the C library's.
gpu::row_table const& plain_rows();

/// For x86 processors with FMA and AVX2; the same bits, an order of magnitude faster. nullptr elsewhere.
gpu::row_table const* plain_fma_rows();

}  // namespace tandem::simt
