// Removes the inner product's walk across cache lines and its chain of dependent sums: rows of B and C are streamed,
// and the elements of a row are independent. What is left: all of C travels through memory k times.
#include "cpu/operands.hpp"
#include "cpu/rungs.hpp"

namespace tandem::cpu {

template <class T>
void outer_product(problem const& p, execution const&) {
  operands<T> const o(p);
  scale<T>(p);
  for (std::int64_t q = 0; q < p.k; ++q) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      T const alpha_a = o.alpha * o.a[i * o.a_row + q * o.a_col];
      T* const c = o.c + i * p.ldc;
      for (std::int64_t j = 0; j < p.n; ++j) c[j] += alpha_a * o.b[q * o.b_row + j * o.b_col];
    }
  }
}

template void outer_product<float>(problem const&, execution const&);
template void outer_product<double>(problem const&, execution const&);

}  // namespace tandem::cpu
