// Products with few rows or columns as dot products: what lies together is read together, once.
#pragma once

#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"

namespace tandem::cpu {

/// Whether one operand is large and its rows lie along k, and the other is a few rows: a matrix times a vector.
template <class T>
bool suits_dots(microkernel<T> const& kernel, operands<T> const& o);

/// C = alpha A B + beta C on at most `threads` threads.
template <class T>
void multiply_dots(microkernel<T> const& kernel, operands<T> const& o, int threads);

/// The terms of one stretch of k.
template <class T>
std::int64_t dots_stretch(operands<T> const& o);

extern template std::int64_t dots_stretch(operands<float> const&);
extern template std::int64_t dots_stretch(operands<double> const&);
extern template bool suits_dots(microkernel<float> const&, operands<float> const&);
extern template bool suits_dots(microkernel<double> const&, operands<double> const&);
extern template void multiply_dots(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_dots(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
