// The oracle: plain loops with a wide accumulator; f32 problems in double, f64 problems in double-double.
#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/descriptors.hpp"
#include "reference/rows.hpp"

namespace tandem::reference {
namespace {

// A panel of B this deep is laid out once for all rows, so that the inner loop is contiguous for every layout.
constexpr std::int64_t panel_depth = 32;

// Sums of f32 products: each product is exact in double, and each sum rounds at 2^-53.
struct double_sum {
  static constexpr bool has_low = false;
  static void add(double x, double y, double& hi, double&) { hi += x * y; }
};

// Sums of f64 products in double-double: two_prod by fma and two_sum (Knuth), the errors gathered in lo
// (Ogita, Rump, Oishi, "Accurate sum and dot product", 2005, Algorithm 5.3).
struct double_double_sum {
  static constexpr bool has_low = true;
  static void add(double x, double y, double& hi, double& lo) {
    double const product = x * y;
    double const product_error = std::fma(x, y, -product);
    double const sum = hi + product;
    double const part = sum - hi;
    double const sum_error = (hi - (sum - part)) + (product - part);
    hi = sum;
    lo += sum_error + product_error;
  }
};

template <class T>
double at(T const* data, std::int64_t ld, bool trans, std::int64_t row, std::int64_t col) {
  return static_cast<double>(trans ? data[col * ld + row] : data[row * ld + col]);
}

template <class T, class Sum>
wide_product multiply(problem const& p, std::span<std::int64_t const> rows) {
  auto const* const a = static_cast<T const*>(p.a);
  auto const* const b = static_cast<T const*>(p.b);
  auto const* const c = static_cast<T const*>(p.c);
  auto const n = static_cast<std::size_t>(p.n);
  wide_product out;
  out.hi.assign(rows.size() * n, 0);
  out.lo.assign(Sum::has_low ? rows.size() * n : 0, 0);
  out.magnitude.assign(rows.size() * n, 0);

  std::vector<double> panel(static_cast<std::size_t>(std::min(p.k, panel_depth)) * n);  // (depth, n)
  double unused = 0;
  for (std::int64_t pc = 0; pc < p.k; pc += panel_depth) {
    std::int64_t const depth = std::min(panel_depth, p.k - pc);
    for (std::int64_t q = 0; q < depth; ++q)
      for (std::int64_t j = 0; j < p.n; ++j) panel[q * n + j] = at(b, p.ldb, p.trans_b, pc + q, j);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double* const hi = out.hi.data() + r * n;
      double* const lo = Sum::has_low ? out.lo.data() + r * n : nullptr;
      double* const magnitude = out.magnitude.data() + r * n;
      for (std::int64_t q = 0; q < depth; ++q) {
        double const x = at(a, p.lda, p.trans_a, rows[r], pc + q);
        double const* const y = panel.data() + q * n;
        for (std::size_t j = 0; j < n; ++j) {
          Sum::add(x, y[j], hi[j], Sum::has_low ? lo[j] : unused);
          magnitude[j] += std::abs(x) * std::abs(y[j]);
        }
      }
    }
  }

  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t j = 0; j < n; ++j) {
      std::size_t const at_rj = r * n + j;
      double hi = 0, lo = 0;
      Sum::add(p.alpha, out.hi[at_rj], hi, lo);
      if (Sum::has_low) lo += p.alpha * out.lo[at_rj];
      double magnitude = std::abs(p.alpha) * out.magnitude[at_rj];
      if (p.beta != 0) {
        auto const old = static_cast<double>(c[rows[r] * p.ldc + static_cast<std::int64_t>(j)]);
        Sum::add(p.beta, old, hi, lo);
        magnitude += std::abs(p.beta) * std::abs(old);
      }
      // An infinite or NaN sum has no meaningful error term.
      double const low = std::isfinite(hi) ? lo : 0;
      out.hi[at_rj] = hi + low;
      if (Sum::has_low) out.lo[at_rj] = low - (out.hi[at_rj] - hi);
      out.magnitude[at_rj] = magnitude;
    }
  return out;
}

template <class T>
void store(problem const& p) {
  auto* const c = static_cast<T*>(p.c);
  constexpr std::int64_t block = 64;  // rows at a time: bounds the wide copy of C
  std::vector<std::int64_t> rows;
  for (std::int64_t first = 0; first < p.m; first += block) {
    rows.resize(static_cast<std::size_t>(std::min(block, p.m - first)));
    std::iota(rows.begin(), rows.end(), first);
    auto const wide = multiply_wide(p, rows);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::int64_t j = 0; j < p.n; ++j)
        c[rows[r] * p.ldc + j] = static_cast<T>(wide.hi[r * static_cast<std::size_t>(p.n) + j]);
  }
}

void run(problem const& p, execution const&) { p.dtype == dtype::f32 ? store<float>(p) : store<double>(p); }

void run_axpy(axpy_problem const& p, execution const&) {
  auto const add = [&p]<class T>(T const* x, T* y) {
    for (std::int64_t i = 0; i < p.n; ++i)
      y[i * p.stride_y] = std::fma(static_cast<T>(p.alpha), x[i * p.stride_x], y[i * p.stride_y]);
  };
  p.dtype == dtype::f32 ? add(static_cast<float const*>(p.x), static_cast<float*>(p.y))
                        : add(static_cast<double const*>(p.x), static_cast<double*>(p.y));
}

}  // namespace

wide_product multiply_wide(problem const& p, std::span<std::int64_t const> rows) {
  return p.dtype == dtype::f32 ? multiply<float, double_sum>(p, rows) : multiply<double, double_double_sum>(p, rows);
}

backend_descriptor const& oracle() {
  static auto const& d =
      *new backend_descriptor{.backend = backend::oracle,
                              .unavailable = {},
                              .version = [] { return std::string("plain loops; f32 in double, f64 in double-double"); },
                              .scale = {},
                              .kernels = {concurrent(gemm_row(backend::oracle, dtype::f32, 4e8, false, run)),
                                          concurrent(gemm_row(backend::oracle, dtype::f64, 1e8, false, run)),
                                          axpy_row(backend::oracle, dtype::f32, false, run_axpy),
                                          axpy_row(backend::oracle, dtype::f64, false, run_axpy)}};
  return d;
}

}  // namespace tandem::reference
