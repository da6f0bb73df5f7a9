// How many threads a call gets, and that products are right where there are fewer: in a parallel region, after a fork.
#include "cpu/threads.hpp"

#include <doctest/doctest.h>
#include <omp.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <tandem/tandem.hpp>

#include "tests/unit/awake.hpp"

namespace {

/// 256 x 256 x 256: enough work for several threads.
bool product_is_right() {
  constexpr std::int64_t size = 256;
  std::vector<float> a(size * size, 1), b(size * size, 2), c(size * size, 0);
  tandem::gemm(tandem::matrix_view<float>(a.data(), size, size, size),
               tandem::matrix_view<float>(b.data(), size, size, size),
               tandem::matrix_view<float>(c.data(), size, size, size), {.backend = tandem::backend::cpu});
  return c == std::vector<float>(size * size, 2 * size);
}

}  // namespace

TEST_SUITE_BEGIN("cpu_threads");

TEST_CASE("a call gets the threads that it asks for, or that OpenMP offers") {
  CHECK(tandem::cpu::offered_threads({.stream = nullptr, .threads = 3}) == 3);
  CHECK(tandem::cpu::offered_threads({}) == omp_get_max_threads());
}

TEST_CASE("a call inside a parallel region stays on its thread, and waits for no other") {
  int offered[2] = {1, 1}, right[2] = {1, 1};
#pragma omp parallel num_threads(2)
  {
    int const me = omp_get_thread_num();
    offered[me] = tandem::cpu::offered_threads({.stream = nullptr, .threads = 4});
    // The first thread multiplies twice: a barrier of the region's inside it would wait for ever.
    for (int call = me; call < 2; ++call) right[me] = right[me] && product_is_right();
  }
  CHECK(offered[0] == 1);
  CHECK(offered[1] == 1);
  CHECK(right[0] == 1);
  CHECK(right[1] == 1);
}

TEST_CASE("two callers at once do not mix") {
  bool other_right = false;
  std::thread other([&] { other_right = product_is_right(); });
  CHECK(product_is_right());
  other.join();
  CHECK(other_right);
}

TEST_CASE("every part of a team's work is done once, by as many threads as there are parts") {
  for (int parts : {1, 2, 3, 17}) {
    std::vector<int> done(static_cast<std::size_t>(parts), 0);
    tandem::cpu::run_team(parts, [&](int part) { ++done[static_cast<std::size_t>(part)]; });
    CHECK(done == std::vector<int>(static_cast<std::size_t>(parts), 1));
  }
}

TEST_CASE("every piece of a part is done once, by one thread at a time") {
  for (int parts : {1, 2, 5})
    for (int pieces : {1, 2, 7}) {
      INFO(parts, " parts of ", pieces, " pieces");
      std::vector<tandem::cpu::piece_counter> counters(static_cast<std::size_t>(parts));
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(parts * pieces));
      std::vector<std::atomic<int>> at_work(static_cast<std::size_t>(parts));
      std::atomic<bool> alone = true;
      for (int round = 1; round <= 2; ++round) {
        tandem::cpu::run_team(parts, pieces, counters.data(), [&](int thread, int part, int piece) {
          if (at_work[static_cast<std::size_t>(thread)]++ != 0) alone = false;
          ++done[static_cast<std::size_t>(part * pieces + piece)];
          --at_work[static_cast<std::size_t>(thread)];
        });
        for (auto const& times : done) CHECK(times == round);
      }
      CHECK(alone);
    }
}

