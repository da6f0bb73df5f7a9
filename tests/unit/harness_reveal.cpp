// Trees of sums found from outside: kernels whose order is known are named rightly and predicted bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tandem/harness/judge.hpp>
#include <tandem/harness/reveal.hpp>
#include <tandem/kernel.hpp>

#include "harness/random.hpp"
#include "harness/sum_tree.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using harness_test::make_kernel;

namespace {

template <class T>
using element_sum = std::function<T(harness_test::element_access<T> const&, std::int64_t i, std::int64_t j)>;

/// A kernel that stores fma(alpha, sum, beta c).
template <class T>
candidate summing(element_sum<T> sum) {
  return candidate_of(make_kernel<T>("test.sum", [sum](harness_test::element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T const s = sum(x, i, j);
        x.c(i, j) = x.p.beta == 0 ? x.alpha() * s : std::fma(x.alpha(), s, x.beta() * x.c(i, j));
      }
  }));
}

template <class T>
T fma_chain(harness_test::element_access<T> const& x, std::int64_t i, std::int64_t j, std::int64_t begin,
            std::int64_t end, std::int64_t step = 1, T sum = 0) {
  for (auto q = begin; q < end; q += step) sum = std::fma(x.a(i, q), x.b(q, j), sum);
  return sum;
}

template <class T>
T pairwise_sum(std::vector<T> v) {
  while (v.size() > 1) {
    std::vector<T> next;
    for (std::size_t i = 0; i + 1 < v.size(); i += 2) next.push_back(v[i] + v[i + 1]);
    if (v.size() % 2 == 1) next.push_back(v.back());
    v = std::move(next);
  }
  return v[0];
}

template <class T>
revelation reveal_sums(candidate const& kernel, std::int64_t k, std::int64_t m = 37, std::int64_t n = 41) {
  test_case t;
  t.dtype = tandem::dtype_of<T>;
  t.m = m, t.n = n, t.k = k, t.fill = fill::normal;
  t.lda = tight_lda(t), t.ldb = tight_ldb(t), t.ldc = tight_ldc(t);
  return reveal(kernel, within(kernel.limits, t));
}

/// What a region's sums are called, and that they are predicted.
std::string named(revelation const& r) {
  CHECK_MESSAGE(r.bit_exact(), r.summary());
  CHECK(r.defect.empty());
  REQUIRE(r.regions.size() == 1);
  return r.regions[0].summary;
}

}  // namespace

TEST_SUITE_BEGIN("harness: reveal");

TEST_CASE_TEMPLATE("a chain is a chain in either direction, fused or not", T, float, double) {
  std::string const type = std::is_same_v<T, float> ? "f32" : "f64";
  auto const forward =
      reveal_sums<T>(summing<T>([](auto& x, auto i, auto j) { return fma_chain(x, i, j, 0, x.p.k); }), 100);
  CHECK(named(forward) == "a sequential FMA chain");
  CHECK(forward.regions[0].sums == "products fused into " + type + " sums (fma)");
  CHECK(forward.regions[0].epilogue == "fma(alpha, sum, beta c)");
  CHECK(forward.summary() == "K = 100: a sequential FMA chain; bit-exact to its own model");

  auto const reversed = reveal_sums<T>(candidate_of(harness_test::reversed<T>()), 100);
  CHECK(named(reversed) == "a sequential FMA chain from the last term to the first");
  CHECK(reversed.regions[0].epilogue == "alpha sum + beta c, both rounded");

  auto const rounded = reveal_sums<T>(candidate_of(harness_test::naive<T>()), 100);
  CHECK(named(rounded) == "a sequential chain");
  CHECK(rounded.regions[0].sums == "products rounded, then added in " + type);

  auto const wide = reveal_sums<T>(candidate_of(harness_test::wide_sum<T>()), 100);
  CHECK(named(wide) == "a sequential chain");
  CHECK(wide.regions[0].sums ==
        (std::is_same_v<T, float> ? "products and sums in f64" : "products and sums in long double"));
}

