// The instruction sets, one file each.
#pragma once

#include "cpu/kernels/microkernel.hpp"

namespace tandem::cpu {

instruction_set const& avx512();
instruction_set const& avx2();
instruction_set const& baseline();
instruction_set const& neon();

}  // namespace tandem::cpu
