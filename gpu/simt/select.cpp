// Which compilations of the kernel files there are, and whether this processor runs them.
#include "gpu/simt/rows.hpp"

namespace tandem::simt {

extern gpu::row_table const compiled_for_baseline;

gpu::row_table const& plain_rows() { return compiled_for_baseline; }

#ifdef TANDEM_SIMT_FMA
extern gpu::row_table const compiled_with_fma;

gpu::row_table const* plain_fma_rows() {
  return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") ? &compiled_with_fma : nullptr;
}
#else
gpu::row_table const* plain_fma_rows() { return nullptr; }
#endif

#ifdef TANDEM_SIMT_CHECKED
extern gpu::row_table const compiled_for_sessions;

gpu::row_table const* checked_rows() { return &compiled_for_sessions; }
#else
gpu::row_table const* checked_rows() { return nullptr; }
#endif

}  // namespace tandem::simt