TEST_CASE_TEMPLATE("blocks, lanes and splits are told apart", T, float, double) {
  auto const blocks_of = [](std::int64_t kc) {
    return summing<T>([kc](auto& x, auto i, auto j) {
      T sum = 0;
      for (std::int64_t q = 0; q < x.p.k; q += kc) sum += fma_chain(x, i, j, q, std::min(q + kc, x.p.k));
      return sum;
    });
  };
  auto const blocked = reveal_sums<T>(blocks_of(320), 1000, 17, 19);
  CHECK(named(blocked) == "blocks 320, 320, 320, 40, each a sequential FMA chain");
  CHECK(blocked.k_blocks == std::vector<std::int64_t>{320, 640, 960});
  CHECK(named(reveal_sums<T>(blocks_of(16), 200)) == "blocks 12 of 16, 1 of 8, each a sequential FMA chain");

  // A block of one term is a product that was rounded, although the tree is that of a chain with one more link.
  for (std::int64_t const k : {97, 49, 145}) {
    auto const rest = reveal_sums<T>(blocks_of(48), k, 17, 19);
    CHECK_MESSAGE(rest.bit_exact(), rest.summary());
    CHECK(rest.regions[0].sums.find("a term that is a block by itself rounded first") != std::string::npos);
  }

  auto const lanes_of = [](std::int64_t lanes) {
    return summing<T>([lanes](auto& x, auto i, auto j) {
      std::vector<T> sums;
      for (std::int64_t l = 0; l < lanes; ++l) sums.push_back(fma_chain(x, i, j, l, x.p.k, lanes));
      return pairwise_sum(sums);
    });
  };
  CHECK(named(reveal_sums<T>(lanes_of(8), 200)) == "8 interleaved FMA chains of stride 8, summed pairwise");
  CHECK(named(reveal_sums<T>(lanes_of(16), 250)) == "16 interleaved FMA chains of stride 16, summed pairwise");

  auto const halves = summing<T>([](auto& x, auto i, auto j) {
    T l[4];
    for (int s = 0; s < 4; ++s) l[s] = fma_chain(x, i, j, s, x.p.k, 4);
    return (l[0] + l[2]) + (l[1] + l[3]);
  });
  CHECK(named(reveal_sums<T>(halves, 64)) == "4 interleaved FMA chains of stride 4, summed pairwise, 0 with 2 first");

  auto const lanes_and_tail = summing<T>([](auto& x, auto i, auto j) {
    auto const whole = x.p.k / 8 * 8;
    std::vector<T> sums;
    for (std::int64_t l = 0; l < 8; ++l) sums.push_back(fma_chain(x, i, j, l, whole, 8));
    return fma_chain(x, i, j, whole, x.p.k, 1, pairwise_sum(sums));
  });
  CHECK(named(reveal_sums<T>(lanes_and_tail, 101)) ==
        "96 terms as 8 interleaved FMA chains of stride 8, summed pairwise, then 5 single terms");

  auto const split = summing<T>([](auto& x, auto i, auto j) {
    std::vector<T> parts;
    for (std::int64_t s = 0; s < 4; ++s) parts.push_back(fma_chain(x, i, j, s * x.p.k / 4, (s + 1) * x.p.k / 4));
    return pairwise_sum(parts);
  });
  CHECK(named(reveal_sums<T>(split, 200)) == "blocks 50, 50, 50, 50, each a sequential FMA chain, summed pairwise");

  auto const pairs = summing<T>([](auto& x, auto i, auto j) {
    std::vector<T> products;
    for (std::int64_t q = 0; q < x.p.k; ++q) products.push_back(x.a(i, q) * x.b(q, j));
    return pairwise_sum(products);
  });
  CHECK(named(reveal_sums<T>(pairs, 128)) == "pairwise");
}

TEST_CASE("where alpha and beta go is found, too") {
  auto const per_panel =
      candidate_of(make_kernel<float>("test.panels", [](harness_test::element_access<float> const& x) {
        for (std::int64_t i = 0; i < x.p.m; ++i)
          for (std::int64_t j = 0; j < x.p.n; ++j) {
            float c = x.p.beta == 0 ? 0 : x.beta() * x.c(i, j);
            for (std::int64_t q = 0; q < x.p.k; q += 48)
              c = std::fma(x.alpha(), fma_chain(x, i, j, q, std::min(q + 48, x.p.k)), c);
            x.c(i, j) = c;
          }
      }));
  auto const panels = reveal_sums<float>(per_panel, 100);
  CHECK(named(panels) == "blocks 48, 48, 4, each a sequential FMA chain");
  CHECK(panels.regions[0].epilogue == "fma(alpha, panel, beta c), beta c first, then panel by panel");

  auto const rest = reveal_sums<float>(per_panel, 97);
  CHECK_MESSAGE(rest.bit_exact(), rest.summary());
  CHECK(rest.regions[0].epilogue == "fma(alpha, panel, beta c), beta c first, then panel by panel");

  auto const into_a = candidate_of(make_kernel<float>("test.into_a", [](harness_test::element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        float c = x.p.beta == 0 ? 0 : x.beta() * x.c(i, j);
        for (std::int64_t q = 0; q < x.p.k; ++q) c = std::fma(x.alpha() * x.a(i, q), x.b(q, j), c);
        x.c(i, j) = c;
      }
  }));
  auto const folded = reveal_sums<float>(into_a, 100);
  CHECK(named(folded) == "a sequential FMA chain");
  CHECK(folded.regions[0].epilogue == "alpha folded into A; term + beta c, beta c first, then term by term");
}

