// Linux's timers and affinities. What was there before comes back.
#include "harness/surroundings.hpp"

#include <cerrno>
#include <system_error>

#include <sys/time.h>

#include "harness/floating_control.hpp"

namespace tandem::harness {
namespace {

void ignore(int) {}

void ok(int status, char const* what) {
  if (status != 0) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::string describe(surroundings const& s) {
  std::string text;
  if (s.interrupted) text = "while a signal came every 0.3 ms";
  if (s.one_processor) text += text.empty() ? "on one processor" : ", on one processor";
  if (s.flushes) text += text.empty() ? "called by one who flushes subnormals" : ", by one who flushes subnormals";
  return text;
}

surrounded::surrounded(surroundings const& s) : what_(s) {
  if (s.one_processor) {
    ok(sched_getaffinity(0, sizeof processors_, &processors_), "sched_getaffinity");
    int first = 0;
    while (!CPU_ISSET(first, &processors_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ok(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
  }
  if (s.interrupted) {
    struct sigaction action = {};
    action.sa_handler = ignore;  // without SA_RESTART
    ok(sigaction(SIGALRM, &action, &action_), "sigaction");
    constexpr timeval often{.tv_sec = 0, .tv_usec = 300};
    itimerval const timer{.it_interval = often, .it_value = often};
    ok(setitimer(ITIMER_REAL, &timer, nullptr), "setitimer");
  }
  if (s.flushes) {
    control_ = floating_control::read();
    floating_control::write(control_ | floating_control::flush_to_zero);
  }
  errno = ENOMEM;
}

surrounded::~surrounded() {
  if (what_.flushes) floating_control::write(control_);
  if (what_.interrupted) {
    itimerval const never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &action_, nullptr);
  }
  if (what_.one_processor) sched_setaffinity(0, sizeof processors_, &processors_);
}

}  // namespace tandem::harness
