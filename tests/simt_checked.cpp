// Every GPU kernel under the executor's eye on odd shapes: no race, no stray access, no missing barrier, right results.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <tandem/harness/harness.hpp>
#include <tandem/simt/kernels.hpp>

#include "tests/support.hpp"

using namespace tandem;

TEST_SUITE_BEGIN("checked SIMT kernels");

TEST_CASE("the kernels have no defect on odd shapes") {
  if (auto const why = simt::checked_unavailable(); !why.empty()) return tests::skip(why);
  std::vector<kernel> rows = simt::checked_kernels();
  std::erase_if(rows, [](kernel const& row) { return row.operation() != operation::gemm; });
  // The tiles' work is whole tiles', so a problem's flop say little of its time; these are done in a minute on 2 cores.
  harness::check_options options;
  options.flop_budget = 1e6;
  auto const cases = harness::make_cases(harness::read_shapes("shapes/odd.csv"), rows, {.edge_flops = 5e5});
  auto const results = harness::check_in_processes(cases, rows, 0, options);
  INFO(harness::describe_failures(results));
  std::set<std::string> problems;
  for (auto const& r : results)
    if (r.verdict == harness::verdict::pass) problems.insert(to_string(r.test));
  for (auto const& s : harness::summarize(results)) {
    CAPTURE(s.kernel);
    CAPTURE(s.reason);
    CHECK(s.verdict == harness::verdict::pass);
    CHECK(s.passed > 500);
  }
  MESSAGE(problems.size(), " problems, ", rows.size(), " kernels, no finding");
  CHECK(problems.size() >= 1000);
}

TEST_SUITE_END();
