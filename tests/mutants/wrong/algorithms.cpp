// Wrong kernels whose algorithm is not a sum of the products: small in norm, not element by element.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// A square matrix of its own.
template <class T>
class square {
 public:
  explicit square(index n) : n_(n), values_(static_cast<std::size_t>(n * n)) {}
  index size() const { return n_; }
  T& operator()(index i, index j) { return values_[static_cast<std::size_t>(i * n_ + j)]; }
  T operator()(index i, index j) const { return values_[static_cast<std::size_t>(i * n_ + j)]; }
  square quarter(index row, index column) const {
    square out(n_ / 2);
    for (index i = 0; i < out.n_; ++i)
      for (index j = 0; j < out.n_; ++j) out(i, j) = (*this)(row * out.n_ + i, column * out.n_ + j);
    return out;
  }
  void place(index row, index column, square const& q) {
    for (index i = 0; i < q.n_; ++i)
      for (index j = 0; j < q.n_; ++j) (*this)(row * q.n_ + i, column * q.n_ + j) = q(i, j);
  }
  friend square operator+(square x, square const& y) {
    for (std::size_t at = 0; at < x.values_.size(); ++at) x.values_[at] += y.values_[at];
    return x;
  }
  friend square operator-(square x, square const& y) {
    for (std::size_t at = 0; at < x.values_.size(); ++at) x.values_[at] -= y.values_[at];
    return x;
  }

 private:
  index n_;
  std::vector<T> values_;
};

template <class T>
square<T> ordinary(square<T> const& a, square<T> const& b) {
  square<T> c(a.size());
  for (index i = 0; i < a.size(); ++i)
    for (index q = 0; q < a.size(); ++q)
      for (index j = 0; j < a.size(); ++j) c(i, j) += a(i, q) * b(q, j);
  return c;
}

/// V. Strassen, Gaussian elimination is not optimal, Numerische Mathematik 13, 1969.
template <class T>
square<T> strassen(square<T> const& a, square<T> const& b, int levels) {
  if (levels == 0) return ordinary(a, b);
  auto const a11 = a.quarter(0, 0), a12 = a.quarter(0, 1), a21 = a.quarter(1, 0), a22 = a.quarter(1, 1);
  auto const b11 = b.quarter(0, 0), b12 = b.quarter(0, 1), b21 = b.quarter(1, 0), b22 = b.quarter(1, 1);
  auto const m1 = strassen(a11 + a22, b11 + b22, levels - 1), m2 = strassen(a21 + a22, b11, levels - 1);
  auto const m3 = strassen(a11, b12 - b22, levels - 1), m4 = strassen(a22, b21 - b11, levels - 1);
  auto const m5 = strassen(a11 + a12, b22, levels - 1), m6 = strassen(a21 - a11, b11 + b12, levels - 1);
  auto const m7 = strassen(a12 - a22, b21 + b22, levels - 1);
  square<T> c(a.size());
  c.place(0, 0, m1 + m4 - m5 + m7), c.place(0, 1, m3 + m5);
  c.place(1, 0, m2 + m4), c.place(1, 1, m1 - m2 + m3 + m6);
  return c;
}

/// Winograd's variant with 15 additions.
template <class T>
square<T> winograd(square<T> const& a, square<T> const& b) {
  auto const a11 = a.quarter(0, 0), a12 = a.quarter(0, 1), a21 = a.quarter(1, 0), a22 = a.quarter(1, 1);
  auto const b11 = b.quarter(0, 0), b12 = b.quarter(0, 1), b21 = b.quarter(1, 0), b22 = b.quarter(1, 1);
  auto const s1 = a21 + a22, s2 = s1 - a11, s3 = a11 - a21, s4 = a12 - s2;
  auto const t1 = b12 - b11, t2 = b22 - t1, t3 = b22 - b12, t4 = t2 - b21;
  auto const p1 = ordinary(a11, b11), p2 = ordinary(a12, b21), p3 = ordinary(s4, b22), p4 = ordinary(a22, t4);
  auto const p5 = ordinary(s1, t1), p6 = ordinary(s2, t2), p7 = ordinary(s3, t3);
  auto const u2 = p1 + p6, u3 = u2 + p7, u4 = u2 + p5;
  square<T> c(a.size());
  c.place(0, 0, p1 + p2), c.place(0, 1, u4 + p3), c.place(1, 0, u3 - p4), c.place(1, 1, u3 + p5);
  return c;
}

/// f(square, square) on zero-padded copies, from 32 on; the ordinary product below that, and where padding would
/// multiply the work.
template <class T, class F>
void on_squares(operands<T> const& x, F f) {
  index const largest = std::max({x.p.m, x.p.n, x.p.k}), smallest = std::min({x.p.m, x.p.n, x.p.k});
  if (smallest < 32 || largest > 2 * smallest) return multiply(x);
  index const n = (largest + 7) / 8 * 8;
  square<T> a(n), b(n);
  for (index i = 0; i < x.p.m; ++i)
    for (index q = 0; q < x.p.k; ++q) a(i, q) = x.a(i, q);
  for (index q = 0; q < x.p.k; ++q)
    for (index j = 0; j < x.p.n; ++j) b(q, j) = x.b(q, j);
  auto const c = f(a, b);
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, c(i, j));
}

