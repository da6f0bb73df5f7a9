// Which instruction sets this architecture has, best first.
#include "cpu/kernels/targets.hpp"

#include "hwy/highway.h"

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

}  // namespace tandem::cpu
