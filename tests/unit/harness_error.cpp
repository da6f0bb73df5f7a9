// The rungs L4 (error) and L5 (grade): right but unusual kernels pass, planted losses of accuracy are caught.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tandem/harness/bound.hpp>
#include <tandem/harness/candidate.hpp>
#include <tandem/harness/judge.hpp>

#include "harness/context.hpp"
#include "harness/expectation.hpp"
#include "harness/fill.hpp"
#include "harness/random.hpp"
#include "harness/rungs/rungs.hpp"
#include "harness_kernels.hpp"

using namespace tandem;
using namespace tandem::harness;

namespace harness_test {
namespace {

template <class T>
rung_report climb(candidate const& kernel, harness::rung rung, std::uint64_t seed = 1,
                  harness::level level = harness::level::quick) {
  judge_options const options{.level = level, .seed = seed};
  context<T> x(kernel, options);
  REQUIRE(x.open().empty());
  x.begin_rung(rung);
  rung == rung::error ? climb_error(x) : climb_grade(x);
  x.end_rung();
  auto reports = x.take();
  auto const found = std::ranges::find(reports, rung, &rung_report::rung);
  REQUIRE(found != reports.end());
  return std::move(*found);
}

std::string fact_of(rung_report const& r, std::string const& name) {
  for (auto const& [key, value] : r.facts)
    if (key == name) return value;
  return {};
}

/// A kernel whose element (i, j) is `store`d from sum(x, i, j).
template <class T, class Sum>
kernel by_elements(std::string name, Sum sum) {
  return make_kernel<T>(std::move(name), [sum](harness_test::element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, sum(x, i, j));
  });
}

// Right but unusual.

template <class T>
T pairwise_sum(harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j, std::int64_t from,
               std::int64_t to) {
  if (to - from == 1) return x.a(i, from) * x.b(from, j);
  if (to == from) return 0;
  std::int64_t const middle = from + (to - from) / 2;
  return pairwise_sum(x, i, j, from, middle) + pairwise_sum(x, i, j, middle, to);
}

template <class T>
std::vector<kernel> right_kernels() {
  std::vector<kernel> all{naive<T>(), reversed<T>(), wide_sum<T>()};
  all.push_back(by_elements<T>("test.pairwise", [](harness_test::element_access<T> const& x, std::int64_t i,
                                                   std::int64_t j) { return pairwise_sum(x, i, j, 0, x.p.k); }));
  all.push_back(
      by_elements<T>("test.kahan", [](harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j) {
        T sum = 0, lost = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q) {
          T const term = x.a(i, q) * x.b(q, j) - lost, next = sum + term;
          lost = (next - sum) - term;
          sum = next;
        }
        return sum;
      }));
  all.push_back(
      by_elements<T>("test.split_k", [](harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j) {
        T part[4] = {};
        for (std::int64_t q = 0; q < x.p.k; ++q) part[4 * q / x.p.k] += x.a(i, q) * x.b(q, j);
        return part[3] + (part[0] + (part[2] + part[1]));
      }));
  all.push_back(
      by_elements<T>("test.lanes", [](harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j) {
        T lane[8] = {};
        for (std::int64_t q = 0; q < x.p.k; ++q) lane[q % 8] = std::fma(x.a(i, q), x.b(q, j), lane[q % 8]);
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
      }));
  all.push_back(make_kernel<T>("test.alpha_in_a_beta_first", [](harness_test::element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T sum = x.p.beta == 0 ? 0 : x.beta() * x.c(i, j);
        for (std::int64_t q = 0; q < x.p.k; ++q) sum += (x.alpha() * x.a(i, q)) * x.b(q, j);
        x.c(i, j) = sum;
      }
  }));
  all.push_back(make_kernel<T>("test.alpha_by_panel", [](harness_test::element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T& c = x.c(i, j);
        c = x.p.beta == 0 ? 0 : x.beta() * c;
        for (std::int64_t from = 0; from < x.p.k; from += 5) {
          T sum = 0;
          for (std::int64_t q = from; q < std::min(from + 5, x.p.k); ++q) sum = std::fma(x.a(i, q), x.b(q, j), sum);
          c += x.alpha() * sum;
        }
      }
  }));
  return all;
}

