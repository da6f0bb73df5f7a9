// What is said of a failure: its class, its map, the pattern that explains it, the votes of others, and the reports.
// Every planted kernel must be told by the name of what was planted.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <tandem/harness/harness.hpp>

#include "harness/diagnose.hpp"
#include "harness/guard.hpp"
#include "harness/observation.hpp"
#include "harness/reduce.hpp"
#include "harness/tile_map.hpp"
#include "harness/wrong_set.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
template <class T>
using product = harness_test::element_access<T>;
using tandem::layout;

namespace {

/// m x n x k with gaps in every operand.
test_case make_test(std::int64_t m, std::int64_t n, std::int64_t k, double alpha = 1, double beta = 0,
                    fill data = fill::integer) {
  test_case t;
  t.m = m, t.n = n, t.k = k;
  t.lda = k + 5, t.ldb = n + 3, t.ldc = n + 2;
  t.alpha = alpha, t.beta = beta;
  t.fill = data;
  t.seed = 42;
  return t;
}

test_case tight(test_case t) {
  t.lda = tight_lda(t), t.ldb = tight_ldb(t), t.ldc = tight_ldc(t);
  return t;
}

/// A kernel whose element (i, j) is value(x, i, j); written in single assignments.
template <class T = float, class F>
tandem::kernel elementwise(F value) {
  return harness_test::make_kernel<T>("planted", [value](product<T> const& x) {
    std::vector<T> c;
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) c.push_back(value(x, i, j));
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.c(i, j) = c[static_cast<std::size_t>(i * x.p.n + j)];
  });
}

template <class T>
T updated(product<T> const& x, std::int64_t i, std::int64_t j, T sum) {
  return x.p.beta == 0 ? x.alpha() * sum : x.alpha() * sum + x.beta() * x.c(i, j);
}

/// The sum of a(i, p) b(p, j) with the terms that `term` gives.
template <class T, class F>
T summed(product<T> const& x, F term) {
  T sum = 0;
  for (std::int64_t p = 0; p < x.p.k; ++p) sum += term(p);
  return sum;
}

template <class T>
T right(product<T> const& x, std::int64_t i, std::int64_t j) {
  return updated(x, i, j, x.dot(i, j, x.p.k));
}

failure diagnosed(tandem::kernel const& row, test_case t, judge_options const& options = {}) {
  failure f;
  t.dtype = row.dtype;
  f.test = t;
  diagnose(candidate_of(row), options, f);
  return f;
}

/// What is said of a kernel that sums the products `term` gives.
template <class F>
failure with_terms(test_case const& t, F term) {
  return diagnosed(elementwise([term](product<float> const& x, std::int64_t i, std::int64_t j) {
                     return updated(x, i, j, summed(x, [&](std::int64_t p) { return term(x, i, j, p); }));
                   }),
                   t);
}

bool says(failure const& f, std::string const& text) {
  bool const found = f.pattern.find(text) != std::string::npos;
  if (!found) MESSAGE(f.pattern);
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("harness: diagnosis");

TEST_CASE("what a kernel adds where there are no terms is told, though no element of A or B explains it") {
  // By CBLAS, since nobody settles k = 0 before; of which this is all.
  auto const kernel = cblas_candidate(
      "planted", std::function<cblas_sgemm_function>([](int, int, int, int m, int n, int, float alpha, float const*,
                                                        int, float const*, int, float beta, float* c, int ldc) {
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) c[i * ldc + j] = alpha + beta * c[i * ldc + j];
      }));
  auto const failure = replay(kernel, parse_case("f32:nn:3x5x0:beta=1:seed=1"), {});
  REQUIRE(failure);
  CHECK(failure->wrong == 15);
}

TEST_CASE("a right kernel has nothing to be said of, but for what could not be seen again") {
  for (auto const fills : {fill::integer, fill::normal}) {
    auto const f = diagnosed(harness_test::naive<float>(), make_test(17, 19, 23, 2, -1, fills));
    CHECK(f.wrong == 0);
    CHECK(f.map.empty());
    CHECK(says(f, "not seen again"));
  }
}

TEST_CASE("a part of k that is missing or doubled is named with its ends") {
  auto const t = make_test(20, 24, 33, 2, -2);
  auto const missing = [&t](std::int64_t from, std::int64_t to, float weight) {
    return with_terms(t, [=](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
      return x.a(i, p) * x.b(p, j) * (p >= from && p < to ? weight : 1);
    });
  };
  CHECK(says(missing(32, 33, 0), "equals the product of the first 32 of 33 k: the last K slice is missing"));
  CHECK(says(missing(0, 8, 0), "equals the product of the last 25 of 33 k: the first K slice is missing"));
  CHECK(says(missing(16, 24, 0), "the K block k 16..23 of 33 is missing"));
  CHECK(says(missing(16, 32, 2), "the K block, k 16..31, is counted twice"));
  CHECK(says(missing(32, 33, 2), "the last K slice, k 32, is counted twice"));
  CHECK(says(missing(0, 33, 2), "A B is counted 2 times"));
  CHECK(says(missing(0, 33, 0), "A B is missing"));
}

