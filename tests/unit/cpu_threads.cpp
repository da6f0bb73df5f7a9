// Teams of threads: everyone is called once, the barrier holds, two callers do not mix, a forked child has a team too.
#include "cpu/threads.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

using tandem::cpu::member;
using tandem::cpu::run_team;

#if defined(__SANITIZE_THREAD__)
#define TANDEM_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_TEST_TSAN 1
#endif
#endif

namespace {

/// Adds neighbours' numbers up over a barrier, many times; true if every member saw the others' latest.
bool rounds_agree(int threads) {
  std::vector<int> numbers(static_cast<std::size_t>(threads), 0);
  std::vector<int> wrong(numbers.size(), 0), calls(numbers.size(), 0);
  run_team(threads, [&](member const& self) {
    auto const mine = static_cast<std::size_t>(self.thread);
    auto const next = static_cast<std::size_t>((self.thread + 1) % self.threads);
    ++calls[mine];
    for (int round = 1; round <= 200; ++round) {
      numbers[mine] = round;
      self.meeting.wait();
      wrong[mine] += numbers[next] != round;
      self.meeting.wait();
    }
  });
  int bad = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) bad += wrong[i] != 0 || calls[i] != 1;
  return bad == 0;
}

}  // namespace

TEST_SUITE_BEGIN("cpu_threads");

TEST_CASE("every member is called once and the barrier holds, for teams that grow and shrink") {
  for (int threads : {1, 2, 4, 3, 2, 5, 1, 4}) {
    CAPTURE(threads);
    CHECK(rounds_agree(threads));
  }
}

TEST_CASE("a team that has slept wakes up") {
  for (int i = 0; i < 3; ++i) {
    usleep(20000);
    CHECK(rounds_agree(3));
  }
}

TEST_CASE("two callers have two teams") {
  bool other_agrees = false;
  std::thread other([&] {
    other_agrees = rounds_agree(3);
    other_agrees = rounds_agree(2) && other_agrees;
  });
  CHECK(rounds_agree(2));
  other.join();
  CHECK(other_agrees);
}

TEST_CASE("as many threads as were asked for, or as OpenMP offers") {
  CHECK(tandem::cpu::offered_threads({.stream = nullptr, .threads = 3}) == 3);
  CHECK(tandem::cpu::offered_threads({}) >= 1);
}

#ifndef TANDEM_TEST_TSAN  // which refuses new threads after a fork
TEST_CASE("a forked child makes its own team") {
  REQUIRE(rounds_agree(3));
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    _exit(rounds_agree(3) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(rounds_agree(3));
}
#endif

TEST_SUITE_END();
