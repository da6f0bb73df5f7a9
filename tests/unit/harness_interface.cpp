// L0: what a kernel has to do when there is little or nothing to multiply, and with arguments that are wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <tandem/kernels.hpp>

#include "harness/floating_control.hpp"
#include "tests/support.hpp"
#include "tests/unit/harness_planted.hpp"

using namespace tandem::harness;
using namespace harness_test;

namespace {

auto const interface = rung::interface;

template <class T>
candidate checking(std::string name) {
  auto out = planted<T>(std::move(name), [](element_access<T> const& x) {
    check_arguments(x.p);
    multiply_anything(x);
  });
  out.reports_errors = true;
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("harness: L0 interface");

TEST_CASE_TEMPLATE("a right kernel passes, whether it reports wrong arguments or not", T, float, double) {
  auto const j = climb(checking<T>("checking"), interface);
  CHECK_MESSAGE(j.passed(), reason_of(j, interface));
  CHECK(fact_of(j, interface, "wrong arguments") == "96 of 96 reported, nothing written");
  auto const unchecked = climb(planted<T>("unchecked", multiply_anything<T>), interface);
  CHECK(unchecked.passed());
  CHECK(fact_of(unchecked, interface, "wrong arguments").find("computed all the same") != std::string::npos);
}

TEST_CASE("our rows and the references pass") {
  for (auto const* const name :
       {"cpu.blocked.f32.64x64x64", "cpu.inner_product.f64", "oracle.gemm.f64", "eigen.gemm.f32"}) {
    auto const* const row = tandem::find_kernel(name);
    REQUIRE(row != nullptr);
    auto const j = climb(candidate_of(*row), interface);
    CHECK_MESSAGE(j.passed(), name, ": ", reason_of(j, interface));
  }
}

TEST_CASE("wrong arguments of an interface that reports none are told, not judged") {
  auto const exits = planted<float>("exits", [](element_access<float> const& x) {
    try {
      check_arguments(x.p);
    } catch (std::invalid_argument const&) {
      std::_Exit(7);
    }
    multiply_anything(x);
  });
  auto j = climb(exits, interface);
  CHECK(j.passed());
  CHECK(fact_of(j, interface, "wrong arguments") == "96 ended the process in order of 96");

  auto const crashes = planted<float>("crashes", [](element_access<float> const& x) {
    if (x.p.m < 0) *static_cast<int volatile*>(nullptr) = 1;
    multiply_anything(x);
  });
  j = climb(crashes, interface);
  CHECK(j.passed());
  CHECK(fact_of(j, interface, "wrong arguments").find("crashed") != std::string::npos);
  CHECK(fact_of(j, interface, "crashes on").find("m = -1") == 0);
}

TEST_CASE("a kernel that says that it reports wrong arguments must do so before it writes") {
  auto accepts = planted<float>("accepts", multiply_anything<float>);
  accepts.reports_errors = true;
  auto j = climb(accepts, interface);
  CHECK_FALSE(j.passed());
  auto const r = report_of(j, interface);
  REQUIRE(r.witness);
  CHECK((r.witness->what == failure_class::accepted || r.witness->what == failure_class::written_outside));

  auto late = planted<float>("late", [](element_access<float> const& x) {
    if (x.p.m > 0 && x.p.n > 0 && x.p.beta == 0) x.c(0, 0) = 0;
    check_arguments(x.p);
    multiply_anything(x);
  });
  late.reports_errors = true;
  j = climb(late, interface);
  CHECK(report_of(j, interface).verdict == rung_verdict::fail);
  CHECK_MESSAGE(reason_of(j, interface).find("C modified at (0, 0)") != std::string::npos, reason_of(j, interface));

  auto lax = planted<float>("lax", [](element_access<float> const& x) {
    auto p = x.p;
    p.ldb = std::max(p.ldb, p.trans_b ? p.k : p.n);  // forgives what is too small for B
    check_arguments(p);
    if (p.ldb == x.p.ldb) multiply_anything(x);
  });
  lax.reports_errors = true;
  j = climb(lax, interface);
  CHECK(report_of(j, interface).witness->what == failure_class::accepted);
  CHECK(reason_of(j, interface).find("was accepted") != std::string::npos);
}

TEST_CASE("C is not read where beta = 0, whatever the sign of that zero") {
  auto const reads = planted<float>("reads", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j)
        x.c(i, j) = (x.p.alpha == 0 ? 0 : x.alpha() * x.dot(i, j, x.p.k)) + x.beta() * x.c(i, j);
  });
  CHECK_FALSE(climb(reads, interface).passed());

