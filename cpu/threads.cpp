// Counting threads: OpenMP says how many there are, except where its threads cannot be had.
#include "cpu/threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace tandem::cpu {
namespace {

std::atomic<bool> is_forked_child = false;

// Registered as the library is loaded: a program may have used OpenMP, and forked, before its first call of ours.
[[maybe_unused]] int const registered = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });

// OpenMP ends the process where the system refuses a thread, so an absurd number is cut.
constexpr int most_threads = 1024;

}  // namespace

int offered_threads(execution const& e) {
  if (is_forked_child || omp_in_parallel()) return 1;
  return std::min(e.threads > 0 ? e.threads : omp_get_max_threads(), most_threads);
}

}  // namespace tandem::cpu
