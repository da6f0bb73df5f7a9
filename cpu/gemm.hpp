// The blocked, packed, parallel outer-product GEMM, for any microkernel.
#pragma once

#include <string>

#include <tandem/kernel.hpp>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::cpu {

/// The ways through a product. `chosen` is the one that the cost model takes; the others are there to be compared and
/// tested.
enum class path { chosen, packed, in_place, dots };

/// Why this path does not take the problem; empty when it does.
std::string refusal(path way, problem const& p);

/// Computes the canonical problem. Each element is summed in the same order whatever the number of threads,
/// unless the execution need not be reproducible.
template <class T>
void gemm(microkernel<T> const& kernel, path way, problem const& p, execution const& e);

/// The blocks that one thread works on.
template <class T>
plan plan_of(microkernel<T> const& kernel, path way, problem const& p);

extern template void gemm(microkernel<float> const&, path, problem const&, execution const&);
extern template void gemm(microkernel<double> const&, path, problem const&, execution const&);
extern template plan plan_of(microkernel<float> const&, path, problem const&);
extern template plan plan_of(microkernel<double> const&, path, problem const&);

}  // namespace tandem::cpu
