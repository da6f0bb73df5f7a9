// Wrong kernels that are right for ordinary numbers: zeros, subnormals, NaN, infinities and overflow go wrong.
#include <algorithm>
#include <cmath>
#include <limits>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

template <class T>
T flushed(T x) {
  return std::abs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

template <class T>
T flushing(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < k; ++q) sum = flushed(sum + flushed(flushed(a[q]) * flushed(b[q])));
  return sum;
}

template <class T>
T flushing_inputs(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < k; ++q) sum += flushed(a[q]) * flushed(b[q]);
  return sum;
}

template <class T>
T skipping_zeros(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < k; ++q)
    if (a[q] != 0) sum += a[q] * b[q];
  return sum;
}

template <class T>
T skipping_zeros_of_b(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < k; ++q)
    if (b[q] != 0) sum += a[q] * b[q];
  return sum;
}

template <class T>
T without_nan(T const* a, T const* b, index k) {
  auto const clean = [](T x) { return std::isnan(x) ? T(0) : x; };
  T sum = 0;
  for (index q = 0; q < k; ++q) sum += clean(a[q]) * clean(b[q]);
  return sum;
}

/// The tail of k is read from its last element again and multiplied by a mask of 0: NaN where that is infinite.
template <class T>
T masked_tail(T const* a, T const* b, index k) {
  T sum = 0;
  for (index q = 0; q < (k + 7) / 8 * 8; ++q) {
    index const clamped = std::min(q, k - 1);
    sum += a[clamped] * b[clamped] * (q < k ? T(1) : T(0));
  }
  return sum;
}

/// Scales by the largest magnitude so that nothing can overflow, and so what must overflow does not.
template <class T>
T saturating(T const* a, T const* b, index k) {
  T const sum = plain_dot(a, b, k);
  return std::isinf(sum) ? std::copysign(std::numeric_limits<T>::max(), sum) : sum;
}

/// max(min(sum, largest), -largest) in an order of operands that makes a number of NaN.
template <class T>
T clamped(T const* a, T const* b, index k) {
  T const sum = plain_dot(a, b, k), largest = std::numeric_limits<T>::max();
  return std::max(-largest, std::min(largest, sum));
}

/// Zero if the result is NaN.
template <class T>
T nan_to_zero(T const* a, T const* b, index k) {
  T const sum = plain_dot(a, b, k);
  return std::isnan(sum) ? T(0) : sum;
}

/// Nothing is computed where the row's first element is 0.
template <class T>
T stopping_at_zero(T const* a, T const* b, index k) {
  return k > 1 && a[0] == 0 && a[1] == 0 ? T(0) : plain_dot(a, b, k);
}

template <class T>
bool first_row_is_zero(operands<T> const& x) {
  for (index q = 0; q < x.p.k; ++q)
    if (x.a(0, q) != 0) return false;
  return true;
}

/// C is read whatever beta is.
template <class T>
void beta_times_c(operands<T> const& x) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) {
      T const sum = plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k);
      x.c(i, j) = x.alpha() * sum + x.beta() * x.c(i, j);
    }
}

/// Dekker's split of A, infinity − infinity where A is infinite.
template <class T>
T split_high_low(T const* a, T const* b, index k) {
  constexpr T factor = std::is_same_v<T, float> ? T(4097) : T(134217729);
  T sum = 0;
  for (index q = 0; q < k; ++q) {
    T const spread = factor * a[q], high = spread - (spread - a[q]), low = a[q] - high;
    sum += high * b[q] + low * b[q];
  }
  return sum;
}

