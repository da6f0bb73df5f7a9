// The blocked, packed, parallel outer-product GEMM, for any microkernel.
#pragma once

#include <tandem/kernel.hpp>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::cpu {

/// Computes the canonical problem. Each element is summed in the same order whatever the number of threads.
template <class T>
void gemm(microkernel<T> const& kernel, problem const& p, execution const& e);

/// The blocks that one thread works on.
template <class T>
plan gemm_plan(microkernel<T> const& kernel, problem const& p);

extern template void gemm(microkernel<float> const&, problem const&, execution const&);
extern template void gemm(microkernel<double> const&, problem const&, execution const&);
extern template plan gemm_plan(microkernel<float> const&, problem const&);
extern template plan gemm_plan(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
