// The instruction sets, one file each.
#pragma once

#include <cstdint>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::cpu {

instruction_set const& avx512();
instruction_set const& avx2();
instruction_set const& baseline();
instruction_set const& neon();

/// Whether processor and operating system have this Highway target. Asked once: on a virtual machine it takes
/// microseconds.
bool has_target(std::int64_t target);

/// Whether this processor computes 64 bytes in two halves: AMD's Zen 4, the only one of its family with AVX-512.
bool computes_in_halves();

}  // namespace tandem::cpu
