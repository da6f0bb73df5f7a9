// What the hypotheses about a wrong C are held against: wrong elements of several calls, with the sums of their
// products; and what was found, from which the explanations are chosen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tandem/harness/bound.hpp>

#include "harness/guard.hpp"
#include "harness/hypotheses.hpp"

namespace tandem::harness {

/// A stored operand as the kernel sees it: elements at base + i row_step + j col_step, NaN in the gaps, canaries
/// around.
template <element T>
class stored_operand {
 public:
  stored_operand(storage const& s, std::vector<T> const& values)
      : row_step(s.by_rows ? s.ld : 1), col_step(s.by_rows ? 1 : s.ld), stored_(s), values_(&values) {}

  double operator[](std::int64_t at) const {
    if (at < 0) return std::numeric_limits<double>::quiet_NaN();
    std::int64_t const outer = at / stored_.ld, inner = at % stored_.ld;
    if (outer >= stored_.outer() || inner >= stored_.inner()) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>((*values_)[static_cast<std::size_t>(stored_.by_rows ? outer * stored_.cols + inner
                                                                                   : inner * stored_.cols + outer)]);
  }

  std::int64_t row_step, col_step;

 private:
  storage stored_;
  std::vector<T> const* values_;
};

/// What one call gives the hypotheses.
template <element T>
struct call_seen {
  observation<T> const* seen = nullptr;
  call_seen const* before = nullptr;  // the call just before it; null: not known
  stored_operand<T> a, b;
  double alpha, beta;

  call_seen(observation<T> const& o, call_seen const* previous)
      : seen(&o),
        before(previous),
        a(storage_a(o.test), o.data.a),
        b(storage_b(o.test), o.data.b),
        alpha(canonical_scalar(o.test.alpha)),
        beta(canonical_scalar(o.test.beta)) {}

  static double canonical_scalar(double x) { return static_cast<double>(static_cast<T>(x)); }
  double old(std::int64_t i, std::int64_t j) const {
    auto const& c = seen->data.c;
    return c.empty() ? 0 : static_cast<double>(c[static_cast<std::size_t>(i * seen->test.n + j)]);
  }
};

/// A wrong element, and the sums of its first p products for every p.
template <element T>
struct witness {
  call_seen<T> const* call = nullptr;
  std::int64_t i = 0, j = 0;
  double got = 0, old = 0, tolerance = 0, magnitude = 0, wanted = 0;
  std::vector<double> sums;  // k + 1 of them

  double product() const { return sums.back(); }
  double part_of_product() const { return call->alpha == 0 ? 0 : call->alpha * product(); }
  double part_of_old() const { return call->beta == 0 ? 0 : call->beta * old; }
  bool is(double value) const {
    if (std::isnan(value)) return std::isnan(got);
    if (value == got) return true;
    // A hypothesis may need one rounding more than the product, or be too large to be exact.
    return std::abs(got - value) <= tolerance + 4 * unit_roundoff(dtype_of<T>) * std::abs(value);
  }
};

/// A finding and which witnesses it explains.
struct finding {
  std::string text;
  failure_class what = failure_class::wrong_value;
  std::vector<bool> explains;
  std::int64_t considered = 0;  // those it says something about
  std::int64_t matched = 0;
  std::int64_t numbers = 0;  // matched that are not NaN

  double share() const { return considered == 0 ? 0 : static_cast<double>(matched) / static_cast<double>(considered); }
};

/// The sums of the first p products, with each element of A and of B changed.
template <element T, class F, class G>
std::vector<double> sums_of(witness<T> const& w, F of_a, G of_b) {
  auto const& t = w.call->seen->test;
  auto const& data = w.call->seen->data;
  std::vector<double> sums{0};
  if (!reads_operands(t)) return sums;
  sums.reserve(static_cast<std::size_t>(t.k) + 1);
  for (std::int64_t p = 0; p < t.k; ++p)
    sums.push_back(sums.back() + of_a(static_cast<double>(data.a[static_cast<std::size_t>(w.i * t.k + p)])) *
                                     of_b(static_cast<double>(data.b[static_cast<std::size_t>(p * t.n + w.j)])));
  return sums;
}

/// alpha times this sum, and beta C.
template <element T>
double update(witness<T> const& w, double sum) {
  return (w.call->alpha == 0 ? 0 : w.call->alpha * sum) + w.part_of_old();
}

/// The wrong elements of calls of one problem, at most some hundred of them, and the hypotheses that explain some.
template <element T>
class evidence {
 public:
  /// The value that an element would have; nothing where the hypothesis says nothing about it.
  using hypothesis = std::function<std::optional<double>(witness<T> const&)>;

