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

#include "gpu/runtime/gate.hpp"
#include "tools/bench/device.hpp"

namespace tandem::bench {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// A sample's length: long beside the clock's and the events' resolution.
constexpr double sample_seconds = 2e-3;

// Each caller goes round its ring. Little besides the call is in the loop: the smallest products last some nanoseconds.
template <class Call>
contender make(subject const& who, std::vector<operand_ring>& rings, Call const& call) {
  contender out{.who = &who};
  for (auto& ring : rings)
    out.callers.push_back([call, &ring](std::int64_t calls) {
      auto* const base = static_cast<char*>(ring.data(0, 0));
      auto at = ring.next;
      for (; calls > 0; --calls) {
        call(base + at);
        at += ring.stride();
        if (at == ring.bytes()) at = 0;
      }
      ring.next = at;
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
  auto const start = clock::now();
  run(calls);
  return seconds_since(start) / static_cast<double>(calls);
}

double device_seconds_a_call(contender& c, std::int64_t calls) {
  gpu::event start, stop;
  start.record();
  c.callers[0](calls);
  stop.record();
  return stop.since(start) * 1e-3 / static_cast<double>(calls);
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

contender gemm_contender(subject const& who, problem const& p, int threads, std::vector<operand_ring>& rings) {
  auto const b = rings[0].offset(1), c = rings[0].offset(2);
  return make(who, rings, [f = who.bind(p, threads), b, c](char* set) { f(set, set + b, set + c); });
}

contender axpy_contender(subject const& who, axpy_problem const& p, int threads, std::vector<operand_ring>& rings) {
  auto const y = rings[0].offset(1);
  return make(who, rings, [f = who.bind_axpy(p, threads), y](char* set) { f(set, set + y); });
}

void measure_on_host(std::vector<contender*> const& contenders, int threads, int rounds) {
  std::vector<std::int64_t> calls;
  wait_for_rest();
  for (auto* c : contenders) {
    if (threads != 1) settle(*c, threads);
    set_threads(*c, threads);
    c->callers[0](1);
    double const once = std::max(seconds_a_call(*c, 1), 1e-9);
    double const first = seconds_a_call(*c, static_cast<std::int64_t>(std::clamp(1e-4 / once, 1.0, 1e5)));
    calls.push_back(static_cast<std::int64_t>(std::clamp(sample_seconds / std::max(first, 1e-9), 1.0, 1e6)));
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      auto& c = *contenders[i];
      if (c.callers.size() > 1) {
        wait_for_rest();
        c.seconds.push_back(seconds_of_callers(c, threads, calls[i]));
        continue;
      }
      if (threads != 1) settle(c, threads);
      set_threads(c, threads);
      c.seconds.push_back(seconds_a_call(c, calls[i]));
    }
  for (auto* c : contenders) std::ranges::sort(c->seconds);
}

std::vector<int> device_turns(std::vector<double> const& turn_seconds, device_rounds const& how) {
  constexpr double budget_a_round = 10e-3;  // of each contender, in the mean
  double round = 0;
  for (auto const turn : turn_seconds)
    if (turn < how.max_seconds) round += turn;
  double const wanted = how.rounds * budget_a_round * static_cast<double>(turn_seconds.size()) / round;
  double const turns = std::clamp<double>(wanted, how.rounds, 25.0 * how.rounds);
  std::vector<int> all;
  for (auto const turn : turn_seconds)
    all.push_back(turn < how.max_seconds ? static_cast<int>(std::max(1.0, std::min(turns, how.max_seconds / turn)))
                                         : 0);
  return all;
}

void measure_on_device(std::vector<contender*> const& contenders, device_rounds const& how) {
  if (contenders.empty()) return;
  constexpr double single = 50e-6;  // a call as long as this is a turn of its own
  constexpr double slow = 10e-3;    // what the host does around such a call counts for nothing
  std::vector<std::int64_t> calls;
  std::vector<double> turn_seconds;
  for (auto* c : contenders) {
    double a_call = device_seconds_a_call(*c, 1);
    if (a_call < slow)
      a_call = device_seconds_a_call(*c, static_cast<std::int64_t>(std::clamp(1e-3 / a_call, 1.0, 1e3)));
    a_call = std::max(a_call, 1e-9);
    calls.push_back(a_call >= single ? 1 : static_cast<std::int64_t>(sample_seconds / a_call));
    turn_seconds.push_back(a_call * static_cast<double>(calls.back()));
  }
  auto const turns = device_turns(turn_seconds, how);
  int const rounds = std::max(1, *std::ranges::max_element(turns));

  struct span {
    gpu::event start, stop;
  };
  std::vector<std::vector<span>> spans;
  for (auto const count : turns) spans.emplace_back(static_cast<std::size_t>(count));
  if (turn_seconds[0] < slow) contenders[0]->callers[0](1);  // the device is at work when the first event is enqueued
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (round >= turns[i]) continue;
      auto& around = spans[i][static_cast<std::size_t>(round)];
      around.start.record();
      contenders[i]->callers[0](calls[i]);
      around.stop.record();
    }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    auto& c = *contenders[i];
    for (auto const& around : spans[i])
      c.seconds.push_back(around.stop.since(around.start) * 1e-3 / static_cast<double>(calls[i]));
    if (turns[i] == 0) c.seconds.push_back(turn_seconds[i]);
    c.rounds_missed = rounds - static_cast<int>(c.seconds.size());
    std::ranges::sort(c.seconds);
  }
}

void measure_enqueue(std::vector<contender*> const& contenders) {
  constexpr int rounds = 25;
  constexpr std::int64_t calls = 64;  // of up to four kernels each, where the queue takes about a thousand
  constexpr std::chrono::milliseconds longest(100);
  auto const median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[rounds / 2];
  };
  auto const time = [longest](std::function<void(std::int64_t)> const& enqueue) {
    enqueue(1);  // what is set up at a first call waits for the device
    gpu::stream_gate const gate(nullptr, longest);
    auto const start = clock::now();
    enqueue(calls);
    return seconds_since(start) / calls;
  };
  std::vector<double> launches;
  std::vector<std::vector<double>> times(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    launches.push_back(time([](std::int64_t count) {
      for (; count > 0; --count) launch_nothing();
    }));
    for (std::size_t i = 0; i < contenders.size(); ++i) times[i].push_back(time(contenders[i]->callers[0]));
  }
  auto const launch = median(launches);
  for (std::size_t i = 0; i < contenders.size(); ++i)
    contenders[i]->enqueue = {.seconds = median(times[i]), .launch_seconds = launch};
}

power_figures measure_power(contender& c, gpu_monitor const& monitor, double seconds) {
  // Batches that keep the device busy while the host waits for the one before.
  constexpr double batch_seconds = 20e-3, warm_seconds = 0.3;
  auto const calls = static_cast<std::int64_t>(std::max(1.0, batch_seconds / c.median()));
  auto const start = clock::now();
  gpu::event begin, done[2];
  begin.record();
  double clocks = 0, looks = 0;
  std::int64_t batch = 0, first = -1;
  clock::time_point from;
  std::optional<double> energy;
  auto const enqueue = [&] {
    c.callers[0](calls);
    done[batch++ % 2].record();
  };
  enqueue();
  // Each time that a batch is done: one more is under way already.
  for (;;) {
    enqueue();
    done[batch % 2].since(begin);  // waits
    if (first < 0 && seconds_since(start) >= warm_seconds) {
      first = batch, from = clock::now(), energy = monitor.joules();
      if (!energy) break;
    } else if (first >= 0) {
      clocks += monitor.read().sm_mhz, ++looks;
      if (seconds_since(from) >= seconds) break;
    }
  }
  auto const span = seconds_since(from);
  auto const until = energy ? monitor.joules() : std::nullopt;
  gpu::synchronize();
  if (!until) return {};
  return {.watts = (*until - *energy) / span,
          .calls_per_second = static_cast<double>((batch - first) * calls) / span,
          .sm_mhz = clocks / looks};
}

}  // namespace tandem::bench