TEST_CASE("sums that are no plain chains of additions are named for what they are") {
  SUBCASE("Kahan's") {
    auto const kahan = summing<float>([](auto& x, auto i, auto j) {
      float volatile sum = 0, low = 0;
      for (std::int64_t q = 0; q < x.p.k; ++q) {
        float const y = x.a(i, q) * x.b(q, j) - low;
        float const next = sum + y;
        low = (next - sum) - y;
        sum = next;
      }
      return sum;
    });
    auto const r = reveal_sums<float>(kahan, 100);
    CHECK(named(r) == "a sequential chain");
    CHECK(r.regions[0].sums == "Kahan's compensated sum of rounded f32 products");
  }
  SUBCASE("exact, rounded once") {
    auto const r = reveal_sums<double>(candidate_of(*tandem::find_kernel("oracle.gemm.f64")), 100);
    CHECK(named(r) == "an exact sum of 100 terms");
  }
  SUBCASE("steps of 8 terms, as in tensor cores, on operands rounded to tf32") {
    auto const tf32 = [](float v) {
      auto bits = std::bit_cast<std::uint32_t>(v);
      bits = (bits + 0xfff + ((bits >> 13) & 1)) & ~0x1fffu;
      return std::bit_cast<float>(bits);
    };
    auto kernel = summing<float>([tf32](auto& x, auto i, auto j) {
      float sum = 0;
      for (std::int64_t begin = 0; begin < x.p.k; begin += 8) {
        int largest = sum == 0 ? -200 : std::ilogb(sum);
        std::vector<double> terms{static_cast<double>(sum)};
        for (auto q = begin; q < std::min(begin + 8, x.p.k); ++q) {
          float const l = tf32(x.a(i, q)), r = tf32(x.b(q, j));
          largest = std::max(largest, std::ilogb(l) + std::ilogb(r));
          terms.push_back(static_cast<double>(l) * static_cast<double>(r));
        }
        double const unit = std::ldexp(1.0, largest - 25);  // two bits beyond f32
        double all = 0;
        for (auto const t : terms) all += std::trunc(t / unit) * unit;
        sum = static_cast<float>(all);
        if (std::abs(static_cast<double>(sum)) > std::abs(all)) sum = std::nextafter(sum, 0.0f);
      }
      return sum;
    });
    kernel.precision = precision::tf32;
    auto const r = reveal_sums<float>(kernel, 100);
    CHECK(named(r) == "a chain of fused steps of 8 terms and the accumulator");
    CHECK(r.regions[0].sums ==
          "fused steps cut off 26 bits below the largest sum of exponents, then rounded toward zero; "
          "operands rounded to tf32, ties to even");
  }
  SUBCASE("a random tree") {
    auto const random_tree = summing<float>([](auto& x, auto i, auto j) {
      std::vector<float> v;
      for (std::int64_t q = 0; q < x.p.k; ++q) v.push_back(x.a(i, q) * x.b(q, j));
      tandem::harness::random r(7);
      while (v.size() > 1) {
        auto const l = r.below(v.size());
        std::swap(v[l], v.back());
        auto const last = v.back();
        v.pop_back();
        v[r.below(v.size())] += last;
      }
      return v[0];
    });
    CHECK(named(reveal_sums<float>(random_tree, 100)).find("in an irregular tree of depth ") != std::string::npos);
  }
  SUBCASE("another order at each call") {
    auto calls = std::make_shared<std::int64_t>(0);
    auto const unsteady =
        candidate_of(make_kernel<float>("test.unsteady", [calls](harness_test::element_access<float> const& x) {
          auto const begin = ++*calls * 17 % x.p.k;
          for (std::int64_t i = 0; i < x.p.m; ++i)
            for (std::int64_t j = 0; j < x.p.n; ++j) {
              auto const head = fma_chain(x, i, j, begin, x.p.k);
              x.store(i, j, fma_chain(x, i, j, 0, begin, 1, head));
            }
        }));
    auto const r = reveal_sums<float>(unsteady, 100);
    CHECK_FALSE(r.bit_exact());
    CHECK(r.regions.front().summary.starts_with("not a tree: the same call gives other bits"));
  }
  SUBCASE("Strassen's") {
    auto const strassen =
        candidate_of(make_kernel<float>("test.strassen", [](harness_test::element_access<float> const& x) {
          if (x.p.m % 2 + x.p.n % 2 + x.p.k % 2 > 0) return harness_test::multiply(x);
          auto const m = x.p.m / 2, n = x.p.n / 2, k = x.p.k / 2;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              float p[7] = {};
              for (std::int64_t q = 0; q < k; ++q) {
                float const a = x.a(i, q), b = x.a(i, q + k), c = x.a(i + m, q), d = x.a(i + m, q + k);
                float const e = x.b(q, j), f = x.b(q, j + n), g = x.b(q + k, j), h = x.b(q + k, j + n);
                p[0] += (a + d) * (e + h), p[1] += (c + d) * e, p[2] += a * (f - h), p[3] += d * (g - e);
                p[4] += (a + b) * h, p[5] += (c - a) * (e + f), p[6] += (b - d) * (g + h);
              }
              x.store(i, j, p[0] + p[3] - p[4] + p[6]);
              x.store(i, j + n, p[2] + p[4]);
              x.store(i + m, j, p[1] + p[3]);
              x.store(i + m, j + n, p[0] - p[1] + p[2] + p[5]);
            }
        }));
    auto const r = reveal_sums<float>(strassen, 64, 32, 32);
    CHECK_FALSE(r.bit_exact());
    CHECK_MESSAGE(std::ranges::any_of(r.facts, [](auto const& f) { return f.first == "rows mix"; }), r.summary());
  }
}

