// Terms missing, counted twice, of the panel before, or scalars applied once for each panel.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/hypotheses/hypotheses.hpp"

namespace tandem::harness {
namespace {

/// An interval of k that is missing, or counted twice.
struct interval {
  std::int64_t from = 0, to = 0;
  bool twice = false;
  auto operator<=>(interval const&) const = default;
};

template <element T>
double value_of(witness<T> const& w, interval const& x) {
  double const part = w.sums[static_cast<std::size_t>(x.to)] - w.sums[static_cast<std::size_t>(x.from)];
  return update(w, w.product() + (x.twice ? part : -part));
}

/// Those that give this witness's value.
template <element T>
void find_intervals(witness<T> const& w, bool twice, std::vector<interval>& out) {
  constexpr std::size_t most = 20'000;
  double const alpha = w.call->alpha;
  double const part = (twice ? 1 : -1) * (w.got - update(w, w.product())) / alpha;
  double const tolerance =
      (w.tolerance + 8 * unit_roundoff(dtype_of<T>) * std::abs(w.got)) / std::abs(alpha) + 1e-9 * std::abs(part);
  if (!std::isfinite(part)) return;
  std::vector<std::pair<double, std::int64_t>> ends;
  for (std::size_t p = 0; p < w.sums.size(); ++p) ends.emplace_back(w.sums[p], static_cast<std::int64_t>(p));
  std::ranges::sort(ends);
  for (std::size_t from = 0; from < w.sums.size() && out.size() < most; ++from) {
    auto const low = std::pair(w.sums[from] + part - tolerance, std::int64_t{0});
    for (auto end = std::ranges::lower_bound(ends, low);
         end != ends.end() && end->first <= w.sums[from] + part + tolerance && out.size() < most; ++end)
      if (end->second > static_cast<std::int64_t>(from))
        out.push_back({static_cast<std::int64_t>(from), end->second, twice});
  }
}

/// Zeros leave an interval's ends open; the ends of k, then round numbers are likelier.
template <element T>
int plausibility(evidence<T> const& e, interval const& x) {
  auto const k = e.test().k;
  auto const round = [&e, k](std::int64_t p) {
    if (p == 0 || p == k) return 12;
    for (auto const edge : e.k_edges())
      if (edge > 1 && p % edge == 0) return 11;
    return std::min(10, std::countr_zero(static_cast<std::uint64_t>(p)));
  };
  return round(x.from) + round(x.to);
}

template <element T>
std::string describe(evidence<T> const& e, interval const& x) {
  auto const k = e.test().k;
  auto const ends = x.to - x.from == 1 ? fmt::format("k {}", x.from) : fmt::format("k {}..{}", x.from, x.to - 1);
  if (x.twice)
    return fmt::format("{}, {}, is counted twice",
                       x.to == k     ? "the last K slice"
                       : x.from == 0 ? "the first K slice"
                                     : "the K block",
                       ends);
  if (x.to == k)
    return fmt::format("equals the product of the first {} of {} k: the last K slice is missing", x.from, k);
  if (x.from == 0)
    return fmt::format("equals the product of the last {} of {} k: the first K slice is missing", k - x.to, k);
  return fmt::format("the K block {} of {} is missing", ends, k);
}

}  // namespace

/// A scalar applied once for each panel of k.
template <element T>
void try_panels(evidence<T>& e) {
  auto const& first = e.calls().front();
  std::int64_t const k = reads_operands(e.test()) ? e.test().k : 0;
  // Of all depths that one which explains most, the kernel's own first.
  auto const best_depth = [&](std::string const& text, auto const& value) {
    std::optional<finding> found;
    auto const try_depth = [&](std::int64_t depth) {
      auto f = e.evaluate([&](witness<T> const& w) { return value(w, depth); });
      f.text = fmt::format("{} of {} k", text, depth);
      if (!found || f.matched > found->matched) found = std::move(f);
    };
    for (auto const depth : e.k_edges())
      if (depth > 0 && depth < k) try_depth(depth);
    for (std::int64_t depth = k - 1; depth >= 1; --depth) try_depth(depth);
    // Of so many depths some fits one or two numbers by chance.
    if (found && found->matched > 2) e.keep(std::move(*found));
  };
  auto const part = [k](witness<T> const& w, std::int64_t p, std::int64_t depth) {
    return w.sums[static_cast<std::size_t>(std::min(p + depth, k))] - w.sums[static_cast<std::size_t>(p)];
  };
  if (first.beta != 1 && first.beta != 0)
    best_depth("beta is applied once for each panel", [part, k](witness<T> const& w, std::int64_t depth) {
      double c = w.old;
      for (std::int64_t p = 0; p < k; p += depth) c = w.call->beta * c + w.call->alpha * part(w, p, depth);
      return c;
    });
  if (first.alpha != 1)
    best_depth("alpha is applied once for each panel", [part, k](witness<T> const& w, std::int64_t depth) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; p += depth) sum = w.call->alpha * (sum + part(w, p, depth));
      return sum + w.part_of_old();
    });
}

