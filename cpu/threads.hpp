// The team of threads that works on one product.
//
// The team is our own because libgomp's waits spin for milliseconds. Where the kernel has woken a worker on the
// caller's core, as it often does after an idle time, the two take turns by time slices: measured 12 ms for a product
// of 15 us. These waits spin for microseconds and then sleep, so the other thread gets the core. How many threads there
// are is still OpenMP's to say: `omp_get_max_threads()`, and one inside a parallel region.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// The threads that the call asks for, or that OpenMP offers; one inside a parallel region, whose threads are busy
/// already.
int offered_threads(execution const& e);

/// How many times as long it lately took this thread's team to begin as one whose processors are near each other: on a
/// Zen 4 about four times where the system has moved two threads to processors that share no cache. No less than 1;
/// infinity if this thread has not had work for it, nor asked this for some time, so that the team may be asleep.
double slowness_of_team();

/// Threads for work that takes one `microseconds`, or `in_cache` of them where its operands are near, of those offered:
/// as many as shorten it most where this thread's team is awake, or one for each ten microseconds, beside which waking
/// it is little.
int deserved_threads(double microseconds, double in_cache, int offered);

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

/// From so many threads on some are mostly held up, by what others do on their cores, while the rest wait.
inline constexpr int many_threads = 4;
/// What a core reads in some microseconds, beside which it is nothing to take the next piece.
inline constexpr std::int64_t bytes_of_piece = 64 << 10;

/// `work(thread, first, last)` for ranges of `units` that are alike, until all are done. Each of `parts` threads has an
/// equal share; many take it in up to `pieces` pieces, as above.
template <class F>
void share_units(int parts, std::int64_t units, std::int64_t pieces, F&& work) {
  constexpr std::int64_t most_pieces = 8;
  constexpr int most_counters = 64;
  if (parts == 1) return work(0, std::int64_t{0}, units);
  bool const is_cut = parts >= many_threads && parts <= most_counters;
  int const count = is_cut ? static_cast<int>(std::clamp<std::int64_t>(pieces, 1, most_pieces)) : 1;
  piece_counter counters[most_counters];
  run_team(parts, count, counters, [&](int thread, int part, int piece) {
    std::int64_t const begin = units * part / parts, size = units * (part + 1) / parts - begin;
    work(thread, begin + size * piece / count, begin + size * (piece + 1) / count);
  });
}

}  // namespace tandem::cpu
