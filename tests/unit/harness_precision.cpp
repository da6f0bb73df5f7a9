// L3 and L6: kernels that lose bits, flush, skip zeros or misplace NaN, everywhere or in some places, and right ones
// that work unlike the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <tandem/harness/judge.hpp>

#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using harness_test::element_access;
using harness_test::make_kernel;
using harness_test::round_to;

namespace {

template <class T>
using dot_function = std::function<T(element_access<T> const&, std::int64_t i, std::int64_t j)>;

/// A kernel whose element (i, j) is alpha dot(i, j) + beta C.
template <class T>
candidate by_element(std::string name, dot_function<T> dot) {
  return candidate_of(make_kernel<T>(std::move(name), [dot](element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, dot(x, i, j));
  }));
}

float tf32(float v) { return round_to(11, v); }
float bf16(float v) { return round_to(8, v); }
float f16(float v) {
  if (std::abs(v) >= 65520) return std::copysign(std::numeric_limits<float>::infinity(), v);
  if (std::abs(v) < 0x1p-14f) return static_cast<float>(std::nearbyint(static_cast<double>(v) * 0x1p24) * 0x1p-24);
  return round_to(11, v);
}
float flushed(float v) { return std::abs(v) < std::numeric_limits<float>::min() ? 0 : v; }

using rounding_function = float (*)(float);
float rounded_dot(element_access<float> const& x, std::int64_t i, std::int64_t j, rounding_function round) {
  float sum = 0;
  for (std::int64_t q = 0; q < x.p.k; ++q) sum += round(x.a(i, q)) * round(x.b(q, j));
  return sum;
}

/// Rounds its operands where `when` holds, and is right elsewhere.
candidate rounding_where(rounding_function round,
                         std::function<bool(tandem::problem const&, std::int64_t i, std::int64_t j)> when) {
  return by_element<float>("test.rounding", [=](element_access<float> const& x, std::int64_t i, std::int64_t j) {
    return when(x.p, i, j) ? rounded_dot(x, i, j, round) : x.dot(i, j, x.p.k);
  });
}

/// A sum that each addition makes with `add`.
template <class T, class Add>
candidate adding(std::string name, Add add) {
  return by_element<T>(std::move(name), [add](element_access<T> const& x, std::int64_t i, std::int64_t j) {
    T sum = 0;
    for (std::int64_t q = 0; q < x.p.k; ++q) sum = add(sum, x.a(i, q), x.b(q, j));
    return sum;
  });
}

float toward_zero(double exact) {
  auto const near = static_cast<float>(exact);
  return std::abs(static_cast<double>(near)) > std::abs(exact) ? std::nextafter(near, 0.0f) : near;
}

template <class T>
T pairwise(element_access<T> const& x, std::int64_t i, std::int64_t j, std::int64_t begin, std::int64_t end) {
  if (end - begin == 1) return x.a(i, begin) * x.b(begin, j);
  auto const middle = begin + (end - begin) / 2;
  return pairwise(x, i, j, begin, middle) + pairwise(x, i, j, middle, end);
}