// Wrong.

template <class T>
struct dense {
  std::int64_t rows, cols;
  std::vector<T> values = std::vector<T>(static_cast<std::size_t>(rows * cols));
  T& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
  T operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * cols + j)]; }
};

/// One level of Strassen's algorithm on the even part; the odd row, column and inner index are peeled off.
template <class T>
kernel strassen(std::int64_t from) {
  return make_kernel<T>("test.strassen", [from](harness_test::element_access<T> const& x) {
    if (std::min({x.p.m, x.p.n, x.p.k}) < from) return multiply(x);
    std::int64_t const m = x.p.m / 2, n = x.p.n / 2, k = x.p.k / 2;
    using block = dense<T>;
    auto const block_a = [&](std::int64_t r, std::int64_t c) {
      block out{m, k};
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t q = 0; q < k; ++q) out(i, q) = x.a(r * m + i, c * k + q);
      return out;
    };
    auto const block_b = [&](std::int64_t r, std::int64_t c) {
      block out{k, n};
      for (std::int64_t q = 0; q < k; ++q)
        for (std::int64_t j = 0; j < n; ++j) out(q, j) = x.b(r * k + q, c * n + j);
      return out;
    };
    auto const plus = [](block y, block const& z, T sign) {
      for (std::size_t at = 0; at < y.values.size(); ++at) y.values[at] += sign * z.values[at];
      return y;
    };
    auto const times = [](block const& y, block const& z) {
      block out{y.rows, z.cols};
      for (std::int64_t i = 0; i < y.rows; ++i)
        for (std::int64_t q = 0; q < y.cols; ++q)
          for (std::int64_t j = 0; j < z.cols; ++j) out(i, j) += y(i, q) * z(q, j);
      return out;
    };
    auto const a11 = block_a(0, 0), a12 = block_a(0, 1), a21 = block_a(1, 0), a22 = block_a(1, 1);
    auto const b11 = block_b(0, 0), b12 = block_b(0, 1), b21 = block_b(1, 0), b22 = block_b(1, 1);
    auto const m1 = times(plus(a11, a22, 1), plus(b11, b22, 1)), m2 = times(plus(a21, a22, 1), b11);
    auto const m3 = times(a11, plus(b12, b22, -1)), m4 = times(a22, plus(b21, b11, -1));
    auto const m5 = times(plus(a11, a12, 1), b22);
    auto const m6 = times(plus(a21, a11, -1), plus(b11, b12, 1)), m7 = times(plus(a12, a22, -1), plus(b21, b22, 1));
    block const c[2][2] = {{plus(plus(plus(m1, m4, 1), m5, -1), m7, 1), plus(m3, m5, 1)},
                           {plus(m2, m4, 1), plus(plus(plus(m1, m2, -1), m3, 1), m6, 1)}};
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T sum = 0;
        std::int64_t q = 0;
        if (i < 2 * m && j < 2 * n) sum = c[i / m][j / n](i % m, j % n), q = 2 * k;
        for (; q < x.p.k; ++q) sum += x.a(i, q) * x.b(q, j);
        x.store(i, j, sum);
      }
  });
}

/// Rows of A and columns of B as integers of `bits` bits times a power of two that each row and column has in common.
template <class T>
kernel fixed_point(int bits) {
  return make_kernel<T>("test.fixed_point", [bits](harness_test::element_access<T> const& x) {
    auto const exponent = [&](auto const& element) {
      double largest = 0;
      for (std::int64_t q = 0; q < x.p.k; ++q) largest = std::max(largest, std::abs(static_cast<double>(element(q))));
      return largest == 0 ? 0 : bits - 1 - std::ilogb(largest);
    };
    auto const integer = [](T v, int scale) { return std::nearbyint(std::ldexp(static_cast<double>(v), scale)); };
    std::vector<int> rows, columns;
    for (std::int64_t i = 0; i < x.p.m; ++i) rows.push_back(exponent([&](std::int64_t q) { return x.a(i, q); }));
    for (std::int64_t j = 0; j < x.p.n; ++j) columns.push_back(exponent([&](std::int64_t q) { return x.b(q, j); }));
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        int const row = rows[static_cast<std::size_t>(i)], column = columns[static_cast<std::size_t>(j)];
        long double sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q)
          sum += static_cast<long double>(integer(x.a(i, q), row)) * integer(x.b(q, j), column);
        x.store(i, j, static_cast<T>(std::ldexp(sum, -row - column)));
      }
  });
}

