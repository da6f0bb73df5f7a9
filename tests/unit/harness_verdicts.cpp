// What the harness says about right and wrong kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include <tandem/error.hpp>
#include <tandem/harness/harness.hpp>

#include "harness/compare.hpp"
#include "harness/fill.hpp"
#include "harness/freivalds.hpp"
#include "harness/guard.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using harness_test::element_access;
using harness_test::make_kernel;
using tandem::dtype;
using tandem::layout;

namespace {

test_case make_case(std::int64_t m, std::int64_t n, std::int64_t k, fill f = fill::integer, double beta = 0,
                    std::int64_t gap = 3) {
  test_case t;
  t.m = m, t.n = n, t.k = k, t.fill = f, t.beta = beta;
  t.lda = k + gap, t.ldb = n + gap, t.ldc = n + gap;
  t.seed = 1;
  return t;
}

template <class T = float>
result check_one(test_case t, tandem::kernel const& row, check_options const& options = {}) {
  t.dtype = tandem::dtype_of<T>;
  auto const results = check(std::vector{t}, std::vector{row}, options);
  REQUIRE(results.size() == 1);
  return results[0];
}

/// The naive kernel, and `spoil` after it.
template <class T = float, class F>
tandem::kernel spoiled(F spoil) {
  return make_kernel<T>("test.spoiled", [spoil](element_access<T> const& x) {
    harness_test::multiply(x);
    spoil(x);
  });
}

bool contains(std::string const& text, std::string const& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

/// A seed whose C lies at the start of its pages, where there is room for canaries behind it.
test_case with_room_behind_c(test_case t) {
  while (lies_at_end(t.seed, 2)) ++t.seed;
  return t;
}

float tf32(float x) {  // 10 bits of fraction, rounded to nearest
  auto const bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

}  // namespace

TEST_SUITE_BEGIN("harness: right kernels pass");

TEST_CASE_TEMPLATE("three ways to sum pass every generated problem", T, float, double) {
  std::vector<tandem::kernel> kernels{harness_test::naive<T>(), harness_test::reversed<T>(),
                                      harness_test::wide_sum<T>()};
  kernels[0].plan = [](tandem::problem const&) {
    return tandem::plan{{{"block", 32, 24, 8, ""}, {"register", 6, 8, 0, ""}}};
  };
  auto const results = check(make_cases({}, kernels), kernels, {.peers = {kernels[1]}});
  CHECK(results.size() > 800);
  std::size_t compared = 0;
  for (auto const& r : results) {
    INFO(describe(r));
    REQUIRE(r.verdict == verdict::pass);
    REQUIRE(r.method == method::full);
    REQUIRE(r.rows_checked == r.test.m);
    compared += r.peers.size();
  }
  CHECK(compared == results.size() / 3 * 2);
}

TEST_CASE("B in A's memory is one matrix to the kernel") {
  bool same = false;
  auto const row = make_kernel<float>("test.same", [&same](element_access<float> const& x) {
    same = x.p.a == x.p.b;
    harness_test::multiply(x);
  });
  for (auto const* line : {"f32:nn:9x9x9:lda=12:beta=1:b=a", "f32:nt:9x9x33:b=a", "f32:tn:ccc:9x9x33:b=a"}) {
    CHECK(check_one(parse_case(line), row).verdict == verdict::pass);
    CHECK(same);
  }
  CHECK(check_one(parse_case("f32:nn:9x9x9"), row).verdict == verdict::pass);
  CHECK_FALSE(same);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: wrong kernels fail");

TEST_CASE("the tail of k dropped") {
  auto const row = make_kernel<float>("test.tail", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, x.dot(i, j, x.p.k / 8 * 8));
  });
  for (auto const f : {fill::integer, fill::normal}) {
    CHECK(check_one(make_case(9, 10, 16, f), row).verdict == verdict::pass);
    auto const r = check_one(make_case(9, 10, 17, f), row);
    CHECK(r.verdict == verdict::fail);
    contains(r.reason, f == fill::integer ? "differ from the exact product" : "exceed the bound");
  }
}

TEST_CASE("one wrong element, and where it is") {
  for (auto const l : {layout::row_major, layout::col_major}) {
    auto t = make_case(20, 30, 10);
    t.layout_c = l;
    t.ldc = 40;
    auto const r = check_one(t, spoiled([l](element_access<float> const& x) {
                               // A kernel computes the transpose of a column-major C.
                               (l == layout::row_major ? x.c(7, 11) : x.c(11, 7)) += 1;
                             }));
    CHECK(r.verdict == verdict::fail);
    CHECK(r.reason == "1 of 600 elements differ from the exact product");
    CHECK(r.wrong_elements == 1);
    CHECK(r.worst.row == 7);
    CHECK(r.worst.col == 11);
    CHECK(r.worst.got == r.worst.wanted + 1);
    CHECK(r.worst.error == 1);
    CHECK(r.worst.bound == 0);
  }
}

TEST_CASE("NaN and infinity written") {
  for (auto const f : {fill::integer, fill::normal}) {
    auto const nan = check_one(make_case(6, 5, 4, f), spoiled([](element_access<float> const& x) { x.c(2, 3) = NAN; }));
    CHECK(nan.verdict == verdict::fail);
    contains(nan.reason, ", 1 are NaN");
    CHECK(nan.worst.row == 2);
    CHECK(nan.worst.col == 3);
    auto const inf =
        check_one(make_case(6, 5, 4, f), spoiled([](element_access<float> const& x) { x.c(2, 3) = INFINITY; }));
    CHECK(inf.verdict == verdict::fail);
    CHECK(inf.wrong_elements == 1);
  }
}

TEST_CASE("C read although beta = 0") {
  auto const row = make_kernel<float>("test.reads", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = x.alpha() * x.dot(i, j, x.p.k) + x.beta() * x.c(i, j);
  });
  auto const r = check_one(make_case(6, 5, 4), row);
  CHECK(r.verdict == verdict::fail);
  contains(r.reason, "30 of 30 elements differ from the exact product, 30 are NaN; C was read although beta = 0");
  CHECK(check_one(make_case(6, 5, 4, fill::integer, 1), row).verdict == verdict::pass);
}

