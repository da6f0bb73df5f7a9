// The kernel files compiled for a session: cmake/simt.cmake instruments this unit.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::checked

#include <tandem/simt/words.hpp>

#include "gpu/rows.cuh"

namespace tandem::simt {

/// For checked_rows().
extern gpu::row_table const compiled_for_sessions;
gpu::row_table const compiled_for_sessions = checked::table;

}  // namespace tandem::simt
