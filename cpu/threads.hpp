// The team of threads that works on one product.
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

/// The threads that the call asks for, or that OpenMP offers; one inside a parallel region, whose threads are busy
/// already.
int offered_threads(execution const& e);

/// Whether this thread asked this so short a time ago that a team which it then had is still awake.
bool is_team_wanted_often();

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

/// How many pieces of a part have been taken; a cache line of its own.
struct alignas(64) piece_counter {
  std::atomic<int> taken = 0;
};

/// `work(thread, part, piece)` for each of 0 <= piece < pieces of each part, once: thread `part` takes the pieces of
/// its own part and then of others, so that a slow core does not hold up the rest. One counter for each part.
template <class F>
void run_team(int parts, int pieces, piece_counter* counters, F&& work) {
  if (pieces == 1) return run_team(parts, [&](int part) { work(part, part, 0); });
  for (int part = 0; part < parts; ++part) counters[part].taken.store(0, std::memory_order_relaxed);
  run_team(parts, [&](int thread) {
    for (int i = 0; i < parts; ++i) {
      int const part = (thread + i) % parts;
      auto& taken = counters[part].taken;
      while (taken.load(std::memory_order_relaxed) < pieces) {
        int const piece = taken.fetch_add(1, std::memory_order_relaxed);
        if (piece < pieces) work(thread, part, piece);
      }
    }
  });
}

}  // namespace tandem::cpu
