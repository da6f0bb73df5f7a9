// The kernel files compiled for the host's baseline.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::plain

#include <tandem/simt/words.hpp>

#include "gpu/rows.cuh"

namespace tandem::simt {

/// For plain_rows().
extern gpu::row_table const compiled_for_baseline;
gpu::row_table const compiled_for_baseline = plain::table;

}  // namespace tandem::simt