template <class T>
T kahan(element_access<T> const& x, std::int64_t i, std::int64_t j) {
  T sum = 0, lost = 0;
  for (std::int64_t q = 0; q < x.p.k; ++q) {
    T const term = x.a(i, q) * x.b(q, j) - lost;
    T const next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

template <class T>
T lanes(element_access<T> const& x, std::int64_t i, std::int64_t j) {
  T sums[8] = {};
  for (std::int64_t q = 0; q < x.p.k; ++q) sums[q % 8] = std::fma(x.a(i, q), x.b(q, j), sums[q % 8]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// C = beta C first, then alpha a b for panels of k; alpha goes into A.
template <class T>
void panels(element_access<T> const& x) {
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) {
      T& c = x.c(i, j);
      c = x.p.beta == 0 ? 0 : x.beta() * c;
      for (std::int64_t p = 0; p < x.p.k; p += 24) {
        T sum = 0;
        for (std::int64_t q = p; q < std::min(p + 24, x.p.k); ++q) sum += (x.alpha() * x.a(i, q)) * x.b(q, j);
        c += sum;
      }
    }
}

/// Alpha goes into B, in four parts of k whose sums are added at the end; k is padded with zeros to a multiple of 16.
template <class T>
void padded_split(element_access<T> const& x) {
  auto const depth = (x.p.k + 15) / 16 * 16;
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) {
      T parts[4] = {};
      for (std::int64_t q = 0; q < depth; ++q) {
        T const a = q < x.p.k ? x.a(i, q) : T{0}, b = q < x.p.k ? x.alpha() * x.b(q, j) : T{0};
        T& sum = parts[q * 4 / depth];
        sum = std::fma(a, b, sum);
      }
      T const sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
      x.c(i, j) = x.p.beta == 0 ? sum : std::fma(x.beta(), x.c(i, j), sum);
    }
}

template <class T>
std::vector<candidate> right_kernels() {
  std::vector<candidate> all;
  all.push_back(candidate_of(harness_test::naive<T>()));
  all.push_back(candidate_of(harness_test::reversed<T>()));
  all.push_back(candidate_of(harness_test::wide_sum<T>()));
  all.push_back(by_element<T>("test.pairwise", [](element_access<T> const& x, std::int64_t i, std::int64_t j) {
    return pairwise(x, i, j, 0, x.p.k);
  }));
  all.push_back(by_element<T>("test.kahan", kahan<T>));
  all.push_back(by_element<T>("test.lanes", lanes<T>));
  all.push_back(candidate_of(make_kernel<T>("test.panels", panels<T>)));
  all.push_back(candidate_of(make_kernel<T>("test.padded_split", padded_split<T>)));
  return all;
}

rung_report climb(candidate const& kernel, rung which, level how_far = level::quick, std::uint64_t seed = 1) {
  judge_options options;
  options.level = how_far;
  options.seed = seed;
  options.only = {which};
  options.diagnose = false;
  auto const found = judge(kernel, options);
  for (auto const& r : found.rungs)
    if (r.rung == which) return r;
  FAIL("no report of this rung");
  return {};
}

bool is_refused(candidate const& kernel, rung which, level how_far = level::quick) {
  auto const r = climb(kernel, which, how_far);
  INFO(kernel.name, ": ", r.summary);
  CHECK(r.verdict == rung_verdict::fail);
  if (!r.witness) return false;
  MESSAGE(kernel.name, " at ", to_string(r.witness->test), ": ", r.witness->reason);
  // What the judge saw, it sees again when asked.
  std::optional<test_case> before;
  if (!r.witness->after.empty()) before = parse_case(r.witness->after);
  CHECK(replay(kernel, r.witness->test, {.diagnose = false}, before).has_value());
  return r.verdict == rung_verdict::fail;
}

bool says(rung_report const& r, std::string const& text) { return r.summary.find(text) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("precision");

TEST_CASE("right kernels pass, whatever their order of summation") {
  auto const all_pass = [](std::vector<candidate> const& kernels) {
    for (auto const& kernel : kernels)
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(kernel.name);
        auto const r = climb(kernel, rung::precision, level::quick, seed);
        CHECK(r.verdict == rung_verdict::pass);
        if (r.witness) MESSAGE(to_string(r.witness->test), ": ", r.witness->reason);
        if (seed == 1) MESSAGE(kernel.name, ": ", r.summary, " (", r.seconds, " s, ", r.calls, " calls)");
      }
  };
  all_pass(right_kernels<float>());
  all_pass(right_kernels<double>());
}

TEST_CASE("what a kernel computes in is told") {
  auto const said = [](candidate const& kernel) { return climb(kernel, rung::precision).summary; };
  CHECK(said(candidate_of(harness_test::naive<float>())) ==
        "FP32: operands keep 24 bits, products rounded, sums of 24 bits to nearest, subnormals kept");
  CHECK(said(candidate_of(harness_test::reversed<float>())) ==
        "FP32: operands keep 24 bits, products fused, sums of 24 bits to nearest, subnormals kept");
  CHECK(said(candidate_of(harness_test::wide_sum<float>())) ==
        "FP32: operands keep 24 bits, products exact, sums of 53 bits to nearest, subnormals kept");
  CHECK(said(candidate_of(harness_test::reversed<double>())) ==
        "FP64: operands keep 53 bits, products fused, sums of 53 bits to nearest, subnormals kept");
  CHECK(said(by_element<float>("test.lanes", lanes<float>)) ==
        "FP32: operands keep 24 bits, products fused, sums of 24 bits to nearest, subnormals kept");
  auto const everywhere = [](rounding_function round) {
    return climb(rounding_where(round, [](auto const&...) { return true; }), rung::precision);
  };
  CHECK(says(everywhere(tf32), "TF32: operands keep 11 bits"));
  CHECK(says(everywhere(bf16), "BF16 operands: operands keep 8 bits"));
  CHECK(says(everywhere(f16), "FP16 operands: operands keep 11 bits in f16's range"));
  CHECK(says(
      climb(adding<float>("test.f16_sums", [](float s, float a, float b) { return f16(s + a * b); }), rung::precision),
      "FP16 accumulate: operands keep 11 bits in f16's range"));
  CHECK(says(climb(adding<float>("test.22_bits", [](float s, float a, float b) { return round_to(22, s + a * b); }),
                   rung::precision),
             "22-bit operands: operands keep 22 bits, products rounded, sums of 22 bits to nearest"));
  CHECK(says(climb(adding<float>("test.toward_zero",
                                 [](float s, float a, float b) {
                                   return toward_zero(static_cast<double>(s) +
                                                      static_cast<double>(a) * static_cast<double>(b));
                                 }),
                   rung::precision),
             "products fused, sums of 24 bits toward zero"));
}

TEST_CASE("operands that are rounded are seen, wherever that happens") {
  using tandem::problem;
  auto const refused = [](rounding_function round, auto when, level how_far = level::quick) {
    return is_refused(rounding_where(round, when), rung::precision, how_far);
  };
  SUBCASE("everywhere") {
    for (auto const round : {tf32, bf16, f16})
      CHECK(refused(round, [](problem const&, std::int64_t, std::int64_t) { return true; }));
  }
  SUBCASE("in whole tiles only") {
    CHECK(refused(tf32, [](problem const& p, std::int64_t i, std::int64_t j) {
      return (i / 64 + 1) * 64 <= p.m && (j / 64 + 1) * 64 <= p.n;
    }));
  }
  SUBCASE("in edge tiles only") {
    CHECK(refused(tf32, [](problem const& p, std::int64_t i, std::int64_t j) {
      return (i / 32 + 1) * 32 > p.m || (j / 32 + 1) * 32 > p.n;
    }));
  }
  SUBCASE("where all sizes are multiples of 8") {
    CHECK(refused(tf32, [](problem const& p, std::int64_t, std::int64_t) {
      return p.m % 8 == 0 && p.n % 8 == 0 && p.k % 8 == 0;
    }));
  }
  SUBCASE("where k is large") {
    CHECK(refused(tf32, [](problem const& p, std::int64_t, std::int64_t) { return p.k >= 4096; }));
  }
  SUBCASE("where the product is large") {
    CHECK(refused(
        tf32, [](problem const& p, std::int64_t, std::int64_t) { return p.m * p.n * p.k >= 1 << 24; },
        level::standard));
  }
  SUBCASE("for one transpose and alignment") {
    CHECK(refused(tf32, [](problem const& p, std::int64_t, std::int64_t) {
      return !p.trans_a && p.trans_b && p.lda % 8 == 0 && p.ldb % 8 == 0 && p.ldc % 8 == 0 && p.m >= 64;
    }));
  }
}

TEST_CASE("the last term alone, or one operand alone, is seen") {
  CHECK(is_refused(by_element<float>("test.tail",
                                     [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
                                       auto const last = x.p.k - 1;
                                       return x.dot(i, j, last) + bf16(x.a(i, last)) * x.b(last, j);
                                     }),
                   rung::precision));
  CHECK(is_refused(adding<float>("test.a", [](float s, float a, float b) { return s + round_to(23, a) * b; }),
                   rung::precision));
  CHECK(is_refused(adding<float>("test.b", [](float s, float a, float b) { return s + a * round_to(23, b); }),
                   rung::precision));
}

TEST_CASE("operands split into parts, some of whose products are left out, are seen") {
  CHECK(is_refused(adding<float>("test.tf32x3",
                                 [](float s, float a, float b) {
                                   float const a1 = tf32(a), a2 = tf32(a - a1), b1 = tf32(b), b2 = tf32(b - b1);
                                   return s + (a1 * b2 + a2 * b1) + a1 * b1;
                                 }),
                   rung::precision));
  CHECK(is_refused(adding<float>("test.bf16x2",
                                 [](float s, float a, float b) {
                                   float const a1 = bf16(a), a2 = bf16(a - a1), b1 = bf16(b), b2 = bf16(b - b1);
                                   return s + (a1 * b2 + a2 * b1) + a1 * b1;
                                 }),
                   rung::precision));
}

TEST_CASE("sums of fewer bits are seen") {
  CHECK(is_refused(adding<float>("test.f16_sums", [](float s, float a, float b) { return f16(s + a * b); }),
                   rung::precision));
  CHECK(is_refused(by_element<float>("test.f16_sums_of_32",
                                     [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
                                       float sum = 0, part = 0;
                                       for (std::int64_t q = 0; q < x.p.k; ++q) {
                                         part = f16(part + x.a(i, q) * x.b(q, j));
                                         if (q % 32 == 31) sum += std::exchange(part, 0.0f);
                                       }
                                       return sum + part;
                                     }),
                   rung::precision));
  CHECK(is_refused(adding<float>("test.22_bits", [](float s, float a, float b) { return round_to(22, s + a * b); }),
                   rung::precision));
  CHECK(is_refused(adding<float>("test.toward_zero",
                                 [](float s, float a, float b) {
                                   return toward_zero(static_cast<double>(s) +
                                                      static_cast<double>(a) * static_cast<double>(b));
                                 }),
                   rung::precision));
  CHECK(is_refused(by_element<double>("test.f32_inside",
                                      [](element_access<double> const& x, std::int64_t i, std::int64_t j) {
                                        float sum = 0;
                                        for (std::int64_t q = 0; q < x.p.k; ++q)
                                          sum += static_cast<float>(x.a(i, q)) * static_cast<float>(x.b(q, j));
                                        return static_cast<double>(sum);
                                      }),
                   rung::precision));
  CHECK(is_refused(by_element<double>("test.f32_sums_of_deep_products",
                                      [](element_access<double> const& x, std::int64_t i, std::int64_t j) {
                                        double sum = 0;
                                        for (std::int64_t q = 0; q < x.p.k; ++q) {
                                          sum += x.a(i, q) * x.b(q, j);
                                          if (x.p.k >= 256) sum = static_cast<double>(static_cast<float>(sum));
                                        }
                                        return sum;
                                      }),
                   rung::precision));
}

TEST_CASE("beta C read or stored in fewer bits is seen") {
  CHECK(is_refused(candidate_of(make_kernel<float>("test.bf16_c",
                                                   [](element_access<float> const& x) {
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t j = 0; j < x.p.n; ++j) {
                                                         if (x.p.beta != 0) x.c(i, j) = bf16(x.c(i, j));
                                                         x.store(i, j, x.dot(i, j, x.p.k));
                                                       }
                                                   })),
                   rung::precision));
}

TEST_CASE("a declared precision is what a kernel is held to") {
  auto const declared = [](rounding_function round, precision p) {
    auto kernel = rounding_where(round, [](auto const&...) { return true; });
    kernel.precision = p;
    return kernel;
  };
  auto const cut = [](float v) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffffe000u); };
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (auto const& kernel : {declared(tf32, precision::tf32), declared(cut, precision::tf32),
                               declared(f16, precision::f16), declared(bf16, precision::bf16),
                               declared([](float v) { return v; }, precision::tf32), declared(tf32, precision::bf16)}) {
      auto const r = climb(kernel, rung::precision, level::quick, seed);
      CAPTURE(r.summary);
      CHECK(r.verdict == rung_verdict::pass);
      if (r.witness) MESSAGE(to_string(r.witness->test), ": ", r.witness->reason);
      CHECK(climb(kernel, rung::special_values, level::quick, seed).verdict == rung_verdict::pass);
    }
  CHECK(is_refused(declared(bf16, precision::tf32), rung::precision));
  CHECK(is_refused(declared(bf16, precision::f16), rung::precision));
  CHECK(is_refused(declared(f16, precision::tf32), rung::precision));
  CHECK(is_refused(declared([](float v) { return round_to(7, v); }, precision::bf16), rung::precision));
  CHECK(is_refused(declared([](float v) { return round_to(10, v); }, precision::f16), rung::precision));
  auto sums = adding<float>("test.f16_sums", [](float s, float a, float b) { return f16(s + f16(a) * f16(b)); });
  sums.precision = precision::f16;
  CHECK(is_refused(sums, rung::precision));
}