TEST_CASE("a part of k that is missing is found in real data and in f64 as well") {
  auto const f = diagnosed(elementwise<double>([](product<double> const& x, std::int64_t i, std::int64_t j) {
                             return updated(x, i, j, x.dot(i, j, x.p.k / 16 * 16));
                           }),
                           make_test(20, 24, 100, 0.3, 1.7, fill::normal));
  CHECK(says(f, "equals the product of the first 96 of 100 k: the last K slice is missing"));
}

TEST_CASE("a scalar that is ignored, doubled or applied to the wrong part is named") {
  using number = float;
  auto const with = [](double alpha, double beta, auto value) {
    return diagnosed(elementwise(value), make_test(18, 21, 30, alpha, beta));
  };
  using x_t = product<number> const&;
  using n_t = std::int64_t;
  CHECK(says(with(2, 1, [](x_t x, n_t i, n_t j) { return x.dot(i, j, x.p.k) + x.beta() * x.c(i, j); }),
             "alpha is ignored"));
  CHECK(says(with(2, 1, [](x_t x, n_t i, n_t j) { return 4 * x.dot(i, j, x.p.k) + x.beta() * x.c(i, j); }),
             "alpha is applied twice"));
  CHECK(says(with(-2, 1, [](x_t x, n_t i, n_t j) { return 2 * x.dot(i, j, x.p.k) + x.beta() * x.c(i, j); }),
             "the product has the wrong sign"));
  CHECK(says(with(2, 1, [](x_t x, n_t i, n_t j) { return x.alpha() * x.dot(i, j, x.p.k); }), "beta C is missing"));
  CHECK(says(with(1, -2, [](x_t x, n_t i, n_t j) { return x.dot(i, j, x.p.k) + x.c(i, j); }),
             "beta is ignored: C is added as it is"));
  CHECK(says(with(1, -2, [](x_t x, n_t i, n_t j) { return x.dot(i, j, x.p.k) + 4 * x.c(i, j); }),
             "beta is applied twice"));
  CHECK(says(with(2, -1, [](x_t x, n_t i, n_t j) { return x.alpha() * (x.dot(i, j, x.p.k) + x.beta() * x.c(i, j)); }),
             "beta C is multiplied by alpha too"));
  CHECK(says(with(1, -1, [](x_t x, n_t i, n_t j) { return x.dot(i, j, x.p.k) + x.c(i, j); }),
             "beta is ignored: C is added as it is"));
  CHECK(says(with(1, 2, [](x_t x, n_t i, n_t j) { return x.dot(i, j, x.p.k) + 10 * x.c(i, j); }),
             "beta C is counted 5 times"));
  CHECK(says(with(2, 1, [](x_t x, n_t i, n_t j) { return 7 * x.dot(i, j, x.p.k) + x.c(i, j); }),
             "A B is multiplied by 7 instead of alpha = 2"));
}

TEST_CASE("a scalar that is applied once for each panel is named with the panel's depth") {
  auto const panels = [](std::int64_t depth, bool beta) {
    return elementwise([=](product<float> const& x, std::int64_t i, std::int64_t j) {
      float c = beta ? x.c(i, j) : 0;
      for (std::int64_t p = 0; p < x.p.k; p += depth) {
        float part = 0;
        for (auto q = p; q < std::min(p + depth, x.p.k); ++q) part += x.a(i, q) * x.b(q, j);
        c = beta ? x.beta() * c + x.alpha() * part : x.alpha() * (c + part);
      }
      return c;
    });
  };
  CHECK(says(diagnosed(panels(12, true), make_test(18, 21, 30, 1, 2)), "beta is applied once for each panel of 12 k"));
  CHECK(says(diagnosed(panels(16, false), make_test(18, 21, 40, -2)), "alpha is applied once for each panel of 16 k"));
}

TEST_CASE("beta that is ignored in the edge tiles only is named with where that is") {
  auto row = elementwise([](product<float> const& x, std::int64_t i, std::int64_t j) {
    bool const edge = i >= x.p.m / 16 * 16 || j >= x.p.n / 16 * 16;
    return edge ? x.dot(i, j, x.p.k) : right(x, i, j);
  });
  row.plan = [](tandem::problem const&) { return tandem::plan{{{"block", 16, 16, 8, ""}}}; };
  auto const f = diagnosed(row, make_test(40, 37, 12, 1, 2));
  CHECK(says(f, "beta C is missing"));
  CHECK(says(f, "rows 32..39, the last m mod 16, and columns 32..36, the last n mod 16"));
  CHECK(says(f, "only with beta != 0\n"));
  CHECK(f.what == failure_class::stale);
}

