// Calls, clocks and rest.
#include "tools/bench/contender.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace tandem::bench {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// A sample's length: long beside the clock's and the events' resolution.
constexpr double sample_seconds = 2e-3;

// Each caller goes round its ring. Little besides the call is in the loop: the smallest products last some nanoseconds.
template <class Call>
contender make(subject const& who, std::vector<operand_ring> const& rings, Call const& call) {
  contender out{.who = &who};
  auto const where = who.device ? memory::device : memory::host;
  for (auto const& ring : rings)
    out.callers.push_back([call, where, &ring, at = std::size_t{0}](std::int64_t calls) mutable {
      auto* const base = static_cast<char*>(ring.data(0, 0, where));
      for (; calls > 0; --calls) {
        call(base + at);
        at += ring.stride();
        if (at == ring.bytes()) at = 0;
      }
    });
  return out;
}

// Whether another thread of this process is running or wants to.
bool others_run() {
  auto* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  bool running = false;
  while (auto const* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == gettid()) continue;
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/stat");
    std::string stat;
    std::getline(file, stat);  // "tid (name) R …"; the name may hold anything
    auto const end = stat.rfind(')');
    running = running || (end != std::string::npos && end + 2 < stat.size() && stat[end + 2] == 'R');
  }
  closedir(tasks);
  return running;
}

// OpenBLAS's workers spin for some 30 ms, OpenMP's for less; a pool that never sleeps is not waited for.
void wait_for_rest() {
  auto const start = clock::now();
  do std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (others_run() && seconds_since(start) < 0.25);
}

void set_threads(contender const& c, int threads) {
  if (c.who->set_threads) c.who->set_threads(threads);
}

// Rest, then its own pool awake.
void settle(contender& c, int threads) {
  wait_for_rest();
  set_threads(c, threads);
  auto const start = clock::now();
  do c.callers[0](1);
  while (seconds_since(start) < sample_seconds);
}

double seconds_a_call(contender& c, std::int64_t calls) {
  auto const& run = c.callers[0];
  if (c.who->device) {
    gpu::event start, stop;
    start.record();
    run(calls);
    stop.record();
    return stop.since(start) * 1e-3 / static_cast<double>(calls);
  }
  auto const start = clock::now();
  run(calls);
  return seconds_since(start) / static_cast<double>(calls);
}

// All callers at once, each awake before the clock starts.
double seconds_of_callers(contender& c, int threads, std::int64_t calls) {
  auto const count = static_cast<std::ptrdiff_t>(c.callers.size());
  std::barrier together(count + 1);
  std::vector<std::jthread> callers;
  for (auto const& run : c.callers)
    callers.emplace_back([&] {
      set_threads(c, threads);
      run(1);
      together.arrive_and_wait();
      run(calls);
      together.arrive_and_wait();
    });
  together.arrive_and_wait();
  auto const start = clock::now();
  together.arrive_and_wait();
  return seconds_since(start) / static_cast<double>(calls * count);
}

}  // namespace

contender gemm_contender(subject const& who, problem const& p, int threads, std::vector<operand_ring> const& rings) {
  auto const b = rings[0].offset(1), c = rings[0].offset(2);
  return make(who, rings, [f = who.bind(p, threads), b, c](char* set) { f(set, set + b, set + c); });
}

contender axpy_contender(subject const& who, axpy_problem const& p, int threads,
                         std::vector<operand_ring> const& rings) {
  auto const y = rings[0].offset(1);
  return make(who, rings, [f = who.bind_axpy(p, threads), y](char* set) { f(set, set + y); });
}

void measure(std::vector<contender>& contenders, int threads, int rounds) {
  std::vector<contender*> right;
  for (auto& c : contenders)
    if (c.wrong.empty()) right.push_back(&c);
  std::vector<std::int64_t> calls;
  wait_for_rest();
  for (auto* c : right) {
    if (threads != 1) settle(*c, threads);
    set_threads(*c, threads);
    c->callers[0](1);
    double const once = std::max(seconds_a_call(*c, 1), 1e-9);
    double const first = seconds_a_call(*c, static_cast<std::int64_t>(std::clamp(1e-4 / once, 1.0, 1e5)));
    calls.push_back(static_cast<std::int64_t>(std::clamp(sample_seconds / std::max(first, 1e-9), 1.0, 1e6)));
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < right.size(); ++i) {
      auto& c = *right[i];
      if (c.callers.size() > 1) {
        wait_for_rest();
        c.seconds.push_back(seconds_of_callers(c, threads, calls[i]));
        continue;
      }
      if (threads != 1) settle(c, threads);
      set_threads(c, threads);
      c.seconds.push_back(seconds_a_call(c, calls[i]));
    }
  for (auto* c : right) std::ranges::sort(c->seconds);
}

}  // namespace tandem::bench