TEST_CASE("beta ignored, and beta applied to each panel of k") {
  auto const ignored = make_kernel<float>("test.ignores", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = x.alpha() * x.dot(i, j, x.p.k);
  });
  auto const panels = make_kernel<float>("test.panels", [](element_access<float> const& x) {
    for (std::int64_t pc = 0; pc < x.p.k; pc += 8)
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t j = 0; j < x.p.n; ++j)
          x.store(i, j, x.dot(i, j, std::min<std::int64_t>(pc + 8, x.p.k)) - x.dot(i, j, pc));
  });
  for (auto const f : {fill::integer, fill::normal}) {
    CHECK(check_one(make_case(6, 5, 8, f), ignored).verdict == verdict::pass);
    CHECK(check_one(make_case(6, 5, 8, f, 2), ignored).verdict == verdict::fail);
    CHECK(check_one(make_case(6, 5, 8, f, 2), panels).verdict == verdict::pass);
    CHECK(check_one(make_case(6, 5, 17, f, 2), panels).verdict == verdict::fail);
  }
}

TEST_CASE("the gap between rows written") {
  auto const row = spoiled([](element_access<float> const& x) { x.c(2, x.p.n + 1) = 0; });
  auto const r = check_one(make_case(6, 5, 4), row);
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "gap of C written, 2 elements past the end of row 2");
  auto t = make_case(6, 5, 4);
  t.layout_c = layout::col_major, t.ldc = 9;
  CHECK(check_one(t, row).reason == "gap of C written, 2 elements past the end of column 2");
}

TEST_CASE("the gap between rows read") {
  auto const r = check_one(make_case(6, 5, 4), make_kernel<float>("test.gap", [](element_access<float> const& x) {
                             for (std::int64_t i = 0; i < x.p.m; ++i)
                               for (std::int64_t j = 0; j < x.p.n; ++j)
                                 x.store(i, j, x.dot(i, j, x.p.k) + (i + 1 < x.p.m ? 0 * x.a(i, x.p.k) : 0));
                           }));
  CHECK(r.verdict == verdict::fail);
  contains(r.reason, "a NaN comes from a gap of A");
}