TEST_CASE("subnormals that are flushed to zero are seen, read or written") {
  auto const a_flushed = adding<float>("test.a", [](float s, float a, float b) { return s + flushed(a) * b; });
  auto const b_flushed = adding<float>("test.b", [](float s, float a, float b) { return s + a * flushed(b); });
  auto const product = adding<float>("test.product", [](float s, float a, float b) { return s + flushed(a * b); });
  auto const sum = adding<float>("test.sum", [](float s, float a, float b) { return flushed(s + a * b); });
  for (auto const& kernel : {a_flushed, b_flushed, product, sum}) CHECK(is_refused(kernel, rung::precision));
  CHECK(says(climb(a_flushed, rung::precision), "subnormal operands flushed to zero"));
  CHECK(says(climb(product, rung::precision), "subnormal products flushed to zero"));
  CHECK(says(climb(sum, rung::precision), "subnormal results flushed to zero"));
  CHECK(is_refused(candidate_of(make_kernel<float>("test.flushed_c",
                                                   [](element_access<float> const& x) {
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t j = 0; j < x.p.n; ++j) {
                                                         if (x.p.beta != 0) x.c(i, j) = flushed(x.c(i, j));
                                                         x.store(i, j, x.dot(i, j, x.p.k));
                                                       }
                                                   })),
                   rung::precision, level::standard));
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("special values");

