// Products with a few columns of C beside a transposed A.
#pragma once

#include <cstdint>

#include "cpu/kernels/microkernel.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"

namespace tandem::cpu {

/// Multiply-adds up to which it is estimated whether C's transpose is there sooner than C.
inline constexpr std::int64_t little_work = 80 * 80 * 80;

/// Whether so many rows of C fill vectors, were they its columns. In double, beside a transposed B of short rows, which
/// would have to be copied, more than half of one is enough.
template <class T>
bool fills_vectors(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool trans_b) {
  constexpr std::int64_t much_shorter = 4;
  bool const is_copied = sizeof(T) == sizeof(double) && trans_b && n >= much_shorter * k;
  return m >= kernel.lanes || (is_copied && 2 * m > kernel.lanes);
}

/// Whether A's columns lie together and C's transpose is there sooner: of little work by an estimate, of more where a
/// row of C is up to two vectors, or leaves a quarter of their lanes idle.
template <class T>
bool suits_narrow(microkernel<T> const& kernel, operands<T> const& o);

/// C = alpha A B + beta C on at most `threads` threads, for a product that suits.
template <class T>
void multiply_narrow(microkernel<T> const& kernel, operands<T> const& o, int threads);

/// Some of its rows, with the bits that they have there.
template <class T>
void multiply_narrow_rows(microkernel<T> const& kernel, operands<T> const& o, span_of rows);

extern template bool suits_narrow(microkernel<float> const&, operands<float> const&);
extern template bool suits_narrow(microkernel<double> const&, operands<double> const&);
extern template void multiply_narrow(microkernel<float> const&, operands<float> const&, int);
extern template void multiply_narrow(microkernel<double> const&, operands<double> const&, int);
extern template void multiply_narrow_rows(microkernel<float> const&, operands<float> const&, span_of);
extern template void multiply_narrow_rows(microkernel<double> const&, operands<double> const&, span_of);

}  // namespace tandem::cpu
