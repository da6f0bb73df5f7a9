// Which instruction sets this architecture has, best first.
#include "cpu/kernels/targets.hpp"

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace tandem::cpu {

std::span<instruction_set const* const> instruction_sets() {
#if HWY_ARCH_X86
  static instruction_set const* const all[] = {&avx512(), &avx2(), &baseline()};
  return all;
#elif HWY_ARCH_ARM_A64
  static instruction_set const* const all[] = {&neon()};
  return all;
#else
  return {};
#endif
}

bool has_target(std::int64_t target) {
  static std::int64_t const supported = hwy::SupportedTargets();
  return (supported & target) != 0;
}

bool computes_in_halves() {
#if HWY_ARCH_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  unsigned const family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
  return family == 0x19;
#else
  return false;
#endif
}

}  // namespace tandem::cpu
