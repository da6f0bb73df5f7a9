// What `tandem bench` measures: kernels under load on operands of their own, and how a measurement is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::tools {

/// A product C (m x n) = op(A) (m x k) op(B) (k x n), or an axpy of n elements.
struct bench_size {
  std::int64_t m = 1, n = 1, k = 1;
  tandem::dtype dtype = tandem::dtype::f32;
  bool trans_a = false, trans_b = false;
};

/// One kernel under measurement, on one number of threads (0: all).
struct contender {
  kernel const* row;
  int threads;
  std::function<void()> call;
  std::vector<double> seconds;  ///< of a call, one entry a round; ascending after `measure`

  double median() const { return seconds[seconds.size() / 2]; }
};

/// One contender for every row and, if the row obeys it, number of threads. All share operands of normal data; device
/// kernels have copies of them in device memory.
std::vector<contender> gemm_contenders(bench_size const& size, double beta, std::vector<kernel const*> const& rows,
                                       std::vector<int> const& threads);
std::vector<contender> axpy_contenders(bench_size const& size, std::vector<kernel const*> const& rows,
                                       std::vector<int> const& threads);

/// Warm-up apart; then rounds of all contenders in turn, A B A B. A sample is as many calls as last some milliseconds;
/// device kernels are timed by events, the others by the clock.
void measure(std::vector<contender>& contenders, int rounds);

}  // namespace tandem::tools
