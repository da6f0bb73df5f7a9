// Work over rate.
#include "tools/bench/limits.hpp"

#include <map>
#include <utility>

#include "tools/bench/fma_peak.hpp"

namespace tandem::bench {

double known_fma_peak(dtype type, int threads) {
  static std::map<std::pair<dtype, int>, double> known;
  std::pair const key(type, threads);
  auto const found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, fma_peak(type, threads)).first->second;
}

limit gemm_limit(problem const& p, double peak, byte_rates const& rates) {
  auto const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  auto const size = static_cast<double>(size_of(p.dtype));
  double const c_rate = p.beta == 0 ? rates.store : rates.update;
  return {.fma_seconds = 2 * m * n * k / peak,
          .byte_seconds = (m * k + k * n) * size / rates.read + m * n * size / c_rate};
}

limit axpy_limit(axpy_problem const& p, double peak, byte_rates const& rates) {
  double const n = static_cast<double>(p.n), bytes = n * static_cast<double>(size_of(p.dtype));
  return {.fma_seconds = 2 * n / peak, .byte_seconds = bytes / rates.read + bytes / rates.update};
}

}  // namespace tandem::bench