  evidence(std::span<observation<T> const> calls, std::span<std::int64_t const> k_edges) : k_edges_(k_edges) {
    calls_.reserve(calls.size());  // witnesses point into it
    for (auto const& o : calls) calls_.emplace_back(o, calls_.empty() ? nullptr : &calls_.back());
    std::int64_t const most = most_witnesses();
    for (auto const& call : calls_) take_witnesses(call, most / std::ssize(calls_) + 1);
  }

  test_case const& test() const { return calls_.front().seen->test; }
  std::span<call_seen<T> const> calls() const { return calls_; }
  std::vector<witness<T>> const& witnesses() const { return witnesses_; }
  std::span<finding const> findings() const { return findings_; }
  /// The depths that the kernel's tiling declares.
  std::span<std::int64_t const> k_edges() const { return k_edges_; }

  /// Holds a hypothesis against every witness; one that gives nothing says nothing about that witness.
  finding evaluate(hypothesis const& value) const {
    finding f;
    std::vector<bool> silent;
    for (auto const& w : witnesses_) {
      auto const v = value(w);
      bool const right = v && w.is(*v);
      f.considered += v.has_value();
      f.matched += right;
      f.numbers += right && !std::isnan(w.got);
      f.explains.push_back(right);
      silent.push_back(!v);
    }
    // What holds wherever it can be seen is taken to hold elsewhere, too.
    if (f.share() >= 0.9)
      for (std::size_t x = 0; x < silent.size(); ++x) f.explains[x] = f.explains[x] || silent[x];
    return f;
  }

  /// Keeps a hypothesis that explains something; many different ones would read a gap's NaN, which says little.
  void propose(std::string text, failure_class what, hypothesis value) {
    finding f = evaluate(value);
    f.text = std::move(text);
    f.what = what;
    keep(std::move(f));
  }
  void propose(std::string text, hypothesis value) {
    propose(std::move(text), failure_class::wrong_value, std::move(value));
  }
  void keep(finding f) {
    if (f.numbers > 0 && f.share() >= 0.1) findings_.push_back(std::move(f));
  }

  /// Greedily: what explains most of the rest; of two that explain as many, the one that was tried first.
  std::vector<explanation> choose() {
    constexpr std::size_t most = 3;
    auto const size = std::ssize(witnesses_);
    std::vector<bool> left(witnesses_.size(), true);
    std::vector<explanation> chosen;
    while (chosen.size() < most) {
      finding const* best = nullptr;
      std::int64_t best_count = 0;
      for (auto const& f : findings_) {
        if (f.considered * 4 < size) continue;  // of too few
        std::int64_t count = 0;
        for (std::size_t x = 0; x < left.size(); ++x) count += left[x] && f.explains[x];
        if (best == nullptr || count > best_count + size / 20) best = &f, best_count = count;
      }
      auto const rest = std::ranges::count(left, true);
      if (best == nullptr || best_count == 0 || best_count * 10 < rest) break;
      for (std::size_t x = 0; x < left.size(); ++x) left[x] = left[x] && !best->explains[x];
      chosen.push_back({best->text, best->share(), best->what});
    }
    return chosen;
  }

 private:
  /// So many that the sums of products stay a few million, and each hypothesis costs little.
  std::int64_t most_witnesses() const {
    return std::clamp<std::int64_t>(200'000 / std::max<std::int64_t>(1, test().k), 12, 256);
  }

  void take_witnesses(call_seen<T> const& call, std::int64_t most) {
    auto const& o = *call.seen;
    std::vector<std::size_t> written;  // what was not written is not the result of anything
    for (auto const index : o.wrong)
      if (o.marks[index] != mark::untouched) written.push_back(index);
    auto const wrong = std::ssize(written);
    auto const count = std::min(most, wrong);
    for (std::int64_t s = 0; s < count; ++s) {
      auto const index = written[static_cast<std::size_t>(count > 1 ? s * (wrong - 1) / (count - 1) : 0)];
      auto const e = o.at(index);
      witness<T> w;
      w.call = &call;
      w.i = e.row, w.j = e.col;
      w.got = e.got, w.wanted = e.wanted;
      w.old = call.old(w.i, w.j);
      w.tolerance = 4 * o.bounds[index];
      w.magnitude = o.wanted.magnitude[index];
      w.sums = sums_of(
          w, [](double x) { return x; }, [](double x) { return x; });
      witnesses_.push_back(std::move(w));
    }
  }

  std::span<std::int64_t const> k_edges_;
  std::vector<call_seen<T>> calls_;
  std::vector<witness<T>> witnesses_;
  std::vector<finding> findings_;
};

}  // namespace tandem::harness
