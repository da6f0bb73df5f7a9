// Counting threads: OpenMP says how many there are, except where its threads cannot be had.
#include "cpu/threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>

namespace tandem::cpu {
namespace {

std::atomic<bool> is_forked_child = false;

}  // namespace

int offered_threads(execution const& e) {
  static int const registered = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  if (registered != 0 || is_forked_child || omp_in_parallel()) return 1;
  return e.threads > 0 ? e.threads : omp_get_max_threads();
}

}  // namespace tandem::cpu
