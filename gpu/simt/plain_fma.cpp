// The kernel files compiled for x86 with FMA and AVX2 (gpu/CMakeLists.txt sets the flags). Every symbol that other
// units could share stays out of here: the linker might keep this unit's copy for a machine that cannot run it.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::plain_fma

#include <tandem/simt/words.hpp>

#include "gpu/rows.cuh"

namespace tandem::simt {

/// For plain_fma_rows(), which asks the processor first.
extern gpu::row_table const compiled_with_fma;
gpu::row_table const compiled_with_fma = plain_fma::table;

}  // namespace tandem::simt
