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
  auto const cases = harness::make_cases(harness::read_shapes("shapes/odd.csv"), rows);
  auto const results = harness::check_in_processes(cases, rows, 0);
  std::set<std::string> problems;
  for (auto const& r : results)
    if (r.verdict == harness::verdict::pass) problems.insert(to_string(r.test));
  MESSAGE(problems.size(), " problems, ", rows.size(), " kernels");
  CHECK(problems.size() >= 1000);
  INFO(harness::describe_failures(results));
  for (auto const& s : harness::summarize(results)) {
    CAPTURE(s.kernel);
    CAPTURE(s.reason);
    CHECK(s.verdict == harness::verdict::pass);
    CHECK(s.passed >= 500);
  }
}

TEST_SUITE_END();
