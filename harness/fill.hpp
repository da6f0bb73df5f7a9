// A problem's data, as packed row-major op(A), op(B) and C, fresh from its seed.
#pragma once

#include <cstdint>
#include <vector>

#include <tandem/harness/candidate.hpp>
#include <tandem/harness/problem.hpp>

namespace tandem::harness {

/// The largest magnitudes of an integer fill: of the elements of A and B, and of those of C.
struct integer_limits {
  std::int64_t ab = 0;
  std::int64_t c = 0;
};

/// Limits with which |alpha| k ab^2 + |beta| c is at most 2^24 (f32) or 2^53 (f64), so that every sum of any of the
/// terms, in any order, is an integer that the element type holds. ab shrinks with k down to 1; {0, 0} when even that
/// is too large (f32: |alpha| k + |beta| > 2^24) or when alpha or beta is not an integer.
integer_limits limits_of(dtype type, std::int64_t k, double alpha, double beta) noexcept;

/// Whether C has to be equal to the exact product as a number.
bool is_exact(fill) noexcept;

/// Up to which magnitude every integer survives in the format that a kernel rounds its operands to.
std::int64_t widest_integer(dtype type, precision p) noexcept;

template <element T>
struct operands {
  std::vector<T> a;  ///< op(A), m x k
  std::vector<T> b;  ///< op(B), k x n
  std::vector<T> c;  ///< C before the call, m x n; empty if beta = 0
};

/// The integers of one operand (1: A, 2: B, 3: C), rows x cols, up to `limit`: zeros in one place of eight, and in one
/// problem of eight a quarter of A's rows, or of B's columns, is all zeros.
template <element T>
std::vector<T> draw_integers(test_case const& t, unsigned operand, std::int64_t rows, std::int64_t cols,
                             std::int64_t limit);

/// Draws the data of any fill, for a kernel that rounds its operands to `p`; where B is A, only the fills that draw
/// both alike: integer, normal, uniform, nan_all. The seeds that `operand_seed` tells apart change one operand of an
/// integer fill only. Throws std::invalid_argument when a fill cannot be had for the problem's sizes and scalars.
template <element T>
operands<T> draw(test_case const& t, precision p = precision::element);

}  // namespace tandem::harness
