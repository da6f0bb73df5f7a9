// Kernels under test: what their limits leave out, how a problem is brought within them, and what their names say.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tandem/harness/candidate.hpp>

#include "harness/calling_convention.hpp"

using namespace tandem;
using namespace tandem::harness;

namespace {

test_case some_case() {
  return parse_case("f32:nt:rcr:129x127x33:lda=146:ldb=140:ldc=130:offsets=1,2,3:alpha=2:beta=1");
}

std::string message_of(auto const& f) {
  try {
    f();
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_SUITE_BEGIN("harness: candidates");

TEST_CASE("a kernel without limits takes every problem as it is") {
  limits const none;
  auto const t = some_case();
  CHECK(outside(none, t).empty());
  CHECK(to_string(within(none, t)) == to_string(t));
}

TEST_CASE("each limit leaves out what it names, and says why") {
  auto const t = some_case();
  CHECK(outside(parse_limits("multiple_of=8"), t) == "m 129 is no multiple of 8");
  CHECK(outside(parse_limits("m_multiple_of=3,n_multiple_of=2"), t) == "n 127 is no multiple of 2");
  CHECK(outside(parse_limits("k_multiple_of=2"), t) == "k 33 is no multiple of 2");
  // op(B) is the transpose of a column-major matrix: as good as a row-major one as it is.
  CHECK(outside(parse_limits("nn"), t).empty());
  CHECK(outside(parse_limits("nt,tt"), t) == "the transposes are nn");
  CHECK(outside(parse_limits("col_major"), t) == "C is row_major");
  CHECK(outside(parse_limits("tight"), t) == "lda 146, ldb 140, ldc 130 leave gaps");
  CHECK(outside(parse_limits("align=8"), t) == "an operand is not aligned to 8 bytes");
  CHECK(outside(parse_limits("alpha=1"), t) == "alpha is 2");
  CHECK(outside(parse_limits("beta=0"), t) == "beta is 1");
  CHECK(outside(parse_limits("nonempty"), parse_case("f32:nn:0x3x4")) == "0x3x4 is empty");
}

TEST_CASE("a problem brought within any limits is within them, and one that was is not changed") {
  std::vector<std::string> const lists = {"nn",
                                          "tt",
                                          "tn,nt",
                                          "row_major,nt",
                                          "col_major",
                                          "multiple_of=8,nn,row_major",
                                          "align=16",
                                          "tight,align=64,multiple_of=16",
                                          "alpha=1,beta=0,nonempty,m_multiple_of=7"};
  std::vector<std::string> const lines = {
      "f32:nt:rcr:129x127x33:lda=146:ldb=140:ldc=130:offsets=1,2,3:alpha=2:beta=1",
      "f64:tt:ccc:1x2x3:lda=7:ldb=8:ldc=9:offsets=1,0,1",
      "f32:nn:0x5x0",
      "f32:tn:crc:64x32x16",
      "f32:nt:rrr:9x9x13:lda=14:offsets=1,1,0:b=a",
      "f64:nn:ccc:9x9x9:b=a",
  };
  for (auto const& list : lists)
    for (auto const& line : lines) {
      CAPTURE(list);
      CAPTURE(line);
      auto const l = parse_limits(list);
      auto const t = within(l, parse_case(line));
      CHECK(outside(l, t) == "");
      CHECK(parse_case(to_string(t)).lda == t.lda);  // which checks the leading dimensions
      CHECK(to_string(within(l, t)) == to_string(t));
      CHECK(t.b_is_a == parse_case(line).b_is_a);
    }
}

TEST_CASE("where B is A, a size that was changed alone takes with it those that have to be the same") {
  auto t = parse_case("f32:nt:9x9x13:lda=14:b=a");
  t.n = 4;
  CHECK(to_string(within({}, t)).starts_with("f32:nt:rrr:4x4x13:lda=14:ldb=14:"));
  t.trans_b = false;
  CHECK(to_string(within({}, t)).starts_with("f32:nn:rrr:4x4x4:lda=5:ldb=5:"));
  CHECK(to_string(within(parse_limits("m_multiple_of=2,n_multiple_of=3"), t)).starts_with("f32:nn:rrr:6x6x6:"));
}

TEST_CASE("a column-major C swaps the roles of m and n in the limits, as it does for the kernel") {
  auto const l = parse_limits("m_multiple_of=8");
  auto const t = within(l, parse_case("f32:nn:rrc:9x9x9"));
  CHECK(t.m == 9);
  CHECK(t.n == 16);
}

TEST_CASE("limits, tiles, functions and precisions that make no sense are named") {
  CHECK(message_of([] { parse_limits("nn,squares"); }).starts_with("'squares' is no limit"));
  CHECK(message_of([] { parse_limits("multiple_of=0"); }) == "'0' of 'multiple_of=0' is no positive number");
  for (auto const* text : {"128", "128x128", "128x128x", "128x0x8", "128x128x8x2", "axbxc", ""}) {
    CAPTURE(text);
    CHECK(message_of([&] { parse_tile(text); }).starts_with("'" + std::string(text) + "' is no tile"));
  }
  CHECK(message_of([] { parse_library_function("libx.so", abi::cblas); }) == "'libx.so' is not LIB.so:SYMBOL");
  CHECK(message_of([] {
          parse_library_function("libx.so:gemm", abi::cblas);
        }).starts_with("the symbol 'gemm' does not say"));
  CHECK(message_of([] { parse_library_function("libx.so:sgemm", abi::cblas, "f16"); }).starts_with("'f16' is no type"));
  CHECK(message_of([] { parse_precision("fp8"); }).starts_with("'fp8' is no precision"));
}

TEST_CASE("a symbol says its element type, and --dtype overrules it") {
  CHECK(parse_library_function("/a:b/libx.so:cblas_dgemm", abi::cblas).dtype == dtype::f64);
  CHECK(parse_library_function("/a:b/libx.so:cblas_dgemm", abi::cblas).path == "/a:b/libx.so");
  CHECK(parse_library_function("libx.so:my_sgemm_v2", abi::cblas).dtype == dtype::f32);
  CHECK(parse_library_function("libx.so:sgemm", abi::cblas, "f64").dtype == dtype::f64);
}

TEST_CASE("a declared tile is the plan's one level") {
  auto const levels = parse_tile("128x64x8")({}).levels;
  REQUIRE(levels.size() == 1);
  CHECK(levels[0].m == 128);
  CHECK(levels[0].n == 64);
  CHECK(levels[0].k == 8);
}

TEST_CASE("a function with CBLAS's signature is told one layout for all three operands") {
  struct seen {
    int layout, trans_a, trans_b;
  };
  auto const told = [](char const* line) {
    auto const what = std::make_shared<seen>();
    auto const x =
        cblas_candidate("spy", std::function<cblas_sgemm_function>([what](int layout, int ta, int tb, auto...) {
                          *what = {layout, ta, tb};
                        }));
    gemm_call call;
    call.test = parse_case(line);
    x.run(call);
    return *what;
  };
  auto const plain = told("f32:nn:rrr:2x3x4");
  CHECK(plain.layout == 101);
  CHECK(plain.trans_a == 111);
  auto const mixed = told("f32:tn:rcr:2x3x4");
  CHECK(mixed.layout == 101);
  CHECK(mixed.trans_a == 112);
  CHECK(mixed.trans_b == 112);
  auto const columns = told("f32:tt:ccc:2x3x4");
  CHECK(columns.layout == 102);
  CHECK(columns.trans_a == 112);
  CHECK(columns.trans_b == 112);
  CHECK(told("f32:tn:rrc:2x3x4").trans_a == 111);
}

TEST_CASE("a watched function gets its arguments, those on the stack too, and may throw") {
  using function = int (*)(int, int, int, int, int, int, int, double, int, int);
  function const plain = [](int a, int b, int c, int d, int e, int f, int g, double x, int h, int i) {
    if (i < 0) throw std::runtime_error("thrown");
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + static_cast<int>(x) + 8 * h + 9 * i;
  };
  auto const watched_one = reinterpret_cast<function>(watched(reinterpret_cast<void*>(plain)));
  for (int const i : {1, 7})
    CHECK(watched_one(1, 2, 3, 4, 5, 6, i, 10.0, 8, 9) == plain(1, 2, 3, 4, 5, 6, i, 10.0, 8, 9));
  CHECK_THROWS_WITH(watched_one(1, 2, 3, 4, 5, 6, 7, 1.0, 8, -1), "thrown");
  CHECK(unkept_registers().empty());
}

TEST_SUITE_END();
