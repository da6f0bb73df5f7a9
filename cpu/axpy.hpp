// y = alpha x + y in host memory.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// One fused multiply-add an element, on the best instruction set that this processor has.
template <class T>
void axpy(axpy_problem const& p, execution const& e);

extern template void axpy<float>(axpy_problem const&, execution const&);
extern template void axpy<double>(axpy_problem const&, execution const&);

}  // namespace tandem::cpu
