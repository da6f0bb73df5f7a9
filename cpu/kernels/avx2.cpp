// AVX2 with FMA: 12 of the 16 registers accumulate, two hold a row of B, two an element of A.
#include <cstdint>
#include <cstring>

#include "cpu/kernels/microkernel.hpp"
#include "cpu/kernels/targets.hpp"

// This file is compiled for one Highway target, without any -march flag.
// clang-format off
#include "hwy/detect_targets.h"
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include "cpu/kernels/lanes-inl.hpp"
#include "cpu/kernels/pack-inl.hpp"
#include "cpu/kernels/update-inl.hpp"
#include "cpu/kernels/tiles-inl.hpp"
#include "cpu/kernels/turning-inl.hpp"
#include "cpu/kernels/dots-inl.hpp"
#include "cpu/kernels/microkernel-inl.hpp"
#include "cpu/kernels/axpy-inl.hpp"
// clang-format on

namespace tandem::cpu {

instruction_set const& avx2() {
  namespace target = HWY_NAMESPACE;
  static constexpr instruction_set set = {.technique = "avx2",
                                          .vector_bytes = 32,
                                          .supported = [] { return has_target(HWY_AVX2); },
                                          .missing = "this processor has no AVX2 with FMA",
                                          .f32 = target::make_microkernel<float, 6, 16, 16>(),
                                          .f64 = target::make_microkernel<double, 6, 8, 16>(),
                                          .axpy_f32 = target::axpy<float, 32>,
                                          .axpy_f64 = target::axpy<double, 32>};
  return set;
}

}  // namespace tandem::cpu
