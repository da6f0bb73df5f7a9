// The team of threads that works on one product.
//
// The team is our own because libgomp's waits spin for milliseconds. Where the kernel has woken a worker on the
// caller's core, as it often does after an idle time, the two take turns by time slices: measured 12 ms for a product
// of 15 us. These waits spin for microseconds and then sleep, so the other thread gets the core. How many threads there
// are is still OpenMP's to say: `omp_get_max_threads()`, and one inside a parallel region.
#pragma once

#include <type_traits>

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// The threads that the call asks for, or that OpenMP offers; one inside a parallel region, whose threads are busy
/// already.
int offered_threads(execution const& e);

/// `work(context, part)` for each of 0 <= part < parts, the caller's own thread taking part 0, each of the others a
/// thread of its own as far as the system grants them. Returns when all are done.
void run_team(int parts, void (*work)(void* context, int part), void* context);

/// The same for anything that can be called with a part; it must not throw.
template <class F>
void run_team(int parts, F&& work) {
  using function = std::remove_reference_t<F>;
  if (parts == 1) return work(0);
  run_team(
      parts, [](void* context, int part) { (*static_cast<function*>(context))(part); }, &work);
}

}  // namespace tandem::cpu
