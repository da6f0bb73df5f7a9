// Degenerate sizes and special values, for every kernel that can run here on host views.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <tandem/tandem.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

template <class T>
struct matrices {
  std::int64_t m, n, k;
  std::vector<T> a, b, c;
  matrices(std::int64_t m_, std::int64_t n_, std::int64_t k_, T c_value)
      : m(m_), n(n_), k(k_), a(m * k, 1), b(k * n, 1), c(m * n, c_value) {}
  void multiply(kernel const& row, double alpha, double beta) {
    gemm_with(row, matrix_view<T const>(a.data(), m, k, k), matrix_view<T const>(b.data(), k, n, n),
              matrix_view<T>(c.data(), m, n, n), {.alpha = alpha, .beta = beta});
  }
  bool all_c(std::function<bool(T)> const& is) const { return std::all_of(c.begin(), c.end(), is); }
};

// Sizes inside one tile, and past the edges of every tile there is up to 128; of a few steps of k, and one row, for
// rows that take nothing else.
constexpr std::int64_t sizes[][3] = {{3, 5, 7}, {133, 131, 19}, {133, 131, 13}, {1, 131, 19}};

bool takes(kernel const& row, std::int64_t m, std::int64_t n, std::int64_t k) {
  problem p;
  p.dtype = row.dtype, p.m = m, p.n = n, p.k = k, p.lda = k, p.ldb = n, p.ldc = n;
  return !row.refuses || row.refuses(p).empty();
}

// Runs the statement for every GEMM kernel of the backend and both element types.
template <class Statement>
void for_each_kernel(backend id, Statement const& statement) {
  if (!tests::has_backend(id)) return;
  auto const infos = kernels();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    auto const& row = kernel_table()[i];
    if (row.backend != id || row.operation() != operation::gemm || !infos[i].available) continue;
    CAPTURE(row.name);
    int taken = 0;
    for (auto const& [m, n, k] : sizes) {
      if (!takes(row, m, n, k)) continue;
      ++taken;
      if (row.dtype == dtype::f32)
        statement(row, matrices<float>(m, n, k, 2));
      else
        statement(row, matrices<double>(m, n, k, 2));
    }
    CHECK(taken > 0);
  }
}

struct nan_in_c_is_not_read {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    x.c.assign(x.c.size(), std::numeric_limits<T>::quiet_NaN());
    x.multiply(row, 1, 0);
    CHECK(x.all_c([&](T v) { return v == static_cast<T>(x.k); }));
  }
};

struct zero_times_infinity_is_nan {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    x.a.assign(x.a.size(), 0);
    x.b[static_cast<std::size_t>((x.k - 1) * x.n + 1)] = std::numeric_limits<T>::infinity();
    x.multiply(row, 1, 0);
    for (std::int64_t i = 0; i < x.m; ++i)
      for (std::int64_t j = 0; j < x.n; ++j) {
        T const v = x.c[static_cast<std::size_t>(i * x.n + j)];
        if (j == 1 ? !std::isnan(v) : v != 0) FAIL_CHECK("C(", i, ", ", j, ") is ", v);
      }
    CHECK(std::isnan(x.c[1]));
  }
};

struct nan_reaches_its_row_alone {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    auto const at = x.m - 1;
    x.a[static_cast<std::size_t>(at * x.k)] = std::numeric_limits<T>::quiet_NaN();
    x.multiply(row, 1, 0);
    for (std::int64_t i = 0; i < x.m; ++i)
      for (std::int64_t j = 0; j < x.n; ++j) {
        T const v = x.c[static_cast<std::size_t>(i * x.n + j)];
        if (i == at ? !std::isnan(v) : v != static_cast<T>(x.k)) FAIL_CHECK("C(", i, ", ", j, ") is ", v);
      }
    CHECK(std::isnan(x.c[static_cast<std::size_t>(at * x.n)]));
  }
};

struct beta_spreads_nan_of_c {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    x.c[1] = std::numeric_limits<T>::quiet_NaN();
    x.multiply(row, 1, 1);
    CHECK(std::isnan(x.c[1]));
    CHECK(x.c[0] == static_cast<T>(x.k) + 2);
    CHECK(x.c.back() == static_cast<T>(x.k) + 2);
  }
};

