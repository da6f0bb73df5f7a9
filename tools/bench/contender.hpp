// A subject on one problem and number of threads, and how its time is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/gpu_monitor.hpp"
#include "tools/bench/operands.hpp"
#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// Of calls without a pause; 0 where they were not measured.
struct power_figures {
  double watts = 0;
  double calls_per_second = 0;
  double sm_mhz = 0;  ///< mean of what was read meanwhile
};

/// What the host takes to enqueue a call while the device stands still; 0 where it was not measured.
struct enqueue_figures {
  double seconds = 0;         ///< a call's, median
  double launch_seconds = 0;  ///< of a kernel that does nothing, in turns with the calls, median
};

struct contender {
  subject const* who = nullptr;
  /// So many calls, each on the next set of operands; one function a caller.
  std::vector<std::function<void(std::int64_t calls)>> callers = {};
  std::string wrong = {};            ///< why its result is wrong; it is not timed then
  std::vector<double> seconds = {};  ///< of a call, one entry a round, ascending; with several callers at once, of the
                                     ///< whole divided by all their calls
  int rounds_missed = 0;             ///< that the others had and it had no time for
  power_figures power = {};          ///< of a long run, where that was asked for
  enqueue_figures enqueue = {};      ///< where that was asked for

  double median() const { return seconds[seconds.size() / 2]; }
};

/// The subject's calls on this problem, each caller on a ring of its own.
contender gemm_contender(subject const& who, problem const& p, int threads, std::vector<operand_ring>& rings);
contender axpy_contender(subject const& who, axpy_problem const& p, int threads, std::vector<operand_ring>& rings);

/// How long device contenders are measured.
struct device_rounds {
  int rounds = 7;
  double max_seconds = 1;  ///< of a contender's timed calls
};

/// Times host contenders on this number of threads. Warm-up apart; then rounds of all of them in turn, A B A B. A
/// sample is as many calls as last some milliseconds. On more than one thread a sample starts when no other thread of
/// this process runs, since thread pools spin after a call on the cores that the next contender needs.
void measure_on_host(std::vector<contender*> const& contenders, int threads, int rounds);

/// Times device contenders by events, A B A B: call by call where a call lasts 50 microseconds or more, else by batches
/// that last some milliseconds. Everything is enqueued ahead, so that the device does not wait for the host. At least
/// as many rounds as asked for; more, up to 25 times as many, where they are short.
void measure_on_device(std::vector<contender*> const& contenders, device_rounds const& how);

/// How many rounds device contenders have whose turns last so many seconds each; 0 for one whose first call was longer
/// than all its time, and is then all that it is measured by.
std::vector<int> device_turns(std::vector<double> const& turn_seconds, device_rounds const& how);

/// Times how long the host takes to enqueue calls of device contenders, in turns with each other and with launches of a
/// kernel that does nothing. The stream is held meanwhile, and calls are few enough for the driver's queue.
void measure_enqueue(std::vector<contender*> const& contenders);

/// Runs the contender's calls for so many seconds after a warm-up, by the monitor's energy counter; nothing where the
/// device does not tell its energy.
power_figures measure_power(contender& c, gpu_monitor const& monitor, double seconds);

}  // namespace tandem::bench
