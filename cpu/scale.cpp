// C = beta C.
#include <algorithm>

#include "cpu/rungs.hpp"

namespace tandem::cpu {

template <class T>
void scale(problem const& p) {
  T const beta = static_cast<T>(p.beta);
  if (beta == 1) return;
  for (std::int64_t i = 0; i < p.m; ++i) {
    T* const c = static_cast<T*>(p.c) + i * p.ldc;
    if (beta == 0)
      std::fill_n(c, p.n, T(0));
    else
      for (std::int64_t j = 0; j < p.n; ++j) c[j] *= beta;
  }
}

template void scale<float>(problem const&);
template void scale<double>(problem const&);

}  // namespace tandem::cpu
