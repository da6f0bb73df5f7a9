// The checks that people use today, on kernels that are right, obviously wrong, or end their process.
#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include <tandem/harness/candidate.hpp>

#include "tests/mutants/todays_checks.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem;
using namespace tandem::mutants;
using harness::candidate_of;
using harness_test::make_kernel;

namespace {

template <class T>
using call = harness_test::element_access<T>;

/// A right kernel, after which `what` may spoil C.
template <class T, class F>
harness::candidate spoiled(F what) {
  return candidate_of(make_kernel<T>("test.spoiled", [what](call<T> const& x) {
    harness_test::multiply(x);
    what(x);
  }));
}

}  // namespace

TEST_SUITE_BEGIN("today's checks");

TEST_CASE("each has a name of its own and says where it comes from") {
  std::set<std::string> names;
  for (auto const& check : todays_checks()) {
    CHECK(names.insert(check.name).second);
    CHECK(check.source.size() > 40);
  }
  CHECK(names.size() >= 8);
}

TEST_CASE("each accepts a sum in a wider format") {
  for (auto const& check : todays_checks()) {
    CAPTURE(check.name);
    for (auto const& kernel :
         {candidate_of(harness_test::wide_sum<float>()), candidate_of(harness_test::wide_sum<double>())}) {
      auto const opinion = check.ask(kernel);
      CHECK(opinion.accepted);
      CHECK(opinion.reason == "");
    }
  }
}

TEST_CASE_TEMPLATE("each refuses zeros, NaN in one element, and C untouched", T, float, double) {
  auto const zeros = spoiled<T>([](call<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = 0;
  });
  auto const one_nan = spoiled<T>([](call<T> const& x) { x.c(x.p.m - 1, 0) = std::numeric_limits<T>::quiet_NaN(); });
  auto const nothing = candidate_of(make_kernel<T>("test.nothing", [](call<T> const&) {}));
  for (auto const& check : todays_checks()) {
    CAPTURE(check.name);
    CHECK_FALSE(check.ask(zeros).accepted);
    CHECK_FALSE(check.ask(one_nan).accepted);
    CHECK_FALSE(check.ask(nothing).accepted);
  }
}

TEST_CASE("a kernel that ends its process or throws is refused with a reason") {
  auto const& check = todays_checks().front();
  CHECK(check.ask(spoiled<float>([](call<float> const&) { std::abort(); })).reason == "died of signal 6");
  CHECK(check.ask(spoiled<float>([](call<float> const&) { std::_Exit(0); })).reason == "ended its process");
  auto const thrown = check.ask(spoiled<float>([](call<float> const&) { throw std::runtime_error("no"); }));
  CHECK(thrown.reason.ends_with("threw: no"));
}

TEST_CASE("what each is known to let pass") {
  // Half an element in 36864 is wrong, which no norm sees.
  auto const one_wrong = spoiled<float>([](call<float> const& x) {
    if (x.p.k > 1000) x.c(0, 0) *= 1.0001f;
  });
  auto const passes = [](std::string const& name, harness::candidate const& kernel) {
    for (auto const& check : todays_checks())
      if (check.name == name) return check.ask(kernel).accepted;
    FAIL("no such check");
    return false;
  };
  CHECK(passes("MAGMA's norm bound", one_wrong));
  // The last of many products is missing.
  auto const last_missing = candidate_of(make_kernel<float>("test.last", [](call<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, x.dot<double>(i, j, x.p.k - 1));
  }));
  CHECK_FALSE(passes("allclose at 1e-2", last_missing));
  CHECK_FALSE(passes("CUTLASS's unit tests", last_missing));
}

TEST_CASE("a kernel of declared precision is held against operands of that precision") {
  auto rounds = make_kernel<float>("test.bf16", [](call<float> x) {
    auto const cut = [](float v) {
      return std::ldexp(std::nearbyint(std::ldexp(v, -std::ilogb(v) + 7)), std::ilogb(v) - 7);
    };
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q)
          if (x.a(i, q) != 0 && x.b(q, j) != 0) sum += static_cast<double>(cut(x.a(i, q))) * cut(x.b(q, j));
        x.store(i, j, static_cast<float>(sum));
      }
  });
  rounds.flop_budget = 1e6;
  auto declared = candidate_of(rounds);
  declared.precision = harness::precision::bf16;
  for (auto const& check : todays_checks()) {
    CAPTURE(check.name);
    CHECK(check.ask(declared).reason == "");
  }
  CHECK_FALSE(todays_checks().front().ask(candidate_of(rounds)).accepted);
}

TEST_SUITE_END();