TEST_CASE("a C that is not written is told from one that is wrong") {
  auto const old = diagnosed(harness_test::make_kernel<float>("planted",
                                                              [](product<float> const& x) {
                                                                for (std::int64_t i = 0; i < x.p.m - 1; ++i)
                                                                  for (std::int64_t j = 0; j < x.p.n; ++j)
                                                                    x.c(i, j) = right(x, i, j);
                                                              }),
                             make_test(18, 21, 30, 1, 2));
  CHECK(old.what == failure_class::stale);
  CHECK(says(old, "C is what it was before the call"));
  CHECK(says(old, "wrong is exactly row 17, the last row"));
  auto const never = diagnosed(harness_test::make_kernel<float>("planted",
                                                                [](product<float> const& x) {
                                                                  for (std::int64_t i = 0; i < x.p.m; ++i)
                                                                    for (std::int64_t j = 0; j < x.p.n / 4 * 4; ++j)
                                                                      x.c(i, j) = right(x, i, j);
                                                                }),
                               make_test(18, 22, 30));
  CHECK(never.what == failure_class::untouched);
  CHECK(never.wrong == 18 * 2);
  CHECK(never.reason.find("36 were not written") != std::string::npos);
  CHECK(never.map.find("u not written") != std::string::npos);
}

TEST_CASE("what a kernel keeps from the call before is named") {
  auto const cached = [](bool a, bool b) {
    return harness_test::make_kernel<float>("planted", [=](product<float> const& x) {
      static std::vector<float> kept_a, kept_b;
      std::vector<float> now_a, now_b;
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t p = 0; p < x.p.k; ++p) now_a.push_back(x.a(i, p));
      for (std::int64_t p = 0; p < x.p.k; ++p)
        for (std::int64_t j = 0; j < x.p.n; ++j) now_b.push_back(x.b(p, j));
      auto const& use_a = a && kept_a.size() == now_a.size() ? kept_a : now_a;
      auto const& use_b = b && kept_b.size() == now_b.size() ? kept_b : now_b;
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t j = 0; j < x.p.n; ++j)
          x.store(i, j, summed(x, [&](std::int64_t p) {
                    return use_a[static_cast<std::size_t>(i * x.p.k + p)] *
                           use_b[static_cast<std::size_t>(p * x.p.n + j)];
                  }));
      kept_a = now_a, kept_b = now_b;
    });
  };
  auto const t = make_test(18, 21, 30);
  auto const f = diagnosed(cached(false, true), t);
  CHECK(says(f, "B is that of the call before"));
  CHECK(says(f, "fails only after another call"));
  CHECK(f.after.starts_with("f32:nn:rrr:18x21x30:"));
  CHECK(f.replay == to_string(t) + ":after=" + f.after + ":kernel=planted");
  CHECK(says(diagnosed(cached(true, false), t), "A is that of the call before"));
  CHECK(says(diagnosed(cached(true, true), t), "A and B are those of the call before"));
  auto const twice = diagnosed(harness_test::make_kernel<float>("planted",
                                                                [](product<float> const& x) {
                                                                  static bool done = false;
                                                                  if (!std::exchange(done, true))
                                                                    return harness_test::multiply(x);
                                                                  for (std::int64_t i = 0; i < x.p.m; ++i)
                                                                    for (std::int64_t j = 0; j < x.p.n; ++j)
                                                                      x.c(i, j) = 7;
                                                                }),
                               t);
  CHECK(twice.after == to_string(t));
}

TEST_CASE("an operand that is read with wrong steps is named with them") {
  auto const t = make_test(20, 20, 20);
  // As the kernel's own code would have it: a pointer and steps.
  auto const a_with = [](test_case const& test, auto steps) {
    return with_terms(test, [=](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
      auto const [row, col] = steps(x.p);
      return x.pa[i * row + p * col] * x.b(p, j);
    });
  };
  using p_t = tandem::problem const&;
  using std::pair;
  auto const transposed = a_with(t, [](p_t p) { return pair(std::int64_t{1}, p.lda); });
  CHECK(says(transposed, "A is read transposed"));
  CHECK(transposed.what == failure_class::swapped_index);
  CHECK(says(a_with(t, [](p_t p) { return pair(p.k, std::int64_t{1}); }),
             "A is read with leading dimension 20 (as if it had no gaps) instead of 25"));
  CHECK(says(a_with(make_test(20, 23, 20), [](p_t p) { return pair(p.ldb, std::int64_t{1}); }),
             "A is read with leading dimension 23 (ldb) instead of 20, where A and B have no gaps\n"));
  auto flipped = make_test(20, 20, 20);
  flipped.trans_a = true;
  flipped.lda = 27;
  CHECK(says(a_with(flipped, [](p_t p) { return pair(p.lda, std::int64_t{1}); }), "A is read transposed"));
  CHECK(says(with_terms(make_test(9, 11, 13), [](auto const& x, std::int64_t i, std::int64_t j,
                                                 std::int64_t p) { return x.a(i, p) * x.b(p, j + 1); }),
             "B(p, j + 1) is read instead of B(p, j)\n"));
  CHECK(says(with_terms(tight(make_test(12, 12, 12)), [](auto const& x, std::int64_t i, std::int64_t j,
                                                         std::int64_t p) { return x.b(i, p) * x.a(p, j); }),
             "A and B are exchanged"));
}

