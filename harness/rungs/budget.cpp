// A few timed products.
#include "harness/rungs/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::harness {
namespace {

constexpr double seconds_of_budget = 4;
constexpr double largest_budget = 2e10;
constexpr double slow = 1;  // seconds
constexpr std::int64_t edge = 256;
constexpr int timed_calls = 3;

}  // namespace

template <element T>
flop_budget measure_budget(context<T>& x) {
  double const own = x.kernel().flop_budget;
  auto const t = x.plain(edge, edge, edge, fill::integer, x.seed(40));
  auto const data = draw<T>(t, x.kernel().precision);
  call_options quiet;
  quiet.quiet = true;
  double best = 0;
  for (int call = 0; call <= timed_calls; ++call) {
    auto const seen = x.call(t, data, quiet);
    if (!seen.finished()) return {own, fmt::format("{:.3g} flop; its speed could not be measured", own)};
    if (call == 0 && seen.how.seconds < slow) continue;  // it loads, allocates and starts threads
    best = best == 0 ? seen.how.seconds : std::min(best, seen.how.seconds);
    if (best >= slow) break;
  }
  double const speed = flops(t) / std::max(best, 1e-9);
  double const flop = std::clamp(speed * seconds_of_budget, own, std::max(own, largest_budget));
  return {flop, fmt::format("{:.3g} flop, by {:.3g} GFLOP/s at {}x{}x{}", flop, speed / 1e9, t.m, t.n, t.k)};
}

template flop_budget measure_budget<float>(context<float>&);
template flop_budget measure_budget<double>(context<double>&);

}  // namespace tandem::harness
