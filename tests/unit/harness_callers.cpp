// What the judge says of several callers at once, of conjugate transposes, and of a budget that follows the speed.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/callers.hpp"
#include "tests/unit/harness_planted.hpp"

using namespace tandem::harness;
using namespace harness_test;

namespace {

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The product with op(A)'s rows in `rows`, which other callers may have as well.
void multiply_with(std::vector<float>& rows, element_access<float> const& x) {
  auto const k = static_cast<std::size_t>(x.p.k);
  if (rows.size() < static_cast<std::size_t>(x.p.m) * k) rows.resize(static_cast<std::size_t>(x.p.m) * k + 100000);
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t q = 0; q < x.p.k; ++q)
      rows[static_cast<std::size_t>(i) * k + static_cast<std::size_t>(q)] = x.p.alpha == 0 ? 0 : x.a(i, q);
  std::this_thread::yield();
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) {
      float sum = 0;
      for (std::int64_t q = 0; q < x.p.k && x.p.alpha != 0; ++q)
        sum += rows[static_cast<std::size_t>(i) * k + static_cast<std::size_t>(q)] * x.b(q, j);
      x.store(i, j, sum);
    }
}

candidate one_workspace(bool concurrent) {
  auto out = planted<float>("one workspace", [](element_access<float> const& x) {
    static std::vector<float> rows(1 << 22);
    multiply_with(rows, x);
  });
  out.concurrent = concurrent;
  return out;
}

candidate guarded_workspace() {
  auto out = planted<float>("guarded workspace", [](element_access<float> const& x) {
    static std::mutex mutex;
    static std::vector<float> rows;
    std::scoped_lock const lock(mutex);
    multiply_with(rows, x);
  });
  out.concurrent = true;
  return out;
}

/// Does `what` while another caller is inside.
template <class F>
candidate at_the_second_caller(bool concurrent, F what) {
  auto out = planted<float>("counts its callers", [what](element_access<float> const& x) {
    static std::atomic<int> inside = 0;
    struct visit {
      int before = inside++;
      ~visit() { --inside; }
    } const mine;
    if (mine.before > 0) what();
    multiply_anything(x);
    std::this_thread::yield();
  });
  out.concurrent = concurrent;
  return out;
}

judgement climb_l8(candidate const& kernel) {
  judge_options options;
  options.level = level::quick;
  options.only = {rung::determinism};
  options.diagnose = false;
  options.time_limit = 2;
  return judge(kernel, options);
}

std::string said_of_callers(judgement const& j) { return fact_of(j, rung::determinism, "callers at once"); }

/// A right function with CBLAS's signature, to which `meaning` says what an option means: 111, 112, or 0 for nothing.
template <class F>
candidate cblas_with(F meaning) {
  return cblas_candidate(
      "cblas", [meaning](int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a,
                         int lda, float const* b, int ldb, float beta, float* c, int ldc) {
        int const ta = meaning(trans_a), tb = meaning(trans_b);
        if (ta == 0 || tb == 0 || m < 0 || n < 0 || k < 0) return;
        tandem::problem p;
        bool const rows = layout == 101;
        p.m = rows ? m : n, p.n = rows ? n : m, p.k = k, p.alpha = alpha, p.beta = beta;
        p.a = rows ? a : b, p.lda = rows ? lda : ldb, p.trans_a = (rows ? ta : tb) == 112;
        p.b = rows ? b : a, p.ldb = rows ? ldb : lda, p.trans_b = (rows ? tb : ta) == 112;
        p.c = c, p.ldc = ldc;
        if (p.lda < (p.trans_a ? p.m : p.k) || p.ldb < (p.trans_b ? p.k : p.n) || p.ldc < p.n) return;
        multiply_anything(element_access<float>{p});
      });
}

std::string said_of_conjugates(candidate const& kernel) {
  auto const j = climb(kernel, rung::interface);
  CHECK(j.passed());
  return fact_of(j, rung::interface, "CblasConjTrans");
}

}  // namespace

TEST_SUITE_BEGIN("harness: callers at once");

TEST_CASE("a problem's line says how many callers there are") {
  auto const t = parse_case("f32:nt:9x8x7:callers=4:threads=2");
  CHECK(t.callers == 4);
  CHECK(to_string(t).ends_with(":threads=2:callers=4"));
  CHECK(to_string(parse_case(to_string(t))) == to_string(t));
  CHECK(to_string(parse_case("f32:nt:9x8x7:callers=1")).ends_with(":callers=1"));
  CHECK_FALSE(has(to_string(parse_case("f32:nt:9x8x7")), "callers"));
  for (auto const* line : {"f32:nn:9x8x7:callers=0", "f32:nn:9x8x7:callers=65", "f32:nn:9x8x7:callers=2:beta=1",
                           "f32:nn:9x8x7:callers=2:fill=normal", "f32:nn:9x9x9:callers=2:b=a"})
    CHECK_THROWS_AS(parse_case(line), std::invalid_argument);
}

