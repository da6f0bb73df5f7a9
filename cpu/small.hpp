// Products that are over soon, of operands that stay near.
#pragma once

#include <cstdint>

#include <tandem/kernel.hpp>

#include "cpu/kernels/microkernel.hpp"

namespace tandem::cpu {

/// Whether what comes before the first multiplication is a large part of a product's time, and a copy of B would be
/// used by few tiles.
template <class T>
bool is_small(microkernel<T> const& kernel, problem const& p);

/// C = alpha A B + beta C of a small canonical problem.
template <class T>
void multiply_small(microkernel<T> const& kernel, problem const& p, execution const& e);

/// What `gemm_plan` calls for a small product; without a call where it is larger.
template <class T>
prepared_gemm prepare_small(microkernel<T> const& kernel, problem const& p);

/// Whether C has so few rows, and k is so long, that tiles whose steps of k are summed apart are faster: where C is one
/// tile each of its sums would wait for itself; where it is several, so would those of two rows, and B has to be near,
/// since each tile reads a part of its rows.
template <class T>
bool is_deep(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k);

/// By such tiles, of a B whose rows lie together.
template <class T>
void multiply_deep(microkernel<T> const& kernel, problem const& p);

extern template bool is_small(microkernel<float> const&, problem const&);
extern template bool is_small(microkernel<double> const&, problem const&);
extern template void multiply_small(microkernel<float> const&, problem const&, execution const&);
extern template void multiply_small(microkernel<double> const&, problem const&, execution const&);
extern template prepared_gemm prepare_small(microkernel<float> const&, problem const&);
extern template prepared_gemm prepare_small(microkernel<double> const&, problem const&);
extern template bool is_deep(microkernel<float> const&, std::int64_t, std::int64_t, std::int64_t);
extern template bool is_deep(microkernel<double> const&, std::int64_t, std::int64_t, std::int64_t);
extern template void multiply_deep(microkernel<float> const&, problem const&);
extern template void multiply_deep(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