TEST_CASE("right kernels pass with NaN, infinities and overflow") {
  auto const all_pass = [](std::vector<candidate> const& kernels) {
    for (auto const& kernel : kernels)
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(kernel.name);
        auto const r = climb(kernel, rung::special_values, level::quick, seed);
        CHECK(r.verdict == rung_verdict::pass);
        if (r.witness) MESSAGE(to_string(r.witness->test), ": ", r.witness->reason);
        if (seed == 1) MESSAGE(kernel.name, ": ", r.summary, " (", r.seconds, " s, ", r.calls, " calls)");
        for (auto const& [name, text] : r.facts)
          if (seed == 1) MESSAGE(name, ": ", text);
      }
  };
  all_pass(right_kernels<float>());
  all_pass(right_kernels<double>());
}

namespace {

candidate skipping_zeros(bool of_a, bool of_b) {
  return adding<float>("test.skipping",
                       [=](float s, float a, float b) { return (of_a && a == 0) || (of_b && b == 0) ? s : s + a * b; });
}

/// Element (i, j) is f(the right value).
candidate changing(std::string name, std::function<float(float)> f) {
  return by_element<float>(std::move(name), [f](element_access<float> const& x, std::int64_t i, std::int64_t j) {
    return f(x.dot(i, j, x.p.k));
  });
}

}  // namespace