/// A panel of k computed with what the panel before it held, as of a buffer that is used before it is filled.
template <element T>
void try_old_panels(evidence<T>& e) {
  std::int64_t const k = reads_operands(e.test()) ? e.test().k : 0;
  std::set<std::int64_t> depths(e.k_edges().begin(), e.k_edges().end());
  for (std::int64_t depth = 2; depth <= 256; depth *= 2) depths.insert(depth);
  for (auto const depth : depths) {
    if (depth <= 0 || depth >= k) continue;
    for (auto const& [name, of_a, of_b] :
         {std::tuple("A", true, false), std::tuple("B", false, true), std::tuple("A and B", true, true)}) {
      // In every panel but the first, or in one only.
      auto const value = [depth = depth, of_a = of_a, of_b = of_b](witness<T> const& w, std::int64_t from,
                                                                   std::int64_t to) {
        auto const& t = w.call->seen->test;
        auto const& data = w.call->seen->data;
        double sum = w.sums[static_cast<std::size_t>(from)] + (w.product() - w.sums[static_cast<std::size_t>(to)]);
        for (std::int64_t p = from; p < to; ++p) {
          auto const pa = of_a ? p - depth : p, pb = of_b ? p - depth : p;
          sum += static_cast<double>(data.a[static_cast<std::size_t>(w.i * t.k + pa)]) *
                 static_cast<double>(data.b[static_cast<std::size_t>(pb * t.n + w.j)]);
        }
        return update(w, sum);
      };
      auto const text = fmt::format("{} are those of the panel before", name);
      e.propose(fmt::format("{}, in every panel of {} k but the first", text, depth),
                [=](witness<T> const& w) { return value(w, depth, k); });
      auto const panels = (k + depth - 1) / depth;
      // The second and the last: a schedule goes wrong at its ends, where it does not everywhere.
      for (auto const b : std::set<std::int64_t>{1, panels - 1}) {
        auto const from = b * depth, to = std::min(k, from + depth);
        if (panels > 2)
          e.propose(fmt::format("{}, in k {}..{}", text, from, to - 1),
                    [=](witness<T> const& w) { return value(w, from, to); });
      }
    }
  }
}

template <element T>
void try_intervals(evidence<T>& e) {
  constexpr std::size_t seeds = 6;
  if (!reads_operands(e.test())) return;
  std::set<interval> told;
  auto const count = std::min(seeds, e.witnesses().size());
  for (std::size_t s = 0; s < count; ++s)
    for (bool const twice : {false, true}) {
      std::vector<interval> candidates;
      find_intervals(e.witnesses()[s * (e.witnesses().size() - 1) / std::max<std::size_t>(1, count - 1)], twice,
                     candidates);
      // All of k is told by the scalars.
      std::erase_if(candidates, [&e](interval const& x) { return x.from == 0 && x.to == e.test().k; });
      std::optional<std::pair<std::int64_t, interval>> best;
      for (auto const& x : candidates) {
        std::int64_t matched = 0, looked = 0;
        for (auto const& w : e.witnesses()) {
          matched += w.is(value_of(w, x));
          if (++looked == 16 && matched < 2) break;  // its own witness only
        }
        auto const key = [&e](std::int64_t n, interval const& y) { return std::pair(n, plausibility(e, y)); };
        if (!best || key(matched, x) > key(best->first, best->second)) best.emplace(matched, x);
      }
      // With one or two witnesses, some interval fits by chance; only one that ends where k does is believed.
      if (!best || (best->first < 3 && best->second.to != e.test().k && best->second.from != 0)) continue;
      if (told.insert(best->second).second)
        e.propose(describe(e, best->second), [x = best->second](auto const& w) { return value_of(w, x); });
    }
}

template void try_panels(evidence<float>&);
template void try_panels(evidence<double>&);
template void try_intervals(evidence<float>&);
template void try_intervals(evidence<double>&);
template void try_old_panels(evidence<float>&);
template void try_old_panels(evidence<double>&);

}  // namespace tandem::harness
