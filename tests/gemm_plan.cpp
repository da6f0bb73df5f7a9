// gemm_plan: the same numbers as gemm, bit for bit, on every kind of operand; wrong arguments are refused beforehand.
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

#include <tandem/tandem.hpp>

namespace {

using namespace tandem;

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<std::size_t>(count));
  for (auto& v : x) v = static_cast<T>(normal(engine));
  return x;
}

TEST_CASE_TEMPLATE("a plan computes what gemm computes, bit for bit", T, float, double) {
  struct {
    std::int64_t m, n, k;
  } const sizes[] = {{4, 4, 4},      {1, 1, 1}, {14, 32, 7}, {15, 33, 65}, {32, 32, 32}, {3, 200, 5},
                     {90, 100, 110}, {5, 1, 9}, {70, 1, 40}, {300, 1, 1},  {20, 33, 40}};
  for (auto const& size : sizes)
    for (int variant = 0; variant < 48; ++variant) {
      auto const m = size.m, n = size.n, k = size.k;
      int const layouts = variant % 8, gap = variant / 8 % 2 * 2;
      double const beta = std::array{0.0, 1.0, -0.5}[static_cast<std::size_t>(variant / 16)];
      INFO(m, "x", n, "x", k, " layouts ", layouts, " gap ", gap, " beta ", beta);
      auto const a = random_values<T>((m + 2) * (k + 2), 1), b = random_values<T>((k + 2) * (n + 2), 2);
      auto expected = random_values<T>((m + 2) * (n + 2), 3), got = expected;
      auto const view = [&](auto* data, std::int64_t rows, std::int64_t cols, bool by_columns) {
        auto const kind = by_columns ? layout::col_major : layout::row_major;
        return matrix_view(data, rows, cols, (by_columns ? rows : cols) + gap, kind);
      };
      auto const va = view(a.data(), m, k, layouts % 2 != 0), vb = view(b.data(), k, n, layouts / 2 % 2 != 0);
      bool const c_by_columns = layouts / 4 != 0;
      gemm_options const options{.alpha = 1.25, .beta = beta};
      gemm(va, vb, view(expected.data(), m, n, c_by_columns), options);
      auto const nowhere = [&](auto const& v) {
        return view(static_cast<T const*>(nullptr), v.rows(), v.cols(), v.layout() == layout::col_major);
      };
      gemm_plan<T> const plan(nowhere(va), nowhere(vb), view(static_cast<T*>(nullptr), m, n, c_by_columns), options);
      auto const copy = plan;
      copy(a.data(), b.data(), got.data());
      CHECK(got == expected);
    }
}

TEST_CASE("a plan for nothing to multiply scales C") {
  std::vector<float> c(4, 3);
  gemm_plan<float> const plan({nullptr, 2, 0, 0}, {nullptr, 0, 2, 2}, {nullptr, 2, 2, 2}, {.beta = 2});
  plan(nullptr, nullptr, c.data());
  CHECK(c == std::vector<float>(4, 6));
}

TEST_CASE("wrong arguments are refused when the plan is made") {
  auto const refused = [](auto&& make) {
    try {
      make();
    } catch (error const& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(refused([] {
          gemm_plan<float>({nullptr, 2, 3, 3}, {nullptr, 4, 2, 2}, {nullptr, 2, 2, 2});
        }).find("A has 3 columns, B has 4 rows") != std::string::npos);
  CHECK(refused([] {
          gemm_plan<float>({nullptr, 2, 3, 2}, {nullptr, 3, 2, 2}, {nullptr, 2, 2, 2});
        }).find("lda 2 < k 3") != std::string::npos);
  CHECK(refused([] {
          gemm_plan<float>({nullptr, 2, 3, 3}, {nullptr, 3, 2, 2}, {nullptr, 2, 2, 2}, {.kernel = "no_such"});
        }).find("no_such") != std::string::npos);
}

TEST_CASE("a plan for a named kernel calls that kernel") {
  std::vector<double> const a(9, 1), b(9, 2);
  std::vector<double> c(9, 0);
  gemm_plan<double> const plan({nullptr, 3, 3, 3}, {nullptr, 3, 3, 3}, {nullptr, 3, 3, 3}, {.kernel = "inner_product"});
  plan(a.data(), b.data(), c.data());
  CHECK(c == std::vector<double>(9, 6));
}

}  // namespace