float toward_zero(double v) {
  auto const near = static_cast<float>(v);
  return std::abs(static_cast<double>(near)) > std::abs(v) ? std::nextafter(near, 0.0f) : near;
}

kernel truncating() {
  return by_elements<float>(
      "test.truncating", [](harness_test::element_access<float> const& x, std::int64_t i, std::int64_t j) {
        float sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q)
          sum = toward_zero(static_cast<double>(sum) + static_cast<double>(x.a(i, q)) * static_cast<double>(x.b(q, j)));
        return sum;
      });
}

/// v with `bits` significant bits, to nearest or cut off.
float with_bits(float v, int bits, bool cut = false) {
  if (v == 0) return 0;
  int const exponent = std::ilogb(v) + 1 - bits;
  double const scaled = std::ldexp(static_cast<double>(v), -exponent);
  return static_cast<float>(std::ldexp(cut ? std::trunc(scaled) : std::nearbyint(scaled), exponent));
}

kernel bf16_times_3() {
  return by_elements<float>("test.bf16x3",
                            [](harness_test::element_access<float> const& x, std::int64_t i, std::int64_t j) {
                              float sum = 0;
                              for (std::int64_t q = 0; q < x.p.k; ++q) {
                                float const a = x.a(i, q), b = x.b(q, j), a1 = with_bits(a, 8), b1 = with_bits(b, 8);
                                float const a2 = with_bits(a - a1, 8), b2 = with_bits(b - b1, 8);
                                sum += a1 * b1 + (a1 * b2 + a2 * b1);
                              }
                              return sum;
                            });
}

template <class T>
kernel noisy() {
  return by_elements<T>("test.noisy", [](harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j) {
    T const sum = x.dot(i, j, x.p.k);
    harness::random r(static_cast<std::uint64_t>(i * 1000003 + j));
    return sum + sum * static_cast<T>((2 * r.uniform() - 1) * 4 * unit_roundoff(dtype_of<T>));
  });
}

template <class T>
kernel wrong_in_small_rows() {
  return by_elements<T>("test.wrong_in_small_rows",
                        [](harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j) {
                          T largest = 0;
                          for (std::int64_t q = 0; q < x.p.k; ++q) largest = std::max(largest, std::abs(x.a(i, q)));
                          T const sum = x.dot(i, j, x.p.k);
                          return largest > 0 && largest < static_cast<T>(1e-4) ? sum * static_cast<T>(1.0001) : sum;
                        });
}

// As tensor cores do.

struct tensor_core {
  int block = 16, extra_bits = 2;
  int operand_bits = 11;
  bool cut_operands = false;
  int least_exponent = -126;  // of the operands' normal range
};

float operand(float v, tensor_core const& core) {
  if (v == 0) return 0;
  int const bits = std::min(core.operand_bits, core.operand_bits + std::ilogb(v) - core.least_exponent);
  return bits <= 0 ? 0 : with_bits(v, bits, core.cut_operands);
}

struct rounded_operand {
  double value = 0;
  int exponent = 0;
};