  auto const reads_under_minus_zero = planted<float>("minus zero", [](element_access<float> const& x) {
    if (!std::signbit(x.p.beta)) return multiply_anything(x);
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j)
        x.c(i, j) = (x.p.alpha == 0 ? 0 : x.alpha() * x.dot(i, j, x.p.k)) + x.beta() * x.c(i, j);
  });
  CHECK_FALSE(climb(reads_under_minus_zero, interface).passed());
}

TEST_CASE("NaN in A and B does not get through alpha = 0") {
  auto const j = climb(planted<float>("multiplies all the same", multiply<float>), interface);
  CHECK(report_of(j, interface).verdict == rung_verdict::fail);
  CHECK(reason_of(j, interface).find("which must not be read") != std::string::npos);
}

TEST_CASE("k = 0 leaves beta C, not C and not nothing") {
  auto const returns = planted<float>("returns", [](element_access<float> const& x) {
    if (x.p.k > 0) multiply_anything(x);
  });
  CHECK_FALSE(climb(returns, interface).passed());
  auto const clears = planted<float>("clears", [](element_access<float> const& x) {
    if (x.p.k > 0) return multiply_anything(x);
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = 0;
  });
  CHECK_FALSE(climb(clears, interface).passed());
}

TEST_CASE("an empty C has no element that could be written") {
  auto const writes = planted<float>("writes", [](element_access<float> const& x) {
    if (x.p.m == 0) x.pc[0] = 0;
    multiply_anything(x);
  });
  auto const j = climb(writes, interface);
  CHECK_FALSE(j.passed());
  CHECK(reason_of(j, rung::memory).find("C") != std::string::npos);
}

TEST_CASE("alpha and beta are applied with their signs and their fractions") {
  auto const drops = [](double alpha, double beta) {
    return planted<float>("drops", [=](element_access<float> const& x) {
      auto y = x;
      if (x.p.alpha == static_cast<float>(alpha)) y.p.alpha = 1;
      if (x.p.beta == static_cast<float>(beta)) y.p.beta = 1;
      multiply_anything(y);
    });
  };
  constexpr double none = 99;
  for (double const x : {-1.0, 2.0, 0.7}) {
    CHECK_FALSE(climb(drops(x, none), interface).passed());
    CHECK_FALSE(climb(drops(none, x), interface).passed());
  }
}

TEST_CASE("the floating-point environment is left as it was") {
  if (floating_control::flush_to_zero == 0)
    return tandem::tests::skip("this processor's control register is not known");
  auto const flushes = planted<float>("flushes", [](element_access<float> const& x) {
    multiply_anything(x);
    floating_control::write(floating_control::read() | floating_control::flush_to_zero);
  });
  auto const j = climb(flushes, interface);
  CHECK_FALSE(j.passed());
  CHECK(reason_of(j, rung::memory).find(floating_control::name) != std::string::npos);
}

TEST_CASE("callers who flush subnormals get their control back, and leave no threads behind for others") {
  if (floating_control::flush_to_zero == 0)
    return tandem::tests::skip("this processor's control register is not known");
  judge_options options;
  options.level = level::quick;
  options.only = {rung::interface, rung::memory, rung::precision};
  options.diagnose = false;
  auto const usual = planted<float>("usual", [control = floating_control::read()](element_access<float> const& x) {
    multiply_anything(x);
    floating_control::write(control);
  });
  auto const left = judge(usual, options);
  CHECK_FALSE(left.passed());
  CHECK(reason_of(left, rung::memory).find("left") != std::string::npos);

  // As if threads had been made in the first call by one who flushes.
  auto const stays = planted<float>("stays", [](element_access<float> const& x) {
    static bool flushes = false;
    auto const control = floating_control::read();
    flushes = flushes || (control & floating_control::flush_to_zero) != 0;
    if (flushes) floating_control::write(control | floating_control::flush_to_zero);
    multiply_anything(x);
    floating_control::write(control);
  });
  CHECK(judge(stays, options).passed());
}

TEST_CASE("what the limits leave is tried, and nothing else") {
  auto narrow = planted<float>("narrow", [](element_access<float> const& x) {
    bool const taken = x.p.m % 8 == 0 && x.p.n % 8 == 0 && x.p.k % 8 == 0 && x.p.m * x.p.n * x.p.k > 0 &&
                       x.p.alpha == 1 && x.p.beta == 0 && !x.p.trans_a && x.p.trans_b;
    if (!taken) std::abort();
    multiply_anything(x);
  });
  narrow.limits = parse_limits("nt,row_major,multiple_of=8,alpha=1,beta=0,nonempty");
  auto const j = climb(narrow, interface);
  CHECK_MESSAGE(j.passed(), reason_of(j, interface));
}

TEST_SUITE_END();