TEST_CASE("an input modified, even to the same effect, and restored for the next kernel") {
  auto const a = spoiled([](element_access<float> const& x) { const_cast<float*>(x.pa)[x.p.lda + 2] += 1; });
  auto const b = spoiled([](element_access<float> const& x) { const_cast<float*>(x.pb)[x.p.ldb + 2] += 1; });
  auto const gap = spoiled([](element_access<float> const& x) { const_cast<float*>(x.pb)[x.p.n] = 0; });
  auto const results = check(std::vector{make_case(6, 5, 4)}, std::vector{a, b, gap, harness_test::naive<float>()});
  REQUIRE(results.size() == 4);
  CHECK(results[0].reason == "A modified at (1, 2)");
  CHECK(results[1].reason == "B modified at (1, 2)");
  CHECK(results[2].reason == "gap of B written, 1 elements past the end of row 0");
  for (std::size_t i = 0; i < 3; ++i) CHECK(results[i].verdict == verdict::fail);
  CHECK(results[3].verdict == verdict::pass);
}

TEST_CASE("C untouched, in whole or in part") {
  auto const r = check_one(make_case(6, 5, 4), make_kernel<float>("test.nothing", [](element_access<float> const&) {}));
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "30 of 30 elements differ from the exact product, 30 are NaN; 30 elements untouched");
  auto const last = check_one(make_case(6, 5, 4), make_kernel<float>("test.last_row", [](element_access<float> x) {
                                --x.p.m;
                                harness_test::multiply(x);
                              }));
  contains(last.reason, "; 5 elements untouched");
  CHECK(check_one(make_case(6, 5, 4, fill::integer, 1),
                  make_kernel<float>("test.nothing", [](element_access<float> const&) {}))
            .verdict == verdict::fail);
}

TEST_CASE("an operand taken for its transpose") {
  auto const row = make_kernel<float>("test.transposed", [](element_access<float> x) {
    x.p.trans_b = !x.p.trans_b;
    harness_test::multiply(x);
  });
  for (auto const f : {fill::integer, fill::normal})
    CHECK(check_one(make_case(7, 7, 7, f), row).verdict == verdict::fail);
}

TEST_CASE("an error just over the bound, while one just under it passes") {
  auto const off_by = [](double part) {
    return make_kernel<float>("test.off", [part](element_access<float> const& x) {
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t j = 0; j < x.p.n; ++j) {
          double exact = 0, magnitude = 0;
          for (std::int64_t q = 0; q < x.p.k; ++q) {
            double const product = static_cast<double>(x.a(i, q)) * static_cast<double>(x.b(q, j));
            exact += product;
            magnitude += std::abs(product);
          }
          bool const off = i == 3 && j == 4;
          x.c(i, j) = static_cast<float>(exact + (off ? part * tandem::harness::gamma(66, dtype::f32) * magnitude : 0));
        }
    });
  };
  CHECK(check_one(make_case(6, 5, 64, fill::normal), off_by(0.99)).verdict == verdict::pass);
  auto const r = check_one(make_case(6, 5, 64, fill::normal), off_by(1.01));
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "1 of 30 elements exceed the bound");
  CHECK(r.worst.row == 3);
  CHECK(r.worst.col == 4);
  CHECK(r.worst.error > r.worst.bound);

  // To the last bit: an error of exactly the bound passes, the next larger number does not.
  tandem::reference::wide_product const wide{{0}, {}, {1}};
  std::vector<std::int64_t> const rows{0};
  float const at = 0x1p-20F, over = std::nextafter(at, 1.0F);
  CHECK(compare<float>(std::vector{at}, 1, rows, wide, 0x1p-20).wrong == 0);
  CHECK(compare<float>(std::vector{over}, 1, rows, wide, 0x1p-20).wrong == 1);
  CHECK(compare<float>(std::vector{-over}, 1, rows, wide, 0x1p-20).wrong == 1);
  CHECK(compare<float>(std::vector{over}, 1, rows, wide, std::numeric_limits<double>::infinity()).wrong == 1);
}

