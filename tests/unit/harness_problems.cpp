// The harness's problems: shape files, generated cases, fills, bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include <tandem/harness/harness.hpp>

#include "harness/fill.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using tandem::dtype;
using tandem::layout;

namespace {

std::string const header = "m,n,k,dtype,trans_a,trans_b,source\n";

std::string error_of(std::string const& text) {
  try {
    parse_shapes(text, "some.csv");
  } catch (shape_error const& e) {
    return e.what();
  }
  return "no error";
}

tandem::kernel with_plan(dtype type, std::vector<tandem::tile_level> levels) {
  auto row = type == dtype::f32 ? harness_test::naive<float>() : harness_test::naive<double>();
  row.plan = [levels](tandem::problem const&) { return tandem::plan{levels}; };
  return row;
}

std::vector<tandem::kernel> const both_types{harness_test::naive<float>(), harness_test::naive<double>()};

}  // namespace

TEST_SUITE_BEGIN("harness: shapes");

TEST_CASE("a row is read column by column, whatever the columns' order, quotes, line ends and blank lines") {
  auto const shapes = parse_shapes(
      "source,m,n,k,dtype,trans_b,trans_a\r\n\r\n\"a, \"\"b\"\"\",1,20,300,f64,t,n\r\nplain,0,5,6,bf16,n,t", "x.csv");
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].m == 1);
  CHECK(shapes[0].n == 20);
  CHECK(shapes[0].k == 300);
  CHECK(shapes[0].dtype == dtype::f64);
  CHECK_FALSE(shapes[0].trans_a);
  CHECK(shapes[0].trans_b);
  CHECK(shapes[0].source == "a, \"b\"");
  CHECK(shapes[0].where == "x.csv:3");
  CHECK(shapes[1].m == 0);
  CHECK(shapes[1].dtype == dtype::bf16);
  CHECK(shapes[1].trans_a);
}

TEST_CASE("what cannot be read is an error with file, line and text") {
  CHECK(error_of("") == "some.csv:1: no shape in this file");
  CHECK(error_of(header) == "some.csv:1: no shape in this file");
  CHECK(error_of("m,n,k,dtype,trans_a,trans_b\n") == "some.csv:1: no column 'source'");
  CHECK(error_of("m,m,k,dtype,trans_a,trans_b,source\n") == "some.csv:1: column 'm' twice");
  CHECK(error_of("m,n,k,dtype,trans_a,trans_b,source,more\n") == "some.csv:1: unknown column 'more'");
  CHECK(error_of(header + "1,2,3,f32,n,n\n") == "some.csv:2: 6 fields where there are 7 columns: '1,2,3,f32,n,n'");
  CHECK(error_of(header + "\n1,2,3,f32,n,n,s,u\n").starts_with("some.csv:3: 8 fields"));
  CHECK(error_of(header + "1,two,3,f32,n,n,s\n") == "some.csv:2: n is not a number: 'two'");
  CHECK(error_of(header + "1,2 ,3,f32,n,n,s\n") == "some.csv:2: n is not a number: '2 '");
  CHECK(error_of(header + "1,2,,f32,n,n,s\n") == "some.csv:2: k is not a number: ''");
  CHECK(error_of(header + "1,2,3.5,f32,n,n,s\n") == "some.csv:2: k is not a number: '3.5'");
  CHECK(error_of(header + "-1,2,3,f32,n,n,s\n") == "some.csv:2: m is negative: '-1'");
  CHECK(error_of(header + "99999999999999999999,2,3,f32,n,n,s\n").starts_with("some.csv:2: m is too large"));
  CHECK(error_of(header + "9223372036854775807,2,3,f32,n,n,s\n").starts_with("some.csv:2: m is too large"));
  CHECK(error_of(header + "1,2,3,f33,n,n,s\n") == "some.csv:2: unknown dtype 'f33'; there are f32, f64, f16, bf16");
  CHECK(error_of(header + "1,2,3,f32,N,n,s\n") == "some.csv:2: trans_a is neither n nor t: 'N'");
  CHECK(error_of(header + "1,2,3,f32,n,c,s\n") == "some.csv:2: trans_b is neither n nor t: 'c'");
  CHECK(error_of(header + "1,2,3,f32,n,n,\"s\n").starts_with("some.csv:2: a quote is not closed"));
  CHECK(error_of(header + "1,2,3,f32,n,n,\"s\"t\n").starts_with("some.csv:2: text after a closing quote: 't'"));
  CHECK(error_of(header + "1,2,3,f32,n,n,s\"t\"\n").starts_with("some.csv:2: a quote inside an unquoted field"));
  CHECK_THROWS_WITH_AS(read_shapes("no/such.csv"), "no/such.csv:1: cannot be read: No such file or directory",
                       shape_error);
  CHECK_THROWS_WITH_AS(read_shapes("shapes"), "shapes:1: cannot be read: it is a directory", shape_error);
}

