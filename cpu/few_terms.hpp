// Products of so few terms that C costs more than the sums.
#pragma once

#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

/// Whether there are so few terms, and C does not go past the caches.
template <class T>
bool suits_few_terms(microkernel<T> const& kernel, operands<T> const& o);

/// C = alpha A B + beta C on at most `threads` threads. More terms take more passes over C.
template <class T>
void multiply_few_terms(microkernel<T> const& kernel, operands<T> const& o, int threads);

extern template bool suits_few_terms(microkernel<float> const&, operands<float> const&);
extern template bool suits_few_terms(microkernel<double> const&, operands<double> const&);
extern template void multiply_few_terms(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_few_terms(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
