// The canonical problem's operands with their types, strides instead of transposes.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// Element (i, p) of op(A) is a[i * a_row + p * a_col], (p, j) of op(B) b[p * b_row + j * b_col].
template <class T>
struct operands {
  explicit operands(problem const& p)
      : m(p.m),
        n(p.n),
        k(p.k),
        alpha(static_cast<T>(p.alpha)),
        beta(static_cast<T>(p.beta)),
        a(static_cast<T const*>(p.a)),
        a_row(p.trans_a ? 1 : p.lda),
        a_col(p.trans_a ? p.lda : 1),
        b(static_cast<T const*>(p.b)),
        b_row(p.trans_b ? 1 : p.ldb),
        b_col(p.trans_b ? p.ldb : 1),
        c(static_cast<T*>(p.c)),
        ldc(p.ldc) {}

  std::int64_t m, n, k;
  T alpha, beta;
  T const* a;
  std::int64_t a_row, a_col;
  T const* b;
  std::int64_t b_row, b_col;
  T* c;
  std::int64_t ldc;
};

/// C's transpose, without alpha and beta: op(B)'s columns by op(A)'s rows. Its c is to be given.
template <class T>
operands<T> turned(operands<T> const& o) {
  auto t = o;
  t.m = o.n, t.n = o.m;
  t.a = o.b, t.a_row = o.b_col, t.a_col = o.b_row;
  t.b = o.a, t.b_row = o.a_col, t.b_col = o.a_row;
  t.alpha = 1, t.beta = 0;
  t.c = nullptr, t.ldc = 0;
  return t;
}

/// Whether C is a column whose elements lie together, and op(A)'s columns lie together as well.
inline bool is_row_turned(std::int64_t m, std::int64_t n, std::int64_t ldc, bool trans_a, std::int64_t lda) {
  return n == 1 && ldc == 1 && m > 1 && (trans_a || lda == 1);
}
inline bool is_row_turned(problem const& p) { return is_row_turned(p.m, p.n, p.ldc, p.trans_a, p.lda); }

/// The transposed product: C is a row, and op(A)'s columns are rows of B, which is read as it lies.
inline problem as_row(problem const& p) {
  problem row = p;
  row.m = 1, row.n = p.m, row.ldc = p.m;
  row.a = p.b, row.lda = p.ldb, row.trans_a = !p.trans_b;
  row.b = p.a, row.ldb = p.trans_a ? p.lda : p.m, row.trans_b = false;  // of lda = 1, k is 1
  return row;
}

}  // namespace tandem::cpu