TEST_CASE("right values in wrong places are named with where they belong") {
  auto const from = [](auto place) {
    return elementwise([=](product<float> const& x, std::int64_t i, std::int64_t j) {
      auto const [r, s] = place(i, j);
      if (r < 0 || r >= x.p.m || s < 0 || s >= x.p.n) return right(x, i, j);
      return right(x, r, s);
    });
  };
  using n_t = std::int64_t;
  using std::pair;
  auto const t = make_test(24, 24, 30);
  auto const f = diagnosed(from([](n_t i, n_t j) { return pair(j, i); }), t);
  CHECK(says(f, "the result is transposed"));
  CHECK(f.what == failure_class::swapped_index);
  CHECK(says(diagnosed(from([](n_t i, n_t j) { return pair(i, j + 8); }), make_test(24, 24, 30)),
             "C(i, j) holds what belongs into C(i, j + 8)"));
  CHECK(says(diagnosed(from([](n_t i, n_t j) { return pair(i ^ 4, j); }), t),
             "pairs rows apart are exchanged: C(i, j) holds what belongs into C(i + 4, j)"));
}

TEST_CASE("a panel that is computed with what the one before it held is named") {
  auto const t = make_test(20, 20, 64);
  CHECK(says(with_terms(t, [](auto const& x, std::int64_t i, std::int64_t j,
                              std::int64_t p) { return x.a(i, p) * x.b(p >= 16 ? p - 16 : p, j); }),
             "B are those of the panel before, in every panel of 16 k but the first"));
  CHECK(says(with_terms(t, [](auto const& x, std::int64_t i, std::int64_t j,
                              std::int64_t p) { return x.a(i, p >= 56 ? p - 8 : p) * x.b(p, j); }),
             "A are those of the panel before, in k 56..63"));
}

TEST_CASE("what no hypothesis explains is traced by the address code") {
  // Rows of B in an order of their own.
  auto const f = with_terms(make_test(20, 20, 20), [](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
    return x.a(i, p) * x.b((p * 7 + 3) % x.p.k, j);
  });
  CHECK(says(f, "by the address code: C(0, 0) holds B("));
  CHECK(f.what == failure_class::swapped_index);
}

TEST_CASE("a loss of precision is named by its format where it is one, and as lost bits where it is not") {
  auto const rounded = [](float x, std::uint32_t kept, bool nearest) {
    auto const mask = (std::uint32_t{1} << (24 - kept)) - 1;
    auto bits = std::bit_cast<std::uint32_t>(x);
    if (nearest) bits += mask / 2 + ((bits >> (24 - kept)) & 1);
    return std::bit_cast<float>(bits & ~mask);
  };
  auto const with = [&](std::uint32_t kept, bool nearest) {
    return with_terms(make_test(20, 20, 40, 1, 0, fill::normal),
                      [=](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
                        return rounded(x.a(i, p), kept, nearest) * rounded(x.b(p, j), kept, nearest);
                      });
  };
  CHECK(says(with(11, true), "A and B are rounded to tf32 or f16 (11 significant bits)"));
  CHECK(says(with(11, false), "A and B are rounded to tf32 or f16 (11 significant bits, toward zero)"));
  CHECK(says(with(8, true), "A and B are rounded to bf16 (8 significant bits)"));
  auto const sums = diagnosed(elementwise([=](product<float> const& x, std::int64_t i, std::int64_t j) {
                                float sum = 0;
                                for (std::int64_t p = 0; p < x.p.k; ++p)
                                  sum = rounded(sum + x.a(i, p) * x.b(p, j), 11, true);
                                return sum;
                              }),
                              make_test(20, 20, 40, 1, 0, fill::uniform));
  CHECK(says(sums, "bits are lost"));
  auto const narrow = diagnosed(elementwise<double>([](product<double> const& x, std::int64_t i, std::int64_t j) {
                                  return summed(x, [&](std::int64_t p) {
                                    return static_cast<double>(static_cast<float>(x.a(i, p))) *
                                           static_cast<double>(static_cast<float>(x.b(p, j)));
                                  });
                                }),
                                make_test(20, 20, 40, 1, 0, fill::normal));
  CHECK(says(narrow, "A and B are rounded to f32 (24 significant bits)"));
}

