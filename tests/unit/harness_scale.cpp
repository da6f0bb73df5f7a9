// L9: indices beyond 32 bits, a million rows, and Freivalds' check of what the oracle is too slow for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <tandem/kernels.hpp>

#include "harness/guard.hpp"
#include "tests/unit/harness_planted.hpp"

using namespace tandem::harness;
using namespace harness_test;

namespace {

auto const scale = rung::scale;

/// How a kernel turns line, leading dimension and place into an index.
enum class arithmetic { right, signed_elements, unsigned_elements, unsigned_bytes };

template <class T>
std::int64_t index(arithmetic how, std::int64_t line, std::int64_t ld, std::int64_t along) {
  auto const cut = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  switch (how) {
    case arithmetic::right: break;
    case arithmetic::signed_elements: return static_cast<std::int32_t>(cut(line) * cut(ld) + cut(along));
    case arithmetic::unsigned_elements: return cut(line) * cut(ld) + cut(along);
    case arithmetic::unsigned_bytes:
      return static_cast<std::int64_t>(((cut(line) * cut(ld) + cut(along)) * cut(sizeof(T)))) /
             static_cast<std::int64_t>(sizeof(T));
  }
  return line * ld + along;
}

/// A right kernel but for how it indexes A, B or C (0, 1, 2).
template <class T>
candidate indexing(int operand, arithmetic how) {
  auto out = planted<T>("indexing", [=](element_access<T> const& x) {
    auto const of = [=](int which) { return which == operand ? how : arithmetic::right; };
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T sum = 0;
        for (std::int64_t q = 0; x.p.alpha != 0 && q < x.p.k; ++q)
          sum += x.pa[x.p.trans_a ? index<T>(of(0), q, x.p.lda, i) : index<T>(of(0), i, x.p.lda, q)] *
                 x.pb[x.p.trans_b ? index<T>(of(1), j, x.p.ldb, q) : index<T>(of(1), q, x.p.ldb, j)];
        T& c = x.pc[index<T>(of(2), i, x.p.ldc, j)];
        c = x.p.beta == 0 ? x.alpha() * sum : x.alpha() * sum + x.beta() * c;
      }
  });
  out.flop_budget = 2e6;  // these tests are about indices
  return out;
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("harness: L9 scale");

TEST_CASE_TEMPLATE("a right kernel passes on operands across 2^32 elements", T, float, double) {
  auto const j = climb(indexing<T>(0, arithmetic::right), scale);
  CHECK_MESSAGE(j.passed(), reason_of(j, scale));
  CHECK(has(report_of(j, scale).summary, "across more than 2^32 elements"));
}

TEST_CASE("indices of 32 bits are caught in each operand, and named") {
  for (int operand = 0; operand < 3; ++operand) {
    CAPTURE(operand);
    auto const name = std::string(1, "ABC"[operand]);
    auto j = climb(indexing<float>(operand, arithmetic::signed_elements), scale);
    CHECK(report_of(j, scale).verdict == rung_verdict::fail);
    CHECK(has(reason_of(j, scale), "an index computed in 32 bits with a sign: element "));

    j = climb(indexing<float>(operand, arithmetic::unsigned_elements), scale);
    CHECK(report_of(j, scale).verdict == rung_verdict::fail);
    CHECK(has(reason_of(j, scale), "an index computed in 32 bits: of "));
    CHECK(has(reason_of(j, scale), "element x - 4294967296 is"));

    j = climb(indexing<double>(operand, arithmetic::unsigned_bytes), scale);
    CHECK(report_of(j, scale).verdict == rung_verdict::fail);
    CHECK(has(reason_of(j, scale), "an offset in bytes computed in 32 bits: of "));
  }
}

TEST_CASE("an offset of 32 bits in what is kept for products with no short side is caught") {
  for (int operand = 0; operand < 3; ++operand) {
    CAPTURE(operand);
    auto kernel = planted<float>("packed", [operand](element_access<float> const& x) {
      if (x.p.m <= 64 || x.p.n <= 128) return multiply_anything(x);
      constexpr std::int64_t block = 48;
      auto const offset = [operand](int which, std::int64_t i, std::int64_t ld) {
        auto const first = i / block * block * ld;  // of the block of lines
        return (which == operand ? static_cast<std::int32_t>(first) : first) + i % block * ld;
      };
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t j = 0; j < x.p.n; ++j) {
          float sum = 0;
          for (std::int64_t q = 0; q < x.p.k; ++q)
            sum += x.pa[x.p.trans_a ? offset(0, q, x.p.lda) + i : offset(0, i, x.p.lda) + q] *
                   x.pb[x.p.trans_b ? offset(1, j, x.p.ldb) + q : offset(1, q, x.p.ldb) + j];
          float& c = x.pc[offset(2, i, x.p.ldc) + j];
          c = x.p.beta == 0 ? x.alpha() * sum : x.alpha() * sum + x.beta() * c;
        }
    });
    kernel.flop_budget = 2e7;
    CHECK_FALSE(climb(kernel, scale).passed());
  }
}