struct alpha_zero_does_not_read_a_or_b {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    x.a.assign(x.a.size(), std::numeric_limits<T>::quiet_NaN());
    x.b.assign(x.b.size(), std::numeric_limits<T>::infinity());
    x.multiply(row, 0, 3);
    CHECK(x.all_c([](T v) { return v == 6; }));
    x.multiply(row, 0, 0);
    CHECK(x.all_c([](T v) { return v == 0; }));
  }
};

struct k_zero_scales_c {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    matrices<T> y(x.m, x.n, 0, 2);
    y.multiply(row, 1, -1);
    CHECK(y.all_c([](T v) { return v == -2; }));
    y.c.assign(y.c.size(), std::numeric_limits<T>::quiet_NaN());
    y.multiply(row, 1, 0);
    CHECK(y.all_c([](T v) { return v == 0; }));
  }
};

struct overflow_is_infinite {
  template <class T>
  void operator()(kernel const& row, matrices<T> x) const {
    x.a.assign(x.a.size(), std::numeric_limits<T>::max());
    x.b.assign(x.b.size(), 2);
    x.multiply(row, 1, 0);
    CHECK(x.all_c([](T v) { return std::isinf(v) && v > 0; }));
  }
};

constexpr backend every_backend[] = {backend::cpu,      backend::gpu,   backend::simt,  backend::oracle,
                                     backend::openblas, backend::eigen, backend::cublas};

template <class Statement>
void for_each_backend(std::initializer_list<backend> except = {}) {
  for (auto const id : every_backend)
    if (std::find(except.begin(), except.end(), id) == except.end()) for_each_kernel(id, Statement{});
}

}  // namespace

TEST_SUITE_BEGIN("special values");

TEST_CASE("beta = 0 does not read C: NaN in it is gone") { for_each_backend<nan_in_c_is_not_read>(); }
TEST_CASE("zeros are not skipped: 0 * Inf is NaN, in its column alone") {
  for_each_backend<zero_times_infinity_is_nan>();
}
TEST_CASE("NaN in a row of A makes that row of C NaN, and no other") { for_each_backend<nan_reaches_its_row_alone>(); }
TEST_CASE("NaN in C stays where it is when beta is not 0") { for_each_backend<beta_spreads_nan_of_c>(); }
TEST_CASE("alpha = 0 reads neither A nor B") { for_each_backend<alpha_zero_does_not_read_a_or_b>(); }
TEST_CASE("k = 0 leaves beta C") { for_each_backend<k_zero_scales_c>(); }
TEST_CASE("a sum beyond the largest number is infinite") {
  // The oracle sums in wider arithmetic, so its sum may come back.
  for_each_backend<overflow_is_infinite>({backend::oracle});
}

TEST_CASE("empty products do nothing, with any data pointer") {
  float c = 7;
  gemm(matrix_view<float const>(), matrix_view<float const>(), matrix_view<float>());
  gemm(matrix_view<float const>(nullptr, 0, 3, 3), matrix_view<float const>(nullptr, 3, 0, 0),
       matrix_view<float>(nullptr, 0, 0, 0));
  gemm(matrix_view<float const>(nullptr, 1, 0, 0), matrix_view<float const>(nullptr, 0, 1, 1),
       matrix_view<float>(&c, 1, 1, 1), {.beta = 1});
  CHECK(c == 7);
}

TEST_CASE_TEMPLATE("where nothing is multiplied, every backend leaves beta C, by a call and by a plan", T, float,
                   double) {
  struct {
    std::int64_t m, n, k;
    double alpha;
  } const products[] = {{0, 3, 4, 1}, {3, 0, 4, 1}, {0, 0, 4, 1}, {0, 3, 0, 1},
                        {3, 0, 0, 1}, {2, 3, 0, 1}, {2, 3, 4, 0}};
  for (auto const& info : backends()) {
    if (!tests::has_backend(info.backend)) continue;
    CAPTURE(to_string(info.backend));
    for (auto const& product : products)
      for (auto const of_c : {layout::row_major, layout::col_major}) {
        auto const m = product.m, n = product.n, k = product.k;
        INFO(m, "x", n, "x", k);
        std::vector<T> const a(12, 1), b(12, 1);
        matrix_view<T const> const va(a.data(), m, k, k), vb(b.data(), k, n, n);
        auto const c_after = [&](auto const& multiply) {
          std::vector<T> c(6, 3);
          multiply(matrix_view<T>(c.data(), m, n, of_c == layout::row_major ? n : m, of_c));
          return c;
        };
        std::vector<T> const expected(6, m * n > 0 ? T{6} : T{3});
        gemm_options const how{.alpha = product.alpha, .beta = 2, .backend = info.backend};
        CHECK(c_after([&](matrix_view<T> c) { gemm(va, vb, c, how); }) == expected);
        CHECK(c_after([&](matrix_view<T> c) { gemm_plan<T>(va, vb, c, how)(a.data(), b.data(), c.data()); }) ==
              expected);
      }
  }
}