TEST_CASE("elements that are added up otherwise are shown apart, each with its own tree") {
  auto const edges = summing<float>([](auto& x, auto i, auto j) {
    if (j < x.p.n / 4 * 4) return fma_chain(x, i, j, 0, x.p.k);
    return fma_chain(x, i, j, 0, x.p.k, 2) + fma_chain(x, i, j, 1, x.p.k, 2);
  });
  auto const r = reveal_sums<float>(edges, 100, 40, 42);
  CHECK(r.bit_exact());
  REQUIRE(r.regions.size() == 2);
  CHECK(r.regions[0].where == "columns 0–39");
  CHECK(r.regions[0].summary == "a sequential FMA chain");
  CHECK(r.regions[1].where == "columns 40–41");
  CHECK(r.regions[1].summary == "2 interleaved FMA chains of stride 2, summed in order");
}

TEST_CASE("a kernel one rounding off its tree is not bit-exact, and it is said from which term on") {
  auto const off = summing<float>([](auto& x, auto i, auto j) {
    float sum = 0;
    for (std::int64_t q = 0; q < x.p.k; ++q) {
      float volatile const product = x.a(i, q) * x.b(q, j);
      sum = q == 60 ? sum + product : std::fma(x.a(i, q), x.b(q, j), sum);
    }
    return sum;
  });
  auto const r = reveal_sums<float>(off, 100);
  CHECK_FALSE(r.bit_exact());
  REQUIRE(r.regions.size() == 1);
  CHECK(r.regions[0].tree);
  CHECK(r.regions[0].summary == "a sequential chain");
  CHECK_MESSAGE(r.regions[0].misfit.ends_with("astray by term 60"), r.regions[0].misfit);
}

TEST_CASE("a term that is left out or counted twice is a defect") {
  auto const without = [](std::int64_t weight) {
    return summing<float>([weight](auto& x, auto i, auto j) {
      float sum = fma_chain(x, i, j, 0, x.p.k);
      if (i == 5 && j == 7 && x.p.k > 73) sum += static_cast<float>(weight - 1) * x.a(i, 73) * x.b(73, j);
      return sum;
    });
  };
  CHECK(reveal_sums<float>(without(0), 100).defect == "term 73 of 100 counts 0 times in element (5, 7)");
  CHECK(reveal_sums<float>(without(2), 100).defect == "term 73 of 100 counts 2 times in element (5, 7)");
  judge_options options;
  options.level = level::quick;
  options.only = {rung::accumulation};
  options.diagnose = false;
  auto const j = judge(without(0), options);
  CHECK(j.verdict() == verdict::fail);
  REQUIRE(j.rungs.at(0).witness);
  CHECK(judge(without(1), options).passed());
}

