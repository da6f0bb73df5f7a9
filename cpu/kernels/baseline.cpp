// x86 without FMA: multiplies and adds round separately. SSSE3 is the oldest target that Highway 1.0 offers.
#include <cstdint>
#include <cstring>

#include "cpu/kernels/microkernel.hpp"
#include "cpu/kernels/targets.hpp"

// This file is compiled for one Highway target, without any -march flag.
// clang-format off
#include "hwy/detect_targets.h"
#undef HWY_TARGET
#define HWY_TARGET HWY_SSSE3
#include "hwy/highway.h"

#include "cpu/kernels/pack-inl.hpp"
#include "cpu/kernels/microkernel-inl.hpp"

// clang-format on

namespace tandem::cpu {

instruction_set const& baseline() {
  namespace target = HWY_NAMESPACE;
  static constexpr instruction_set set = {
      .technique = "baseline",
      .vector_bytes = 16,
      .supported = [] { return (hwy::SupportedTargets() & HWY_SSSE3) != 0; },
      .missing = "this processor has no SSSE3",
      .f32 = {6, 8, target::pack<float, 6>, target::pack<float, 8>, target::multiply<float, 6, 8>},
      .f64 = {6, 4, target::pack<double, 6>, target::pack<double, 4>, target::multiply<double, 6, 4>},
      .axpy_f32 = nullptr,
      .axpy_f64 = nullptr};
  return set;
}

}  // namespace tandem::cpu