TEST_CASE("a NaN is told by the gap that it comes from") {
  auto const f = with_terms(make_test(20, 20, 20), [](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
    return x.a(i, p) * x.pb[p * x.p.ldb + j + (j == x.p.n - 1)];
  });
  CHECK(f.reason.find("from a gap of B") != std::string::npos);
  CHECK(f.map.find('N') != std::string::npos);
  CHECK(says(f, "wrong is exactly column 19, the last column"));
}

TEST_CASE("two bugs are both named, each with its share") {
  auto const f = with_terms(make_test(32, 32, 32), [](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
    return (i < 16 && p == 31) || (i >= 16 && p < 4) ? 0 : x.a(i, p) * x.b(p, j);
  });
  CHECK(says(f, "the last K slice is missing ("));
  CHECK(says(f, "the first K slice is missing ("));
  CHECK(says(f, " % of the wrong elements looked at)"));
}

TEST_CASE("where the wrong elements lie is said in the words of rows, columns and tiles") {
  test_case t;
  t.m = 40, t.n = 48;
  auto const where = [&t](auto bad, std::vector<tile_grid> const& grids = {{"block", 16, 16}}) {
    std::vector<mark> marks;
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) marks.push_back(bad(i, j) ? mark::wrong : mark::right);
    return describe_wrong_set(t, marks, grids);
  };
  using n_t = std::int64_t;
  CHECK(where([](n_t, n_t) { return false; }).empty());
  CHECK(where([](n_t, n_t) { return true; }) == "every element is wrong");
  CHECK(where([](n_t i, n_t j) { return i == 3 && j == 4; }) == "a single element is wrong, (3, 4)");
  CHECK(where([](n_t i, n_t) { return i >= 32; }) == "wrong is exactly rows 32..39, the last m mod 16");
  CHECK(where([](n_t, n_t j) { return j == 47; }) == "wrong is exactly column 47, the last column");
  CHECK(where([](n_t, n_t j) { return j % 8 == 5; }) == "wrong is exactly columns with column mod 8 = 5");
  CHECK(where([](n_t i, n_t) { return i % 16 >= 8; }, {}) == "wrong is exactly rows with row mod 16 in 8..15");
  CHECK(where([](n_t i, n_t j) { return i >= 16 && i < 32 && j >= 16 && j < 32; }) ==
        "wrong is exactly one block tile, rows 16..31, columns 16..31");
  CHECK(where([](n_t i, n_t j) { return i >= 32 && j >= 32; }) ==
        "wrong is exactly one block tile, rows 32..39, columns 32..47");
  CHECK(where([](n_t i, n_t j) { return i < j; }) == "wrong is exactly what lies above the diagonal");
  CHECK(where([](n_t i, n_t j) { return i == j; }) == "wrong is exactly the diagonal");
  CHECK(where([](n_t i, n_t j) { return (i / 16 + j / 16) % 2 == 1; }) ==
        "wrong is exactly every other tile of 16 x 16, as on a chessboard");
  CHECK(where([](n_t i, n_t j) { return (i == 1 && j == 2) || (i == 7 && j == 9); }) ==
        "wrong are 2 of the 4 elements in 2 of 40 rows between 1 and 7 of 2 of 48 columns between 2 and 9");
  CHECK(where([](n_t i, n_t j) { return i >= 32 && j % 8 != 3; }) ==
        "wrong are 336 of the 384 elements in rows 32..39, the last m mod 16");
}

TEST_CASE("the map is drawn on the kernel's tiles, then inside the first bad one, down to the elements") {
  test_case t;
  t.m = 40, t.n = 48;
  tandem::plan const plan{{{"block", 16, 16, 8, ""}, {"pc", 0, 0, 8, ""}, {"thread", 8, 4, 0, ""}}};
  std::vector<mark> marks(40 * 48, mark::right);
  for (std::size_t i = 24; i < 32; ++i)
    for (std::size_t j = 20; j < 24; ++j) marks[i * 48 + j] = mark::wrong;
  marks[26 * 48 + 21] = mark::not_a_number;
  marks[39 * 48 + 47] = mark::untouched;
  for (std::size_t j = 0; j < 48; ++j) marks[32 * 48 + j] = j < 16 ? mark::wrong : mark::right;
  CHECK(draw_map(t, plan, marks) ==
        ". right   x wrong   N NaN   u not written\n"
        "block of 16 x 16:\n"
        "     0\n"
        "  0  ...\n"
        " 16  .N.\n"
        " 32  x.u\n"
        "in the first bad one, rows 16..31, columns 16..31: thread of 8 x 4:\n"
        "     16\n"
        " 16  ....\n"
        " 24  .N..\n"
        "in the first bad one, rows 24..31, columns 20..23: elements:\n"
        "     20\n"
        " 24  xxxx\n"
        " 25  xxxx\n"
        " 26  xNxx\n"
        " 27  xxxx\n"
        " 28  xxxx\n"
        " 29  xxxx\n"
        " 30  xxxx\n"
        " 31  xxxx\n");
  t.layout_c = layout::col_major;  // the kernel computes the transpose, so its tiles lie across
  auto const across = draw_map(t, {{{"block", 16, 8, 0, ""}}}, marks);
  CHECK(across.find("block of 8 x 16:\n     0\n  0  ...\n  8  ...\n") != std::string::npos);
}

