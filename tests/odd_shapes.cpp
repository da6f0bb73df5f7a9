// Every kernel that can run here, on sizes that miss every tile: the harness's own problems and the odd shapes.
#include <doctest/doctest.h>

#include <vector>

#include <tandem/harness/harness.hpp>
#include <tandem/tandem.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

std::vector<kernel> rows_of(backend id) {
  std::vector<kernel> rows;
  for (auto const& row : kernel_table())
    if (row.backend == id && row.operation() == operation::gemm) rows.push_back(row);
  return rows;
}

void check_backend(backend id) {
  if (!tests::has_backend(id)) return;
  auto const rows = rows_of(id);
  REQUIRE(!rows.empty());
  harness::check_options options;
  options.flop_budget = 1e9;  // what is larger is the command's business: ./run check
  auto const shapes = harness::read_shapes("shapes/odd.csv");
  auto const cases = harness::make_cases(shapes, rows);
  // Under the executor this takes minutes: each kernel gets one in three, and the next kernel others.
  std::size_t const step = id == backend::simt && !tests::thorough() ? 3 : 1;
  std::vector<harness::result> results;
  for (std::size_t turn = 0; turn < step; ++turn) {
    auto const some = harness::check(tests::in_turn(cases, step, turn), tests::in_turn(rows, step, turn), options);
    results.insert(results.end(), some.begin(), some.end());
  }
  INFO(harness::describe_failures(results));
  for (auto const& s : harness::summarize(results)) {
    CAPTURE(s.kernel);
    CAPTURE(s.reason);
    if (s.verdict == harness::verdict::unavailable) {
      MESSAGE("skipped: ", s.kernel, ": ", s.reason);
      continue;
    }
    CHECK(s.verdict == harness::verdict::pass);
    CHECK(s.passed > (step == 1 ? 100 : 50));
  }
}

}  // namespace

TEST_SUITE_BEGIN("odd shapes");

TEST_CASE("the CPU's kernels are right on odd shapes") { check_backend(backend::cpu); }
TEST_CASE("the SIMT executor's kernels are right on odd shapes") { check_backend(backend::simt); }
TEST_CASE("persistent and tensor_core are right where they copy their operands first") {
  // tests/unit/simt_rows.cpp says which operands these are. They are large: each row gets one of them.
  std::vector<harness::shape> const shapes = {
      {.m = 1503, .n = 1501, .k = 600, .dtype = dtype::f32},
      {.m = 1503, .n = 1501, .k = 600, .dtype = dtype::f32, .trans_a = true, .trans_b = true},
      {.m = 1000, .n = 1536, .k = 1000, .dtype = dtype::f32}};
  harness::shape const in_double{.m = 2503, .n = 2501, .k = 400, .dtype = dtype::f64};
  harness::shape const by_warps{.m = 3003, .n = 3001, .k = 51, .dtype = dtype::f64, .trans_a = true};
  for (auto const id : {backend::simt, backend::gpu}) {
    if (!tests::has_backend(id)) continue;
    auto rows = rows_of(id);
    std::erase_if(
        rows, [](kernel const& row) { return row.technique() != "persistent" && row.technique() != "tensor_core"; });
    REQUIRE(rows.size() > shapes.size());
    for (std::size_t i = 0; auto& row : rows) {
      row.flop_budget = 1e10;
      auto const& shape = row.technique() == "tensor_core" ? by_warps
                          : row.dtype == dtype::f64        ? in_double
                                                           : shapes[i++ % shapes.size()];
      auto cases = harness::make_cases({&shape, 1}, {&row, 1});
      std::erase_if(cases, [](harness::test_case const& c) { return c.m < 1000; });
      REQUIRE(!cases.empty());
      auto const results = harness::check(cases, {&row, 1});
      INFO(harness::describe_failures(results));
      for (auto const& s : harness::summarize(results)) {
        CAPTURE(s.kernel);
        CHECK(s.verdict == harness::verdict::pass);
        CHECK(s.passed >= 1);
      }
    }
  }
}
TEST_CASE("the GPU's kernels are right on odd shapes") { check_backend(backend::gpu); }
TEST_CASE("the oracle is right on odd shapes") { check_backend(backend::oracle); }
TEST_CASE("Eigen is right on odd shapes") { check_backend(backend::eigen); }
TEST_CASE("OpenBLAS is right on odd shapes") { check_backend(backend::openblas); }
TEST_CASE("cuBLAS is right on odd shapes") { check_backend(backend::cublas); }

TEST_SUITE_END();
