// What the benchmark measures of the machine, its operands and its ratios.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tools/bench/fma_peak.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/operands.hpp"
#include "tools/bench/report.hpp"

using namespace tandem;

TEST_SUITE_BEGIN("bench: limits");

TEST_CASE("the clock and the FMA peak are a processor's") {
  double const clock = bench::clock_hz();
  CHECK(clock > 0.2e9);
  CHECK(clock < 10e9);
  // 1 to 128 flop a cycle (4 multiply-adds of 16 floats) as the clock was, which may have changed since.
  double const peak = bench::fma_peak(dtype::f32, 1);
  CHECK(peak > 0.5 * clock);
  CHECK(peak < 2 * 128 * clock);
  CHECK(bench::fma_peak(dtype::f64, 1) < peak);
}

TEST_CASE("a limit is flop over the peak, or bytes over their rates, whichever is longer") {
  bench::byte_rates const rates{.read = 4, .store = 2, .update = 1};  // bytes a second
  problem p{.dtype = dtype::f64, .m = 3, .n = 5, .k = 7};
  CHECK(bench::gemm_limit(p, 10, rates).fma_seconds == 2.0 * 3 * 5 * 7 / 10);
  CHECK(bench::gemm_limit(p, 10, rates).byte_seconds == 8.0 * (3 * 7 + 7 * 5) / 4 + 8.0 * 3 * 5 / 2);
  p.beta = -1;
  CHECK(bench::gemm_limit(p, 10, rates).byte_seconds == 8.0 * (3 * 7 + 7 * 5) / 4 + 8.0 * 3 * 5 / 1);
  CHECK(bench::axpy_limit({.n = 1000}, 10, rates).fma_seconds == 200);
  CHECK(bench::axpy_limit({.n = 1000}, 10, rates).byte_seconds == 4000.0 / 4 + 4000.0 / 1);
  for (bench::limit const l :
       {bench::limit{.fma_seconds = 1, .byte_seconds = 2}, {.fma_seconds = 2, .byte_seconds = 1}}) {
    CHECK(l.seconds() == 2);
    CHECK(std::string(l.binding()) == (l.fma_seconds == 2 ? "fma" : "bytes"));
  }
}

TEST_CASE("plain loops move bytes, of small sets and of large ones") {
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{1} << 14, std::size_t{1} << 26}) {
    auto const& rates = bench::measured_bytes(bytes, 1);
    for (double const rate : {rates.read, rates.store, rates.update}) {
      CHECK(rate > 1e8);
      CHECK(rate < 1e13);
    }
  }
}

TEST_CASE("a ring has the same numbers in places of their own, and one set is enough for hot operands") {
  bench::operand_ring const ring({5, 7}, dtype::f64, memory::host, [](std::size_t stride) {
    CHECK(stride == 64 + 64);
    return std::size_t{8};
  });
  CHECK(ring.sets() == 8);
  CHECK(ring.bytes() == 8 * 128);
  auto const* const first = static_cast<double const*>(ring.data(0, 1));
  auto const* const last = static_cast<double const*>(ring.data(7, 1));
  CHECK(first != last);
  CHECK(std::equal(first, first + 7, last));
  CHECK(!std::equal(first, first + 5, static_cast<double const*>(ring.data(0, 0))));
}

TEST_CASE("between two uses of a ring's set lies twice the cache, as far as there is memory") {
  std::size_t const plenty = 1000000;
  CHECK(bench::sets_over(0, 100, plenty) == 1);
  CHECK(bench::sets_over(400, 100, plenty) == 1 + 8);
  CHECK(bench::sets_over(401, 100, plenty) == 1 + 9);
  CHECK(bench::sets_over(400, 5000, plenty) == 2);
  CHECK(bench::sets_over(400, 100, 350) == 3);
  CHECK(bench::sets_over(400, 100, 50) == 1);
}

TEST_CASE("operands longer than what was drawn go on with it, A and B from different places") {
  std::int64_t const drawn = (1 << 22) - 3, length = drawn + 1000;
  bench::operand_ring const ring({length, 1000}, dtype::f32, memory::host, [](std::size_t) { return std::size_t{1}; });
  auto const* const a = static_cast<float const*>(ring.data(0, 0));
  auto const* const b = static_cast<float const*>(ring.data(0, 1));
  CHECK(std::equal(a, a + 1000, a + drawn));
  CHECK(std::equal(b, b + 1000, a + 1'000'003));
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < drawn; ++i) sum += a[i], squares += a[i] * a[i];
  CHECK(std::abs(sum / drawn) < 0.002);
  CHECK(squares / drawn == doctest::Approx(1).epsilon(0.005));
}

TEST_CASE("plain calls are held against the best plain call, handles against all") {
  bench::subject const ours{.name = "ours", .ours = true}, slow{.name = "slow"}, fast{.name = "fast"},
      generated{.name = "generated", .handle = true};
  auto plan = ours;
  plan.name = "plan", plan.handle = true;
  bench::match m{.m = 10, .n = 10, .k = 10};
  m.bound.fma_seconds = 1;
  for (auto const& [who, seconds] : {std::pair{&ours, 3.0},
                                     {static_cast<bench::subject const*>(&plan), 3.0},
                                     {&slow, 4.0},
                                     {&fast, 2.0},
                                     {&generated, 1.5}})
    m.them.push_back({.who = who, .seconds = {seconds}});
  CHECK(bench::best_peer(m, m.them[0])->who == &fast);
  CHECK(bench::best_peer(m, m.them[1])->who == &generated);

  bench::report r(bench::report::lines::contender, {{"contenders", nlohmann::json::array()}});
  r.add(m);
  m.them[0].seconds = {1.0};  // the second: twice the best peer's rate, which now is at 95 % of its limit
  m.them[3].seconds = {2.0};
  m.bound.fma_seconds = 1.9;
  r.add(m);
  auto const summary = r.json()["summary"];
  REQUIRE(summary.size() == 2);
  CHECK(summary[0]["kernel"] == "ours");
  CHECK(summary[0]["geometric_mean"].get<double>() == doctest::Approx(std::sqrt(2.0 / 3 * 2)));
  CHECK(summary[0]["geometric_mean_with_peer_under_90_percent"].get<double>() == doctest::Approx(2.0 / 3));
  CHECK(summary[0]["matches_with_peer_under_90_percent"] == 1);
  CHECK(summary[0]["worst"].get<double>() == doctest::Approx(2.0 / 3));
  CHECK(summary[0]["worst_match"] == "10x10x10 beta 0");
  CHECK(summary[0]["below_0.97"] == 1);
}

TEST_SUITE_END();
