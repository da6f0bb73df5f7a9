// Kernels that are wrong by very little, each in a way that one check alone can see: they show what is wrong with a
// harness that lacks it.
#include <cmath>
#include <limits>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

template <class T>
T below(T value) {
  return std::nextafter(value, -std::numeric_limits<T>::infinity());
}

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("one_unit_too_small", "stores the number below the right one, unless that is 0", "nn:5x6x7",
                     [](auto const& x) {
                       multiply(x);
                       for (index i = 0; i < x.p.m; ++i)
                         for (index j = 0; j < x.p.n; ++j)
                           if (x.c(i, j) != 0) x.c(i, j) = below(x.c(i, j));
                     });
  all.wrong_for_both("last_element_of_large_c", "is off by one unit in the last element of 101 x 101 or larger",
                     "nn:101x101x7", [](auto const& x) {
                       multiply(x);
                       auto& c = x.c(x.p.m - 1, x.p.n - 1);
                       if (x.p.m > 100 && x.p.n > 100 && c != 0) c = below(c);
                     });
  for (auto& row : all.rows) row.flop_budget = 2e7;  // less than Freivalds' check takes over from
  all.wrong<float>("one_element_of_large_products", "is off by one in an element of products of 10^8 flop and more",
                   "nn:371x370x369", [](operands<float> const& x) {
                     multiply(x);
                     if (2.0 * x.p.m * x.p.n * x.p.k > 1e8) x.c(x.p.m / 2, x.p.n / 3) += 1;
                   });
  all.wrong_for_both("infinite_only_with_c", "stores the largest number instead of an infinity where beta is 0",
                     "nn:8x8x8:alpha=2:fill=infinity_a:seed=4", [](auto const& x) {
                       multiply(x);
                       using element = typename std::decay_t<decltype(x)>::element;
                       constexpr auto most = std::numeric_limits<element>::max();
                       for (index i = 0; i < x.p.m && x.p.beta == 0; ++i)
                         for (index j = 0; j < x.p.n; ++j)
                           if (std::isinf(x.c(i, j))) x.c(i, j) = std::copysign(most, x.c(i, j));
                     });
  return all;
}

}  // namespace tandem::mutants
