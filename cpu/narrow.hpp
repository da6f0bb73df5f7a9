// Products with a few columns of C beside a transposed A.
#pragma once

#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

/// Whether A's columns lie together and a row of C is up to two vectors.
template <class T>
bool suits_narrow(microkernel<T> const& kernel, operands<T> const& o);

/// C = alpha A B + beta C on at most `threads` threads, for a product that suits.
template <class T>
void multiply_narrow(microkernel<T> const& kernel, operands<T> const& o, int threads);

extern template bool suits_narrow(microkernel<float> const&, operands<float> const&);
extern template bool suits_narrow(microkernel<double> const&, operands<double> const&);
extern template void multiply_narrow(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_narrow(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
