// What a caller may have set up for itself, and a kernel has to put up with.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include <sched.h>

namespace tandem::harness {

/// What a call is made amid.
struct surroundings {
  /// A signal every 0.3 ms, as a profiler's timer sends, with a handler after which a system call that waited fails
  /// with EINTR.
  bool interrupted = false;
  /// The calling thread, and with it the threads that it makes, may run on one processor only.
  bool one_processor = false;
  /// The calling thread, and with it the threads that it makes, which may stay so, takes subnormal results for zeros,
  /// where the processor can: the process that was called has to end before there are any.
  bool flushes = false;
};

/// In words, as they follow "the call failed"; empty if there is nothing.
std::string describe(surroundings const& s);

/// Has these around it until it is destroyed. `errno` is not 0 either, as it may be before any call.
class surrounded {
 public:
  /// Throws std::system_error.
  explicit surrounded(surroundings const& s);
  ~surrounded();
  surrounded(surrounded const&) = delete;
  surrounded& operator=(surrounded const&) = delete;

 private:
  surroundings what_;
  struct sigaction action_ = {};  // before
  cpu_set_t processors_ = {};     // before
  std::uint64_t control_ = 0;     // before
};

}  // namespace tandem::harness