TEST_CASE("a map of tiles that nobody declared is on the grid of the errors, or coarse") {
  test_case t;
  t.m = 128, t.n = 96;
  std::vector<mark> marks(128 * 96, mark::right);
  for (std::size_t i = 64; i < 96; ++i)
    for (std::size_t j = 48; j < 96; ++j) marks[i * 96 + j] = mark::wrong;
  auto const found = grid_from(t, marks);
  CHECK(found.rows == 32);
  CHECK(found.cols == 48);
  auto const map = draw_map(t, {}, marks);
  CHECK(map.find("tiles that part right from wrong, of 32 x 48:\n     0\n  0  ..\n 32  ..\n 64  .X\n 96  ..\n") !=
        std::string::npos);
  marks.assign(marks.size(), mark::right);
  marks[13 * 96 + 5] = marks[50 * 96 + 50] = mark::wrong;
  CHECK(draw_map(t, {}, marks).find("8 x 3 elements a character:\n     0               48\n  0  ....") !=
        std::string::npos);
}

TEST_CASE("a map is at most 32 lines of 64 characters a level, however large the output") {
  test_case t;
  t.m = 3000, t.n = 5000;
  std::vector<mark> marks(3000 * 5000, mark::right);
  marks[2999 * 5000 + 4999] = mark::wrong;
  auto const map = draw_map(t, {{{"block", 8, 8, 0, ""}}}, marks);
  CHECK(map.find("block of 8 x 8, 12 x 10 of them a character:") != std::string::npos);
  CHECK(std::count(map.begin(), map.end(), '\n') < 60);
  std::size_t longest = 0;
  for (std::size_t from = 0; from < map.size();) {
    auto const end = map.find('\n', from);
    longest = std::max(longest, end - from);
    from = end + 1;
  }
  CHECK(longest <= 6 + 64 + 10);
}

TEST_CASE("a failing problem is made smaller, and what it needs is named") {
  auto t = make_test(100, 90, 80, 2, -1);
  t.trans_b = true;
  t.ldb = 85;
  t.offset_a = 1;
  auto const r = reduce(t, {}, [](test_case const& x) { return x.k % 16 != 0 && x.n > 10 && x.beta != 0; });
  CHECK(r.test.m == 1);
  CHECK(r.test.n == 11);
  CHECK(r.test.k == 1);
  CHECK(r.test.alpha == 1);
  CHECK(r.test.beta == -1);
  CHECK_FALSE(r.test.trans_b);
  CHECK(r.test.ldc == r.test.n);
  CHECK(r.test.offset_a == 0);
  CHECK(r.needed == std::vector<std::string>{"beta != 0"});
  CHECK(r.calls <= 60);
  auto const gap = reduce(t, {}, [](test_case const& x) { return x.ldb > tight_ldb(x); });
  CHECK(gap.needed == std::vector<std::string>{"gaps in B (ldb)"});
  limits eights;
  eights.multiple_m = eights.multiple_n = eights.multiple_k = 8;
  auto const within_limits = reduce(t, eights, [](test_case const& x) { return outside({}, x).empty(); });
  CHECK(within_limits.test.m == 8);
  auto const none = reduce(t, {}, [](test_case const&) { return false; });
  CHECK(to_string(none.test) == to_string(t));
}

TEST_CASE("whether a failure takes an alpha of 0, or any but 1, is told apart") {
  auto const needed = [](bool (*fails)(test_case const&)) {
    return reduce(parse_case("f32:nn:20x20x20:alpha=0:beta=1"), {}, fails).needed;
  };
  CHECK(needed([](test_case const& x) { return x.alpha == 0; }) == std::vector<std::string>{"alpha = 0"});
  CHECK(needed([](test_case const& x) { return x.alpha != 1; }) == std::vector<std::string>{"alpha != 1"});
}

TEST_CASE("what is wrong only where B is A is said to be, and shrinks with A") {
  auto const same = reduce(parse_case("f32:nt:40x40x33:b=a:beta=2"), {}, [](test_case const& x) { return x.b_is_a; });
  CHECK(to_string(same.test).starts_with("f32:nn:rrr:1x1x1:"));
  CHECK(same.needed == std::vector<std::string>{"B in A's memory"});
  auto const other = reduce(parse_case("f32:nt:40x40x33:b=a:beta=2"), {}, [](test_case const& x) { return x.k > 4; });
  CHECK_FALSE(other.test.b_is_a);
}

