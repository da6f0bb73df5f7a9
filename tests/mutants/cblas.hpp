// Functions with CBLAS's signature, from functions of a row-major call.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {

/// A call as CBLAS has it, brought to row-major.
template <class T>
struct cblas_call {
  bool trans_a, trans_b;
  int m, n, k;
  T alpha;
  T const* a;
  int lda;
  T const* b;
  int ldb;
  T beta;
  T* c;
  int ldc;

  /// C = beta C, unread if beta = 0.
  void scale() const {
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? T(0) : beta * c[i * ldc + j];
  }
  operands<T> canonical() const {
    problem p;
    p.m = m, p.n = n, p.k = k, p.alpha = alpha, p.beta = beta;
    p.a = a, p.lda = lda, p.trans_a = trans_a, p.b = b, p.ldb = ldb, p.trans_b = trans_b, p.c = c, p.ldc = ldc;
    return {p};
  }
  void multiply() const { mutants::multiply(canonical()); }
  bool empty() const { return m <= 0 || n <= 0; }
  bool has_product() const { return k > 0 && alpha != 0; }
  /// What CBLAS promises of every call.
  void run() const {
    if (empty()) return;
    has_product() ? multiply() : scale();
  }
};

/// A candidate for each type whose function is f(cblas_call); wrong arguments have been turned away before. `witness`
/// and what has to run `before` it are lines without their type, empty for a right one.
template <class F>
void add_cblas(collection& all, std::string const& name, std::string const& what, F f, std::string const& witness = {},
               std::string const& before = {}) {
  auto const add = [&](auto type) {
    using T = decltype(type);
    std::string const suffix(to_string(dtype_of<T>));
    all.add(
        harness::cblas_candidate(name + "." + suffix,
                                 [f](int layout, int trans_a, int trans_b, int m, int n, int k, T alpha, T const* a,
                                     int lda, T const* b, int ldb, T beta, T* c, int ldc) {
                                   constexpr int row_major = 101, no_trans = 111;
                                   if (layout != row_major)
                                     std::swap(trans_a, trans_b), std::swap(m, n), std::swap(a, b), std::swap(lda, ldb);
                                   bool const ta = trans_a != no_trans, tb = trans_b != no_trans;
                                   if (m < 0 || n < 0 || k < 0 || lda < (ta ? m : k) || ldb < (tb ? k : n) || ldc < n)
                                     return;
                                   f(cblas_call<T>{ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
                                 }),
        what);
    if (!witness.empty()) all.remarks.back().witness = suffix + ":" + witness;
    if (!before.empty()) all.remarks.back().before = suffix + ":" + before;
  };
  add(float());
  add(double());
}

}  // namespace tandem::mutants
