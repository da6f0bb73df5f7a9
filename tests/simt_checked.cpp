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

// Each kernel on one in `step` of the problems, and the next kernel on others; on all of them where all are asked for.
std::vector<harness::result> check_in_turns(std::vector<harness::test_case> const& cases,
                                            std::vector<kernel> const& rows, std::size_t step) {
  if (tests::thorough()) step = 1;
  std::vector<harness::result> all;
  for (std::size_t turn = 0; turn < step; ++turn) {
    auto const some =
        harness::check_in_processes(tests::in_turn(cases, step, turn), tests::in_turn(rows, step, turn), 0);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Products of one row, and of one column, in all transposes.
std::vector<harness::shape> lines() {
  std::vector<harness::shape> all;
  for (auto const type : {dtype::f32, dtype::f64})
    for (int trans = 0; trans < 4; ++trans)
      for (std::int64_t const length : {1, 2, 31, 33, 127, 128, 129, 257})
        for (std::int64_t const k : {1, 5, 127, 128, 129, 300, 1025})
          for (bool const row : {false, true})
            all.push_back({.m = row ? 1 : length,
                           .n = row ? length : 1,
                           .k = k,
                           .dtype = type,
                           .trans_a = (trans & 1) != 0,
                           .trans_b = (trans & 2) != 0});
  return all;
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
  auto results = check_in_turns(harness::make_cases(shapes, rows), rows, 17);
  // Of most of these problems gemv does not take the shape: it gets its own.
  std::vector<kernel> of_lines = rows;
  std::erase_if(of_lines, [](kernel const& row) { return row.technique() != "gemv"; });
  auto const more = check_in_turns(harness::make_cases(lines(), of_lines), of_lines, 7);
  results.insert(results.end(), more.begin(), more.end());
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
    CHECK(s.passed >= (tests::thorough() ? 500 : 25));
  }
}

TEST_SUITE_END();
