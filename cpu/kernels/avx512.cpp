// AVX-512: 28 of the 32 registers accumulate, two hold a row of B, one an element of A.
#include <cstdint>
#include <cstring>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/kernels/targets.hpp"

// This file is compiled for one Highway target, without any -march flag.
// clang-format off
#include "hwy/detect_targets.h"
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
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

instruction_set const& avx512() {
  namespace target = HWY_NAMESPACE;
  static instruction_set const set = [] {
    instruction_set of_avx512 = {.technique = "avx512",
                                 .vector_bytes = 64,
                                 .supported = [] { return has_target(HWY_AVX3); },
                                 .missing = "this processor has no AVX-512 (F, BW, DQ, VL)",
                                 .f32 = target::make_microkernel<float, 14, 32, 32>(),
                                 .f64 = target::make_microkernel<double, 14, 16, 32>(),
                                 .axpy_f32 = target::axpy<float, 64>,
                                 .axpy_f64 = target::axpy<double, 64>};
    if (computes_in_halves()) {  // stores of 32 bytes cross lines half as often
      of_avx512.f32.update_along[0] = target::update_along<float, 1, 32>;
      of_avx512.f64.update_along[0] = target::update_along<double, 1, 32>;
      of_avx512.axpy_f32 = target::axpy<float, 32>, of_avx512.axpy_f64 = target::axpy<double, 32>;
    }
    of_avx512.f32.half_costs_half = of_avx512.f64.half_costs_half = computes_in_halves();
    // Measured: on Zen 4, on Intel's.
    if (computes_in_halves()) of_avx512.f32.enough_sums = of_avx512.f64.enough_sums = 16;
    if (has_large_l2(host_caches())) of_avx512.f32.enough_sums = of_avx512.f64.enough_sums = 24;
    return of_avx512;
  }();
  return set;
}

}  // namespace tandem::cpu
