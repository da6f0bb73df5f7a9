// Whether contenders' results are right, checked in the run that times them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::bench {

/// A matrix as it is stored: `lines` of `length` elements, their starts `ld` elements apart.
struct stored_lines {
  void const* data = nullptr;
  tandem::dtype dtype = dtype::f32;
  std::int64_t lines = 0, length = 0, ld = 0;
};

/// What passes over such a matrix add up, in double: of weights w and s >= 0, sums of w v, of s |v|, and of v^2.
struct line_sums {
  std::vector<double> sum = {}, size = {}, squares = {};
};

/// Two results of one product, C and the first that was right, element by element.
struct comparison {
  stored_lines c;
  void const* first = nullptr;   ///< stored as c
  void const* before = nullptr;  ///< C0, stored as c; nullptr: beta is 0
  double factor = 0, beta = 0;
  std::vector<double> const& rows;     ///< norms of A's rows, times |alpha|
  std::vector<double> const& columns;  ///< norms of B's columns
};

/// The passes that a check makes over operands, where they lie: one for the host's memory, one for the device's.
class check_space {
 public:
  virtual ~check_space() = default;
  /// For each line, over its elements; w and s have one for each place in a line.
  virtual line_sums along(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const = 0;
  /// For each place in a line, over the lines; w and s have one for each line.
  virtual line_sums across(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const = 0;
  /// The index i ld + j of the first element for which |c - first| <= factor (rows[i] columns[j] + |beta before|) does
  /// not hold; -1: it holds everywhere.
  virtual std::int64_t first_apart(comparison const& x) const = 0;
  /// The first i for which |y - (alpha x + y0)| <= 2u (|alpha x| + |y0|) does not hold, -1 for none. p.y is y0.
  virtual std::int64_t first_wrong(axpy_problem const& p, void const* y) const = 0;
  virtual double element(void const* data, dtype type, std::int64_t index) const = 0;
  /// A copy in the same memory.
  virtual std::shared_ptr<void const> keep(void const* data, std::size_t bytes) const = 0;
};

check_space const& host_space();

/// Judges results of one product, C (m x n). Each is held against the product by its rows' weighted sums, C x = alpha
/// A (B x) + beta C0 x in double, within gamma(k + 2) (|alpha| |A| |B| + |beta| |C0|) |x|; and element by element
/// against the first one that passed, within twice gamma(k + 2) (|alpha| |A(i, :)|_2 |B(:, j)|_2 + |beta| |C0|). What
/// is over its bound is wrong; what is not may still be less accurate than it should: that is `tandem check`'s to say.
class product_check {
 public:
  /// p with its operands in the space's memory; p.c is C0 and is read only if beta != 0. All stay where they are.
  explicit product_check(problem const& p, check_space const& where = host_space());

  /// Why this C (leading dimension p.ldc) is wrong; empty when it is right.
  std::string wrong(void const* c, std::string const& name);

 private:
  stored_lines lines_of_c(void const* c) const;

  problem p_;
  check_space const& where_;
  std::vector<double> x_, sizes_, sums_, bounds_, rows_, columns_;
  std::shared_ptr<void const> first_;
  std::string first_name_;
};

/// Why y is not fma(alpha, x, y0) within 2u (|alpha x| + |y0|); empty when it is. p.y is y0; strides of 1.
std::string wrong_axpy(axpy_problem const& p, void const* y, check_space const& where = host_space());

}  // namespace tandem::bench
