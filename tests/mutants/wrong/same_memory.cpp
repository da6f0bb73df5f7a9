// Wrong kernels that are right until A and B lie in the same memory.
#include <map>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// Packed panels of one call are kept by the operand's address alone: B gets A's.
template <class T>
void panels_by_address(operands<T> const& x) {
  std::map<void const*, std::vector<T>> panels;
  auto const& a = panels.try_emplace(x.p.a, x.rows_of_a()).first->second;
  auto const& b = panels.try_emplace(x.p.b, x.columns_of_b()).first->second;
  if (a.size() != b.size()) return multiply(x);
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
}

/// A product of a matrix with its transpose is symmetric, so half of C is computed and mirrored: beta C with it.
template <class T>
void mirrored(operands<T> const& x) {
  multiply(x);
  if (x.p.a != x.p.b || x.p.trans_a == x.p.trans_b || x.p.m != x.p.n) return;
  for (index i = 0; i < x.p.m; ++i)
    for (index j = i + 1; j < x.p.n; ++j) x.c(i, j) = x.c(j, i);
}

/// The operand is scaled by alpha where it lies, and put right again at the end.
template <class T>
void scaled_in_place(operands<T> const& x) {
  auto* const a = const_cast<T*>(x.pa());
  index const rows = x.p.trans_a ? x.p.k : x.p.m, columns = x.p.trans_a ? x.p.m : x.p.k;
  auto const scale = [&](auto f) {
    for (index i = 0; i < rows; ++i)
      for (index j = 0; j < columns; ++j) a[i * x.p.lda + j] = f(a[i * x.p.lda + j]);
  };
  if (x.alpha() != -1) return multiply(x);
  scale([](T v) { return -v; });
  auto y = x;
  y.p.alpha = 1;
  multiply(y);
  scale([](T v) { return -v; });
}

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("panels_by_address", "finds A's packed panels under B's address", "nn:5x5x5:b=a:seed=2",
                     [](auto const& x) { panels_by_address(x); });
  all.wrong_for_both("mirrored", "computes half of A times its transpose, and mirrors beta C as well",
                     "nt:5x5x3:beta=2:b=a:seed=2", [](auto const& x) { mirrored(x); });
  all.wrong_for_both("scaled_in_place", "negates A in place for alpha = -1, and B where it is A",
                     "tn:5x5x3:alpha=-1:b=a:seed=2", [](auto const& x) { scaled_in_place(x); });
  return all;
}

}  // namespace tandem::mutants