TEST_CASE_TEMPLATE("a single line's leading dimension is any number that is no less than its length", T, float,
                   double) {
  constexpr std::int64_t size = 70, far = std::numeric_limits<std::int64_t>::max();
  std::vector<T> const ones(size * size, 1);
  matrix_view<T const> const row(ones.data(), 1, size, far), column(ones.data(), size, 1, far, layout::col_major);
  for (auto const& info : backends()) {
    if (!tests::has_backend(info.backend)) continue;
    CAPTURE(to_string(info.backend));
    gemm_options const how{.backend = info.backend};
    std::vector<T> sums(size, 0), products(size * size, 0);
    gemm(row, matrix_view<T const>(ones.data(), size, size, size), matrix_view<T>(sums.data(), 1, size, far), how);
    CHECK(sums == std::vector<T>(size, size));
    gemm(column, row, matrix_view<T>(products.data(), size, size, size), how);
    CHECK(products == ones);
  }
}

TEST_CASE("alpha and beta are rounded to the element type") {
  float const a = 3, b = 1;
  float c = 0;
  double const third = 1.0 / 3;
  gemm(matrix_view<float const>(&a, 1, 1, 1), matrix_view<float const>(&b, 1, 1, 1), matrix_view<float>(&c, 1, 1, 1),
       {.alpha = third});
  CHECK(c == static_cast<float>(third) * 3);
}

TEST_CASE("a beta that is -0, or becomes it in the element type, reaches a kernel as 0") {
  std::vector<double> seen;
  kernel row;
  row.name = "mine.listens", row.backend = backend::cpu;
  row.run = [&](problem const& p, execution const&) { seen.push_back(p.beta); };
  float const a = 3, b = 1;
  float c = 0;
  for (double const beta : {0.0, -0.0, 1e-50, -1e-50})
    gemm_with(row, matrix_view<float const>(&a, 1, 1, 1), matrix_view<float const>(&b, 1, 1, 1),
              matrix_view<float>(&c, 1, 1, 1), {.beta = beta});
  CHECK(seen.size() == 4);
  for (double const beta : seen) {
    CHECK(beta == 0);
    CHECK_FALSE(std::signbit(beta));
  }
}

// Tiny calls on the host go a way of their own from their first checks on, once a call of their type has been made.
TEST_CASE_TEMPLATE("a tiny plain call treats special values of alpha and beta like any other", T, float, double) {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  double const least = std::is_same_v<T, float> ? 1e-60 : 0;  // 0 in the element type
  auto const product = [&](T of_a, double alpha, double beta, T before) {
    std::vector<T> const a(4 * 4, of_a), b(4 * 4, 1);
    std::vector<T> c(4 * 4);
    matrix_view<T const> const va(a.data(), 4, 4, 4), vb(b.data(), 4, 4, 4);
    matrix_view<T> const vc(c.data(), 4, 4, 4);
    gemm(va, vb, vc);
    std::ranges::fill(c, before);
    gemm(va, vb, vc, {.alpha = alpha, .beta = beta});
    CHECK(std::ranges::all_of(c, [&](T x) { return x == c[0] || (std::isnan(x) && std::isnan(c[0])); }));
    return c[0];
  };
  CHECK(product(1, 2, 0, nan) == 8);
  CHECK(product(1, 2, -0.0, nan) == 8);
  CHECK(product(1, 2, least, nan) == 8);
  CHECK(product(1, 2, 3, 1) == 11);
  CHECK(product(nan, 0, 2, 3) == 6);
  CHECK(product(nan, least, 2, 3) == 6);
  CHECK(product(nan, -0.0, 0, nan) == 0);
  CHECK(std::isnan(product(nan, 1, 0, 3)));
  CHECK(std::isnan(product(1, 1, 1, nan)));
}

TEST_SUITE_END();