TEST_CASE("inputs rounded to TF32, at k up to 64") {
  auto const row = make_kernel<float>("test.tf32", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q) sum += tf32(x.a(i, q)) * tf32(x.b(q, j));
        x.store(i, j, sum);
      }
  });
  for (std::int64_t const k : {1, 4, 16, 33, 64}) {
    CAPTURE(k);
    CHECK(check_one(make_case(16, 16, k, fill::normal), row).verdict == verdict::fail);
  }
}

TEST_CASE("bytes around C overwritten within the slack") {
  auto const behind = spoiled([](element_access<float> const& x) { x.pc[(x.p.m - 1) * x.p.ldc + x.p.n] = 0; });
  auto const r = check_one(with_room_behind_c(make_case(6, 5, 4)), behind);
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "byte 1 past the end of C overwritten");
  auto t = with_room_behind_c(make_case(6, 5, 4));
  t.offset_c = 2;
  auto const before = check_one(t, spoiled([](element_access<float> const& x) { x.pc[-1] = 0; }));
  CHECK(before.verdict == verdict::fail);
  CHECK(before.reason == "byte 1 before the start of C overwritten");
}

TEST_CASE("several faults are all named") {
  auto const r = check_one(make_case(6, 5, 4), spoiled([](element_access<float> const& x) {
                             x.c(2, x.p.n) = 0;
                             x.c(1, 1) += 1;
                             const_cast<float*>(x.pa)[0] += 1;
                           }));
  CHECK(r.reason ==
        "A modified at (0, 0); gap of C written, 1 elements past the end of row 2; "
        "1 of 30 elements differ from the exact product");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: verdicts");

TEST_CASE("what a kernel throws becomes its verdict, and C must be as it was") {
  auto const throwing = [](auto thrown) {
    return make_kernel<float>("test.throws", [thrown](element_access<float> const&) { throw thrown; });
  };
  auto const t = make_case(6, 5, 4);
  CHECK(check_one(t, throwing(tandem::error(tandem::errc::unsupported, "u"))).verdict == verdict::unsupported);
  // Only a kernel that says so before it runs is unavailable; otherwise its other problems would be left out.
  CHECK(check_one(t, throwing(tandem::error(tandem::errc::unavailable, "u"))).verdict == verdict::error);
  auto const device = check_one(t, throwing(tandem::error(tandem::errc::device, "it broke")));
  CHECK(device.verdict == verdict::error);
  CHECK(device.reason == "it broke");
  CHECK(check_one(t, throwing(std::runtime_error("other"))).reason == "other");
  CHECK(check_one(t, throwing(5)).verdict == verdict::error);

  auto row = harness_test::naive<float>();
  row.refuses = [](tandem::problem const&) { return std::string("not this one"); };
  auto const refused = check_one(t, row);
  CHECK(refused.verdict == verdict::unsupported);
  contains(refused.reason, "not this one");

  auto const writes = check_one(t, spoiled([](element_access<float> const&) { throw std::runtime_error("too late"); }));
  CHECK(writes.verdict == verdict::fail);
  CHECK(writes.reason == "C modified at (0, 0), after it threw: too late");
}

TEST_CASE("a kernel that never ran has not passed") {
  auto const row = make_kernel<float>("test.refuses", [](element_access<float> const&) {
    throw tandem::error(tandem::errc::unsupported, "not today");
  });
  auto const results = check(std::vector{make_case(6, 0, 4), make_case(6, 5, 0), make_case(6, 5, 4)}, std::vector{row});
  auto const summary = summarize(results);
  REQUIRE(summary.size() == 1);
  CHECK(summary[0].passed == 2);
  CHECK(summary[0].computed == 0);
  CHECK(summary[0].verdict == verdict::unsupported);
}

TEST_CASE("alpha and beta are judged as rounded to the element type") {
  // Folding the rounded alpha into A is right to the last unit, which an oracle with the unrounded alpha would refuse.
  auto const row = make_kernel<float>("test.folded", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q) sum += static_cast<float>(x.p.alpha) * x.a(i, q) * x.b(q, j);
        x.c(i, j) = sum + static_cast<float>(x.p.beta) * x.c(i, j);
      }
  });
  auto t = make_case(400, 400, 1, fill::normal, 0.3);
  t.alpha = -1.3;
  auto const r = check_one(t, row);
  CHECK(r.verdict == verdict::pass);
  CHECK(r.worst.error <= r.worst.bound * (1.0 + 1e-12));
}