TEST_CASE("zeros that are skipped are seen") {
  CHECK(is_refused(skipping_zeros(true, false), rung::special_values));
  CHECK(is_refused(skipping_zeros(false, true), rung::special_values));
}

TEST_CASE("tiles of zeros that are skipped are seen") {
  // A row of eight terms of A that are all 0 is left out; or a whole A.
  CHECK(is_refused(by_element<float>("test.skips_eight",
                                     [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
                                       float sum = 0;
                                       for (std::int64_t p = 0; p < x.p.k; p += 8) {
                                         float part = 0;
                                         bool zeros = true;
                                         for (std::int64_t q = p; q < std::min(p + 8, x.p.k); ++q) {
                                           part += x.a(i, q) * x.b(q, j);
                                           zeros = zeros && x.a(i, q) == 0;
                                         }
                                         if (!zeros) sum += part;
                                       }
                                       return sum;
                                     }),
                   rung::special_values));
  CHECK(is_refused(candidate_of(make_kernel<float>("test.skips_all",
                                                   [](element_access<float> const& x) {
                                                     bool zeros = true;
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t q = 0; q < x.p.k; ++q)
                                                         zeros = zeros && x.a(i, q) == 0;
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t j = 0; j < x.p.n; ++j)
                                                         x.store(i, j, zeros ? 0 : x.dot(i, j, x.p.k));
                                                   })),
                   rung::special_values));
}

