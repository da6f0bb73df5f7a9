// A team of threads that works on one product, and the barrier it meets at.
//
// The team is our own because libgomp's waits spin for milliseconds. Where the kernel has woken a worker on the
// caller's core, as it often does after an idle time, the two take turns by time slices: measured 12 ms for a product
// of 15 us. These waits spin for microseconds and then sleep, so the other thread gets the core. How many threads there
// are is still OpenMP's to say: `omp_get_max_threads()`, and one inside a parallel region.
#pragma once

#include <atomic>
#include <type_traits>

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// Where `threads` threads wait for each other, any number of times.
class barrier {
 public:
  explicit barrier(int threads) : threads_(threads) {}
  void wait() noexcept;

 private:
  int threads_;
  std::atomic<int> arrived_ = 0, phase_ = 0;
};

/// What each thread of a team is told.
struct member {
  int thread, threads;
  barrier& meeting;
};

/// How many threads a call may use.
int offered_threads(execution const& e);

/// `work(context, member)` on `threads` threads, the caller's own being thread 0; on fewer where the system refuses
/// more.
void run_team(int threads, void (*work)(void* context, member const&), void* context);

/// The same for anything that can be called with a `member`; it must not throw.
template <class F>
void run_team(int threads, F&& work) {
  using function = std::remove_reference_t<F>;
  run_team(
      threads, [](void* context, member const& self) { (*static_cast<function*>(context))(self); }, &work);
}

}  // namespace tandem::cpu