TEST_CASE("a function that wants an address even of what it does not read fails L0, and is judged by the other rungs") {
  auto const usual = cblas_with([](int trans) { return trans; });
  candidate proud = usual;
  proud.run = [usual](gemm_call const& x) {
    return x.test.seed % 2 == 1 && !reads_operands(x.test) ? std::abort(), 0 : usual.run(x);
  };
  judge_options options;
  options.level = level::quick;
  options.diagnose = false;
  options.only = {rung::interface, rung::exact, rung::special_values, rung::scale};
  auto const j = judge(proud, options);
  for (auto const& r : j.rungs)
    if (std::ranges::find(options.only, r.rung) != options.only.end())
      CHECK_MESSAGE((r.verdict == rung_verdict::fail) == (r.rung == rung::interface), to_string(r.rung));
}

TEST_CASE("callers have data of their own, and are told when one gets another's product, none, or half of one") {
  std::vector<float> const a(6, 3), b(6, 1);
  std::vector<float> c(4, 9);
  gemm_call alone;
  alone.test = parse_case("f32:nn:2x2x3:callers=4");
  alone.a = a.data(), alone.b = b.data(), alone.c = c.data();
  auto const right = planted<float>("right", multiply_anything<float>);
  CHECK(call_at_once(right, alone) == "");
  for (double const factor : {-2.0, 0.0, 0.5}) {  // the second caller's, nothing, and another's A or B
    auto const wrong = planted<float>("wrong", [factor](element_access<float> const& x) {
      multiply_anything(x);
      if (x.a(0, 0) == 3) x.c(1, 1) *= static_cast<float>(factor);
    });
    auto const said = call_at_once(wrong, alone);
    CHECK_MESSAGE(has(said, "caller 1 of 4, call 1: C(1, 1) is "), said);
    CHECK_MESSAGE(has(said, ", 9 belongs there"), said);
  }
  auto const lazy = planted<float>("lazy", [](element_access<float> const&) {});
  CHECK(has(call_at_once(lazy, alone), "C(0, 0) is nan"));
  auto const throws = planted<float>("throws", [](element_access<float> const&) { throw std::runtime_error("no"); });
  CHECK(has(call_at_once(throws, alone), "threw: no"));
}

TEST_CASE("a caller alone calls again and again, and says which call was wrong") {
  std::vector<float> const a(6, 3), b(6, 1);
  std::vector<float> c(4, 9);
  gemm_call alone;
  alone.test = parse_case("f32:nn:2x2x3:callers=1");
  alone.a = a.data(), alone.b = b.data(), alone.c = c.data();
  int calls = 0;
  auto const fifth_is_wrong = planted<float>("fifth", [&calls](element_access<float> const& x) {
    multiply_anything(x);
    if (++calls == 5) x.c(1, 0) += 1;
  });
  CHECK(call_at_once(fifth_is_wrong, alone) == "call 5 in a row: C(1, 0) is 10, 9 belongs there");
  calls = 5;
  CHECK(call_at_once(fifth_is_wrong, alone) == "");
  CHECK(calls >= 5 + 24);
}

TEST_CASE("half of the callers compute fewer rows now and then, unless the limits forbid it") {
  std::vector<float> const a(40, 3), b(20, 1);
  std::vector<float> c(32, 15);
  gemm_call alone;
  alone.test = parse_case("f32:nn:8x4x5:callers=2");
  alone.a = a.data(), alone.b = b.data(), alone.c = c.data();
  std::atomic<bool> fewer = false;
  auto kernel = planted<float>("looks", [&fewer](element_access<float> const& x) {
    if (x.p.m < 8) fewer = true;
    multiply_anything(x);
  });
  CHECK(call_at_once(kernel, alone) == "");
  CHECK(fewer);
  fewer = false;
  kernel.limits = parse_limits("multiple_of=8");
  CHECK(call_at_once(kernel, alone) == "");
  CHECK_FALSE(fewer);
}

TEST_CASE("a workspace that callers share is a fact, and a failure of a kernel that promises that it bears them") {
  auto const shy = climb_l8(one_workspace(false));
  CHECK(shy.passed());
  CHECK_MESSAGE(has(said_of_callers(shy), "belongs there; nothing else is promised"), said_of_callers(shy));

  auto const j = climb_l8(one_workspace(true));
  CHECK_FALSE(j.passed());
  auto const r = report_of(j, rung::determinism);
  REQUIRE(r.witness);
  CHECK(r.witness->what == failure_class::disturbed);
  CHECK(r.witness->test.callers > 1);
  CHECK(has(r.witness->replay, ":callers="));

  auto const guarded = climb_l8(guarded_workspace());
  CHECK(guarded.passed());
  CHECK_MESSAGE(has(said_of_callers(guarded), "each got its own"), said_of_callers(guarded));
}

