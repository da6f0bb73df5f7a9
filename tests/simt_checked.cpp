// Every GPU kernel under the executor's eye on odd shapes: no race, no stray access, no missing barrier, right results.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <tandem/harness/harness.hpp>
#include <tandem/simt/kernels.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

template <class T>
void run_axpy(kernel const& row, std::int64_t n, std::int64_t stride_x, std::int64_t stride_y) {
  auto const span = [&](std::int64_t stride) { return static_cast<std::size_t>((n - 1) * std::abs(stride) + 1); };
  std::vector<T> x(span(stride_x), T(2)), y(span(stride_y), T(3));
  auto const first = [&](std::vector<T>& v, std::int64_t stride) { return &v[stride < 0 ? v.size() - 1 : 0]; };
  axpy_problem p;
  p.dtype = row.dtype;
  p.n = n, p.alpha = 0.5;
  p.x = first(x, stride_x), p.stride_x = stride_x;
  p.y = first(y, stride_y), p.stride_y = stride_y;
  CHECK_NOTHROW(row.run_axpy(p, {}));
  CHECK(*first(y, stride_y) == 4);
}

}  // namespace

TEST_SUITE_BEGIN("checked SIMT kernels");

TEST_CASE("axpy has no defect on any stride") {
  if (auto const why = simt::checked_unavailable(); !why.empty()) return tests::skip(why);
  struct strides {
    std::int64_t n, x, y;
  };
  for (auto const& row : simt::checked_kernels())
    if (row.run_axpy)
      for (auto const& s : {strides{1, 1, 1}, {31, 1, 1}, {257, 1, 1}, {1000, 3, 2}, {255, -1, 1}, {513, 0, -2}}) {
        CAPTURE(row.name);
        CAPTURE(s.n);
        row.dtype == dtype::f32 ? run_axpy<float>(row, s.n, s.x, s.y) : run_axpy<double>(row, s.n, s.x, s.y);
      }
}

TEST_CASE("the kernels have no defect on odd shapes") {
  if (auto const why = simt::checked_unavailable(); !why.empty()) return tests::skip(why);
  std::vector<kernel> rows = simt::checked_kernels();
  std::erase_if(rows, [](kernel const& row) { return row.operation() != operation::gemm; });
  auto shapes = harness::read_shapes("shapes/odd.csv");
  for (auto const type : {dtype::f32, dtype::f64})  // blocks of stream_k get parts of two tiles
    for (bool const trans : {false, true})
      shapes.push_back({.m = 200, .n = 3, .k = 5000, .dtype = type, .trans_a = trans, .trans_b = !trans});
  auto cases = harness::make_cases(shapes, rows);
  if (!tests::thorough()) {  // every seventh, so that types, transposes and sizes keep changing
    std::vector<harness::test_case> some;
    for (std::size_t i = 0; i < cases.size(); i += 7) some.push_back(cases[i]);
    cases = some;
  }
  auto const results = harness::check_in_processes(cases, rows, 0);
  std::set<std::string> problems;
  for (auto const& r : results)
    if (r.verdict == harness::verdict::pass) problems.insert(to_string(r.test));
  MESSAGE(problems.size(), " problems, ", rows.size(), " kernels");
  CHECK(problems.size() >= (tests::thorough() ? 1000 : 100));
  INFO(harness::describe_failures(results));
  for (auto const& s : harness::summarize(results)) {
    CAPTURE(s.kernel);
    CAPTURE(s.reason);
    CHECK(s.verdict == harness::verdict::pass);
    // Of most problems gemv does not take the shape.
    bool const one_line = s.kernel.find(".gemv.") != std::string::npos;
    CHECK(s.passed >= (tests::thorough() ? 500 : 50) / (one_line ? 2 : 1));
  }
}

TEST_SUITE_END();
