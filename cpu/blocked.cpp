// Removes the outer product's traffic: a block of C is loaded once for `blocked_edge` updates, and blocks of B stay in
// cache while rows of A pass. What is left: C still goes through L1 at each update, and B is read with its own stride.
#include <algorithm>

#include "cpu/operands.hpp"
#include "cpu/rungs.hpp"

namespace tandem::cpu {

template <class T>
void blocked(problem const& p, execution const&) {
  operands<T> const o(p);
  constexpr std::int64_t edge = blocked_edge;
  scale<T>(p);
  for (std::int64_t jc = 0; jc < p.n; jc += edge) {
    for (std::int64_t pc = 0; pc < p.k; pc += edge) {
      for (std::int64_t ic = 0; ic < p.m; ic += edge) {
        std::int64_t const j1 = std::min(jc + edge, p.n), q1 = std::min(pc + edge, p.k), i1 = std::min(ic + edge, p.m);
        for (std::int64_t i = ic; i < i1; ++i) {
          T* const c = o.c + i * p.ldc;
          for (std::int64_t q = pc; q < q1; ++q) {
            T const alpha_a = o.alpha * o.a[i * o.a_row + q * o.a_col];
            for (std::int64_t j = jc; j < j1; ++j) c[j] += alpha_a * o.b[q * o.b_row + j * o.b_col];
          }
        }
      }
    }
  }
}

template void blocked<float>(problem const&, execution const&);
template void blocked<double>(problem const&, execution const&);

}  // namespace tandem::cpu
