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
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include "cpu/kernels/lanes-inl.hpp"
#include "cpu/kernels/pack-inl.hpp"
#include "cpu/kernels/update-inl.hpp"
#include "cpu/kernels/tiles-inl.hpp"
#include "cpu/kernels/turning-inl.hpp"
#include "cpu/kernels/dots-inl.hpp"
#include "cpu/kernels/microkernel-inl.hpp"

// clang-format on

namespace tandem::cpu {

instruction_set const& baseline() {
  namespace target = HWY_NAMESPACE;
  static constexpr instruction_set set = {.technique = "baseline",
                                          .vector_bytes = 16,
                                          .supported = [] { return has_target(HWY_SSSE3); },
                                          .missing = "this processor has no SSSE3",
                                          .f32 = target::make_microkernel<float, 6, 8, 16>(),
                                          .f64 = target::make_microkernel<double, 6, 4, 16>(),
                                          .axpy_f32 = nullptr,
                                          .axpy_f64 = nullptr};
  return set;
}

}  // namespace tandem::cpu
