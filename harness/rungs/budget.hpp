// The flop budget of a kernel whose speed nobody told.
#pragma once

#include <string>

#include "harness/context.hpp"

namespace tandem::harness {

struct flop_budget {
  double flop = 0;        ///< the largest problem that the kernel gets
  std::string told = {};  ///< it and where it comes from, in words
};

/// What the kernel does in 4 seconds at the speed of its best of three products of 256^3 integers, after another one,
/// but at least its own budget and at most 2e10 flop, which is what Tandem's own rows have. One that needs a second for
/// such a product, or does not finish it, keeps its own.
template <element T>
flop_budget measure_budget(context<T>& x);

}  // namespace tandem::harness
