// Work over rate.
#include "tools/bench/limits.hpp"

#include <map>
#include <utility>

#include "tools/bench/bandwidth.hpp"
#include "tools/bench/fma_peak.hpp"

namespace tandem::bench {

double known_fma_peak(dtype type, int threads) {
  static std::map<std::pair<dtype, int>, double> known;
  std::pair const key(type, threads);
  auto const found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, fma_peak(type, threads)).first->second;
}

limit gemm_limit(problem const& p, std::size_t working_set, int threads) {
  auto const& rates = measured_bytes(working_set, threads);
  auto const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  auto const size = static_cast<double>(size_of(p.dtype));
  return {
      .fma_seconds = 2 * m * n * k / known_fma_peak(p.dtype, threads),
      .byte_seconds = (m * k + k * n) * size / rates.read + m * n * size / (p.beta == 0 ? rates.store : rates.update)};
}

limit axpy_limit(axpy_problem const& p, std::size_t working_set, int threads) {
  auto const& rates = measured_bytes(working_set, threads);
  double const bytes = static_cast<double>(p.n) * static_cast<double>(size_of(p.dtype));
  return {.fma_seconds = 2 * static_cast<double>(p.n) / known_fma_peak(p.dtype, threads),
          .byte_seconds = bytes / rates.read + bytes / rates.update};
}

}  // namespace tandem::bench