TEST_CASE("a witness names the smallest problem that fails as well, as a line to replay") {
  auto const f = diagnosed(elementwise([](product<float> const& x, std::int64_t i, std::int64_t j) {
                             return updated(x, i, j, x.dot(i, j, x.p.k - x.p.k % 4));
                           }),
                           make_test(33, 31, 30, 2, 1));
  CHECK(says(f, "smallest that fails: f32:nn:rrr:1x1x1:"));
  CHECK(f.replay == to_string(make_test(33, 31, 30, 2, 1)) + ":kernel=planted");
}

TEST_CASE("a kernel that dies is made smaller too, and is run again") {
  auto const f = diagnosed(harness_test::make_kernel<float>("planted",
                                                            [](product<float> const& x) {
                                                              if (x.p.ldc > x.p.n) std::abort();
                                                              harness_test::multiply(x);
                                                            }),
                           make_test(20, 20, 20));
  CHECK(f.what == failure_class::crash);
  CHECK(says(f, "only with gaps in C (ldc)"));
  CHECK(says(f, "smallest that fails: f32:nn:rrr:1x1x1:"));
}

TEST_CASE("a kernel that reads outside is seen to its end where its operands lie otherwise") {
  auto t = tight(make_test(20, 20, 20));
  while (!lies_at_end(t.seed, 0)) ++t.seed;
  // Column k of A: behind the last row there is nothing, at the end of a page not even canaries.
  auto const next = with_terms(
      t, [](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) { return x.a(i, p + 1) * x.b(p, j); });
  CHECK(next.what == failure_class::read_outside);
  CHECK(next.reason.find("past the end of A") != std::string::npos);
  CHECK(says(next, "with all operands at the start of their pages it ends:\nA(i, p + 1) is read instead of A(i, p)"));
  auto const far = with_terms(t, [](auto const& x, std::int64_t i, std::int64_t j, std::int64_t p) {
    return x.pa[i * (x.p.lda + 1) + p] * x.b(p, j);
  });
  CHECK(says(far, "A is read with leading dimension 21 (ld + 1) instead of 20"));
}

