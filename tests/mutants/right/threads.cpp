// Right kernels on several threads, some with sums in another order each time.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

int threads_of(int wanted) { return wanted > 0 ? std::min(wanted, 8) : 2; }

/// work(t, first, last): thread t's share of [0, count).
template <class F>
void share(index count, int threads, F work) {
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) team.emplace_back([=] { work(t, count * t / threads, count * (t + 1) / threads); });
  for (auto& member : team) member.join();
}

template <class T>
void rows_on_threads(operands<T> const& x) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  share(x.p.m, threads_of(x.threads), [&](int, index first, index last) {
    for (index i = first; i < last; ++i)
      for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
  });
}

/// As many slices of k as threads, so that the number of threads changes the bits.
template <class T>
void k_on_threads(operands<T> const& x) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  int const threads = threads_of(x.threads);
  index const m = x.p.m, n = x.p.n, k = x.p.k;
  std::vector<T> partial(static_cast<std::size_t>(threads * m * n));
  share(k, threads, [&](int t, index first, index last) {
    for (index i = 0; i < m; ++i)
      for (index j = 0; j < n; ++j)
        partial[(t * m + i) * n + j] = plain_dot(a.data() + i * k + first, b.data() + j * k + first, last - first);
  });
  for (index i = 0; i < m; ++i)
    for (index j = 0; j < n; ++j) {
      T sum = 0;
      for (int t = 0; t < threads; ++t) sum += partial[(t * m + i) * n + j];
      x.store(i, j, sum);
    }
}

/// Slices of k are added to C atomically, in whatever order their threads get there.
template <class T>
void atomic_split_k(operands<T> const& x) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  x.scale_c();
  share(x.p.k, 4, [&](int, index first, index last) {
    if (first == last) return;
    for (index i = 0; i < x.p.m; ++i)
      for (index j = 0; j < x.p.n; ++j) {
        T const sum = plain_dot(a.data() + i * x.p.k + first, b.data() + j * x.p.k + first, last - first);
        std::atomic_ref<T>(x.c(i, j)).fetch_add(x.alpha() * sum, std::memory_order_relaxed);
      }
  });
}

/// Threads take the next tile when they are done with one, so that who computes what changes from call to call.
template <class T>
void tiles_from_a_queue(operands<T> const& x) {
  constexpr index tile = 24;
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  index const across = (x.p.n + tile - 1) / tile, down = (x.p.m + tile - 1) / tile;
  std::atomic<index> next = 0;
  share(1, threads_of(x.threads), [&](int, index, index) {
    for (index at = next++; at < across * down; at = next++)
      for (index i = at / across * tile; i < std::min(x.p.m, (at / across + 1) * tile); ++i)
        for (index j = at % across * tile; j < std::min(x.p.n, (at % across + 1) * tile); ++j)
          x.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
  });
}

/// Threads that are made when they are first wanted, and stay: each rounds, and treats subnormal numbers, for good as
/// the caller did in whose call it was made. So do OpenMP's.
class staying_team {
 public:
  /// work(t) for each of 0 <= t < threads. Callers take turns.
  void run(int threads, std::function<void(int)> const& work) {
    std::lock_guard const turn(turn_);
    std::unique_lock held(lock_);
    work_ = &work, wanted_ = left_ = threads;
    for (; made_ < threads; ++made_) std::thread(&staying_team::serve, this, made_, round_).detach();
    ++round_;
    begin_.notify_all();
    done_.wait(held, [this] { return left_ == 0; });
  }

 private:
  void serve(int me, std::uint64_t round) {
    std::unique_lock held(lock_);
    for (;;) {
      begin_.wait(held, [&] { return round_ != round; });
      round = round_;
      if (me >= wanted_) continue;
      auto const& work = *work_;
      held.unlock();
      work(me);
      held.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, lock_;
  std::condition_variable begin_, done_;
  std::function<void(int)> const* work_ = nullptr;
  int wanted_ = 0, left_ = 0, made_ = 0;
  std::uint64_t round_ = 0;
};

template <class T>
void rows_on_threads_that_stay(operands<T> const& x) {
  static auto& team = *new staying_team;  // for as long as its threads, that is, the process
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  int const threads = threads_of(x.threads);
  team.run(threads, [&](int t) {
    for (index i = x.p.m * t / threads; i < x.p.m * (t + 1) / threads; ++i)
      for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
  });
}

}  // namespace

collection contents() {
  collection all;
  all.right_for_both("rows_on_threads", "shares its rows among threads", [](auto const& x) { rows_on_threads(x); });
  all.right_for_both("threads_that_stay",
                     "shares its rows among threads that stay as the caller was in whose call they were made",
                     [](auto const& x) { rows_on_threads_that_stay(x); });
  all.right_for_both("k_on_threads", "sums as many slices of k apart as it has threads",
                     [](auto const& x) { k_on_threads(x); });
  all.right_for_both(
      "atomic_split_k", "adds four slices of k to C atomically, in no order", [](auto const& x) { atomic_split_k(x); },
      5e7);
  all.right_for_both(
      "tiles_from_a_queue", "has its threads take tiles of 24 x 24 from a queue",
      [](auto const& x) { tiles_from_a_queue(x); }, 1e8, tiles("tile", 24, 24, 0));
  for (auto& row : all.rows) row.threaded = true;
  return all;
}

}  // namespace tandem::mutants
