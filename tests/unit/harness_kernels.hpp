// Kernels for tests of the harness: a plain right one, and what a wrong one changes about it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <tandem/kernel.hpp>

namespace harness_test {

/// v rounded to so many significant bits, to nearest, ties to even. In the bits of a double, as every float is a normal
/// one there; most of the time of kernels that round would go to frexp and ldexp.
inline float round_to(int digits, float v) {
  if (!std::isfinite(v)) return v;
  auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(v));
  std::uint64_t const last = std::uint64_t{1} << (53 - digits);  // the last bit that is kept
  std::uint64_t const below_half = last / 2 - ((bits & last) == 0 ? 1 : 0);
  return static_cast<float>(std::bit_cast<double>((bits + below_half) & ~(last - 1)));
}

template <class T>
struct element_access {
  tandem::problem p;
  T const* pa = static_cast<T const*>(p.a);
  T const* pb = static_cast<T const*>(p.b);
  T* pc = static_cast<T*>(p.c);

  T a(std::int64_t i, std::int64_t q) const { return p.trans_a ? pa[q * p.lda + i] : pa[i * p.lda + q]; }
  T b(std::int64_t q, std::int64_t j) const { return p.trans_b ? pb[j * p.ldb + q] : pb[q * p.ldb + j]; }
  T& c(std::int64_t i, std::int64_t j) const { return pc[i * p.ldc + j]; }
  T alpha() const { return static_cast<T>(p.alpha); }
  T beta() const { return static_cast<T>(p.beta); }

  template <class Sum = T>
  Sum dot(std::int64_t i, std::int64_t j, std::int64_t k) const {
    Sum sum = 0;
    for (std::int64_t q = 0; q < k; ++q) sum += static_cast<Sum>(a(i, q)) * static_cast<Sum>(b(q, j));
    return sum;
  }

  void store(std::int64_t i, std::int64_t j, T sum) const {
    c(i, j) = p.beta == 0 ? alpha() * sum : alpha() * sum + beta() * c(i, j);
  }
};

/// A row whose kernel is f(element_access<T>).
template <class T, class F>
tandem::kernel make_kernel(std::string name, F f) {
  tandem::kernel row;
  row.name = std::move(name);
  row.backend = tandem::backend::cpu;
  row.dtype = tandem::dtype_of<T>;
  row.run = [f](tandem::problem const& p, tandem::execution const&) { f(element_access<T>{p}); };
  return row;
}

template <class T>
void multiply(element_access<T> const& x) {
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, x.dot(i, j, x.p.k));
}

template <class T>
tandem::kernel naive() {
  return make_kernel<T>("test.naive", multiply<T>);
}

template <class T>
tandem::kernel reversed() {
  return make_kernel<T>("test.reversed", [](element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        T sum = 0;
        for (std::int64_t q = x.p.k; q-- > 0;) sum = std::fma(x.a(i, q), x.b(q, j), sum);
        x.store(i, j, sum);
      }
  });
}

template <class T>
tandem::kernel wide_sum() {
  using sum = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  return make_kernel<T>("test.wide_sum", [](element_access<T> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, static_cast<T>(x.template dot<sum>(i, j, x.p.k)));
  });
}

}  // namespace harness_test
