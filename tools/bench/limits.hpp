// The least time that a problem can take on this machine, by what was measured in the same run.
#pragma once

#include <cstddef>

#include <tandem/kernel.hpp>

namespace tandem::bench {

/// The longer of two times: of the multiply-adds at the FMA peak, and of the compulsory bytes at the rates of the
/// level of memory that they lie in. A and B are read once, C is stored once (beta = 0) or updated once.
struct limit {
  double fma_seconds = 0, byte_seconds = 0;

  double seconds() const { return fma_seconds > byte_seconds ? fma_seconds : byte_seconds; }
  char const* binding() const { return fma_seconds >= byte_seconds ? "fma" : "bytes"; }
};

/// The peak of this type on so many threads; measured once for each pair.
double known_fma_peak(dtype type, int threads);

/// `working_set`: the bytes that the calls walk over, one set of operands or a whole ring of them.
limit gemm_limit(problem const& p, std::size_t working_set, int threads);
limit axpy_limit(axpy_problem const& p, std::size_t working_set, int threads);

}  // namespace tandem::bench