TEST_CASE("a kernel that is wrong only when it is called again and again fails, whatever it promises") {
  // As one is that goes another way once its threads are awake.
  auto const hurried = planted<float>("hurried", [](element_access<float> const& x) {
    static auto last = std::chrono::steady_clock::now();
    static int in_a_row = 0;
    multiply_anything(x);
    auto const now = std::chrono::steady_clock::now();
    in_a_row = now - std::exchange(last, now) < std::chrono::microseconds(500) ? in_a_row + 1 : 0;
    if (in_a_row > 200) x.c(0, 0) += 1;
  });
  auto const j = climb_l8(hurried);
  CHECK_FALSE(j.passed());
  auto const r = report_of(j, rung::determinism);
  REQUIRE(r.witness);
  CHECK(r.witness->what == failure_class::disturbed);
  CHECK(r.witness->test.callers == 1);
  CHECK(has(fact_of(j, rung::determinism, "calls in a row"), " in a row: C(0, 0) is "));
  judge_options options;
  options.diagnose = false;
  CHECK(replay(hurried, r.witness->test, options));
  CHECK(fact_of(climb_l8(guarded_workspace()), rung::determinism, "calls in a row").ends_with("each call got its own"));
}

TEST_CASE("a crash and a hang of callers at once are told, and judged where the kernel promises to bear them") {
  for (bool const promised : {false, true}) {
    auto const crashes = climb_l8(at_the_second_caller(promised, [] { std::abort(); }));
    CHECK(crashes.passed() == !promised);
    CHECK_MESSAGE(has(said_of_callers(crashes), "callers at once"), said_of_callers(crashes));
    CHECK(has(said_of_callers(crashes), "signal"));
    auto const hangs = climb_l8(at_the_second_caller(promised, [] {
      while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
    }));
    CHECK(hangs.passed() == !promised);
    CHECK_MESSAGE(has(said_of_callers(hangs), "not finished after"), said_of_callers(hangs));
  }
}

TEST_CASE("replay runs callers at once, of kernels that promise to bear them") {
  auto t = parse_case("f32:nn:64x48x40:callers=4");
  judge_options options;
  options.diagnose = false;
  bool seen = false;
  for (int i = 0; i < 20 && !seen; ++i, ++t.seed) seen = replay(one_workspace(true), t, options).has_value();
  CHECK(seen);
  CHECK_FALSE(replay(guarded_workspace(), t, options));
  CHECK_THROWS_AS(replay(one_workspace(false), t, options), std::invalid_argument);
}

TEST_CASE("a failure that only several callers see is said to need them") {
  auto kernel = at_the_second_caller(true, [] { throw std::runtime_error("one at a time"); });
  auto const failed = replay(kernel, parse_case("f32:nn:64x48x40:callers=4"));
  REQUIRE(failed);
  CHECK(failed->what == failure_class::disturbed);
  CHECK_MESSAGE(has(failed->pattern, "several callers at once"), failed->pattern);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: conjugate transposes");

TEST_CASE("what a function makes of CblasConjTrans is told, and never judged") {
  CHECK(said_of_conjugates(cblas_with([](int option) { return option == 111 ? 111 : 112; })) ==
        "is taken as a transpose");
  CHECK(said_of_conjugates(cblas_with([](int option) { return option == 113 ? 0 : option; })) == "is refused");
  CHECK(said_of_conjugates(cblas_with([](int option) {
          return option == 112 ? 112 : 111;
        })).starts_with("gives another result: "));
  auto const crashing = cblas_with([](int option) {
    if (option == 113) std::abort();
    return option;
  });
  CHECK(has(said_of_conjugates(crashing), "signal"));
  auto no_transposes = cblas_with([](int option) { return option; });
  no_transposes.limits = parse_limits("nn");
  CHECK(said_of_conjugates(no_transposes) == "not tried: the kernel takes no transposes");
  CHECK(fact_of(climb(planted<float>("plain", multiply_anything<float>), rung::interface), rung::interface,
                "CblasConjTrans") == "");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: a budget that follows the speed");

namespace {

std::string said_of_budget(candidate const& kernel) {
  return fact_of(climb(kernel, rung::determinism), rung::determinism, "flop budget of a problem");
}

}  // namespace

TEST_CASE("a fast function gets what Tandem's own rows get, a slow one what it has, and neither where it is settled") {
  auto fast = planted<float>("fast", [](element_access<float> const&) {});
  fast.budget_follows_speed = true;
  CHECK_MESSAGE(said_of_budget(fast).starts_with("2e+10 flop, by "), said_of_budget(fast));

  auto slow = planted<float>("slow", [](element_access<float> const& x) {
    if (x.p.m >= 256 && x.p.n >= 256) return std::this_thread::sleep_for(std::chrono::milliseconds(300));
    multiply_anything(x);
  });
  slow.budget_follows_speed = true;
  CHECK_MESSAGE(said_of_budget(slow).starts_with("1e+09 flop, by 0.1"), said_of_budget(slow));

  auto dies = planted<float>("dies", [](element_access<float> const& x) {
    if (x.p.m >= 256) std::abort();
    multiply_anything(x);
  });
  dies.budget_follows_speed = true;
  CHECK(said_of_budget(dies) == "1e+09 flop; its speed could not be measured");

  fast.budget_follows_speed = false;
  CHECK(said_of_budget(fast) == "");
}

TEST_SUITE_END();
