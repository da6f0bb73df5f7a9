// The least time that a problem can take on this machine, by what was measured in the same run.
#pragma once

#include <tandem/kernel.hpp>

#include "tools/bench/bandwidth.hpp"

namespace tandem::bench {

/// The longer of two times: of the multiply-adds at the FMA peak, and of the compulsory bytes at the rates of the
/// level of memory that they lie in. A and B are read once, C is stored once (beta = 0) or updated once.
struct limit {
  double fma_seconds = 0, byte_seconds = 0;

  /// 0 where nothing was measured.
  double seconds() const { return fma_seconds > byte_seconds ? fma_seconds : byte_seconds; }
  char const* binding() const { return fma_seconds >= byte_seconds ? "fma" : "bytes"; }
};

/// flop/s of this type on so many threads; measured once for each pair.
double known_fma_peak(dtype type, int threads);

/// `peak` in flop/s; `rates` of what the calls walk over, one set of operands or a whole ring of them.
limit gemm_limit(problem const& p, double peak, byte_rates const& rates);
limit axpy_limit(axpy_problem const& p, double peak, byte_rates const& rates);

}  // namespace tandem::bench
