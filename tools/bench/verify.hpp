// Whether contenders' results are right, checked in the run that times them.
#pragma once

#include <string>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::bench {

/// Judges results of one product, C (m x n). Each is held against the product by its rows' weighted sums, C x = alpha
/// A (B x) + beta C0 x in double, within gamma(k + 2) (|alpha| |A| |B| + |beta| |C0|) |x|; and element by element
/// against the first one that passed, within twice gamma(k + 2) (|alpha| |A(i, :)|_2 |B(:, j)|_2 + |beta| |C0|). What
/// is over its bound is wrong; what is not may still be less accurate than it should: that is `tandem check`'s to say.
class product_check {
 public:
  /// p with its operands; p.c is C0 and is read only if beta != 0. All stay where they are.
  explicit product_check(problem const& p);

  /// Why this C (leading dimension p.ldc) is wrong; empty when it is right.
  std::string wrong(void const* c, std::string const& name);

 private:
  template <class T>
  void prepare();
  template <class T>
  std::string judge(T const* c, std::string const& name);

  problem p_;
  std::vector<double> x_, sums_, bounds_, rows_, columns_;
  std::vector<char> first_;
  std::string first_name_;
};

/// Why y is not fma(alpha, x, y0) within 2u (|alpha x| + |y0|); empty when it is. p.y is y0; strides of 1.
std::string wrong_axpy(axpy_problem const& p, void const* y);

}  // namespace tandem::bench