TEST_CASE("a kernel that does not say how it cuts is tried past the usual edges") {
  auto const short_sums = make_kernel<float>("test.short", [](element_access<float> const& x) {
    harness_test::multiply(x);
    if (x.p.k > 64) x.c(0, 0) += 1;
  });
  auto const tail_rows = make_kernel<float>("test.tail", [](element_access<float> const& x) {
    harness_test::multiply(x);
    if (x.p.m > 200) x.c(x.p.m - 1, 0) += 1;
  });
  for (auto const& row : {short_sums, tail_rows}) {
    std::vector const rows{row};
    CHECK(summarize(check(make_cases({}, rows), rows))[0].verdict == verdict::fail);
  }
}

TEST_CASE("a kernel that is wrong only on whole tiles is caught") {
  auto row = make_kernel<float>("test.whole", [](element_access<float> const& x) {
    harness_test::multiply(x);
    if (x.p.m % 32 == 0 && x.p.n % 32 == 0 && x.p.k % 8 == 0) x.c(0, 0) += 1;
  });
  row.plan = [](tandem::problem const&) { return tandem::plan{{{.name = "block", .m = 32, .n = 32, .k = 8}}}; };
  std::vector const rows{row};
  CHECK(summarize(check(make_cases({}, rows), rows))[0].verdict == verdict::fail);
}

TEST_CASE("a kernel that is wrong where a block that depends on the other sizes first ends is caught") {
  auto const block = [](std::int64_t k) { return 60000 / k; };
  auto row = make_kernel<float>("test.panel", [block](element_access<float> const& x) {
    harness_test::multiply(x);
    if (x.p.n > block(x.p.k)) x.c(0, x.p.n - 1) += 1;
  });
  row.plan = [block](tandem::problem const& p) {
    return tandem::plan{{{.name = "jc", .m = 0, .n = std::min(block(p.k), p.n), .k = 0}}};
  };
  std::vector const rows{row};
  CHECK(summarize(check(make_cases({}, rows), rows))[0].verdict == verdict::fail);
}

TEST_CASE("an unavailable kernel is reported once") {
  auto row = harness_test::naive<float>();
  row.unavailable = [] { return std::string("no such machine"); };
  auto const results = check(std::vector{make_case(6, 5, 4), make_case(6, 5, 5)}, std::vector{row});
  REQUIRE(results.size() == 1);
  CHECK(results[0].verdict == verdict::unavailable);
  contains(results[0].reason, "no such machine");
}

TEST_CASE("a kernel that takes device memory only is not silently left out") {
  auto row = harness_test::naive<float>();
  row.host = false, row.device = true;
  row.unavailable = [] { return std::string("no device"); };
  CHECK(check_one(make_case(6, 5, 4), row).verdict == verdict::unavailable);
}

TEST_CASE("over a budget is skipped, with the figure, and nothing else is") {
  auto row = harness_test::naive<float>();
  row.flop_budget = 1000;
  CHECK(check_one(make_case(5, 10, 10), row).verdict == verdict::pass);
  auto const r = check_one(make_case(6, 10, 10), row);
  CHECK(r.verdict == verdict::skipped);
  CHECK(r.reason == "1.2e+03 flop, over the budget of 1e+03");
  CHECK(r.flops == 1200);
  CHECK(check_one(make_case(6, 5, 4), harness_test::naive<float>(), {.flop_budget = 100}).verdict == verdict::skipped);
  CHECK(check_one(make_case(6, 5, 4), harness_test::naive<float>(), {.byte_budget = 100}).verdict == verdict::skipped);
  auto large = make_case(std::int64_t{1} << 53, std::int64_t{1} << 53, 0);
  auto const huge = check_one(large, harness_test::naive<float>());
  CHECK(huge.verdict == verdict::skipped);
  contains(huge.reason, "bytes of operands");
}

TEST_CASE("where the bound is infinite nothing passes") {
  auto const k = (std::int64_t{1} << 24) - 2;
  auto const r = check_one(make_case(1, 1, k, fill::normal), harness_test::naive<float>());
  CHECK(r.verdict == verdict::skipped);
  contains(r.reason, "no finite bound");
}

