// axpy: every kernel, on strides that interleave, run backwards and coincide.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <tandem/tandem.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

template <class T>
struct vectors {
  std::int64_t n, stride_x, stride_y;
  std::vector<T> x, y;

  vectors(std::int64_t n_, std::int64_t sx, std::int64_t sy) : n(n_), stride_x(sx), stride_y(sy) {
    std::mt19937 random(static_cast<unsigned>(n_ * 31 + sx * 7 + sy));
    std::uniform_int_distribution<int> small(-9, 9);
    auto const fill = [&](std::vector<T>& v, std::int64_t stride) {
      v.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, (n - 1) * std::abs(stride) + 1)));
      for (auto& e : v) e = static_cast<T>(small(random));
    };
    fill(x, stride_x);
    fill(y, stride_y);
  }
  T* at(std::vector<T>& v, std::int64_t stride) {
    return v.data() + (stride < 0 ? static_cast<std::int64_t>(v.size()) - 1 : 0);
  }
};

// Small integers: every order of rounding gives the same sum.
template <class T>
void check_row(kernel const& row, std::int64_t n, std::int64_t sx, std::int64_t sy, double alpha) {
  CAPTURE(row.name);
  CAPTURE(n);
  CAPTURE(sx);
  CAPTURE(sy);
  vectors<T> v(n, sx, sy);
  auto wanted = v.y;
  for (std::int64_t i = 0; i < n; ++i)
    *(v.at(wanted, sy) + i * sy) += static_cast<T>(alpha) * *(v.at(v.x, sx) + i * sx);
  axpy_with(row, alpha, vector_view<T const>(v.at(v.x, sx), n, sx), vector_view<T>(v.at(v.y, sy), n, sy));
  CHECK(v.y == wanted);
}

void check_backend(backend id) {
  if (!tests::has_backend(id)) return;
  auto const infos = kernels();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    auto const& row = kernel_table()[i];
    if (row.operation() != operation::axpy || row.backend != id || !infos[i].available) continue;
    for (std::int64_t const n : {0, 1, 2, 7, 31, 1000, 100003})
      for (auto const& [sx, sy] : {std::pair{1, 1}, {1, 3}, {2, 1}, {-1, 1}, {1, -2}, {-3, -1}, {0, 1}})
        for (double const alpha : {1.0, -2.0, 0.0})
          row.dtype == dtype::f32 ? check_row<float>(row, n, sx, sy, alpha) : check_row<double>(row, n, sx, sy, alpha);
  }
}

}  // namespace

TEST_SUITE_BEGIN("axpy");

TEST_CASE("the oracle's axpy is right on every stride") { check_backend(backend::oracle); }
TEST_CASE("the CPU's axpy is right on every stride") { check_backend(backend::cpu); }
TEST_CASE("the SIMT executor's axpy is right on every stride") { check_backend(backend::simt); }
TEST_CASE("Eigen's axpy is right on every stride") { check_backend(backend::eigen); }
TEST_CASE("OpenBLAS's axpy is right on every stride") { check_backend(backend::openblas); }
TEST_CASE("the GPU's axpy is right on every stride, on host views") { check_backend(backend::gpu); }
TEST_CASE("cuBLAS's axpy is right on every stride, on host views") { check_backend(backend::cublas); }

TEST_CASE_TEMPLATE("each element of axpy is one fused multiply-add", T, float, double) {
  // x * x rounds to 1 + 2 eps, so that only a fused operation keeps its last term, eps * eps.
  T const x = T(1) + std::numeric_limits<T>::epsilon();
  T const y = -(T(1) + 2 * std::numeric_limits<T>::epsilon());
  T const fused = std::fma(x, x, y);
  REQUIRE(fused != x * x + y);
  T result = y;
  axpy(x, vector_view<T const>(&x, 1), vector_view<T>(&result, 1));
  CHECK(result == fused);
}

TEST_CASE_TEMPLATE("axpy with alpha = 0 leaves y as it is, NaN in x or not", T, float, double) {
  T const x[3] = {NAN, 1, INFINITY};
  T y[3] = {1, 2, 3};
  axpy(0, vector_view<T const>(x, 3), vector_view<T>(y, 3));
  CHECK(y[0] == 1);
  CHECK(y[2] == 3);
}

TEST_CASE_TEMPLATE("an alpha that the element type has no room for is 0, of short vectors and long ones", T, float,
                   double) {
  double const tiny = std::is_same_v<T, float> ? 1e-60 : 0.0;
  for (std::size_t const n : {1, 1000, 100000}) {
    std::vector<T> const x(n, std::numeric_limits<T>::quiet_NaN());
    std::vector<T> y(n, T(3));
    auto const size = static_cast<std::int64_t>(n);
    axpy(tiny, vector_view<T const>(x.data(), size), vector_view<T>(y.data(), size));
    CHECK(y == std::vector<T>(n, T(3)));
  }
}

// Where a short vector ends, and one that needs no threads (cpu/axpy.hpp), a plain call takes another way.
TEST_CASE_TEMPLATE("a plain call leaves what its row leaves, and nothing but y", T, float, double) {
  auto const* const row = find_kernel(std::is_same_v<T, float> ? "cpu.axpy.f32" : "cpu.axpy.f64");
  REQUIRE(row != nullptr);
  std::int64_t const most = row->most_at_once;
  REQUIRE(most > 100);
  for (std::int64_t const n :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, std::int64_t{64}, most - 1, most, most + 1})
    for (std::int64_t const stride_y : {1, 2, -3})
      for (std::int64_t const stride_x : {1, 0, 5}) {
        CAPTURE(n);
        CAPTURE(stride_x);
        CAPTURE(stride_y);
        vectors<T> v(n, stride_x, stride_y);
        auto wanted = v.y;
        vector_view<T const> const x(v.at(v.x, stride_x), n, stride_x);
        axpy_with(*row, 0.3, x, vector_view<T>(v.at(wanted, stride_y), n, stride_y));
        axpy(0.3, x, vector_view<T>(v.at(v.y, stride_y), n, stride_y));
        CHECK(v.y == wanted);
      }
}

TEST_CASE_TEMPLATE("axpy takes one and the same view twice, and interleaved ones", T, float, double) {
  T both[4] = {1, 2, 3, 4};
  axpy(1, vector_view<T const>(both, 4), vector_view<T>(both, 4));
  CHECK(both[3] == 8);
  axpy(1, vector_view<T const>(both, 2, 2), vector_view<T>(both + 1, 2, 2));
  CHECK(both[1] == 6);
  CHECK(both[3] == 14);
  axpy(1, vector_view<T const>(both, 1, 5), vector_view<T>(both, 1, 1));  // one element has no stride
  CHECK(both[0] == 4);
}

TEST_SUITE_END();