TEST_CASE("the project's own shape files can be read") {
  for (auto const* name : {"shapes/networks.csv", "shapes/odd.csv", "shapes/science.csv"})
    CHECK(read_shapes(name).size() > 10);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: cases");

TEST_CASE("a problem's line names it completely") {
  for (auto t : make_cases({}, both_types)) {
    auto const line = to_string(t);
    auto const again = parse_case(line);
    REQUIRE(to_string(again) == line);
    REQUIRE(again.seed == t.seed);
    REQUIRE(again.alpha == t.alpha);
  }
  test_case t;
  t.m = 129, t.n = 127, t.k = 33, t.trans_b = true, t.layout_c = layout::col_major;
  t.lda = 146, t.ldb = 33, t.ldc = 129, t.offset_b = 1, t.beta = 0.5, t.fill = fill::normal, t.seed = 42;
  CHECK(to_string(t) ==
        "f32:nt:rrc:129x127x33:lda=146:ldb=33:ldc=129:offsets=0,1,0:alpha=1:beta=0.5:fill=normal:seed=42");
}

TEST_CASE("a line says where B is A's memory, and takes it only where they can be one matrix") {
  for (auto const* line : {"f32:nn:5x5x5:b=a", "f32:nt:5x5x9:b=a", "f32:tn:5x5x9:lda=8:b=a", "f64:tt:ccc:7x7x7:b=a",
                           "f32:nn:rcr:5x5x9:b=a", "f32:nt:5x5x9:b=a:lda=12:threads=3:seed=4"}) {
    CAPTURE(line);
    auto const t = parse_case(line);
    CHECK(t.b_is_a);
    CHECK(t.lda == t.ldb);
    CHECK(to_string(t).ends_with(":b=a"));
    CHECK(to_string(parse_case(to_string(t))) == to_string(t));
  }
  CHECK_FALSE(parse_case("f32:nn:5x5x5").b_is_a);
  CHECK(to_string(parse_case("f32:nn:5x5x5")).find(":b=") == std::string::npos);
  for (auto const* line :
       {"f32:nn:5x5x9:b=a", "f32:nt:5x6x5:b=a", "f32:tt:5x5x9:b=a", "f32:nn:5x5x5:b=c", "f32:nn:5x5x5:lda=8:ldb=9:b=a",
        "f32:nn:5x5x5:lda=8:ldb=5:b=a", "f32:nn:5x5x5:offsets=0,1,0:b=a", "f32:nn:5x5x5:a=b"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(parse_case(line), std::invalid_argument);
  }
}

TEST_CASE("where B is A, op(B) is read from A's elements") {
  auto const square = draw<float>(parse_case("f32:nn:6x6x6:b=a:seed=3"));
  CHECK(square.b == square.a);
  auto const times_transpose = draw<float>(parse_case("f32:nt:4x4x7:b=a:fill=normal:seed=3"));
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t q = 0; q < 7; ++q) CHECK(times_transpose.b[q * 4 + i] == times_transpose.a[i * 7 + q]);
  CHECK_THROWS_AS(draw<float>(parse_case("f32:nn:6x6x6:b=a:fill=address")), std::invalid_argument);
}

TEST_CASE("a line that names no problem is an error") {
  std::string const right = "f32:nt:rrc:9x7x3:lda=3:ldb=3:ldc=9:offsets=0,1,0:alpha=1:beta=0.5:fill=normal:seed=42";
  CHECK_NOTHROW(parse_case(right));
  auto const with = [&](std::string const& old, std::string const& now) {
    auto line = right;
    return line.replace(line.find(old), old.size(), now);
  };
  for (auto const& line :
       {std::string(), with("f32", "f31"), with("nt", "nx"), with("nt", "n"), with("rrc", "rr"), with("9x7x3", "9x7"),
        with("9x7x3", "9x7x-3"), with("lda=3", "lda=2"), with("ldc=9", "ldc=8"), with("ldb=3", "lbd=3"),
        with("0,1,0", "0,1"), with("0.5", "half"), with("normal", "random"), with("=42", "=42x"), right + ":"})
    CHECK_THROWS_AS(parse_case(line), std::invalid_argument);
}

TEST_CASE("every edge of a plan appears at - 1, 0 and + 1 in m, n and k, with both fills") {
  std::vector const kernels{with_plan(dtype::f32, {{"block", 128, 96, 16, ""}, {"thread", 8, 4, 0, ""}}),
                            with_plan(dtype::f32, {{"jc", 0, 4080, 0, ""}, {"pc", 0, 0, 256, ""}})};
  std::map<std::pair<int, fill>, std::set<std::int64_t>> sizes;
  for (auto const& t : make_cases({}, kernels)) {
    sizes[{0, t.fill}].insert(t.m);
    sizes[{1, t.fill}].insert(t.n);
    sizes[{2, t.fill}].insert(t.k);
    CHECK(flops(t) <= case_options{}.edge_flops);
  }
  for (auto const edge : {128, 96, 16, 8, 4, 4080, 256})
    for (auto const step : {-1, 0, 1})
      for (int d = 0; d < 3; ++d)
        for (auto const f : {fill::integer, fill::normal}) {
          CAPTURE(edge + step);
          CHECK(sizes[{d, f}].contains(edge + step));
        }
}

TEST_CASE("an edge as large as the problem is not a tile's") {
  auto row = harness_test::naive<float>();
  row.plan = [](tandem::problem const& p) {
    return tandem::plan{{{"block", std::min<std::int64_t>(p.m, 200), p.n, 0, ""}}};
  };
  CHECK(tile_shapes(std::vector{row}, dtype::f32) == std::vector<tile_shape>{{200, 0, 0}});
}

TEST_CASE("a plan that throws is reported with the kernel's name") {
  auto row = harness_test::naive<float>();
  row.plan = [](tandem::problem const&) -> tandem::plan { throw std::runtime_error("no idea"); };
  CHECK_THROWS_WITH(make_cases({}, std::vector{row}), "plan of test.naive threw: no idea");
}

TEST_CASE("all transposes x layouts occur with each fill and type, and everything else rotates") {
  std::set<std::tuple<dtype, fill, int>> seen;
  std::map<fill, std::set<std::pair<double, double>>> scalars;
  std::set<std::int64_t> offsets_a, offsets_b, offsets_c;
  bool tight = false, padded = false;
  std::set<std::array<std::int64_t, 3>> sizes;
  for (auto const& t : make_cases({}, both_types)) {
    auto const col = [](layout l) { return l == layout::col_major ? 1 : 0; };
    if (t.alpha != 0 && std::min({t.m, t.n, t.k}) > 3)
      seen.insert({t.dtype, t.fill,
                   t.trans_a + 2 * t.trans_b + 4 * col(t.layout_a) + 8 * col(t.layout_b) + 16 * col(t.layout_c)});
    scalars[t.fill].insert({t.alpha, t.beta});
    offsets_a.insert(t.offset_a), offsets_b.insert(t.offset_b), offsets_c.insert(t.offset_c);
    (t.lda == tight_lda(t) ? tight : padded) = true;
    sizes.insert({t.m, t.n, t.k});
    if (t.fill == fill::integer) {
      CHECK(std::set{0.0, 1.0, -1.0, 2.0, -2.0}.contains(t.alpha));
      CHECK(std::set{0.0, 1.0, -1.0, 2.0, -2.0}.contains(t.beta));
    }
  }
  CHECK(seen.size() == 2 * 2 * 32);
  std::set<std::int64_t> const all_offsets{0, 1, 2, 3};
  CHECK(offsets_a == all_offsets);
  CHECK(offsets_b == all_offsets);
  CHECK(offsets_c == all_offsets);
  CHECK(tight);
  CHECK(padded);
  for (double const alpha : {1.0, 0.0, -1.0, 2.0, 0.7})
    for (double const beta : {0.0, 1.0, -1.0, 2.0, 0.3}) CHECK(scalars[fill::normal].contains({alpha, beta}));
  for (std::int64_t m = 0; m < 4; ++m)
    for (std::int64_t n = 0; n < 4; ++n)
      for (std::int64_t k = 0; k < 4; ++k) CHECK(sizes.contains({m, n, k}));
}

TEST_CASE("in some problems all rows are a multiple of a page apart, of no more than 2^20 elements") {
  int paged = 0;
  for (auto const& t : make_cases({}, both_types)) {
    std::int64_t const page = 4096 / static_cast<std::int64_t>(size_of(t.dtype));
    if (t.lda % page != 0 || t.ldb % page != 0 || t.ldc % page != 0) continue;
    ++paged;
    CHECK(t.m * t.k / tight_lda(t) * t.lda <= 1 << 20);
    CHECK(t.k * t.n / tight_ldb(t) * t.ldb <= 1 << 20);
    CHECK(t.m * t.n / tight_ldc(t) * t.ldc <= 1 << 20);
  }
  CHECK(paged > 10);
}

TEST_CASE("a seed decides everything, and another seed gives other data") {
  auto const shapes = read_shapes("shapes/odd.csv");
  auto const lines = [&](std::uint64_t seed) {
    std::string all;
    for (auto const& t : make_cases(shapes, both_types, {.seed = seed})) all += to_string(t) + "\n";
    return all;
  };
  CHECK(lines(7) == lines(7));
  CHECK(lines(7) != lines(8));
  auto const cases = make_cases(shapes, both_types, {.seed = 7});
  std::set<std::uint64_t> seeds;
  for (auto const& t : cases) seeds.insert(t.seed);
  CHECK(seeds.size() == cases.size());
}

TEST_CASE("filters keep the edges and fix what they name") {
  auto const cases = make_cases({}, std::vector{with_plan(dtype::f64, {{"block", 40, 50, 60, ""}})},
                                {.dtypes = {dtype::f64}, .trans_a = true, .fill = fill::normal});
  std::set<std::int64_t> m;
  for (auto const& t : cases) {
    CHECK(t.dtype == dtype::f64);
    CHECK(t.trans_a);
    CHECK(t.fill == fill::normal);
    m.insert(t.m);
  }
  CHECK(m.contains(39));
  CHECK(m.contains(41));
  CHECK(make_cases({}, both_types, {.dtypes = {dtype::bf16}}).empty());
}

TEST_CASE("only_shapes runs the shapes as their file means them, and one problem for a type nobody computes") {
  auto const shapes = parse_shapes(header + "5,6,7,f32,t,n,s\n1,2,3,bf16,n,t,b\n4000,4000,4000,f64,n,n,big\n", "x.csv");
  auto const cases = make_cases(shapes, both_types, {.only_shapes = true});
  REQUIRE(cases.size() == 4);
  CHECK(cases[0].fill != cases[1].fill);
  CHECK(cases[0].trans_a);
  CHECK_FALSE(cases[0].trans_b);
  CHECK(cases[0].layout_a == layout::row_major);
  CHECK(cases[0].source == "s (x.csv:2)");
  CHECK(cases[2].dtype == dtype::f64);
  CHECK(cases[3].dtype == dtype::bf16);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("harness: data and bounds");

TEST_CASE("gamma is Higham's, and infinite once n u reaches 1") {
  CHECK(gamma(1, dtype::f32) == 0x1p-24 / (1 - 0x1p-24));
  CHECK(gamma(0x1p23, dtype::f32) == 1);
  CHECK(std::isinf(gamma(0x1p24, dtype::f32)));
  CHECK(std::isinf(gamma(0x1p25, dtype::f32)));
  CHECK(std::isinf(gamma(0x1p60, dtype::f32)));
  CHECK(gamma(0x1p24, dtype::f64) > 0);
  CHECK(gamma(0, dtype::f64) == 0);
}

TEST_CASE("integer fills are exact in every order, for every k, and rarely zero") {
  for (auto const type : {dtype::f32, dtype::f64})
    for (std::int64_t const k : {0, 1, 2, 3, 64, 1000, 4096, 100000, 1000000})
      for (double const alpha : {1.0, -1.0, 2.0, -2.0})
        for (double const beta : {0.0, 1.0, -2.0}) {
          auto const limits = limits_of(type, k, alpha, beta);
          REQUIRE(limits.ab >= 1);
          REQUIRE(limits.c >= 1);
          auto const ab = static_cast<double>(limits.ab);
          double const most =
              std::abs(alpha) * static_cast<double>(k) * ab * ab + std::abs(beta) * static_cast<double>(limits.c);
          CHECK(most <= (type == dtype::f32 ? 0x1p24 : 0x1p53));
        }
  CHECK(limits_of(dtype::f32, std::int64_t{1} << 24, 1, 1).ab == 0);
  CHECK(limits_of(dtype::f32, std::int64_t{1} << 24, 1, 0).ab == 1);
  CHECK(limits_of(dtype::f32, 5, 0.5, 0).ab == 0);

  test_case t;
  t.m = t.n = 3, t.k = 100000, t.alpha = 2, t.beta = 1, t.seed = 5;
  auto const data = draw<float>(t);
  auto const limits = limits_of(t.dtype, t.k, t.alpha, t.beta);
  for (auto const x : data.a) {
    REQUIRE(x == std::trunc(x));
    REQUIRE(std::abs(x) <= static_cast<float>(limits.ab));
  }
  auto const zeros = std::ranges::count(data.a, 0.0F);
  CHECK(zeros > 0);
  CHECK(zeros < std::ssize(data.a) / 7);
  CHECK(data.c.size() == 9);

  // The largest sums that can occur, upwards, downwards and in pairs.
  auto const ab = static_cast<float>(limits.ab);
  float up = 0, mixed = static_cast<float>(limits.c);
  for (std::int64_t q = 0; q < t.k; ++q) up += ab * ab;
  for (std::int64_t q = 0; q < t.k; ++q) mixed += 2 * (ab * ab);
  CHECK(static_cast<std::int64_t>(up) == t.k * limits.ab * limits.ab);
  CHECK(static_cast<std::int64_t>(mixed) == 2 * t.k * limits.ab * limits.ab + limits.c);
}

TEST_CASE("normal data have mean 0 and variance 1, all their bits, and are fresh for each seed and operand") {
  test_case t;
  t.m = t.n = t.k = 200, t.fill = fill::normal, t.seed = 5;
  auto const data = draw<double>(t);
  double const mean = std::accumulate(data.a.begin(), data.a.end(), 0.0) / 40000;
  double const square = std::inner_product(data.a.begin(), data.a.end(), data.a.begin(), 0.0) / 40000;
  CHECK(std::abs(mean) < 0.03);
  CHECK(std::abs(square - 1) < 0.03);
  CHECK(data.a != data.b);
  CHECK(data.c.empty());
  CHECK(draw<double>(t).a == data.a);
  t.seed = 6;
  CHECK(draw<double>(t).a != data.a);
  CHECK(std::ranges::count_if(draw<float>(t).a, [](float x) { return std::fmod(x, 0x1p-20F) != 0; }) > 30000);
}

TEST_SUITE_END();
