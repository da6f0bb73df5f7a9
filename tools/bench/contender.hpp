// A subject on one problem and number of threads, and how its time is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/operands.hpp"
#include "tools/bench/subject.hpp"

namespace tandem::bench {

struct contender {
  subject const* who = nullptr;
  /// So many calls, each on the next set of operands; one function a caller.
  std::vector<std::function<void(std::int64_t calls)>> callers = {};
  std::string wrong = {};            ///< why its result is wrong; it is not timed then
  std::vector<double> seconds = {};  ///< of a call, one entry a round, ascending; with several callers at once, of the
                                     ///< whole divided by all their calls

  double median() const { return seconds[seconds.size() / 2]; }
};

/// The subject's calls on this problem, each caller on a ring of its own.
contender gemm_contender(subject const& who, problem const& p, int threads, std::vector<operand_ring> const& rings);
contender axpy_contender(subject const& who, axpy_problem const& p, int threads,
                         std::vector<operand_ring> const& rings);

/// Times all contenders on this number of threads. Warm-up apart; then rounds of all of them in turn, A B A B. A sample
/// is as many calls as last some milliseconds; device kernels are timed by events, the others by the clock. On more
/// than one thread a sample starts when no other thread of this process runs, since thread pools spin after a call on
/// the cores that the next contender needs.
void measure(std::vector<contender>& contenders, int threads, int rounds);

}  // namespace tandem::bench
