// NEON: 24 of the 32 registers accumulate, three hold a row of B, one an element of A.
#include <cstdint>
#include <cstring>

#include "cpu/kernels/microkernel.hpp"
#include "cpu/kernels/targets.hpp"

// This file is compiled for one Highway target, without any -march flag.
// clang-format off
#include "hwy/detect_targets.h"
#undef HWY_TARGET
#define HWY_TARGET HWY_NEON
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

instruction_set const& neon() {
  namespace target = HWY_NAMESPACE;
  static constexpr instruction_set set = {
      .technique = "neon",
      .vector_bytes = 16,
      .supported = [] { return true; },  // part of 64-bit Arm on Linux; Highway 1.0 asks for AES as well
      .missing = "this processor has no NEON",
      .f32 = target::make_microkernel<float, 8, 12, 32>(),
      .f64 = target::make_microkernel<double, 8, 6, 32>(),
      .axpy_f32 = target::axpy<float, 16>,
      .axpy_f64 = target::axpy<double, 16>};
  return set;
}

}  // namespace tandem::cpu