/// Blocks of products, exact, and the sum so far are aligned to the largest of them, cut off `extra_bits` below the
/// last of f32's 24 bits, and added; the sum is cut off to f32.
void multiply_on_tensor_core(harness_test::element_access<float> const& x, tensor_core const& core) {
  auto const rounded = [&core](float v) {
    float const r = operand(v, core);
    return rounded_operand{static_cast<double>(r), r == 0 ? 0 : std::ilogb(r)};
  };
  dense<rounded_operand> a{x.p.m, x.p.k}, b{x.p.n, x.p.k};
  for (std::int64_t q = 0; q < x.p.k; ++q) {
    for (std::int64_t i = 0; i < x.p.m; ++i) a(i, q) = rounded(x.a(i, q));
    for (std::int64_t j = 0; j < x.p.n; ++j) b(j, q) = rounded(x.b(q, j));
  }
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) {
      float sum = 0;
      for (std::int64_t from = 0; from < x.p.k; from += core.block) {
        std::int64_t const to = std::min(from + core.block, x.p.k);
        int largest = sum == 0 ? -1000 : std::ilogb(sum);
        for (std::int64_t q = from; q < to; ++q)
          if (a(i, q).value != 0 && b(j, q).value != 0)
            largest = std::max(largest, a(i, q).exponent + b(j, q).exponent);
        if (largest == -1000) continue;
        int const last = largest - 23 - core.extra_bits;
        double const scale = std::ldexp(1.0, -last);
        double total = std::trunc(static_cast<double>(sum) * scale);
        for (std::int64_t q = from; q < to; ++q) total += std::trunc(a(i, q).value * b(j, q).value * scale);
        sum = toward_zero(std::ldexp(total, last));
      }
      x.store(i, j, sum);
    }
}

candidate on_tensor_core(harness::precision declared, tensor_core core) {
  auto c = candidate_of(make_kernel<float>(
      "test.tensor_core", [core](harness_test::element_access<float> const& x) { multiply_on_tensor_core(x, core); }));
  c.precision = declared;
  c.flop_budget = 3e6;
  return c;
}

constexpr int least_f16 = -14;

TEST_CASE("the bound of element precision is gamma(k + 2)") {
  for (std::int64_t const k : {1, 2, 64, 4096})
    CHECK(error_factor(precision::element, dtype::f32, k) == harness::gamma(static_cast<double>(k) + 2, dtype::f32));
  CHECK(error_factor(precision::element, dtype::f32, std::int64_t{1} << 24) > 1e300);
}

TEST_CASE("operands that a format holds are not rounded, so that only the sums are in the bound") {
  double const sums = error_factor(precision::tf32, dtype::f32, 16, true, true);
  CHECK(sums == harness::gamma(2 * 16 + 2 * 4 + 4, dtype::f32));
  CHECK(error_factor(precision::tf32, dtype::f32, 16, true, false) == doctest::Approx(0x1p-10 + sums).epsilon(1e-3));
  CHECK(error_factor(precision::tf32, dtype::f32, 16) == doctest::Approx(0x1p-9 + sums).epsilon(1e-2));
  CHECK(error_factor(precision::bf16, dtype::f32, 16) == doctest::Approx(0x1p-6 + sums).epsilon(1e-2));
}

TEST_CASE("which values a format holds") {
  CHECK(representable(precision::tf32, 1 + 0x1p-10));
  CHECK_FALSE(representable(precision::tf32, 1 + 0x1p-11));
  CHECK(representable(precision::bf16, -255.0));
  CHECK_FALSE(representable(precision::bf16, 257.0));
  CHECK(representable(precision::f16, 65504.0));
  CHECK_FALSE(representable(precision::f16, 65536.0));
  CHECK(representable(precision::f16, 0x1p-24));
  CHECK_FALSE(representable(precision::f16, 0x1.8p-24));
  CHECK(representable(precision::f16, 0x1.8p-23));
  CHECK(representable(precision::tf32, 0.0));
}

TEST_CASE("an operand below f16's normal range may be off by its smallest number, and no further") {
  test_case const t{.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1, .fill = fill::normal};
  operands<float> const data{{0x1.8p-22f + 0x1p-25f}, {1.5f}, {}};
  check_options const options{.precision = precision::f16};
  expectation<float> const wanted(t, data, {}, options);
  std::int64_t wrong_rows = 0;
  for (float const a : {0x1.8p-22f, 0x1.cp-22f}) {
    std::vector<float> const c{a * 1.5f};
    CHECK(wanted.judge(c, wrong_rows).wrong == 0);
  }
  std::vector<float> const flushed{0};
  CHECK(wanted.judge(flushed, wrong_rows).wrong == 1);
}

