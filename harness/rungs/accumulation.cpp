// L7: the tree in which the kernel adds up its terms, and whether it predicts every bit. What is found is information;
// only a term that is left out or counted twice is a failure.
#include <cmath>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/probes.hpp"
#include "harness/reveal.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

/// What the rung may cost: a call, and all calls of a problem, in flop; and the longest sum.
struct effort {
  double call;
  std::int64_t k;
  std::int64_t edge;  // of m and n: large enough to hold tiles and their tails
};

effort effort_of(level l, double flop_budget) {
  switch (l) {
    case level::quick: return {std::min(1.2e7, flop_budget / 10), 512, 101};
    case level::standard: return {std::min(4e7, flop_budget / 4), 1000, 141};
    case level::full: return {std::min(2e8, flop_budget), 2000, 211};
  }
  return {};
}

// Fingerprints, repeats, and for each kind of element a few rounds of pivots, with C and without, take about forty
// calls. Kinds that are few elements take more, since these have to answer one after the other.
double calls_at(level l) { return l == level::quick ? 50 : l == level::standard ? 150 : 600; }

// A tree takes a second or two; what is none, from a slow kernel, took minutes.
double seconds_at(level l) { return l == level::full ? 120 : 12; }

/// The longest sum that leaves m and n room for tiles.
test_case shape_of(effort const& e, test_case t) {
  constexpr std::int64_t room = 61;
  double const least = 2.0 * static_cast<double>(room * room);
  t.k = e.k;
  while (t.k > 16 && least * static_cast<double>(t.k) > e.call) t.k = (t.k + 1) / 2;
  auto const edge = static_cast<std::int64_t>(std::sqrt(e.call / (2.0 * static_cast<double>(t.k))));
  t.m = t.n = std::clamp<std::int64_t>(edge, 8, e.edge);
  return t;
}

test_case with_sizes(test_case t, std::int64_t m, std::int64_t n) {
  t.m = m, t.n = n;
  t.lda = tight_lda(t), t.ldb = tight_ldb(t), t.ldc = tight_ldc(t);
  return t;
}

bool adds_alike(revelation const& x, revelation const& y) {
  auto const& l = x.regions.front();
  return y.regions.size() == 1 && y.regions.front().summary == l.summary && y.regions.front().sums == l.sums &&
         y.regions.front().bit_exact == l.bit_exact;
}

template <element T>
void add_facts(context<T>& x, revelation const& r) {
  for (auto const& region : r.regions) {
    bool const all = region.where == "everywhere";
    auto const name = [&](char const* what) {
      return all ? std::string(what) : fmt::format("{}: {}", region.where, what);
    };
    x.add_fact(name("tree"), region.summary);
    if (!region.sums.empty()) x.add_fact(name("sums"), region.sums);
    if (!region.epilogue.empty()) x.add_fact(name("C"), region.epilogue);
    if (region.tree) x.add_fact(name("model"), region.bit_exact ? "bit-exact" : "not bit-exact: " + region.misfit);
  }
  for (auto const& [what, value] : r.facts) x.add_fact(what, value);
}

/// A wrong count shows in the exact lane, too; its witness there can be replayed.
template <element T>
void fail_for(context<T>& x, revelation const& r) {
  auto t = r.test;
  t.fill = fill::integer;
  t.seed = x.seed(2);
  if (!x.check(t)) return;
  failure f;
  f.test = t;
  f.reason = r.defect;
  x.fail(std::move(f));
}

}  // namespace

template <element T>
void climb_accumulation(context<T>& x) {
  auto const e = effort_of(x.level(), x.kernel().flop_budget);
  auto const base = x.plain(1, 1, 1, fill::normal, x.seed(1));
  auto const sized = shape_of(e, base);
  auto const t = x.plain(sized.m, sized.n, sized.k, fill::normal, x.seed(1));
  try {
    auto const found = reveal_in(x, t, {.flop = calls_at(x.level()) * flops(t), .seconds = seconds_at(x.level())});
    add_facts(x, found);
    x.set_summary(found.summary());
    x.k_blocks = found.k_blocks;
    if (!found.defect.empty()) fail_for(x, found);
    if (x.level() == level::quick || x.enough()) return;
    // Other paths: products with a vector, and transposed operands.
    auto transposed = t;
    transposed.trans_a = transposed.trans_b = true;
    std::array<std::pair<char const*, test_case>, 3> const others{
        {{"m = 1", with_sizes(t, 1, t.k)}, {"n = 1", with_sizes(t, t.k, 1)}, {"tt", with_sizes(transposed, t.m, t.n)}}};
    for (auto const& [name, other] : others) {
      auto const there = x.adapted(other);
      if (!x.affordable(there) || (there.m == t.m && there.trans_a == t.trans_a)) continue;
      auto const r =
          reveal_in(x, there, {.flop = calls_at(x.level()) * flops(t) / 2, .seconds = seconds_at(x.level()) / 4});
      x.add_fact(name, adds_alike(found, r) ? "the same" : r.summary());
      if (!r.defect.empty()) fail_for(x, r);
    }
  } catch (probe_failed const& failed) {
    if (x.report().summary.empty()) x.set_summary(failed.what());
  }
}

template void climb_accumulation<float>(context<float>&);
template void climb_accumulation<double>(context<double>&);

}  // namespace tandem::harness