TEST_CASE("a type that no kernel computes is one unsupported result") {
  auto t = make_case(1, 2, 3);
  t.dtype = dtype::bf16;
  auto const results = check(std::vector{t}, std::vector{harness_test::naive<float>()});
  REQUIRE(results.size() == 1);
  CHECK(results[0].verdict == verdict::unsupported);
  CHECK(results[0].reason == "no kernel computes bf16");
}

TEST_CASE("an element that the oracle has as NaN or infinite must be of the same kind") {
  double const inf = std::numeric_limits<double>::infinity();
  tandem::reference::wide_product const wide{{NAN, inf, -inf}, {}, {inf, inf, inf}};
  std::vector<std::int64_t> const rows{0};
  auto const wrong = [&](float x, float y, float z) {
    return compare<float>(std::vector{x, y, z}, 3, rows, wide, 1e-6).wrong;
  };
  CHECK(wrong(NAN, INFINITY, -INFINITY) == 0);
  CHECK(wrong(1, INFINITY, -INFINITY) == 1);
  CHECK(wrong(NAN, -INFINITY, 1) == 2);
}

TEST_CASE("minus zero equals zero") {
  tandem::reference::wide_product const wide{{0}, {}, {0}};
  std::vector<std::int64_t> const rows{0};
  CHECK(compare<float>(std::vector{-0.0F}, 1, rows, wide, 0).wrong == 0);
}

TEST_CASE("f64 is judged by both halves of the oracle's value") {
  std::vector<std::int64_t> const rows{0};
  tandem::reference::wide_product const wide{{1}, {0x1p-54}, {1}};
  // The error is 2^-54 exactly.
  CHECK(compare<double>(std::vector{1.0}, 1, rows, wide, 0x1p-54).wrong == 0);
  CHECK(compare<double>(std::vector{1.0}, 1, rows, wide, 0x1p-55).wrong == 1);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: over the oracle's budget");

TEST_CASE_TEMPLATE("Freivalds sees one wrong element among all and the oracle locates it", T, float, double) {
  check_options const options{.oracle_budget_f32 = 2e4, .oracle_budget_f64 = 2e4};
  for (double const beta : {0.0, -2.0}) {
    auto t = make_case(50, 40, 30, fill::integer, beta);
    t.alpha = -1;
    t.beta = beta;
    auto const right = check_one<T>(t, harness_test::naive<T>(), options);
    CHECK(right.verdict == verdict::pass);
    CHECK(describe_method(right) == "freivalds");
    auto const wrong = check_one<T>(t, spoiled<T>([](element_access<T> const& x) { x.c(33, 21) += 1; }), options);
    CHECK(wrong.verdict == verdict::fail);
    CHECK(wrong.reason == "1 of 40 elements differ from the exact product in 1 wrong rows of 50");
    CHECK(wrong.worst.row == 33);
    CHECK(wrong.worst.col == 21);
    CHECK(wrong.worst.error == 1);
  }
  auto const t = make_case(50, 40, 30);
  CHECK(check_one<T>(t, spoiled<T>([](element_access<T> const& x) { x.c(33, 21) = NAN; }), options).verdict ==
        verdict::fail);
  CHECK(check_one<T>(t, spoiled<T>([](element_access<T> const& x) { x.c(33, 21) += T(0.5); }), options).verdict ==
        verdict::fail);
  // Two errors that cancel in a plain row sum.
  auto const swapped =
      check_one<T>(t, spoiled<T>([](element_access<T> const& x) { x.c(1, 2) += 1, x.c(1, 3) -= 1; }), options);
  CHECK(swapped.verdict == verdict::fail);
  CHECK(swapped.wrong_elements == 2);
  // More wrong rows than the budget lets the oracle look at.
  auto const all = check_one<T>(t, make_kernel<T>("test.nothing", [](element_access<T> const&) {}), options);
  CHECK(all.verdict == verdict::fail);
  contains(all.reason, "in 50 wrong rows of 50");
  contains(all.reason, "; 2000 elements untouched");
  CHECK(all.wrong_elements == 8 * 40);
}

TEST_CASE("a sampled check sees rows that were never written, also where it does not sample") {
  auto const row = make_kernel<float>("test.ends", [](element_access<float> const& x) {
    for (std::int64_t const i : {std::int64_t{0}, x.p.m - 1})
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q) sum += x.a(i, q) * x.b(q, j);
        x.c(i, j) = static_cast<float>(x.p.alpha) * sum;
      }
  });
  check_options few;
  few.oracle_budget_f32 = 2.0 * 2 * 20 * 10;  // two rows
  auto const r = check_one(make_case(400, 20, 10, fill::normal), row, few);
  CHECK(describe_method(r) == "sampled 2 of 400 rows");
  CHECK(r.verdict == verdict::fail);
  contains(r.reason, "untouched");
}