TEST_CASE("mirror cancellation: A B is A1 D exactly, though its terms are larger by far") {
  for (std::int64_t const k : {6, 7}) {
    test_case t{.m = 3, .n = 4, .k = k, .lda = k, .ldb = 4, .ldc = 4, .fill = fill::cancellation, .seed = 7};
    auto const data = draw<float>(t);
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t p = 0; p < 3; ++p) CHECK(data.a[i * k + p] == data.a[i * k + 3 + p]);
    for (std::int64_t p = 0; p < 3; ++p)
      for (std::int64_t j = 0; j < t.n; ++j) {
        double const b1 = data.b[p * t.n + j], d = b1 + static_cast<double>(data.b[(p + 3) * t.n + j]);
        CHECK(std::abs(b1) >= 0.5);
        CHECK(std::abs(d) <= 0x1p-16);
        CHECK(static_cast<float>(d - b1) == data.b[(p + 3) * t.n + j]);
      }
  }
}

TEST_CASE("graded data stay far from overflow and underflow in any order") {
  test_case t{.dtype = dtype::f64, .m = 50, .n = 40, .k = 60, .fill = fill::graded, .seed = 3};
  for (auto const v : draw<double>(t).a) CHECK(std::abs(v) < 0x1p400);
  t.dtype = dtype::f32;
  auto const data = draw<float>(t);
  float low = 1, high = 1;
  for (auto const v : data.a) low = std::min(low, std::abs(v)), high = std::max(high, std::abs(v));
  CHECK(high / low > 0x1p60f);
  for (std::int64_t i = 0; i < t.m; ++i)
    for (std::int64_t p = 0; p < t.k; ++p)
      for (std::int64_t j = 0; j < t.n; ++j) {
        float const term = std::abs(data.a[i * t.k + p] * data.b[p * t.n + j]);
        CHECK_UNARY(term > 0x1p-110f && term < 0x1p60f);
      }
}

TEST_CASE("complementary rows and columns have the product 0") {
  test_case const t{.m = 20, .n = 30, .k = 10, .fill = fill::complementary, .seed = 5};
  auto const data = draw<float>(t);
  int zeros = 0;
  for (std::int64_t i = 0; i < t.m; ++i)
    for (std::int64_t j = 0; j < t.n; ++j) {
      bool zero = true;
      for (std::int64_t p = 0; p < t.k; ++p) zero = zero && data.a[i * t.k + p] * data.b[p * t.n + j] == 0;
      zeros += zero ? 1 : 0;
    }
  CHECK(zeros >= 10);
}

TEST_CASE_TEMPLATE("right but unusual kernels pass the error rung and have grade A", T, float, double) {
  for (auto const& row : right_kernels<T>())
    for (std::uint64_t const seed : {1, 2, 3}) {
      INFO(row.name, " with seed ", seed);
      auto const error = climb<T>(candidate_of(row), rung::error, seed);
      CHECK(error.verdict == rung_verdict::pass);
      std::string const witness = error.witness ? to_string(error.witness->test) : std::string();
      INFO(witness);
      auto const grade = climb<T>(candidate_of(row), rung::grade, seed);
      CHECK(grade.verdict == rung_verdict::pass);
      CHECK(fact_of(grade, "grade") == "A");
      CHECK(fact_of(grade, "Strassen detector").starts_with("silent"));
      CHECK(fact_of(grade, "fixed-point detector").starts_with("silent"));
      CHECK_FALSE(fact_of(error, "uniform").empty());
      CHECK(fact_of(error, "sums").empty());
    }
}

