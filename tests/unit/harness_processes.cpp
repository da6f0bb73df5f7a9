// A check in child processes against one in this process, and children that die.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <tandem/harness/harness.hpp>

#include "harness/result_bytes.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using call = harness_test::element_access<float>;
using harness_test::make_kernel;

namespace {

// A kernel that is right, but does `what` where m is 7.
template <class F>
tandem::kernel at_seven(std::string name, F what) {
  return make_kernel<float>(std::move(name), [what](call const& x) {
    harness_test::multiply(x);
    if (x.p.m == 7) what(x);
  });
}

std::vector<test_case> cases_up_to(std::int64_t most) {
  std::vector<test_case> cases;
  for (std::int64_t m = 1; m <= most; ++m) {
    test_case t;
    t.m = m, t.n = 3, t.k = 2, t.lda = 2, t.ldb = 3, t.ldc = 3, t.seed = 1;
    t.fill = m % 2 == 0 ? fill::normal : fill::integer;
    t.source = "a row";
    cases.push_back(t);
  }
  return cases;
}

std::string json_of(std::vector<result> results) {
  for (auto& r : results) r.seconds = 0;
  return to_json(results) + describe_failures(results, 1000);
}

}  // namespace

TEST_SUITE_BEGIN("harness: processes");

// First, while no OpenMP thread has been started here.
TEST_CASE("any number of processes gives the results of one, in the same order") {
  auto absent = harness_test::naive<float>();
  absent.name = "test.absent";
  absent.unavailable = [] { return "not here"; };
  auto picky = harness_test::naive<float>();
  picky.name = "test.picky";
  picky.refuses = [](tandem::problem const& p) { return p.m == 5 ? "m is 5" : ""; };
  auto wrong = at_seven("test.wrong", [](call const& x) {
    x.c(3, 1) = -std::numeric_limits<float>::quiet_NaN();
    x.c(4, 2) = std::numeric_limits<float>::infinity();
  });
  wrong.plan = [](tandem::problem const&) { return tandem::plan{{{"block", 2, 2, 1, "L2", true}}}; };
  auto const defect =
      at_seven("test.defect", [](call const&) { throw tandem::kernel_defect("a race\nand \xff another"); });
  auto const thrower = at_seven("test.thrower", [](call const&) { throw 1; });
  std::vector const kernels{absent, picky, wrong, defect, thrower};
  auto const cases = cases_up_to(20);
  check_options options{.peers = {harness_test::reversed<float>()}};
  std::size_t done = 0;
  options.progress = [&](std::size_t now, std::size_t total) {
    CHECK(now == ++done);
    CHECK(total == 20);
  };
  auto const several = check_in_processes(cases, kernels, 3, options);
  auto const many = check_in_processes(cases, kernels, 100, {.peers = options.peers});
  auto const one = json_of(check(cases, kernels, {.peers = options.peers}));
  CHECK(json_of(check_in_processes(cases, kernels, 1, {.peers = options.peers})) == one);
  CHECK(done == 20);
  CHECK(json_of(several) == one);
  CHECK(json_of(many) == one);
  CHECK(one.find("a race") != std::string::npos);
  CHECK(one.find("tile    block (1, 0)") != std::string::npos);
}

TEST_CASE("a kernel that ends its process is an error at that problem, and all else goes on") {
  auto const segv = at_seven("test.segv", [](call const&) {
    signal(SIGSEGV, SIG_DFL);  // doctest's own is for the tests
    raise(SIGSEGV);
  });
  auto const leaves = at_seven("test.leaves", [](call const&) { _exit(3); });
  std::vector const kernels{harness_test::naive<float>(), segv, leaves, harness_test::reversed<float>()};
  auto const cases = cases_up_to(20);
  auto const results = check_in_processes(cases, kernels, 2);
  REQUIRE(results.size() == 80);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto const& r = results[i];
    CAPTURE(r.kernel);
    CAPTURE(r.test.m);
    CHECK(r.kernel == kernels[i % 4].name);
    CHECK(r.test.m == static_cast<std::int64_t>(i / 4 + 1));
    bool const died = r.test.m == 7 && (i % 4 == 1 || i % 4 == 2);
    CHECK(r.verdict == (died ? verdict::error : verdict::pass));
  }
  CHECK(results[6 * 4 + 1].reason == "died of signal 11 (Segmentation fault)");
  CHECK(results[6 * 4 + 2].reason == "ended its process with exit code 3");
}

TEST_CASE("a kernel that never ends is an error at that problem, also with one process") {
  auto const hangs = at_seven("test.hangs", [](call const&) {
    for (;;) pause();
  });
  std::vector const kernels{harness_test::naive<float>(), hangs};
  for (int const jobs : {1, 2}) {
    auto const results = check_in_processes(cases_up_to(8), kernels, jobs, {.time_limit = 0.3});
    REQUIRE(results.size() == 16);
    for (std::size_t i = 0; i < results.size(); ++i)
      CHECK(results[i].verdict == (i == 13 ? verdict::error : verdict::pass));
    CHECK(results[13].reason == "not finished after 0.3 s");
  }
}

TEST_CASE("a kernel that ended a process at one problem runs again at the next, also where another one ends it there") {
  auto const dies_at = [](std::string name, std::int64_t m) {
    return make_kernel<float>(std::move(name), [m](call const& x) {
      harness_test::multiply(x);
      if (x.p.m == m) _exit(3);
    });
  };
  // With two processes, problems 3 and 7 are of one child.
  std::vector const kernels{dies_at("test.at_3", 3), dies_at("test.at_7", 7)};
  auto const results = check_in_processes(cases_up_to(8), kernels, 2);
  REQUIRE(results.size() == 16);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto const& r = results[i];
    CAPTURE(r.kernel);
    CAPTURE(r.test.m);
    CAPTURE(r.reason);
    bool const died = r.test.m == (i % 2 == 0 ? 3 : 7);
    CHECK(r.verdict == (died ? verdict::error : verdict::pass));
  }
}

TEST_CASE("a process that ends outside any kernel is an error without a kernel") {
  auto row = harness_test::naive<float>();
  row.unavailable = [] { return ""; };
  row.refuses = [](tandem::problem const& p) -> std::string {
    if (p.m == 7) raise(SIGKILL);
    return {};
  };
  auto const results = check_in_processes(cases_up_to(9), std::vector{row}, 2);
  REQUIRE(results.size() == 9);
  for (auto const& r : results) CHECK(r.verdict == (r.test.m == 7 ? verdict::error : verdict::pass));
  CHECK(results[6].kernel.empty());
  CHECK(results[6].reason == "outside any kernel, the check died of signal 9 (Killed)");
}

TEST_SUITE_END();