#if defined(__SSE__)
/// Right, and leaves the processor flushing subnormals to zero, also for whoever called.
template <class T>
void leaving_flush_to_zero(operands<T> const& x) {
  multiply(x);
  _mm_setcsr(_mm_getcsr() | 0x8040);
}
#endif

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("flush_to_zero", "flushes subnormal operands, products and sums to zero",
                     "nn:8x8x4:fill=subnormal",
                     [](auto const& x) { multiply(x, [](auto... dot) { return flushing(dot...); }); });
  all.wrong_for_both("subnormals_are_zero", "takes subnormal operands for zeros", "nn:8x8x4:fill=subnormal",
                     [](auto const& x) { multiply(x, [](auto... dot) { return flushing_inputs(dot...); }); });
  all.wrong_for_both("zero_skipping", "skips products where A is zero", "nn:9x9x9:fill=nan_b",
                     [](auto const& x) { multiply(x, [](auto... dot) { return skipping_zeros(dot...); }); });
  all.wrong_for_both("zero_skipping_b", "skips products where B is zero", "nn:9x9x9:fill=nan_a",
                     [](auto const& x) { multiply(x, [](auto... dot) { return skipping_zeros_of_b(dot...); }); });
  all.wrong_for_both("two_zeros", "takes a row of A for zero that starts with two zeros", "nn:65x9x9:fill=address",
                     [](auto const& x) { multiply(x, [](auto... dot) { return stopping_at_zero(dot...); }); });
  all.wrong_for_both("zero_corner", "returns C = beta C where A's first element is zero", "nn:5x5x5:fill=permutation_a",
                     [](auto const& x) { x.a(0, 0) == 0 ? x.scale_c() : multiply(x); });
  all.wrong_for_both("zero_row", "returns C = beta C where A's first row is zero", "nn:9x9x1:seed=3",
                     [](auto const& x) { first_row_is_zero(x) ? x.scale_c() : multiply(x); });
  all.wrong_for_both("nan_inputs_are_zero", "takes NaN in A and B for zero", "nn:9x9x9:fill=nan_a",
                     [](auto const& x) { multiply(x, [](auto... dot) { return without_nan(dot...); }); });
  all.wrong_for_both("nan_to_zero", "stores zero where the sum is NaN", "nn:9x9x9:fill=nan_b",
                     [](auto const& x) { multiply(x, [](auto... dot) { return nan_to_zero(dot...); }); });
  all.wrong_for_both("clamped", "clamps sums to the largest number, which makes a number of NaN",
                     "nn:9x9x9:fill=infinity_a",
                     [](auto const& x) { multiply(x, [](auto... dot) { return clamped(dot...); }); });
  all.wrong_for_both("saturating", "stores the largest number instead of an infinity", "nn:9x9x9:fill=overflow",
                     [](auto const& x) { multiply(x, [](auto... dot) { return saturating(dot...); }); });
  all.wrong_for_both("split_infinity", "splits A into high and low parts, which makes NaN of an infinity",
                     "nn:9x9x9:fill=infinity_a:seed=4",
                     [](auto const& x) { multiply(x, [](auto... dot) { return split_high_low(dot...); }); });
  all.wrong_for_both("masked_tail", "multiplies the tail of k by 0 instead of leaving it out",
                     "nn:33x33x33:fill=infinity_a:seed=4",
                     [](auto const& x) { multiply(x, [](auto... dot) { return masked_tail(dot...); }); });
  all.wrong_for_both("clears_nan_of_c", "adds beta times C where beta is 0, of which it has cleared NaN alone",
                     "nn:3x3x3:fill=normal:seed=3", [](auto x) {
                       for (index i = 0; i < x.p.m; ++i)
                         for (index j = 0; j < x.p.n; ++j) {
                           if (x.p.beta == 0 && std::isnan(x.c(i, j))) x.c(i, j) = 0;
                           typename std::decay_t<decltype(x)>::element sum = 0;
                           for (index q = 0; q < x.p.k; ++q) sum += x.a(i, q) * x.b(q, j);
                           x.c(i, j) = x.alpha() * sum + x.beta() * x.c(i, j);
                         }
                     });
  all.wrong_for_both("reads_c", "adds 0 times C where beta is 0", "nn:3x3x3:fill=normal",
                     [](auto const& x) { beta_times_c(x); });
#if defined(__SSE__)
  auto const subnormal = "nn:8x8x4:fill=subnormal";
  all.wrong_for_both("leaves_flush_to_zero", "leaves the processor flushing subnormals to zero", subnormal,
                     [](auto const& x) { leaving_flush_to_zero(x); });
  for (auto& r : all.remarks)
    if (r.kernel.find("leaves_flush") != std::string::npos)
      r.before = r.kernel.substr(r.kernel.size() - 3) + ":" + subnormal;
#endif
  return all;
}

}  // namespace tandem::mutants