TEST_CASE("a sequential sum at standard: problems, facts and growth are told") {
  auto const error = climb<float>(candidate_of(naive<float>()), rung::error, 1, level::standard);
  CHECK(error.verdict == rung_verdict::pass);
  CHECK(error.calls > 90);
  for (auto const* const fill : {"normal", "uniform", "cancellation", "graded", "absorption"}) {
    CHECK(fact_of(error, fill).find("signed") != std::string::npos);
    CHECK(fact_of(error, fill).find("of the bound") != std::string::npos);
  }
  CHECK(fact_of(error, "uniform").starts_with("k = 4096: max "));
  auto const grade = climb<float>(candidate_of(naive<float>()), rung::grade, 1, level::standard);
  CHECK(grade.summary.starts_with("grade A; "));
  // About the square root of k, as rounding errors of either sign add up.
  auto const growth = fact_of(grade, "growth, uniform");
  double const exponent = std::stod(growth.substr(growth.find('^') + 1));
  CHECK(exponent > 0.3);
  CHECK(exponent < 0.7);
}

TEST_CASE_TEMPLATE("Strassen's algorithm is grade C, whatever its threshold and the parity of the sizes", T, float,
                   double) {
  for (std::int64_t const from : {2, 64, 200}) {
    auto const r = climb<T>(candidate_of(strassen<T>(from)), rung::grade);
    CHECK(r.verdict == rung_verdict::fail);
    CHECK(fact_of(r, "grade") == "C");
    CHECK(fact_of(r, "Strassen detector").starts_with("sounds"));
    REQUIRE(r.witness);
    CHECK(r.summary.find("Strassen-like") != std::string::npos);
  }
}

TEST_CASE("fixed point with a scale for each row and column is grade B") {
  for (int const bits : {28, 56}) {  // 4 and 8 slices of 7 bits
    auto const r = climb<float>(candidate_of(fixed_point<float>(bits)), rung::grade);
    CHECK(r.verdict == rung_verdict::fail);
    CHECK(fact_of(r, "grade") == "B");
    CHECK(fact_of(r, "Strassen detector").starts_with("silent"));
    CHECK(fact_of(r, "fixed-point detector").starts_with("sounds"));
    REQUIRE(r.witness);
    CHECK(r.witness->test.fill == fill::exponent_span);
  }
}

TEST_CASE("sums that are cut off break the bound on absorbing data, and are named") {
  auto const r = climb<float>(candidate_of(truncating()), rung::error);
  CHECK(r.verdict == rung_verdict::fail);
  REQUIRE(r.witness);
  CHECK(r.witness->test.fill == fill::absorption);
  CHECK(fact_of(r, "sums").find("cut off") != std::string::npos);
}

TEST_CASE("lost precision breaks the bound") {
  for (std::uint64_t const seed : {1, 2, 3}) {
    CHECK(climb<float>(candidate_of(bf16_times_3()), rung::error, seed).verdict == rung_verdict::fail);
    CHECK(climb<float>(candidate_of(noisy<float>()), rung::error, seed).verdict == rung_verdict::fail);
    CHECK(climb<double>(candidate_of(noisy<double>()), rung::error, seed).verdict == rung_verdict::fail);
    auto const r = climb<float>(candidate_of(wrong_in_small_rows<float>()), rung::error, seed);
    CHECK(r.verdict == rung_verdict::fail);
    REQUIRE(r.witness);
    CHECK(r.witness->test.fill == fill::graded);
  }
}

TEST_CASE("tensor-core accumulation is within the bound of the precision that is declared") {
  constexpr std::array volta_ampere_hopper{tensor_core{4, 0}, tensor_core{8, 1}, tensor_core{16, 2}};
  for (auto const& core : volta_ampere_hopper)
    for (bool const cut : {false, true})
      for (std::uint64_t const seed : {1, 2}) {
        INFO("blocks of ", core.block, ", operands ", cut ? "cut off" : "rounded");
        tensor_core const wide{core.block, core.extra_bits, 11, cut}, narrow{core.block, core.extra_bits, 8, cut},
            half{core.block, core.extra_bits, 11, cut, least_f16};
        for (auto const& c : {on_tensor_core(precision::tf32, wide), on_tensor_core(precision::bf16, narrow),
                              on_tensor_core(precision::f16, half)}) {
          INFO(to_string(c.precision));
          auto const error = climb<float>(c, rung::error, seed);
          CHECK(error.verdict == rung_verdict::pass);
          auto const grade = climb<float>(c, rung::grade, seed);
          CHECK(grade.verdict == rung_verdict::pass);
          CHECK(fact_of(grade, "grade").starts_with("A by the bound of"));
        }
      }
}

