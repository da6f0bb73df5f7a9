// y = alpha x + y in host memory.
#pragma once

#include <cstdint>

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// One fused multiply-add an element, on the best instruction set that this processor has.
template <class T>
void axpy(axpy_problem const& p, execution const& e);

/// The same by the calling thread alone.
template <class T>
host_axpy<T> best_axpy();

/// Elements of y that one thread is done with before another could help.
template <class T>
constexpr std::int64_t most_at_once = (64 << 10) / sizeof(T) - 1;

extern template void axpy<float>(axpy_problem const&, execution const&);
extern template void axpy<double>(axpy_problem const&, execution const&);
extern template host_axpy<float> best_axpy();
extern template host_axpy<double> best_axpy();

}  // namespace tandem::cpu
