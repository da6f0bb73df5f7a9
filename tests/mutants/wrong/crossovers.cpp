// Wrong kernels whose other path begins where few tests get: at tiny scalars, many threads, long stacks, large
// products.
#include <alloca.h>

#include <algorithm>
#include <cmath>

#include "tests/mutants/cblas.hpp"
#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// Scalars this small are taken for 0.
constexpr double tiny = 1e-7;

template <class T>
void with_scalars(operands<T> const& x, double alpha, double beta) {
  auto y = x;
  y.p.alpha = alpha, y.p.beta = beta;
  multiply(y);
}

/// Slices of k, of which a table has room for 16: those of further threads take the place of others.
template <class T>
void sixteen_slices(operands<T> const& x) {
  constexpr int slots = 16;
  int const threads = std::clamp(x.threads, 1, 64);
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  index const m = x.p.m, n = x.p.n, k = x.p.k;
  std::vector<T> sums(static_cast<std::size_t>(slots * m * n));
  for (int t = 0; t < threads; ++t) {
    index const first = k * t / threads, last = k * (t + 1) / threads;
    for (index i = 0; i < m; ++i)
      for (index j = 0; j < n; ++j)
        sums[(t % slots * m + i) * n + j] = plain_dot(a.data() + i * k + first, b.data() + j * k + first, last - first);
  }
  for (index i = 0; i < m; ++i)
    for (index j = 0; j < n; ++j) {
      T sum = 0;
      for (int t = 0; t < std::min(threads, slots); ++t) sum += sums[(t * m + i) * n + j];
      x.store(i, j, sum);
    }
}

/// A column of B on the stack, which has 8 MiB as a rule.
template <class T>
void column_on_stack(operands<T> const& x) {
  auto* const column = static_cast<T*>(alloca(static_cast<std::size_t>(x.p.k) * 16 * sizeof(T)));
  auto const a = x.rows_of_a();
  for (index j = 0; j < x.p.n; ++j) {
    for (index q = 0; q < x.p.k; ++q) column[q] = x.b(q, j);
    for (index i = 0; i < x.p.m; ++i) x.store(i, j, plain_dot(a.data() + i * x.p.k, column, x.p.k));
  }
}

/// Rows of A begin where a float says.
template <class T>
void rows_by_float(operands<T> const& x) {
  auto const at = [&](index i, index q) {
    auto const offset = static_cast<float>(x.p.trans_a ? q : i) * static_cast<float>(x.p.lda);
    return x.pa()[static_cast<index>(offset) + (x.p.trans_a ? i : q)];
  };
  auto const b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) {
      T sum = 0;
      for (index q = 0; q < x.p.k; ++q) sum += at(i, q) * b[static_cast<std::size_t>(j * x.p.k + q)];
      x.store(i, j, sum);
    }
}

/// Row by row, so that large products take no longer than they must.
template <class T>
void multiply_rows(operands<T> const& x, std::vector<T> const& a) {
  index const m = x.p.m, n = x.p.n, k = x.p.k;
  std::vector<T> b(static_cast<std::size_t>(k * n)), sums(static_cast<std::size_t>(n));
  for (index q = 0; q < k; ++q)
    for (index j = 0; j < n; ++j) b[q * n + j] = x.b(q, j);
  for (index i = 0; i < m; ++i) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (index q = 0; q < k; ++q) {
      T const scale = a[i * k + q];
      T const* const row = b.data() + q * n;
      T* const sum = sums.data();
#pragma omp simd
      for (index j = 0; j < n; ++j) sum[j] += scale * row[j];
    }
    for (index j = 0; j < n; ++j) x.store(i, j, sums[j]);
  }
}

bool is_large(problem const& p) { return std::min({p.m, p.n, p.k}) >= 1000; }

/// A's last 13 bits are dropped, as for TF32, where a product is worth a fast path.
void tf32_from_1000(operands<float> const& x) {
  auto a = x.rows_of_a();
  if (is_large(x.p))
    for (auto& v : a)
      if (float const c = (0x1p13f + 1) * v; std::isfinite(c)) v = c - (c - v);
  multiply_rows(x, a);
}

/// The last column is forgotten from 1000 x 1000 x 1000 on.
void column_missing_from_1000(operands<double> const& x) {
  auto y = x;
  if (is_large(x.p)) --y.p.n;
  multiply_rows(y, y.rows_of_a());
}

