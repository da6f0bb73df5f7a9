// Statements about every microkernel that this processor runs.
#pragma once

#include <doctest/doctest.h>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::tests {

/// f(kernel), of each instruction set and type.
template <class F>
void for_each_microkernel(F const& f) {
  for (auto const* set : cpu::instruction_sets())
    if (set->supported()) {
      INFO(set->technique);
      f(set->f32);
      f(set->f64);
    }
}

}  // namespace tandem::tests
