// Freivalds' check of an integer product, row by row, modulo the prime 2^61 - 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tandem/harness/problem.hpp>
#include <tandem/types.hpp>

#include "harness/fill.hpp"

namespace tandem::harness {

/// C x = alpha A (B x) + beta C0 x for random x: costs m k + k n + m n products instead of m n k, and misses a wrong
/// row with probability 2^-61 for each x. Source: R. Freivalds, Probabilistic machines can use less running time,
/// IFIP Congress 1977. The right-hand side is computed once and serves every kernel's C.
class freivalds_check {
 public:
  /// The data must be an integer fill; alpha and beta integers.
  template <element T>
  freivalds_check(test_case const& t, operands<T> const& data, int vectors = 2);

  /// The rows of C (packed, m x n) that are wrong; a row with an element that is no integer of the exact range is.
  template <element T>
  std::vector<std::int64_t> wrong_rows(std::span<T const> got) const;

 private:
  std::int64_t m_ = 0, n_ = 0;
  std::vector<std::vector<std::uint64_t>> x_;    // each of n
  std::vector<std::vector<std::uint64_t>> rhs_;  // each of m: alpha A (B x) + beta C0 x
};

}  // namespace tandem::harness
