// L3: what the kernel computes in. Bits that must survive, wherever in a product of any size they lie, and the
// arithmetic that micro-products show.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "harness/arithmetic.hpp"
#include "harness/rungs/problems.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

/// Flop of the largest problem and of all of a rung's problems of one fill.
struct budget {
  double one, all;
};

budget budget_of(level l) {
  switch (l) {
    case level::quick: return {1e7, 3e7};
    case level::standard: return {4e7, 2e8};
    case level::full: return {1.1e9, 6e9};
  }
  return {};
}

// Deeper sums of normal data have room in their bound for operands of fewer bits.
constexpr std::int64_t most_normal_depth = 64;

/// Significant bits that the declared precision leaves an operand.
int declared_digits(candidate const& kernel) {
  switch (kernel.precision) {
    case precision::element: return kernel.dtype == dtype::f64 ? 53 : 24;
    case precision::tf32:
    case precision::f16: return 11;
    case precision::bf16: return 8;
  }
  return 0;
}

template <element T>
void check_fill(context<T>& x, fill f, std::size_t first_turn) {
  auto const limit = budget_of(x.level());
  // Processors are slow on subnormal numbers, and so is an oracle that is made of the same ones.
  double const most = f == fill::subnormal ? limit.one / 4 : limit.one;
  double spent = 0;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool>> had;  // the limits may make sizes equal
  auto const sizes = probe_sizes(x, most);
  // Each size with each pair of transposes, as far as the budget goes.
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto size = sizes[i];
      if (f == fill::normal) size[2] = std::min(size[2], most_normal_depth);
      auto const t = arrange(x, size, f, first_turn + i + round);
      if (!x.affordable(t) || spent + flops(t) > limit.all) continue;
      if (!had.emplace(t.m, t.n, t.k, t.trans_a, t.trans_b).second) continue;
      spent += flops(t);
      x.check(t);
      if (x.enough()) return;
    }
  }
  if (f != fill::subnormal || x.level() == level::quick) return;
  // Past what is kept for small products.
  auto const large = arrange(x, {260, 262, 257}, f, first_turn);
  if (x.affordable(large)) x.check(large);
}

/// Scalars that are 1 or -1 but for their last digits are not 1 or -1. One term a sum leaves a bound that tells.
template <element T>
void check_scalars_near_one(context<T>& x) {
  constexpr double last = 8 * std::numeric_limits<T>::epsilon();
  std::vector<double> steps{last, -last};
  if (dtype_of<T> == dtype::f64) steps.push_back(0x1p-30);  // which float does not tell from 0 beside 1
  std::size_t turn = 0;
  for (product_size const& size : {product_size{9, 7, 1}, product_size{67, 65, 1}, product_size{520, 530, 1}})
    for (auto const step : steps)
      for (auto const& [alpha, beta] : {std::array{1 + step, 0.0}, std::array{1.0, 1 + step}, std::array{1.0, step - 1},
                                        std::array{step - 1, 1.0}}) {
        auto t = arrange(x, size, fill::uniform, turn++);
        t.alpha = alpha, t.beta = beta;
        if (!outside(x.kernel().limits, t).empty()) continue;
        x.check(t);
        if (x.enough()) return;
      }
}

/// What the kernel computes in at one size; fails it where an operand loses bits that its precision has.
template <element T>
std::string report_arithmetic(context<T>& x, product_size const& size) {
  auto const found = probe_arithmetic(x, size);
  if (!found) return {};
  int const declared = declared_digits(x.kernel());
  for (std::size_t operand = 0; operand < 2; ++operand) {
    if (found->digits[operand] >= declared) continue;
    failure f;
    f.test = x.plain(size[0], size[1], size[2], operand == 0 ? fill::permutation_b : fill::permutation_a, x.seed(3));
    f.reason = fmt::format("an element of {} keeps {} significant bits of {}", "AB"[operand], found -> digits[operand],
                           declared);
    x.fail(std::move(f));
  }
  return describe(*found, x.kernel().dtype);
}

}  // namespace

template <element T>
void climb_precision(context<T>& x) {
  // Where a kernel has another path for large sizes, both are shown.
  std::string main, others;
  for (product_size const& size : {product_size{64, 64, 193}, product_size{256, 256, 256}}) {
    auto const found = report_arithmetic(x, size);
    if (found.empty()) continue;
    if (main.empty()) main = found;
    x.add_fact(fmt::format("{}x{}x{}", size[0], size[1], size[2]), found);
    if (found != main) others += fmt::format("; at {}x{}x{} {}", size[0], size[1], size[2], found);
    if (x.level() == level::quick) break;
  }
  x.set_summary(main.empty() ? std::string("nothing within the kernel's limits and budget could be probed")
                             : main + others);

  std::vector<fill> fills{fill::permutation_a, fill::permutation_b, fill::micro, fill::normal};
  if (x.kernel().precision == precision::element) fills.push_back(fill::subnormal);
  for (std::size_t i = 0; i < fills.size() && !x.enough(); ++i) check_fill(x, fills[i], i);
  if (x.kernel().precision == precision::element && !x.enough()) check_scalars_near_one(x);
}

template void climb_precision(context<float>&);
template void climb_precision(context<double>&);

}  // namespace tandem::harness
