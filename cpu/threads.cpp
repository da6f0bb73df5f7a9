// Teams of threads that outlive a call: each calling thread keeps its own, so callers never wait for each other.
#include "cpu/threads.hpp"

#include <omp.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "hwy/cache_control.h"

namespace tandem::cpu {
namespace {

/// Long enough for the next of a series of calls to find the team awake.
constexpr std::chrono::microseconds watch_time(200);

/// Waits until `value` is no longer `old`: watches it for a while, since sleeping and waking takes about 50 us, and
/// yields between looks, so that a thread that has to share its core with the one it waits for lets that one run.
void wait_while(std::atomic<int> const& value, int old) noexcept {
  auto const deadline = std::chrono::steady_clock::now() + watch_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      hwy::Pause();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < deadline);
  value.wait(old, std::memory_order_acquire);
}

/// Moves this thread off processor `taken` if it runs there and may run elsewhere: the kernel often wakes a worker on
/// its waker's core, and the two would share it for the whole product. Leaves the thread's affinity as it was.
void leave_processor([[maybe_unused]] int taken) noexcept {
#ifdef __linux__
  if (sched_getcpu() != taken) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<unsigned>(taken), &others);
  if (sched_setaffinity(0, sizeof(others), &others) == 0) sched_setaffinity(0, sizeof(allowed), &allowed);
#endif
}

/// The processor that this thread runs on.
int current_processor() noexcept {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

class team {
 public:
  team() = default;
  team(team const&) = delete;
  team& operator=(team const&) = delete;

  ~team() {
    for (auto const& w : workers_) w->tell(order::stop);
    for (auto const& w : workers_) w->thread.join();
  }

  void run(int threads, void (*work)(void*, member const&), void* context) {
    threads = grow(threads);
    barrier meeting(threads);
    work_ = work;
    context_ = context;
    meeting_ = &meeting;
    threads_ = threads;
    processor_ = current_processor();
    busy_.store(threads - 1, std::memory_order_relaxed);
    for (int i = 0; i < threads - 1; ++i) workers_[static_cast<std::size_t>(i)]->tell(order::work);
    work(context, {0, threads, meeting});
    for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) wait_while(busy_, left);
  }

 private:
  enum class order { none, work, stop };

  struct worker {
    void tell(order what) {
      told.store(static_cast<int>(what), std::memory_order_release);
      told.notify_one();
    }
    alignas(64) std::atomic<int> told = static_cast<int>(order::none);  // a cache line of its own
    std::thread thread;
  };

  /// Starts workers until there are `threads` with the caller; returns how many there are at most.
  int grow(int threads) {
    while (static_cast<int>(workers_.size()) < threads - 1) {
      auto fresh = std::make_unique<worker>();
      workers_.reserve(workers_.size() + 1);
      try {
        fresh->thread = std::thread(&team::serve, this, fresh.get(), static_cast<int>(workers_.size()) + 1);
      } catch (std::system_error const&) {
        break;
      }
      workers_.push_back(std::move(fresh));
    }
    return std::min(threads, static_cast<int>(workers_.size()) + 1);
  }

  void serve(worker* self, int thread) {
    for (;;) {
      wait_while(self->told, static_cast<int>(order::none));
      if (self->told.load(std::memory_order_acquire) == static_cast<int>(order::stop)) return;
      leave_processor(processor_);
      work_(context_, {thread, threads_, *meeting_});
      self->told.store(static_cast<int>(order::none), std::memory_order_relaxed);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::vector<std::unique_ptr<worker>> workers_;
  void (*work_)(void*, member const&) = nullptr;
  void* context_ = nullptr;
  barrier* meeting_ = nullptr;
  int threads_ = 1;
  int processor_ = -1;         // the caller's
  std::atomic<int> busy_ = 0;  // workers that have not finished
};

/// The calling thread's team. A forked child has the object but not its threads: it leaves it and makes another.
team& thread_team() {
  thread_local struct holder {
    std::unique_ptr<team> current = std::make_unique<team>();
    pid_t owner = getpid();
    ~holder() {
      if (owner != getpid()) static_cast<void>(current.release());
    }
  } mine;
  if (mine.owner != getpid()) {
    static_cast<void>(mine.current.release());
    mine.current = std::make_unique<team>();
    mine.owner = getpid();
  }
  return *mine.current;
}

}  // namespace

void barrier::wait() noexcept {
  int const phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < threads_) {
    wait_while(phase_, phase);
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  phase_.store(phase + 1, std::memory_order_release);
  phase_.notify_all();
}

int offered_threads(execution const& e) {
  if (omp_in_parallel()) return 1;
  return e.threads > 0 ? e.threads : omp_get_max_threads();
}

void run_team(int threads, void (*work)(void*, member const&), void* context) {
  if (threads > 1) return thread_team().run(threads, work, context);
  barrier meeting(1);
  work(context, {0, 1, meeting});
}

}  // namespace tandem::cpu
