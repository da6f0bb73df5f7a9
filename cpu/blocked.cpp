// Removes the outer product's traffic: an edge x edge block of B is copied once, side by side, and stays in L1 while
// the rows of A pass, so C travels once for `edge` updates. What is left: C goes through L1 at each update, not
// registers.
#include <algorithm>

#include "cpu/operands.hpp"
#include "cpu/rungs.hpp"

namespace tandem::cpu {

template <class T>
void blocked(problem const& p, execution const&) {
  operands<T> const o(p);
  constexpr std::int64_t edge = blocked_edge;
  scale<T>(p);
  T block_b[edge][edge];  // (kb, nb)
  for (std::int64_t jc = 0; jc < p.n; jc += edge) {
    std::int64_t const nb = std::min(edge, p.n - jc);
    for (std::int64_t pc = 0; pc < p.k; pc += edge) {
      std::int64_t const kb = std::min(edge, p.k - pc);
      for (std::int64_t q = 0; q < kb; ++q)
        for (std::int64_t j = 0; j < nb; ++j) block_b[q][j] = o.b[(pc + q) * o.b_row + (jc + j) * o.b_col];
      for (std::int64_t ic = 0; ic < p.m; ic += edge) {
        std::int64_t const mb = std::min(edge, p.m - ic);
        for (std::int64_t i = ic; i < ic + mb; ++i) {
          T* const c = o.c + i * p.ldc + jc;
          for (std::int64_t q = 0; q < kb; ++q) {
            T const alpha_a = o.alpha * o.a[i * o.a_row + (pc + q) * o.a_col];
            for (std::int64_t j = 0; j < nb; ++j) c[j] += alpha_a * block_b[q][j];
          }
        }
      }
    }
  }
}

template void blocked<float>(problem const&, execution const&);
template void blocked<double>(problem const&, execution const&);

}  // namespace tandem::cpu
