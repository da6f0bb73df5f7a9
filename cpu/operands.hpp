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

/// Whether C is a column whose elements lie together, and op(A)'s columns lie together as well: it is a row beside
/// them.
inline bool is_row_turned(problem const& p) { return p.n == 1 && p.ldc == 1 && p.m > 1 && (p.trans_a || p.lda == 1); }

/// Terms of products whose C costs more than their sums.
inline constexpr std::int64_t most_few_terms = 8;

/// Whether C is a row, and op(B)'s columns, of a few terms, lie together: it is a column beside them. Of up to 32 bytes
/// of C op(B) is turned in registers.
inline bool is_column_turned(problem const& p) {
  constexpr std::int64_t most_turned_bytes = 32;
  std::int64_t const size = p.dtype == dtype::f32 ? sizeof(float) : sizeof(double);
  return p.m == 1 && p.n * size > most_turned_bytes && p.trans_b && p.k > 1 && p.k <= most_few_terms;
}

/// Whether C is multiplied as its transpose, in which A and B have changed places and are read as they lie.
inline bool is_turned(problem const& p) { return is_row_turned(p) || is_column_turned(p); }

/// That product.
inline problem as_turned(problem const& p) {
  problem t = p;
  t.m = p.n, t.n = p.m;
  t.a = p.b, t.lda = p.ldb, t.b = p.a, t.trans_b = false;
  if (is_row_turned(p)) {
    t.trans_a = !p.trans_b;
    t.ldb = p.trans_a ? p.lda : p.m, t.ldc = p.m;  // of lda = 1, k is 1
  } else {
    t.trans_a = false;
    t.ldb = p.trans_a ? p.lda : 1, t.ldc = 1;
  }
  return t;
}

}  // namespace tandem::cpu
