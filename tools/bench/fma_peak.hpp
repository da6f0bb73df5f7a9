// The most multiply-adds that the processor does, measured.
#pragma once

#include <tandem/types.hpp>

namespace tandem::bench {

/// flop/s of a loop of independent fused multiply-adds on registers only, at the widest instruction set that the
/// processor has, on so many threads together: the best of several samples. 2 flop a multiply-add.
double fma_peak(dtype type, int threads);

/// That instruction set, in Highway's words ("AVX3_ZEN4").
char const* widest_instruction_set();

}  // namespace tandem::bench
