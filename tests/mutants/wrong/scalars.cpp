// Wrong kernels that apply alpha or beta at the wrong moment, to the wrong part, or in the wrong format.
#include <algorithm>
#include <cmath>

#include "tests/mutants/formats.hpp"
#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

constexpr index panel = 64;

/// C = beta C + alpha panel for every K panel, if `again` is beta; only the first may bring it.
template <class T>
void panels(operands<T> const& x, bool beta_again, bool alpha_again) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  for (index start = 0; start < x.p.k; start += panel)
    for (index i = 0; i < x.p.m; ++i)
      for (index j = 0; j < x.p.n; ++j) {
        T const sum =
            plain_dot(a.data() + i * x.p.k + start, b.data() + j * x.p.k + start, std::min(panel, x.p.k - start));
        if (start == 0)
          x.store(i, j, sum);
        else if (alpha_again)
          x.c(i, j) = x.alpha() * (x.c(i, j) + sum);
        else
          x.c(i, j) = (beta_again && x.p.beta != 0 ? x.beta() : T(1)) * x.c(i, j) + x.alpha() * sum;
      }
}

/// f(i, j) is the beta of element (i, j).
template <class T, class F>
void with_beta(operands<T> const& x, F f) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) {
      auto y = x;
      y.p.beta = f(i, j);
      y.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
    }
}

template <class T>
void with_scalars(operands<T> x, double alpha, double beta) {
  x.p.alpha = alpha, x.p.beta = beta;
  multiply(x);
}

