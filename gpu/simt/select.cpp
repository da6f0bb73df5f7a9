// Which compilations of the kernel files there are, and whether this processor runs them.
#include "gpu/simt/rows.hpp"

namespace tandem::simt {
namespace {

#ifdef __x86_64__
bool has_avx2_and_fma() { return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"); }
#endif

}  // namespace

extern gpu::row_table const compiled_for_baseline;

gpu::row_table const& plain_rows() { return compiled_for_baseline; }

#ifdef TANDEM_SIMT_FMA
extern gpu::row_table const compiled_with_fma;

gpu::row_table const* plain_fma_rows() { return has_avx2_and_fma() ? &compiled_with_fma : nullptr; }
#else
gpu::row_table const* plain_fma_rows() { return nullptr; }
#endif

#ifdef TANDEM_SIMT_CHECKED
extern gpu::row_table const compiled_for_sessions;

gpu::row_table const* checked_rows() { return no_checked_rows() == nullptr ? &compiled_for_sessions : nullptr; }

char const* no_checked_rows() {
#ifdef __x86_64__
  if (!has_avx2_and_fma()) return "compiled for processors with AVX2 and FMA, which this one lacks";
#endif
  return nullptr;
}
#else
gpu::row_table const* checked_rows() { return nullptr; }

char const* no_checked_rows() { return "built without clang++ or libdw, which checking needs"; }
#endif

}  // namespace tandem::simt