TEST_CASE("overflow that is made finite, and beta NaN that is taken for 0, are seen") {
  CHECK(is_refused(by_element<float>("test.clamped",
                                     [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
                                       float sum = 0;
                                       bool finite = true;
                                       constexpr float largest = std::numeric_limits<float>::max();
                                       for (std::int64_t q = 0; q < x.p.k; ++q) {
                                         float const term = x.a(i, q) * x.b(q, j);
                                         finite = finite && std::isfinite(term);
                                         sum += term;
                                       }
                                       return finite ? std::clamp(sum, -largest, largest) : sum;
                                     }),
                   rung::special_values));
  CHECK(is_refused(candidate_of(make_kernel<float>("test.beta",
                                                   [](element_access<float> const& x) {
                                                     bool const reads_c = x.beta() < 0 || x.beta() > 0;
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t j = 0; j < x.p.n; ++j) {
                                                         float const sum = x.alpha() * x.dot(i, j, x.p.k);
                                                         x.c(i, j) = reads_c ? sum + x.beta() * x.c(i, j) : sum;
                                                       }
                                                   })),
                   rung::special_values));
}

TEST_CASE("NaN and infinities that are lost are seen") {
  auto const refused = [](std::string name, std::function<float(float)> f) {
    return is_refused(changing(std::move(name), f), rung::special_values);
  };
  CHECK(refused("test.nan_to_zero", [](float v) { return std::isnan(v) ? 0 : v; }));
  CHECK(refused("test.nan_to_infinity",
                [](float v) { return std::isnan(v) ? std::numeric_limits<float>::infinity() : v; }));
  CHECK(refused("test.largest",
                [](float v) { return std::isinf(v) ? std::copysign(std::numeric_limits<float>::max(), v) : v; }));
  CHECK(refused("test.sign", [](float v) { return std::isinf(v) ? std::abs(v) : v; }));
  CHECK(refused("test.infinity_to_nan",
                [](float v) { return std::isinf(v) ? std::numeric_limits<float>::quiet_NaN() : v; }));
  auto const r =
      climb(changing("test.nan_to_zero", [](float v) { return std::isnan(v) ? 0 : v; }), rung::special_values);
  REQUIRE(r.witness);
  CHECK(r.witness->reason.find("must be NaN, not ") != std::string::npos);
}

