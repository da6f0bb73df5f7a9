// Products made to be read as answers: which elements are added up alike, and how many terms are lost beside a huge
// one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <tandem/harness/problem.hpp>

#include "harness/context.hpp"
#include "harness/sum_tree.hpp"

namespace tandem::harness {

/// The kernel did not finish a probe; the context has noted it.
class probe_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A product's operands with the scalars that they are for.
template <element T>
struct probe {
  operands<T> data;
  T alpha = 1, beta = 0;
};

/// Elements of C that are added up alike, and of them a rectangle for probes.
struct element_class {
  std::vector<std::int64_t> elements = {};         ///< row * n + column, ascending
  std::vector<std::int64_t> rows = {}, cols = {};  ///< a rectangle of them
};

/// Values of the probes: all are `unit` but for huge ones, and unit * unit vanishes beside unit * huge.
struct probe_scale {
  double unit = 1, huge = 1;
};

/// What probing one shape may cost.
struct probing_budget {
  double flop = 0;
  double seconds = std::numeric_limits<double>::infinity();  ///< a kernel may be slow, or add up in no tree
};

/// Calls one kernel on one shape, and counts.
template <element T>
class prober {
 public:
  prober(context<T>& x, test_case const& shape, probing_budget const& budget) : x_(x), shape_(shape), budget_(budget) {}

  std::int64_t m() const noexcept { return shape_.m; }
  std::int64_t n() const noexcept { return shape_.n; }
  std::int64_t k() const noexcept { return shape_.k; }
  test_case const& shape() const noexcept { return shape_; }
  double spent() const noexcept { return spent_; }
  bool can_afford(double products) const {
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start_;
    return spent_ + products * flops(shape_) <= budget_.flop && passed.count() <= budget_.seconds;
  }
  void set_threads(int threads) noexcept { threads_ = threads; }
  std::uint64_t seed(std::uint64_t purpose) const noexcept { return x_.seed(purpose); }

  /// C, m x n. Throws probe_failed.
  std::vector<T> call(probe<T> const& p);

  /// Random data, every mantissa bit in use; `alike`: all rows of A are the same, and all columns of B.
  probe<T> random_data(std::uint64_t purpose, bool alike, T alpha = 1, T beta = 0) const;

  /// Elements by the bits they get where all of them have the same terms: those that are added up alike agree. The
  /// largest class first.
  std::vector<element_class> classes();

  /// The tree of a class, C as term k if `with_c`. Throws not_a_tree, or std::length_error when the budget runs out.
  sum_tree tree_of(element_class const& where, bool with_c);

  /// The terms that are left out or counted more than once in an element that adds up ones wrongly: "" when none is.
  std::string miscounted();

  /// The smallest p so that ones vanish beside 2^p in a chain, the digits of its accumulator; 0: none up to 2^100.
  int digits_of(element_class const& where, sum_tree const& tree);

 private:
  void ask(element_class const& where, std::vector<std::int64_t> const& pivots, bool with_c, probe_scale const& scale,
           lost_counts& lost);
  sum_tree grow(element_class const& where, bool with_c, probe_scale const& scale);

  context<T>& x_;
  test_case shape_;
  probing_budget budget_;
  double spent_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int threads_ = 0;
};

extern template class prober<float>;
extern template class prober<double>;

}  // namespace tandem::harness
