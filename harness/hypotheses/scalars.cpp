// C as it was or of the call before, and alpha and beta taken for something else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/hypotheses/hypotheses.hpp"

namespace tandem::harness {
namespace {

std::string scalar(double x) { return fmt::format("{}", x); }

}  // namespace

/// C is what it was, or belongs to the call before.
template <element T>
void try_stale(evidence<T>& e) {
  if (!e.calls().front().seen->data.c.empty())
    e.propose("C is what it was before the call", failure_class::stale, [](auto const& w) { return w.old; });
  auto const from_before = [](auto of_call) {
    return [of_call](witness<T> const& w) -> std::optional<double> {
      if (w.call->before == nullptr) return std::nullopt;
      return of_call(w, *w.call->before->seen);
    };
  };
  e.propose("C is the result of the call before", failure_class::stale, from_before([](auto const& w, auto const& o) {
              return static_cast<double>(o.c[static_cast<std::size_t>(w.i * o.test.n + w.j)]);
            }));
  auto const mixed = [](auto const& w, operands<T> const& a, operands<T> const& b, test_case const& t) {
    double sum = 0;
    for (std::int64_t p = 0; p < t.k; ++p)
      sum += static_cast<double>(a.a[static_cast<std::size_t>(w.i * t.k + p)]) *
             static_cast<double>(b.b[static_cast<std::size_t>(p * t.n + w.j)]);
    return update(w, sum);
  };
  if (!reads_operands(e.test())) return;
  e.propose("A is that of the call before", from_before([mixed](auto const& w, auto const& o) {
              return mixed(w, o.data, w.call->seen->data, o.test);
            }));
  e.propose("B is that of the call before", from_before([mixed](auto const& w, auto const& o) {
              return mixed(w, w.call->seen->data, o.data, o.test);
            }));
  e.propose("A and B are those of the call before",
            from_before([mixed](auto const& w, auto const& o) { return mixed(w, o.data, o.data, o.test); }));
}

/// x A B + y C with other x and y than alpha and beta. Calls with several alphas tell alpha^2 from 2 alpha.
template <element T>
void try_scalars(evidence<T>& e) {
  using factor = double (*)(double alpha, double beta);
  using choice = std::pair<factor, std::string_view>;
  static constexpr choice for_product[] = {
      {[](double alpha, double) { return alpha; }, ""},
      {[](double, double) { return 1.0; }, "alpha is ignored"},
      {[](double alpha, double) { return alpha * alpha; }, "alpha is applied twice"},
      {[](double alpha, double) { return -alpha; }, "the product has the wrong sign"},
      {[](double alpha, double) { return std::abs(alpha); }, "the sign of alpha is lost"},
      {[](double, double) { return 0.0; }, "A B is missing"}};
  static constexpr choice for_old[] = {
      {[](double, double beta) { return beta; }, ""},
      {[](double, double) { return 0.0; }, "beta C is missing"},
      {[](double, double) { return 1.0; }, "beta is ignored: C is added as it is"},
      {[](double, double beta) { return beta * beta; }, "beta is applied twice"},
      {[](double alpha, double beta) { return alpha * beta; }, "beta C is multiplied by alpha too"},
      {[](double, double beta) { return -beta; }, "beta C has the wrong sign"}};
  bool const old = !e.calls().front().seen->data.c.empty();
  // One scalar wrong is simpler than two. What differs in no call from what was tried explains what that does.
  std::set<std::vector<double>> tried;
  for (bool const both : {false, true})
    for (auto const& [x, product_text] : for_product)
      for (auto const& [y, old_text] : for_old) {
        bool const two = !product_text.empty() && !old_text.empty();
        if (two != both || (!old && !old_text.empty())) continue;
        if (!reads_operands(e.test()) && !product_text.empty()) continue;
        std::vector<double> values;
        for (auto const& c : e.calls()) values.push_back(x(c.alpha, c.beta)), values.push_back(y(c.alpha, c.beta));
        if (!tried.insert(values).second || (product_text.empty() && old_text.empty())) continue;
        auto const text = two ? fmt::format("{}, and {}", product_text, old_text)
                              : std::string(product_text.empty() ? old_text : product_text);
        auto const what = product_text.empty() ? failure_class::stale : failure_class::wrong_value;
        auto const formula = old ? fmt::format(" (C = {} A B + {} C)", scalar(values[0]), scalar(values[1]))
                                 : fmt::format(" (C = {} A B)", scalar(values[0]));
        e.propose(text + formula, what, [x = x, y = y](auto const& w) {
          double const of_product = x(w.call->alpha, w.call->beta), of_old = y(w.call->alpha, w.call->beta);
          return (of_product == 0 ? 0 : of_product * w.product()) + (of_old == 0 ? 0 : of_old * w.old);
        });
      }
}

/// x A B + y C with any x or y.
template <element T>
void try_fitted_scalars(evidence<T>& e) {
  constexpr std::size_t fewest = 4;
  if (e.witnesses().size() < fewest) return;
  auto const fit = [&](auto const& solve, auto const& value, auto const& text) {
    std::optional<finding> best;
    for (std::size_t s = 0; s < std::min<std::size_t>(8, e.witnesses().size()); ++s) {
      double x = solve(e.witnesses()[s * (e.witnesses().size() - 1) / 7 % e.witnesses().size()]);
      if (!std::isfinite(x)) continue;
      // A wrong count is a round number.
      if (double const near = std::round(x * 64) / 64; std::abs(x - near) < 1e-3 * std::abs(x)) x = near;
      auto f = e.evaluate([&](witness<T> const& w) { return value(w, x); });
      f.text = text(x);
      if (!best || f.matched > best->matched) best = std::move(f);
    }
    if (best && best->matched >= static_cast<std::int64_t>(fewest)) e.keep(std::move(*best));
  };
  auto const times = [](double count, double right, std::string_view part, std::string_view matrix,
                        std::string_view name) {
    if (count == std::round(count) && count >= 2) return fmt::format("{} is counted {} times", part, count);
    return fmt::format("{} is multiplied by {:.6g} instead of {} = {}", matrix, count * right, name, right);
  };
  double const alpha = e.calls().front().alpha, beta = e.calls().front().beta;
  if (beta != 0)
    fit([](witness<T> const& w) { return (w.got - w.part_of_product()) / (w.call->beta * w.old); },
        [](witness<T> const& w, double y) { return w.part_of_product() + y * w.call->beta * w.old; },
        [=](double y) { return times(y, beta, "beta C", "C", "beta"); });
  if (alpha != 0)
    fit([](witness<T> const& w) { return (w.got - w.part_of_old()) / (w.call->alpha * w.product()); },
        [](witness<T> const& w, double x) { return x * w.call->alpha * w.product() + w.part_of_old(); },
        [=](double x) { return times(x, alpha, "A B", "A B", "alpha"); });
}

template void try_stale(evidence<float>&);
template void try_stale(evidence<double>&);
template void try_scalars(evidence<float>&);
template void try_scalars(evidence<double>&);
template void try_fitted_scalars(evidence<float>&);
template void try_fitted_scalars(evidence<double>&);

}  // namespace tandem::harness