TEST_CASE("long sums whose length is a multiple of nothing are split among several threads") {
  constexpr std::int64_t panel = 16;
  auto const splitting = [](auto last_panel) {
    candidate out;
    out.name = "split";
    out.dtype = tandem::dtype::f32;
    out.threaded = true;
    out.flop_budget = 2e6;
    out.run = [last_panel](gemm_call const& call) {
      auto p = canonical(call.test);
      bool const turned = call.test.layout_c == tandem::layout::col_major;
      p.a = turned ? call.b : call.a, p.b = turned ? call.a : call.b, p.c = call.c;
      element_access<float> const x{p};
      if (call.threads < 2 || p.k < 4096) return multiply_anything(x), 0;
      for (std::int64_t i = 0; i < p.m; ++i)
        for (std::int64_t j = 0; j < p.n; ++j) x.store(i, j, x.dot(i, j, last_panel(p.k)));
      return 0;
    };
    return out;
  };
  CHECK(climb(splitting([](std::int64_t k) { return k; }), scale).passed());
  CHECK_FALSE(climb(splitting([](std::int64_t k) { return k / panel * panel; }), scale).passed());
  CHECK_FALSE(climb(splitting([](std::int64_t k) { return (k + panel - 1) / panel * panel; }), scale).passed());
}

TEST_CASE("a write far outside is found although the pages there were never written") {
  auto kernel = planted<float>("stray", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.ldc > (std::int64_t{1} << 26)) x.pc[x.p.ldc / 2] = 1;
  });
  kernel.flop_budget = 2e6;
  auto const j = climb(kernel, scale);
  CHECK(has(reason_of(j, rung::memory), "gap of C written"));
}

TEST_CASE("a side of a million is computed to its end") {
  for (int side = 0; side < 3; ++side) {
    auto const j = climb(planted<float>("short",
                                        [side](element_access<float> const& x) {
                                          auto y = x;
                                          constexpr std::int64_t most = 1 << 20;
                                          if (side == 0) y.p.m = std::min(y.p.m, most);
                                          if (side == 1) y.p.n = std::min(y.p.n, most);
                                          if (side == 2) y.p.k = std::min(y.p.k, most);
                                          multiply_anything(y);
                                        }),
                         scale);
    CHECK(report_of(j, scale).verdict == rung_verdict::fail);
  }
}

TEST_CASE("one wrong element of a product that is too large for the oracle is found") {
  auto const nearly = planted<double>("nearly", [](element_access<double> const& x) {
    if (x.p.m < 100 || x.p.n < 100 || x.p.k < 100) return multiply_anything(x);
    for (std::int64_t i = 0; i < x.p.m; ++i) {
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, 0);
      for (std::int64_t q = 0; q < x.p.k; ++q)
        for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) += x.alpha() * x.a(i, q) * x.b(q, j);
    }
    if (x.p.m > 300 && x.p.n > 300) x.c(x.p.m - 2, x.p.n - 3) += 1;
  });
  auto const r = report_of(climb(nearly, scale), scale);
  REQUIRE(r.witness);
  CHECK(r.witness->wrong == 1);
  CHECK(r.witness->worst.error == 1);
}

TEST_CASE("a kernel that takes no gaps is told why nothing is far apart") {
  auto kernel = planted<float>("tight", multiply_anything<float>);
  kernel.limits = parse_limits("tight");
  kernel.flop_budget = 1e7;
  auto const j = climb(kernel, scale);
  CHECK(j.passed());
  CHECK(has(report_of(j, scale).summary, "no gaps between rows"));
}

TEST_CASE_TEMPLATE("a sparse image covers the pages of its rows and sees what is written elsewhere", T, float, double) {
  storage const s{.rows = 3, .cols = 5, .ld = std::int64_t{1} << 28, .offset = 1, .by_rows = true};
  auto const where = place_on_host(s, sizeof(T), false);
  std::vector<T> values;
  for (int i = 0; i < 15; ++i) values.push_back(static_cast<T>(i));
  operand_image<T> const image(s, where, values, nan_bits<T>::gap_a, nan_bits<T>::poison);
  REQUIRE(image.sparse());
  host_region region(where.region);
  image.write(region.bytes());
  std::vector<T> back;
  read_elements<T>(region.bytes(), s, where, back);
  CHECK(back == values);
  auto* const row_1 = region.data() + where.begin + static_cast<std::size_t>(s.ld) * sizeof(T);
  extent const far{static_cast<std::size_t>(row_1 - region.data()) + (std::size_t{1} << 20), 8192};
  auto const damage = [&](std::byte* at, bool elements) {
    auto const was = *at;
    *at ^= std::byte{1};
    auto const found = image.find_damage(region.bytes(), std::array{far}, "A", elements);
    *at = was;
    return found;
  };
  CHECK(image.find_damage(region.bytes(), std::array{far}, "A", true).empty());
  CHECK(damage(row_1 - 2, true) == "byte 2 before the start of row 1 of A overwritten");
  CHECK(damage(row_1 + 5 * sizeof(T), true) == "byte 1 past the end of row 1 of A overwritten");
  CHECK(damage(row_1 + 3 * sizeof(T), true) == "A modified at (1, 3)");
  CHECK(damage(row_1 + 3 * sizeof(T), false).empty());
  CHECK(damage(row_1 + (1 << 20) + 64, false).find("gap of A written, ") == 0);
}

TEST_SUITE_END();