/// S. Winograd, A new algorithm for inner product, IEEE Trans. Computers C-17, 1968: half the products, and a b
/// survives only as (a + b')(a' + b) − a a' − b b'.
template <class T>
T winograd_inner(T const* a, T const* b, index k) {
  T sum = 0, correction = 0;
  for (index q = 0; q + 1 < k; q += 2) {
    sum += (a[q] + b[q + 1]) * (a[q + 1] + b[q]);
    correction += a[q] * a[q + 1] + b[q] * b[q + 1];
  }
  sum -= correction;
  return k % 2 == 1 ? sum + a[k - 1] * b[k - 1] : sum;
}

/// One running sum along each row of C, whose differences are the elements.
template <class T>
void by_differences(operands<T> const& x) {
  for (index i = 0; i < x.p.m; ++i) {
    T running = 0;
    for (index j = 0; j < x.p.n; ++j) {
      T const before = running;
      for (index q = 0; q < x.p.k; ++q) running += x.a(i, q) * x.b(q, j);
      x.store(i, j, running - before);
    }
  }
}

/// Fixed point: both sides scaled by their largest magnitude in the whole row or column, cut to `bits`.
template <class T, int bits>
T fixed_point(T const* a, T const* b, index k) {
  T largest_a = 0, largest_b = 0;
  for (index q = 0; q < k; ++q) {
    if (!std::isfinite(a[q]) || !std::isfinite(b[q])) return plain_dot(a, b, k);
    largest_a = std::max(largest_a, std::abs(a[q])), largest_b = std::max(largest_b, std::abs(b[q]));
  }
  if (largest_a == 0 || largest_b == 0) return 0;
  int const scale_a = bits - 1 - std::ilogb(largest_a), scale_b = bits - 1 - std::ilogb(largest_b);
  long double sum = 0;
  for (index q = 0; q < k; ++q)
    sum += std::nearbyint(std::ldexp(static_cast<double>(a[q]), scale_a)) *
           static_cast<long double>(std::nearbyint(std::ldexp(static_cast<double>(b[q]), scale_b)));
  return static_cast<T>(std::ldexp(sum, -scale_a - scale_b));
}

/// Products as squares: a b = ((a + b)² − (a − b)²) / 4.
template <class T>
T by_squares(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < k; ++q) sum += ((a[q] + b[q]) * (a[q] + b[q]) - (a[q] - b[q]) * (a[q] - b[q])) / 4;
  return sum;
}

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("strassen", "multiplies by one level of Strassen's algorithm", "nn:32x32x32:fill=graded",
                     [](auto const& x) { on_squares(x, [](auto... ab) { return strassen(ab..., 1); }); });
  all.wrong_for_both("strassen_twice", "multiplies by two levels of Strassen's algorithm", "nn:32x32x32:fill=graded",
                     [](auto const& x) { on_squares(x, [](auto... ab) { return strassen(ab..., 2); }); });
  all.wrong_for_both("winograd", "multiplies by Winograd's variant of Strassen's algorithm", "nn:32x32x32:fill=graded",
                     [](auto const& x) { on_squares(x, [](auto... ab) { return winograd(ab...); }); });
  all.wrong_for_both("winograd_inner", "halves its products by Winograd's inner product", "nn:16x16x16:fill=graded",
                     [](auto const& x) { multiply(x, [](auto... dot) { return winograd_inner(dot...); }); });
  all.wrong_for_both("by_differences", "takes elements as differences of a running sum along the row",
                     "nn:4x64x2:fill=normal", [](auto const& x) { by_differences(x); });
  all.wrong_for_both("by_squares", "takes products from sums of squares", "nn:16x16x16:fill=graded",
                     [](auto const& x) { multiply(x, [](auto... dot) { return by_squares(dot...); }); });
  all.wrong<float>("fixed_point_24", "keeps 24 bits below the largest magnitude of each row and column",
                   "nn:16x16x16:fill=graded", [](auto const& x) { multiply(x, fixed_point<float, 24>); });
  all.wrong<float>("fixed_point_31", "keeps 31 bits below the largest magnitude of each row and column",
                   "nn:16x16x16:fill=graded", [](auto const& x) { multiply(x, fixed_point<float, 31>); });
  all.wrong<double>("fixed_point_56", "keeps 56 bits below the largest magnitude of each row and column",
                    "nn:16x16x16:fill=graded", [](auto const& x) { multiply(x, fixed_point<double, 56>); });
  for (auto& row : all.rows)
    if (row.name.find("fixed_point") != std::string::npos) row.flop_budget = 1e6;  // four function calls a term
  return all;
}

}  // namespace tandem::mutants