TEST_CASE("others vote on the worst element, and a majority against the oracle is said loudly") {
  auto const wrong = [](std::string name) {
    auto row = elementwise(
        [](product<float> const& x, std::int64_t i, std::int64_t j) { return i == 5 && j == 6 ? -3 : right(x, i, j); });
    row.name = std::move(name);
    return row;
  };
  auto named = [](std::string name) {
    auto row = harness_test::naive<float>();
    row.name = std::move(name);
    return row;
  };
  auto missing = named("missing");
  missing.unavailable = [] { return std::string("not here"); };
  judge_options options;
  options.voters = {named("one"), missing, named("two"), harness_test::naive<double>(), wrong("planted")};
  auto const odd = diagnosed(wrong("planted"), make_test(20, 20, 20), options);
  CHECK(odd.votes.find("at (5, 6): oracle ") == 0);
  CHECK(odd.votes.find("missing") == std::string::npos);
  CHECK(odd.votes.find("; this kernel -3: the odd one out") != std::string::npos);
  options.voters = {named("one"), wrong("x"), wrong("y")};
  auto const many = diagnosed(wrong("planted"), make_test(20, 20, 20), options);
  CHECK(many.votes.find("2 of 3 others DISAGREE WITH THE ORACLE") == 0);
  CHECK(many.votes.find("x -3 (wrong as well)") != std::string::npos);
  CHECK(many.votes.find("this kernel -3, as 2 of 3 others") != std::string::npos);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("harness: judgement");

namespace {

judgement make_judgement() {
  judgement j;
  j.kernel = "my <kernel> & \"others\"";
  j.level = level::quick;
  rung_report exact;
  exact.rung = rung::exact;
  exact.verdict = rung_verdict::fail;
  exact.summary = "3 of 512 calls wrong";
  exact.calls = 512, exact.failed = 3;
  exact.facts = {{"k blocks", "320, 320"}};
  failure f;
  f.test = make_test(20, 30, 10);
  f.what = failure_class::not_a_number;
  f.reason = "because\nof this, and a byte that is no UTF-8: \xff, and one that is no text: \x01";
  f.wrong = 12, f.checked = 600;
  f.first = {1, 2, NAN, 2, NAN, 0};
  f.worst = {3, 4, INFINITY, 0.1, INFINITY, 0};
  f.map = "two\nlines\n";
  f.pattern = "the last K slice is missing";
  f.votes = "all the others";
  f.replay = to_string(f.test) + ":kernel=it's";
  exact.witness = f;
  rung_report memory;
  memory.rung = rung::memory;
  memory.verdict = rung_verdict::pass;
  rung_report grade;
  grade.rung = rung::grade;
  grade.summary = "k <= 4 only";
  j.rungs = {memory, exact, grade};
  return j;
}

/// Whether tags nest, attributes are quoted, and every & starts an entity.
bool well_formed(std::string const& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&') {
      auto const end = xml.find(';', at);
      if (end == std::string::npos || end - at > 6) return false;
    }
    if (xml[at] == '>') return false;
    if (xml[at] != '<') continue;
    auto const end = xml.find('>', at);
    if (end == std::string::npos) return false;
    auto const tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    auto const name = tag.substr(0, tag.find(' '));
    if (name[0] == '?') {
      if (!tag.ends_with('?')) return false;
    } else if (name[0] == '/') {
      if (open.empty() || open.back() != name.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

}  // namespace

TEST_CASE("a judgement fails if one rung does, and only passes make a pass") {
  auto j = make_judgement();
  CHECK(j.verdict() == verdict::fail);
  j.rungs[1].verdict = rung_verdict::pass;
  CHECK(j.verdict() == verdict::pass);
  CHECK(j.passed());
  for (auto& r : j.rungs) r.verdict = rung_verdict::not_applicable;
  CHECK(j.verdict() == verdict::unsupported);
  j.unavailable = "no device";
  CHECK(j.verdict() == verdict::unavailable);
  CHECK_FALSE(j.passed());
}

TEST_CASE("levels are read by their names, and other words refused") {
  for (auto const l : {level::quick, level::standard, level::full}) CHECK(parse_level(to_string(l)) == l);
  CHECK_THROWS_AS(parse_level("thorough"), std::invalid_argument);
}

TEST_CASE("text has a line a rung and the failure in full") {
  auto const text = to_text(make_judgement());
  for (auto const* part :
       {"L1 memory", "L2 exact", "L5 grade", "512 calls", "3 of 512 calls wrong", "k blocks: 320, 320",
        "NaN: 12 of 600 elements of C", "reason   because\n             of this", "first    (1, 2): got nan, wanted 2",
        "worst    (3, 4): got inf, wanted 0.1", "map      two\n             lines\n", "votes    all the others",
        R"(:seed=42:kernel=it'\''s')"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("JSON has everything, and is valid whatever the numbers and texts are") {
  auto absent = judgement{};
  absent.kernel = "absent";
  absent.unavailable = "no library";
  auto const all = nlohmann::json::parse(to_json(std::vector{make_judgement(), absent}));
  REQUIRE(all["kernels"].size() == 2);
  auto const& k = all["kernels"][0];
  CHECK(k["verdict"] == "fail");
  CHECK(k["level"] == "quick");
  REQUIRE(k["rungs"].size() == 3);
  CHECK(k["rungs"][0]["witness"].is_null());
  CHECK(k["rungs"][2]["verdict"] == "not applicable");
  auto const& r = k["rungs"][1];
  CHECK(r["rung"] == "L2 exact");
  CHECK(r["facts"][0]["name"] == "k blocks");
  auto const& w = r["witness"];
  CHECK(w["class"] == "NaN");
  CHECK(w["first"]["got"] == "nan");
  CHECK(w["worst"]["error"] == "inf");
  CHECK(w["worst"]["wanted"] == 0.1);
  CHECK(w["map"] == "two\nlines\n");
  CHECK(w["replay"].get<std::string>().ends_with(":kernel=it's"));
  for (auto const* field : {"case", "source", "reason", "wrong", "checked", "pattern", "votes", "after"}) {
    CAPTURE(field);
    CHECK(w.contains(field));
  }
  CHECK(all["kernels"][1]["verdict"] == "unavailable");
  CHECK(nlohmann::json::parse(to_json(std::span<judgement const>{}))["kernels"].empty());
}

TEST_CASE("JUnit is XML whatever the texts are, and counts as its readers do") {
  auto absent = judgement{};
  absent.kernel = "absent";
  absent.unavailable = "no library";
  auto const xml = to_junit(std::vector{make_judgement(), absent});
  CHECK(well_formed(xml));
  CHECK(
      xml.find(
          R"(<testsuite name="my &lt;kernel&gt; &amp; &quot;others&quot;" tests="3" failures="1" errors="0" skipped="1")") !=
      std::string::npos);
  CHECK(xml.find(R"(<testsuite name="absent" tests="1" failures="0" errors="0" skipped="1")") != std::string::npos);
  CHECK(xml.find(R"(<failure type="NaN" message="3 of 512 calls wrong">)") != std::string::npos);
  CHECK(xml.find(R"(<skipped message="k &lt;= 4 only"/>)") != std::string::npos);
  CHECK(xml.find('\x01') == std::string::npos);
  CHECK(xml.find('\xff') == std::string::npos);
  CHECK_FALSE(well_formed("<a><b></a></b>"));
  CHECK_FALSE(well_formed("<a x=\"1>&</a>"));
}

TEST_SUITE_END();
