// The oracle: plain loops with a wide accumulator. What the harness believes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::reference {

/// Rows of alpha op(A) op(B) + beta C in wide arithmetic: the value is hi + lo (f32 problems: a double, lo is empty;
/// f64 problems: a double-double), and magnitude is |alpha| |A| |B| + |beta| |C|, rounded to double.
/// Each is (rows, n), row-major, in the order of the rows asked for.
struct wide_product {
  std::vector<double> hi;
  std::vector<double> lo;
  std::vector<double> magnitude;
};

/// Computes the rows with these indices. p is a canonical problem in host memory whose c holds C before the call; it
/// is read only if beta != 0, and nothing is written. alpha and beta are taken as rounded to the element type.
wide_product multiply_wide(problem const& p, std::span<std::int64_t const> rows);

}  // namespace tandem::reference
