// axpy: bound by memory, so threads share the elements and nothing is reused.
#include "cpu/axpy.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "cpu/caches.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/threads.hpp"

namespace tandem::cpu {
namespace {

/// For processors without a fused multiply-add, whose bits must be the same.
template <class T>
void plain_axpy(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y) {
  for (std::int64_t i = 0; i < n; ++i) y[i * stride_y] = std::fma(alpha, x[i * stride_x], y[i * stride_y]);
}

}  // namespace

template <class T>
host_axpy<T> best_axpy() {
  for (instruction_set const* set : instruction_sets()) {
    axpy_function<T> candidate = nullptr;
    if constexpr (std::same_as<T, float>)
      candidate = set->axpy_f32;
    else
      candidate = set->axpy_f64;
    if (candidate && set->supported()) return candidate;
  }
  return plain_axpy<T>;
}

template <class T>
void axpy(axpy_problem const& p, execution const& e) {
  static auto const run = best_axpy<T>();
  T const alpha = static_cast<T>(p.alpha);
  T const* const x = static_cast<T const*>(p.x);
  T* const y = static_cast<T*>(p.y);
  if (p.n <= most_at_once<T>) return run(p.n, alpha, x, p.stride_x, y, p.stride_y);
  constexpr std::int64_t size = sizeof(T);
  // Threads share nothing here, and soon gain where one alone is slow: on Intel's of late.
  constexpr double a_microsecond = 2e4;  // bytes of y
  double const in_cache = has_large_l2(host_caches()) ? 6e3 : 1.3e4;
  auto const bytes = static_cast<double>(p.n * size);
  int const threads = deserved_threads(bytes / a_microsecond, bytes / in_cache, offered_threads(e));
  // Slices end on multiples of 16 elements, so threads share no cache line of an aligned y.
  constexpr std::int64_t block = 16;
  std::int64_t const pieces = p.n * size / bytes_of_piece / threads;
  share_units(threads, (p.n + block - 1) / block, pieces, [&](int, std::int64_t begin, std::int64_t end) {
    std::int64_t const first = begin * block, last = std::min(end * block, p.n);
    run(last - first, alpha, x + first * p.stride_x, p.stride_x, y + first * p.stride_y, p.stride_y);
  });
}

template void axpy<float>(axpy_problem const&, execution const&);
template void axpy<double>(axpy_problem const&, execution const&);
template host_axpy<float> best_axpy();
template host_axpy<double> best_axpy();

}  // namespace tandem::cpu