TEST_CASE("every kernel of the table that runs on this machine's processor is predicted") {
  for (auto const& row : tandem::kernel_table()) {
    if (row.operation() != tandem::operation::gemm || !row.host || row.backend == tandem::backend::gpu ||
        row.backend == tandem::backend::cublas)
      continue;
    CAPTURE(row.name);
    bool const slow = row.backend == tandem::backend::simt;
    auto const kernel = candidate_of(row);
    auto const r = row.dtype == tandem::dtype::f32 ? reveal_sums<float>(kernel, slow ? 40 : 400)
                                                   : reveal_sums<double>(kernel, slow ? 40 : 400);
    if (!r.unavailable.empty()) continue;
    CHECK_MESSAGE(r.bit_exact(), r.summary());
  }
}

TEST_CASE("counts that no tree has are refused") {
  // Terms 0 and 1 meet above all, 2 is said to meet 0 before it meets 1, and 1 before it meets 0.
  lost_counts const lost{{0, {-1, 3, 2}}, {1, {3, -1, 2}}};
  CHECK_THROWS_AS(grow_tree(3, lost), not_a_tree);
  auto const chain = grow_tree(3, {{0, {-1, 2, 3}}});
  REQUIRE(chain.tree);
  CHECK(summarize(*chain.tree) == "a sequential chain");
}

TEST_CASE("what an element's bits depend on is said, and only a wrong outcome fails") {
  judge_options options;
  options.level = level::quick;
  options.only = {rung::determinism};
  options.diagnose = false;
  auto const fact_of = [](judgement const& j, std::string const& name) {
    for (auto const& [what, value] : j.rungs.at(0).facts)
      if (what == name) return value;
    return std::string("(none)");
  };
  SUBCASE("nothing, of a plain kernel") {
    auto const j = judge(candidate_of(harness_test::naive<float>()), options);
    CHECK(j.passed());
    CHECK(fact_of(j, "run to run") == "the same bits in 5 calls");
    CHECK(fact_of(j, "rows") == "a row's bits depend on neither m, nor its place, nor the other rows");
  }
  SUBCASE("m, where a product with a vector has its own order") {
    auto const by_vector = summing<float>([](auto& x, auto i, auto j) {
      auto const half = x.p.k / 2;
      auto const head = fma_chain(x, i, j, 0, half);
      return x.p.m == 1 ? fma_chain(x, i, j, half, x.p.k, 1, head) : head + fma_chain(x, i, j, half, x.p.k);
    });
    auto const j = judge(by_vector, options);
    CHECK(j.passed());
    CHECK(fact_of(j, "rows").starts_with("m at "));
  }
  SUBCASE("the run, within the bound and beyond it") {
    auto const unsteady = [](float error) {
      auto calls = std::make_shared<int>(0);
      return candidate_of(
          make_kernel<float>("test.unsteady", [calls, error](harness_test::element_access<float> const& x) {
            bool const odd = ++*calls % 2 == 1;
            for (std::int64_t i = 0; i < x.p.m; ++i)
              for (std::int64_t j = 0; j < x.p.n; ++j) {
                float const sum = fma_chain(x, i, j, 0, x.p.k);
                bool const is_exact = sum == std::rint(sum);  // of integers
                x.store(i, j, odd || is_exact ? sum : sum * (1 + error));
              }
          }));
    };
    auto const within_bound = judge(unsteady(0x1p-23f), options);
    CHECK(within_bound.passed());
    CHECK(fact_of(within_bound, "run to run").starts_with("call 2 at 65x70x129: "));
    CHECK(judge(unsteady(0x1p-8f), options).verdict() == verdict::fail);
  }
  SUBCASE("NaN of other rows, which is wrong") {
    auto const leaking = summing<float>(
        [](auto& x, auto i, auto j) { return fma_chain(x, i, j, 0, x.p.k) + 0 * x.a((i + 1) % x.p.m, 0); });
    auto const j = judge(leaking, options);
    CHECK(j.verdict() == verdict::fail);
  }
}

TEST_SUITE_END();