TEST_CASE("a sampled check says so, looks at tile edges first, and fails on a sampled row") {
  auto row = harness_test::naive<float>();
  row.plan = [](tandem::problem const&) { return tandem::plan{{{"block", 16, 8, 4, ""}}}; };
  auto const t = make_case(50, 40, 30, fill::normal);
  check_options const options{.oracle_budget_f32 = 7 * 2.0 * 40 * 30};
  auto const right = check_one(t, row, options);
  CHECK(right.verdict == verdict::pass);
  CHECK(describe_method(right) == "sampled 7 of 50 rows");

  for (std::int64_t const wrong : {0, 49, 15, 16, 47, 48}) {
    CAPTURE(wrong);
    auto bad = spoiled([wrong](element_access<float> const& x) { x.c(wrong, 3) += 1; });
    bad.plan = row.plan;
    auto const r = check_one(t, bad, options);
    CHECK(r.verdict == verdict::fail);
    CHECK(r.reason == "1 of 280 elements exceed the bound in 7 of 50 rows");
    CHECK(r.worst.row == wrong);
  }
}

TEST_CASE("peers see a wrong element that sampling misses") {
  auto const t = make_case(50, 40, 30, fill::normal);
  auto peer = harness_test::reversed<float>();
  check_options options{.oracle_budget_f32 = 2.0 * 40 * 30};  // one row
  auto const bad = spoiled([](element_access<float> const& x) { x.c(33, 21) += 1; });
  CHECK(check_one(t, bad, options).verdict == verdict::pass);
  options.peers = {peer};
  CHECK(check_one(t, harness_test::naive<float>(), options).peers == std::vector<std::string>{"test.reversed"});
  auto const r = check_one(t, bad, options);
  CHECK(r.verdict == verdict::fail);
  contains(r.reason, "disagrees with test.reversed at (33, 21): ");
}

TEST_CASE("a peer that is wrong itself judges nobody") {
  auto bad = spoiled([](element_access<float> const& x) { x.c(3, 2) += 1; });
  bad.name = "test.bad_peer";
  auto const r = check_one(make_case(6, 5, 4), harness_test::naive<float>(), {.peers = {bad}});
  CHECK(r.verdict == verdict::pass);
  CHECK(r.peers.empty());
}

TEST_SUITE_BEGIN("harness: watched kernels");

TEST_CASE("a watched kernel with a defect fails though C is right") {
  auto const row = spoiled([](auto const&) { throw tandem::kernel_defect("a race\nand another"); });
  auto const r = check_one(make_case(5, 6, 7), row);
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "a race\nand another");
  CHECK(r.method == method::full);
  CHECK(r.wrong_elements == 0);
  contains(describe_failures(std::vector{r}), "  reason  a race\n          and another\n");
  contains(to_json(std::vector{r}), R"("reason": "a race\nand another")");
  contains(summary_table(summarize(std::vector{r})), "fail: a race\n");
  CHECK(check_one(make_case(5, 6, 7), spoiled([](auto const&) { throw tandem::kernel_defect(""); })).verdict ==
        verdict::fail);
}

TEST_CASE("a watched kernel with a defect and a wrong C fails for both") {
  auto const r = check_one(make_case(5, 6, 7), spoiled([](auto const& x) {
                             x.c(2, 3) += 1;
                             throw tandem::kernel_defect("a race");
                           }));
  CHECK(r.verdict == verdict::fail);
  CHECK(r.reason == "a race\nand C is wrong: 1 of 30 elements differ from the exact product");
  CHECK(r.worst.row == 2);
  CHECK(r.worst.col == 3);
}

TEST_SUITE_END();