TEST_CASE("NaN that a mask lets through, or that reaches a neighbour, is seen") {
  // The tail of k is filled up with the last element times 0.
  auto const masked =
      by_element<float>("test.masked", [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
        float sum = 0;
        for (std::int64_t q = 0; q < (x.p.k + 3) / 4 * 4; ++q) {
          auto const at = std::min(q, x.p.k - 1);
          sum += x.a(i, at) * (q < x.p.k ? 1.0f : 0.0f) * x.b(at, j);
        }
        return sum;
      });
  CHECK(is_refused(masked, rung::special_values));
  // The last, partial tile of eight rows takes in the row above it, times 0.
  auto const neighbour =
      by_element<float>("test.neighbour", [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
        float sum = x.dot(i, j, x.p.k);
        bool const in_edge = i / 8 * 8 + 8 > x.p.m;
        if (in_edge && i > 0)
          for (std::int64_t q = 0; q < x.p.k; ++q) sum += 0 * x.a(i - 1, q);
        return sum;
      });
  CHECK(is_refused(neighbour, rung::special_values));
  auto const r = climb(neighbour, rung::special_values);
  REQUIRE(r.witness);
  CHECK(r.witness->reason.find("are finite and so is their sum; ") != std::string::npos);
}

TEST_CASE("NaN that is not written, where C held NaN before, is seen") {
  auto const r = climb(candidate_of(make_kernel<float>("test.unwritten",
                                                       [](element_access<float> const& x) {
                                                         for (std::int64_t i = 0; i < x.p.m; ++i)
                                                           for (std::int64_t j = 0; j < x.p.n; ++j) {
                                                             float const sum = x.dot(i, j, x.p.k);
                                                             if (!std::isnan(sum) || x.p.beta != 0) x.store(i, j, sum);
                                                           }
                                                       })),
                       rung::special_values);
  CHECK(r.verdict == rung_verdict::fail);
  REQUIRE(r.witness);
  CHECK(r.witness->what == failure_class::untouched);
}

TEST_CASE("beta times NaN in C is seen when it is left out") {
  CHECK(is_refused(candidate_of(make_kernel<float>("test.c",
                                                   [](element_access<float> const& x) {
                                                     for (std::int64_t i = 0; i < x.p.m; ++i)
                                                       for (std::int64_t j = 0; j < x.p.n; ++j) {
                                                         if (std::isnan(x.c(i, j))) x.c(i, j) = 0;
                                                         x.store(i, j, x.dot(i, j, x.p.k));
                                                       }
                                                   })),
                   rung::special_values));
}

TEST_CASE("what a call with NaN leaves behind is seen") {
  // k is filled up to a multiple of 8 in a buffer that is kept; only B's part of it is cleared.
  auto const stale =
      by_element<float>("test.stale", [](element_access<float> const& x, std::int64_t i, std::int64_t j) {
        static std::vector<float> a(4096), b(4096);
        auto const depth = static_cast<std::size_t>((x.p.k + 7) / 8 * 8);
        if (a.size() < depth) a.resize(depth), b.resize(depth);
        std::fill(b.begin(), b.end(), 0.0f);
        float sum = 0;
        for (std::int64_t q = 0; q < x.p.k; ++q)
          a[static_cast<std::size_t>(q)] = x.a(i, q), b[static_cast<std::size_t>(q)] = x.b(q, j);
        for (std::size_t q = 0; q < depth; ++q) sum += a[q] * b[q];
        return sum;
      });
  auto const r = climb(stale, rung::special_values);
  REQUIRE(r.witness);
  CHECK(is_refused(stale, rung::special_values));
}

TEST_SUITE_END();
