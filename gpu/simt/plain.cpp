// The kernel files compiled for the host's baseline.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::plain

#include "gpu/simt/plain.hpp"

#include "gpu/simt/words.hpp"

#include "gpu/rows.cuh"

namespace tandem::simt {

gpu::row_table const& plain_rows() { return plain::table; }

}  // namespace tandem::simt
