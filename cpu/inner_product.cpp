// The textbook product, the first rung: removes nothing. Each element of C reads a whole row of A and column of B, so
// every element of A is loaded n times and of B m times, and the columns of B are walked across cache lines.
#include "cpu/operands.hpp"
#include "cpu/rungs.hpp"

namespace tandem::cpu {

template <class T>
void inner_product(problem const& p, execution const&) {
  operands<T> const o(p);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t q = 0; q < p.k; ++q) sum += o.a[i * o.a_row + q * o.a_col] * o.b[q * o.b_row + j * o.b_col];
      T& c = o.c[i * p.ldc + j];
      c = o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * c;
    }
  }
}

template void inner_product<float>(problem const&, execution const&);
template void inner_product<double>(problem const&, execution const&);

}  // namespace tandem::cpu
