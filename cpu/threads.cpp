// Teams of threads that outlive a call: each calling thread keeps its own, so callers never wait for each other.
#include "cpu/threads.hpp"

#include <omp.h>
#ifdef __linux__
#include <sched.h>
#endif
#ifdef __SSE2__
#include <xmmintrin.h>
#endif
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <tandem/thread_own.hpp>

#include "cpu/caches.hpp"

#include "hwy/cache_control.h"

namespace tandem::cpu {
namespace {

/// Long enough for the next of a series of calls to find the team awake.
constexpr std::chrono::microseconds watch_time(200);

// An absurd number of threads is cut.
constexpr int most_threads = 1024;

/// Waits until `value` is no longer `old`: watches it for a while, since sleeping and waking takes about 50 us, and
/// yields between looks, so that a thread that has to share its core with the one it waits for lets that one run.
void wait_while(std::atomic<int> const& value, int old) noexcept {
  auto const deadline = std::chrono::steady_clock::now() + watch_time;
  do {
    for (int i = 0; i < 64; ++i) {
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

/// How the calling thread's arithmetic rounds and treats subnormal numbers: a product's is the caller's in all threads.
#ifdef __SSE2__
unsigned arithmetic_mode() noexcept {
  constexpr unsigned raised = 0x3f;  // exceptions so far, which are each thread's own
  return _mm_getcsr() & ~raised;
}
void set_arithmetic_mode(unsigned mode) noexcept { _mm_setcsr(mode); }
#elif defined(__aarch64__)
std::uint64_t arithmetic_mode() noexcept {
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set_arithmetic_mode(std::uint64_t mode) noexcept { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#else
int arithmetic_mode() noexcept { return std::fegetround(); }
void set_arithmetic_mode(int mode) noexcept { std::fesetround(mode); }
#endif

class team {
 public:
  team() = default;
  team(team const&) = delete;
  team& operator=(team const&) = delete;

  ~team() {
    for (auto const& w : workers_) w->tell(order::stop);
    for (auto const& w : workers_) w->thread.join();
  }

  void run(int parts, void (*work)(void*, int), void* context) {
    int const helpers = grow(parts - 1);
    work_ = work;
    context_ = context;
    processor_ = current_processor();
    mode_ = arithmetic_mode();
    busy_.store(helpers, std::memory_order_relaxed);
    for (int i = 0; i < helpers; ++i) workers_[static_cast<std::size_t>(i)]->tell(order::work);
    // A worker that was woken on this processor leaves it as soon as it gets it.
    if (helpers == 0)
      remember_that_none_began();
    else if (!have_begun(helpers))
      std::this_thread::yield();
    work(context, 0);
    // The parts of threads that the system refused, and of those that have not got a processor yet.
    for (int part = helpers + 1; part < parts; ++part) work(context, part);
    for (int i = 0; i < helpers; ++i)
      if (workers_[static_cast<std::size_t>(i)]->takes_order()) {
        work(context, i + 1);
        busy_.fetch_sub(1, std::memory_order_relaxed);
      }
    for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) wait_while(busy_, left);
    if (helpers > 0) last_run_ = clock::now();
  }

  // Waking it takes so long that it has to be wanted for as long first. Where it was slow, smaller work does without it
  // from then on: some is tried now and then, since nothing else would tell that it is quick again.
  double slowness() {
    constexpr std::chrono::microseconds waking(400);
    constexpr std::chrono::milliseconds until_awake(2), until_next_try(100);
    constexpr int runs_of_a_try = 64;
    auto const now = clock::now();
    if (now - std::exchange(last_wanted_, now) >= watch_time) wanted_since_ = now;
    bool const is_awake = now - last_run_ < watch_time;
    if (!is_awake && now - wanted_since_ < waking) return std::numeric_limits<double>::infinity();
    if (slowness_ <= 1) return 1;
    if (now - last_try_ > until_next_try) last_try_ = now, runs_left_ = runs_of_a_try;
    return now - last_try_ < until_awake && runs_left_ > 0 ? 1 : slowness_;
  }

 private:
  using clock = std::chrono::steady_clock;

  enum class order { none, work, stop };

  struct worker {
    void tell(order what) {
      told.store(static_cast<int>(what), std::memory_order_release);
      told.notify_one();
    }
    /// Whether there was an order to work, which nobody else has from then on.
    bool takes_order() {
      int expected = static_cast<int>(order::work);
      return told.compare_exchange_strong(expected, static_cast<int>(order::none), std::memory_order_acq_rel);
    }
    bool has_begun() const { return told.load(std::memory_order_relaxed) == static_cast<int>(order::none); }
    alignas(64) std::atomic<int> told = static_cast<int>(order::none);  // a cache line of its own
    std::thread thread;
  };

  /// Whether that many workers have taken their order, which takes those that are awake a fraction of a microsecond.
  bool have_begun(int helpers) {
    constexpr int most_looks = 64;
    auto const told = clock::now();
    if (runs_left_ > 0) --runs_left_;
    int begun = 0;
    for (int look = 0; look < most_looks; ++look) {
      int const before = begun;
      while (begun < helpers && workers_[static_cast<std::size_t>(begun)]->has_begun()) ++begun;
      if (before == 0 && begun > 0) remember_latency(clock::now() - told);
      if (begun == helpers) return true;
      hwy::Pause();
    }
    if (begun == 0) remember_that_none_began();
    return false;
  }

  /// A worker takes some 100 ns to begin beside what lines travel, which is as long, or several times that on Intel's
  /// of late. It may have just looked away: the shortest of the last few times.
  void remember_latency(std::chrono::duration<double, std::nano> last) {
    constexpr double of_last = 1.0 / 32, looking = 100;
    double const travelling = has_large_l2(host_caches()) ? 500 : 100;
    double const slowness = (last.count() - looking) / travelling;
    slowness_ = std::min(slowness, slowness_ + of_last * (slowness - slowness_));
    missed_ = 0;
  }

  /// Workers that sleep miss some dozens of orders until they have their processors; more where they have none.
  void remember_that_none_began() {
    constexpr int while_waking = 64;
    constexpr double without_processor = 10;
    if (++missed_ > while_waking) missed_ = 0, slowness_ = without_processor;
  }

  /// Starts workers until there are `wanted`; returns how many of these there are.
  int grow(int wanted) {
    constexpr std::chrono::milliseconds until_next_try(100);
    while (static_cast<int>(workers_.size()) < wanted && clock::now() - last_refusal_ > until_next_try) {
      auto fresh = std::make_unique<worker>();
      workers_.reserve(workers_.size() + 1);
      try {
        fresh->thread = std::thread(&team::serve, this, fresh.get(), static_cast<int>(workers_.size()) + 1);
      } catch (std::system_error const&) {
        last_refusal_ = clock::now();
      }
      workers_.push_back(std::move(fresh));
    }
    return std::min(wanted, static_cast<int>(workers_.size()));
  }

  void serve(worker* self, int part) {
    for (;;) {
      wait_while(self->told, static_cast<int>(order::none));
      if (self->told.load(std::memory_order_acquire) == static_cast<int>(order::stop)) return;
      if (!self->takes_order()) continue;  // the caller has done it
      leave_processor(processor_);
      set_arithmetic_mode(mode_);
      work_(context_, part);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::vector<std::unique_ptr<worker>> workers_;
  void (*work_)(void*, int) = nullptr;
  void* context_ = nullptr;
  int processor_ = -1;  // the caller's
  decltype(arithmetic_mode()) mode_ = {};
  std::atomic<int> busy_ = 0;  // workers that have not finished
  clock::time_point last_refusal_ = {}, last_run_ = {}, wanted_since_ = {}, last_wanted_ = {}, last_try_ = {};
  double slowness_ = 1;
  int runs_left_ = 0;  // of the present try
  int missed_ = 0;     // runs of which no worker began soon, since one did
};

/// How many forks lie between this process and the one that first asked. (To ask the system for the process takes a
/// tenth of a microsecond.)
std::atomic<int> forks = 0;
int forks_so_far() {
  static bool const is_counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  if (!is_counted) throw std::bad_alloc();
  return forks.load(std::memory_order_relaxed);
}

/// A thread's team. A forked child has the object but not its threads: it leaves it and makes another.
class team_of_process {
 public:
  team_of_process() = default;
  team_of_process(team_of_process const&) = delete;
  team_of_process& operator=(team_of_process const&) = delete;
  // A process may have come about without the count of forks noticing.
  ~team_of_process() {
    if (process_ != getpid()) static_cast<void>(current_.release());
  }

  team& get() {
    if (leave_forked() || current_ == nullptr) current_ = std::make_unique<team>();
    return *current_;
  }

 private:
  bool leave_forked() {
    if (owner_ == forks_so_far()) return false;
    static_cast<void>(current_.release());
    owner_ = forks_so_far(), process_ = getpid();
    return true;
  }

  std::unique_ptr<team> current_ = std::make_unique<team>();
  int owner_ = forks_so_far();
  pid_t process_ = getpid();
};

/// nullptr once the calling thread's objects are destroyed.
team* thread_team() {
  auto* const own = thread_own<team_of_process>();
  return own != nullptr ? &own->get() : nullptr;
}

}  // namespace

int offered_threads(execution const& e) {
  if (omp_in_parallel()) return 1;
  return std::clamp(e.threads > 0 ? e.threads : omp_get_max_threads(), 1, most_threads);
}

double slowness_of_team() {
  auto* const team = thread_team();
  return team != nullptr ? team->slowness() : std::numeric_limits<double>::infinity();
}

int deserved_threads(double microseconds, double in_cache, int offered) {
  constexpr double worth_waking = 10;
  auto const at_most_offered = [&](double threads) {
    return static_cast<int>(std::clamp(threads, 1.0, static_cast<double>(offered)));
  };
  int const asleep = at_most_offered(microseconds / worth_waking);
  // Each thread more takes some time to begin and to have its share of the operands: measured, where most work takes
  // half as long as it says. Twice that on Intel's of late.
  double const of_thread = has_large_l2(host_caches()) ? 3 : 1.5;
  auto const awake = [&](double slowness) { return at_most_offered(std::sqrt(in_cache / (of_thread * slowness))); };
  return awake(1) > asleep ? std::max(asleep, awake(slowness_of_team())) : asleep;
}

void run_team(int parts, void (*work)(void*, int), void* context) {
  if (auto* const team = thread_team()) return team->run(parts, work, context);
  for (int part = 0; part < parts; ++part) work(context, part);
}

}  // namespace tandem::cpu