TEST_CASE("pieces of a thread that is held up are done by the others") {
  constexpr int parts = 3, pieces = 4;
  std::vector<tandem::cpu::piece_counter> counters(parts);
  std::atomic<int> done = 0;
  std::atomic<bool> helped = false;
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  tandem::cpu::run_team(parts, pieces, counters.data(), [&](int, int part, int piece) {
    // The caller's first piece ends when all others are done.
    while (part == 0 && piece == 0 && done < parts * pieces - 1 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    if (part == 0 && piece == 0) helped = done == parts * pieces - 1;
    ++done;
  });
  CHECK(helped);
}

TEST_CASE("every unit is done once, in as many pieces as were asked for where many threads share them") {
  for (int parts : {1, 3, 4, 5, 65})
    for (std::int64_t pieces : {0, 1, 3, 100})
      for (std::int64_t units : {65, 1000}) {
        INFO(units, " units in ", parts, " parts of ", pieces, " pieces");
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(units));
        std::atomic<std::int64_t> ranges = 0;
        tandem::cpu::share_units(parts, units, pieces, [&](int, std::int64_t first, std::int64_t last) {
          for (auto i = first; i < last; ++i) ++done[static_cast<std::size_t>(i)];
          ++ranges;
        });
        for (auto const& times : done) CHECK(times == 1);
        bool const is_cut = parts == 4 || parts == 5;
        CHECK(ranges == parts * (is_cut ? std::clamp<std::int64_t>(pieces, 1, 8) : 1));
      }
}

TEST_CASE("a team that has done nothing for a while may be asleep, whoever asks for it once") {
  REQUIRE(tandem::tests::is_awake(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(std::isinf(tandem::cpu::slowness_of_team()));
  CHECK(std::isinf(tandem::cpu::slowness_of_team()));
}

TEST_CASE("a team that is wanted again and again is worth waking") {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  REQUIRE(std::isinf(tandem::cpu::slowness_of_team()));
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::isinf(tandem::cpu::slowness_of_team()) && std::chrono::steady_clock::now() < deadline) {
  }
  CHECK(std::isfinite(tandem::cpu::slowness_of_team()));
  CHECK(tandem::cpu::slowness_of_team() >= 1);
}

TEST_CASE("a team whose threads share one processor is found slow") {
  bool is_slow = false;
  std::thread([&is_slow] {  // with a team of its own, on its processor
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_slow && std::chrono::steady_clock::now() < deadline) {
      tandem::cpu::run_team(2, [](int) {});
      auto const slowness = tandem::cpu::slowness_of_team();
      is_slow = std::isfinite(slowness) && slowness > 1;
    }
  })
      .join();
  CHECK(is_slow);
}

TEST_CASE("work gets one thread for each ten microseconds, or more that are awake, but none beyond those offered") {
  constexpr double little = 1, some = 15, much = 1e12;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(tandem::cpu::deserved_threads(little, little, 8) == 1);
  CHECK(tandem::cpu::deserved_threads(some, some, 8) == 1);
  CHECK(tandem::cpu::deserved_threads(35, 35, 2) == 2);
  CHECK(tandem::cpu::deserved_threads(much, much, 8) == 8);
  CHECK(tandem::cpu::deserved_threads(much, much, 1) == 1);
  REQUIRE(tandem::tests::is_awake(8));
  CHECK(tandem::cpu::deserved_threads(some, some, 8) > 1);
  CHECK(tandem::cpu::deserved_threads(some, little, 8) == 1);
  CHECK(tandem::cpu::deserved_threads(some, some, 1) == 1);
  CHECK(tandem::cpu::deserved_threads(little, little, 8) == 1);
}

TEST_CASE("all threads of a team round as their caller does") {
  constexpr int parts = 3;
  auto const thirds = [] {
    std::vector<float> of_part(parts);
    tandem::cpu::run_team(parts, [&](int part) {
      float volatile one = 1, three = 3;
      of_part[static_cast<std::size_t>(part)] = one / three;
      std::this_thread::sleep_for(std::chrono::milliseconds(part == 0 ? 5 : 0));  // so that others take their parts
    });
    return of_part;
  };
  auto const nearest = thirds();
  REQUIRE(std::fesetround(FE_DOWNWARD) == 0);
  auto const down = thirds();
  REQUIRE(std::fesetround(FE_TONEAREST) == 0);
  CHECK(down[0] < nearest[0]);
  CHECK(down == std::vector<float>(parts, down[0]));
  CHECK(nearest == std::vector<float>(parts, nearest[0]));
  CHECK(thirds() == nearest);
}

TEST_CASE("a forked child computes with threads of its own") {
  REQUIRE(product_is_right());
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // a child that waits for its parent's threads must not hold up the test
    _exit(product_is_right() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(product_is_right());
}

TEST_SUITE_END();
