// The componentwise error bound of a product: gamma(k + 2) (|alpha| |A| |B| + |beta| |C|).
#pragma once

#include <cstdint>

#include <tandem/types.hpp>

namespace tandem::harness {

/// Half the distance from 1 to the next larger number: 2^-24 for f32, 2^-53 for f64, 2^-11 for f16, 2^-8 for bf16.
double unit_roundoff(dtype type) noexcept;

/// n u / (1 - n u): what n roundings can do to a sum, relative to the sum of its terms' magnitudes. Infinite where
/// n u >= 1, which no comparison accepts. Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms,
/// 2nd edition, SIAM 2002, section 3.1. Underflow is not covered: the harness draws no data near it.
double gamma(double n, dtype type) noexcept;

}  // namespace tandem::harness