TEST_CASE("a kernel that is better than it declares passes") {
  for (auto const p : {precision::tf32, precision::bf16, precision::f16})
    for (auto const& row : right_kernels<float>()) {
      auto c = candidate_of(row);
      c.precision = p;
      CHECK(climb<float>(c, rung::error).verdict == rung_verdict::pass);
    }
}

TEST_CASE("a kernel that drops more bits than it declares fails") {
  for (std::uint64_t const seed : {1, 2}) {
    // Sums with fewer bits than f32 has.
    for (int const extra : {-3, -6, -12})
      CHECK(climb<float>(on_tensor_core(precision::tf32, {16, extra, 11}), rung::error, seed).verdict ==
            rung_verdict::fail);
    // Operands with fewer bits than declared.
    CHECK(climb<float>(on_tensor_core(precision::tf32, {16, 2, 8}), rung::error, seed).verdict == rung_verdict::fail);
    CHECK(climb<float>(on_tensor_core(precision::f16, {16, 2, 8, false, least_f16}), rung::error, seed).verdict ==
          rung_verdict::fail);
    // What is no element precision.
    CHECK(climb<float>(on_tensor_core(precision::element, {16, 2, 11}), rung::error, seed).verdict ==
          rung_verdict::fail);
  }
}

TEST_CASE("a declared precision is of A and B only: a C that is rounded to it fails") {
  auto c = candidate_of(make_kernel<float>("test.rounds_c", [](harness_test::element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m && x.p.beta != 0; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = with_bits(x.c(i, j), 11);
    multiply(x);
  }));
  c.precision = precision::tf32;
  CHECK(climb<float>(c, rung::error).verdict == rung_verdict::fail);
}

TEST_CASE("tensor cores lose on absorbing data what they drop, at k of at most 64") {
  auto const r = climb<float>(on_tensor_core(precision::tf32, {16, -3, 11}), rung::error);
  REQUIRE(r.witness);
  CHECK(r.witness->test.fill == fill::absorption);
}

TEST_CASE("the rungs keep to a kernel's limits, and say where nothing is left") {
  auto c = candidate_of(naive<float>());
  c.limits = parse_limits("nn,multiple_of=16,alpha=1,beta=0,tight");
  auto const r = climb<float>(c, rung::error);
  CHECK(r.verdict == rung_verdict::pass);
  CHECK(r.unsupported == 0);
  CHECK(climb<float>(c, rung::grade).verdict == rung_verdict::pass);
  c.flop_budget = 1;
  CHECK(climb<float>(c, rung::error).verdict == rung_verdict::not_applicable);
  CHECK(climb<float>(c, rung::grade).verdict == rung_verdict::not_applicable);
}

TEST_CASE("a witness of either rung fails again when it is replayed alone") {
  struct planted {
    kernel row;
    harness::rung rung;
  };
  for (auto const& p : {planted{strassen<float>(64), rung::grade}, planted{fixed_point<float>(28), rung::grade},
                        planted{truncating(), rung::error}, planted{bf16_times_3(), rung::error}}) {
    INFO(p.row.name);
    auto const c = candidate_of(p.row);
    auto const r = climb<float>(c, p.rung);
    REQUIRE(r.witness);
    auto const again = replay(c, parse_case(to_string(r.witness->test)));
    REQUIRE(again);
    CHECK(again->wrong > 0);
    CHECK_FALSE(replay(candidate_of(naive<float>()), r.witness->test));
  }
}

TEST_CASE("the same seed gives the same report") {
  auto const one = climb<float>(candidate_of(strassen<float>(16)), rung::grade, 5);
  auto const two = climb<float>(candidate_of(strassen<float>(16)), rung::grade, 5);
  CHECK(one.summary == two.summary);
  CHECK(one.calls == two.calls);
  CHECK(one.facts == two.facts);
  CHECK(to_string(one.witness->test) == to_string(two.witness->test));
}

}  // namespace
}  // namespace harness_test