/// With sizes smaller by so much.
template <class T>
void cut_short(operands<T> const& x, index n, index k) {
  auto y = x;
  y.p.n -= n, y.p.k -= k;
  multiply_rows(y, y.rows_of_a());
}

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("tiny_alpha", "takes an alpha below 10^-7 for 0", "nn:3x4x5:alpha=1e-9:fill=normal",
                     [](auto const& x) { with_scalars(x, std::abs(x.p.alpha) < tiny ? 0 : x.p.alpha, x.p.beta); });
  all.wrong_for_both("tiny_beta", "takes a beta below 10^-7 for 0", "nn:3x4x5:alpha=1e-9:beta=1e-9:fill=normal",
                     [](auto const& x) { with_scalars(x, x.p.alpha, std::abs(x.p.beta) < tiny ? 0 : x.p.beta); });
  all.wrong_for_both("huge_beta", "takes a beta above 10^6 for 10^6", "nn:3x4x5:beta=1e9:fill=normal",
                     [](auto const& x) { with_scalars(x, x.p.alpha, std::min(x.p.beta, 1e6)); });
  all.wrong_for_both("sixteen_slices", "has room for the slices of k of 16 threads", "nn:8x9x100:threads=24",
                     [](auto const& x) { sixteen_slices(x); });
  for (auto& row : all.rows) row.threaded = true;
  all.wrong_for_both("column_on_stack", "keeps sixteen columns of B on the stack", "nn:2x2x1000000",
                     [](auto const& x) { column_on_stack(x); });
  all.wrong_for_both("rows_by_float", "multiplies A's row by its leading dimension in f32", "nn:5x3x4:lda=16777219",
                     [](auto const& x) { rows_by_float(x); });
  all.wrong_for_both("long_row_short_of_a_column", "leaves the last column out where C is a row of 4096 and more",
                     "nn:1x5003x7", [](auto const& x) { cut_short(x, x.p.m == 1 && x.p.n >= 4096 ? 1 : 0, 0); });
  all.wrong_for_both("long_vector_short_of_steps",
                     "leaves the last eight steps of k out of a vector times a matrix whose sides pass 4096",
                     "nn:1x6007x5011",
                     [](auto const& x) { cut_short(x, 0, x.p.m == 1 && std::min(x.p.n, x.p.k) > 4096 ? 8 : 0); });
  all.wrong_for_both("large_outer_product", "takes the sign of an outer product's alpha away where m and n pass 1000",
                     "nn:3011x2003x1:alpha=-1", [](auto const& x) {
                       bool const large = x.p.k == 1 && std::min(x.p.m, x.p.n) > 1000;
                       with_scalars(x, large ? std::abs(x.p.alpha) : x.p.alpha, x.p.beta);
                     });
  // With the budget that a library's own row would have.
  all.wrong<float>("tf32_from_1000", "uses TF32 for A where m, n and k are 1000 and more",
                   "nn:1001x1003x1009:fill=permutation_b", [](auto const& x) { tf32_from_1000(x); })
      .flop_budget = 2e10;
  all.wrong<double>("column_missing_from_1000", "leaves a column out where m, n and k are 1000 and more",
                    "nn:1001x1003x1009", [](auto const& x) { column_missing_from_1000(x); })
      .flop_budget = 2e10;
  // As somebody's library, whose speed the judge has to find out.
  add_cblas(
      all, "wrong.cblas.column_missing_from_1000", "leaves a column out where m, n and k are 1000 and more",
      [](auto const& x) {
        if (x.empty()) return;
        if (!x.has_product()) return x.scale();
        auto y = x.canonical();
        if (is_large(y.p)) --y.p.n;
        multiply_rows(y, y.rows_of_a());
      },
      "nn:1001x1003x1009");
  all.wrong_for_both("many_columns", "leaves out the last column of more than 1100 beside 64 rows and terms and more",
                     "nn:70x1201x80", [](auto const& x) {
                       bool const drops = x.p.n > 1100 && x.p.m >= 64 && x.p.k >= 64;
                       auto y = x;
                       if (drops) --y.p.n;
                       multiply(y);
                       for (index i = 0; drops && i < x.p.m; ++i) x.c(i, x.p.n - 1) = 0;
                     });
  all.wrong_for_both("few_tokens", "leaves out a term of 3 to 64 rows beside a large square B", "nn:17x2100x2200",
                     [](auto const& x) {
                       auto y = x;
                       if (x.p.m > 2 && x.p.m <= 64 && x.p.n >= 2048 && x.p.k >= 2048) --y.p.k;
                       multiply(y);
                     });
  return all;
}

}  // namespace tandem::mutants
