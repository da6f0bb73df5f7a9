// The time that threads need together for work done at once.
#pragma once

#include <omp.h>

#include <chrono>

namespace tandem::bench {

/// Seconds from the moment at which all threads are ready until the last has done work(thread).
template <class Work>
double timed_threads(int threads, Work const& work) {
  std::chrono::steady_clock::time_point start, stop;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
#pragma omp master
    start = std::chrono::steady_clock::now();
    work(omp_get_thread_num());
#pragma omp barrier
#pragma omp master
    stop = std::chrono::steady_clock::now();
  }
  return std::chrono::duration<double>(stop - start).count();
}

}  // namespace tandem::bench