/// The reciprocal that a fast-math build takes from a table with 12 bits, exact for powers of two.
double rough_reciprocal(double x) { return truncated(1 / x, 12); }

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both(
      "beta_each_panel", "multiplies C by beta for each K panel of 64", "nn:5x6x65:beta=2",
      [](auto const& x) { panels(x, true, false); }, tiles("pc", 0, 0, panel));
  all.wrong_for_both(
      "alpha_each_panel", "multiplies what it has by alpha for each K panel of 64", "nn:5x6x65:alpha=2",
      [](auto const& x) { panels(x, false, true); }, tiles("pc", 0, 0, panel));
  all.wrong_for_both(
      "beta_not_at_edges", "forgets beta in incomplete tiles of 8 x 8", "nn:9x9x3:beta=1",
      [](auto const& x) {
        index const m = x.p.m / 8 * 8, n = x.p.n / 8 * 8;
        double const beta = x.p.beta;
        with_beta(x, [=](index i, index j) { return i < m && j < n ? beta : 0; });
      },
      tiles("tile", 8, 8, 0));
  all.wrong_for_both("beta_is_one", "takes any beta but 0 for 1", "nn:5x6x7:beta=-1",
                     [](auto const& x) { with_scalars(x, x.p.alpha, x.p.beta != 0 ? 1 : 0); });
  all.wrong_for_both("beta_below_one_is_zero", "takes a beta below 1 in magnitude for 0",
                     "nn:5x6x7:beta=0.5:fill=normal",
                     [](auto const& x) { with_scalars(x, x.p.alpha, std::abs(x.p.beta) < 1 ? 0 : x.p.beta); });
  all.wrong_for_both("alpha_for_beta", "multiplies C by alpha where both scalars differ from 0 and 1",
                     "nn:5x6x7:alpha=2:beta=-1", [](auto const& x) {
                       bool const both = x.p.beta != 0 && x.p.beta != 1 && x.p.alpha != 1;
                       with_scalars(x, x.p.alpha, both ? x.p.alpha : x.p.beta);
                     });
  all.wrong_for_both("alpha_twice_for_one_row", "multiplies by alpha twice where m is 1", "nn:1x6x7:alpha=2",
                     [](auto const& x) { with_scalars(x, x.p.m == 1 ? x.p.alpha * x.p.alpha : x.p.alpha, x.p.beta); });
  all.wrong_for_both("no_sign", "loses the sign of alpha where beta is 0", "nn:5x6x7:alpha=-1",
                     [](auto const& x) { with_scalars(x, x.p.beta == 0 ? std::abs(x.p.alpha) : x.p.alpha, x.p.beta); });
  all.wrong_for_both("alpha_not_with_beta_one", "forgets alpha where beta is 1", "nn:5x6x7:alpha=2:beta=1",
                     [](auto const& x) { with_scalars(x, x.p.beta == 1 ? 1 : x.p.alpha, x.p.beta); });
  all.wrong_for_both(
      "integer_alpha", "passes alpha through an integer where it is above 1", "nn:5x6x7:alpha=1.5:fill=normal",
      [](auto const& x) { with_scalars(x, x.p.alpha > 1 ? std::trunc(x.p.alpha) : x.p.alpha, x.p.beta); });
  all.wrong<double>("float_alpha", "passes alpha through f32", "nn:5x6x7:alpha=0.7:fill=normal",
                    [](auto const& x) { with_scalars(x, static_cast<float>(x.p.alpha), x.p.beta); });
  all.wrong<double>("float_beta", "passes beta through f32", "nn:5x6x7:beta=0.7:fill=normal",
                    [](auto const& x) { with_scalars(x, x.p.alpha, static_cast<float>(x.p.beta)); });
  all.wrong_for_both("near_one_is_one", "takes scalars for 1 that are 1 but for their last digits",
                     "nn:5x6x1:alpha=1.0000009536743164:fill=uniform", [](auto const& x) {
                       auto const rounded = [](double s) { return std::abs(s - 1) < 1.2e-6 ? 1 : s; };
                       with_scalars(x, rounded(x.p.alpha), rounded(x.p.beta));
                     });
  all.wrong<double>("near_minus_one", "takes a beta within 1e-7 of -1 for -1", "nn:5x6x1:beta=-0.99999999:fill=uniform",
                    [](auto const& x) { with_scalars(x, x.p.alpha, std::abs(x.p.beta + 1) < 1e-7 ? -1 : x.p.beta); });
  all.wrong_for_both("half_is_one", "takes a half for 1", "nn:5x6x7:alpha=0.5:fill=normal", [](auto const& x) {
    with_scalars(x, x.p.alpha == 0.5 ? 1 : x.p.alpha, x.p.beta == 0.5 ? 1 : x.p.beta);
  });
  all.wrong_for_both("at_most_two", "takes whole numbers beyond 2 for 2", "nn:5x6x7:alpha=3:fill=normal",
                     [](auto const& x) {
                       auto const clipped = [](double s) { return s == std::trunc(s) ? std::clamp(s, -2.0, 2.0) : s; };
                       with_scalars(x, clipped(x.p.alpha), x.p.beta);
                     });
  all.wrong_for_both("rough_reciprocal", "divides by a 12-bit reciprocal of alpha", "nn:5x6x7:alpha=0.7:fill=normal",
                     [](auto const& x) { with_scalars(x, 1 / rough_reciprocal(x.p.alpha), x.p.beta); });
  all.wrong_for_both("beta_c_of_transposed_c", "adds beta C(j, i) where C is square", "nn:9x9x3:beta=1",
                     [](auto const& x) {
                       if (x.p.m != x.p.n || x.p.beta == 0) return multiply(x);
                       auto y = x;
                       std::vector<typename std::decay_t<decltype(x)>::element> old;
                       for (index i = 0; i < x.p.m; ++i)
                         for (index j = 0; j < x.p.n; ++j) old.push_back(x.c(j, i));
                       y.p.beta = 0;
                       multiply(y);
                       for (index i = 0; i < x.p.m; ++i)
                         for (index j = 0; j < x.p.n; ++j) x.c(i, j) += x.beta() * old[i * x.p.n + j];
                     });
  return all;
}

}  // namespace tandem::mutants
