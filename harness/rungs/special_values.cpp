// L6: NaN and infinities reach the elements they must and no others, overflow is infinite, and nothing of it is left
// for the next call.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "harness/arithmetic.hpp"
#include "harness/fills/special.hpp"
#include "harness/random.hpp"
#include "harness/rungs/problems.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

struct budget {
  double one, all;
};

budget budget_of(level l) {
  switch (l) {
    case level::quick: return {5e6, 1e7};
    case level::standard: return {2e7, 8e7};
    case level::full: return {1e8, 1.5e9};
  }
  return {};
}

template <element T>
void check_fill(context<T>& x, fill f, std::size_t first_turn) {
  auto const limit = budget_of(x.level());
  // The oracle looks at every element, and that of f64 is several times slower.
  double const share = std::is_same_v<T, double> ? 0.25 : 1;
  double spent = 0;
  auto const sizes = probe_sizes(x, limit.one * share);
  // Each size with each pair of transposes, as far as the budget goes.
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto const t = arrange(x, sizes[i], f, first_turn + i + round);
      if (!x.affordable(t) || spent + flops(t) > limit.all * share) continue;
      spent += flops(t);
      x.check(t);
      if (x.enough()) return;
    }
  }
}

/// In a product past what is kept for small ones, and in such a vector times a matrix and matrix times a vector, each
/// with two pairs of transposes.
template <element T>
void check_large(context<T>& x, fill f, std::size_t turn) {
  constexpr std::array<product_size, 3> large{{{260, 262, 257}, {1, 1001, 301}, {1003, 1, 303}}};
  for (auto const& size : large)
    for (std::size_t i = 0; i < 2 && !x.enough(); ++i) {
      auto const t = arrange(x, size, f, turn + 3 * i);
      if (x.affordable(t)) x.check(t);
    }
}

/// A seed with which a fill holds nothing but NaN, or infinities, in its operand.
template <element T>
std::uint64_t flooding_seed(context<T> const& x, std::uint64_t purpose) {
  for (std::uint64_t index = 0;; ++index)
    if (auto const seed = x.seed(purpose, index); floods(seed)) return seed;
}

/// After a call whose A or B was nothing but NaN, and larger, a call with finite data gives finite results: a packed
/// buffer's padding, a workspace or a cached panel may hold what the first one left. Returns false where it does.
template <element T>
bool check_after_nan(context<T>& x) {
  constexpr std::array<product_size, 5> larger{
      {{70, 70, 70}, {33, 40, 130}, {130, 129, 48}, {160, 150, 300}, {230, 240, 272}}};
  constexpr std::array<product_size, 5> smaller{
      {{5, 7, 3}, {33, 31, 17}, {65, 66, 33}, {129, 131, 257}, {210, 209, 229}}};
  std::size_t const pairs = x.level() == level::quick ? 2 : larger.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    for (auto const f : {fill::nan_a, fill::nan_b}) {
      auto before = arrange(x, larger[i], f, 2 * i);
      before.seed = flooding_seed(x, 20 + i);
      auto after = arrange(x, smaller[i], fill::integer, i);
      if (after.beta == 0.5) after.beta = 1;
      if (!x.affordable(before) || !x.affordable(after)) continue;
      if (x.check(after) && x.check(before) && !x.check(after, {.after = before})) {
        x.set_summary("a call with NaN leaves something behind for the next one");
        return false;
      }
    }
  }
  return true;
}

/// A scalar that is not finite makes every element what the definition gives. Not an infinite alpha: times a sum, times
/// each term or times a buffer with zeros at its end are different things.
template <element T>
void check_scalars(context<T>& x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  constexpr std::array<std::array<double, 2>, 8> scalars{
      {{nan, 0}, {nan, 1}, {1, nan}, {-1, nan}, {1, infinity}, {1, -infinity}, {0, nan}, {0, infinity}}};
  constexpr std::array<product_size, 2> sizes{{{9, 5, 4}, {67, 65, 33}}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (auto const& [alpha, beta] : scalars) {
      auto t = arrange(x, sizes[i], fill::normal, i);
      t.alpha = alpha, t.beta = beta;
      if (!outside(x.kernel().limits, t).empty()) continue;
      x.check(t);
      if (x.enough()) return;
    }
  }
}

/// NaN and infinities of C, where nothing is multiplied: beta C has them still.
template <element T>
void check_beta_alone(context<T>& x) {
  constexpr product_size size{67, 65, 33};
  std::size_t turn = 0;
  for (double const beta : {1.0, -2.0}) {
    for (auto const f : {fill::nan_a, fill::infinity_b}) {
      auto t = arrange(x, size, f, turn++);
      t.alpha = 0, t.beta = beta;
      if (outside(x.kernel().limits, t).empty()) x.check(t);
    }
    auto t = x.plain(size[0], size[1], 0, fill::nan_all, x.seed(6, turn++));
    t.beta = beta;
    if (outside(x.kernel().limits, t).empty()) x.check(t);
    if (x.enough()) return;
  }
}

/// What becomes of -0: any sum of zeros may have either sign, so this is only told.
template <element T>
void tell_signed_zeros(context<T>& x) {
  constexpr T zero = 0, one = 1;
  auto const sums = compute<T>(x, {64, 64, 64}, {{{0, -one, zero}}, {{0, -one, one}, {1, one, one}}});
  auto const t = x.plain(1, 1, 1, fill::normal, x.seed(5));
  auto const alone = x.call(t,
                            {std::vector<T>(static_cast<std::size_t>(t.m * t.k), -one),
                             std::vector<T>(static_cast<std::size_t>(t.k * t.n), zero),
                             {}},
                            {.quiet = true});
  if (!sums || !alone.finished()) return;
  auto const sign = [](T z) { return std::signbit(z) ? "-0" : "+0"; };
  x.add_fact("signed zeros", fmt::format("-1 * 0 alone gives {}, among other zeros {}; 1 - 1 gives {}",
                                         sign(alone.c.front()), sign(sums->at(0)), sign(sums->at(1))));
}

}  // namespace

template <element T>
void climb_special_values(context<T>& x) {
  std::vector<fill> fills{fill::nan_a, fill::nan_b, fill::infinity_a, fill::infinity_b};
  // f16 has its infinity at 65520, so what stays finite with it is another question.
  if (x.kernel().precision != precision::f16) fills.push_back(fill::overflow);
  // First of all, in a child that has seen no NaN; where something is left of one, nothing else can be told apart.
  x.restart();
  if (!check_after_nan(x)) return;
  for (std::size_t i = 0; i < fills.size() && !x.enough(); ++i) {
    check_fill(x, fills[i], i);
    if (x.level() != level::quick) check_large(x, fills[i], i);
  }
  if (!x.enough()) check_scalars(x);
  if (!x.enough()) check_beta_alone(x);
  tell_signed_zeros(x);
  auto const& r = x.report();
  if (r.calls == 0) return;
  bool const compensated = x.is_compensated();
  if (compensated) x.add_fact("infinities", "come out as NaN: sums are compensated");
  x.set_summary(r.failed > 0 ? "NaN, infinities or overflow are not where they must be"
                             : fmt::format("NaN, {} and overflow reach what they must, and nothing else",
                                           compensated ? "infinities (as NaN)" : "infinities"));
}

template void climb_special_values(context<float>&);
template void climb_special_values(context<double>&);

}  // namespace tandem::harness
