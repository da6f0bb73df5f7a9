// How many threads a call gets, and that products are right where there are fewer: in a parallel region, after a fork.
#include "cpu/threads.hpp"

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include <tandem/tandem.hpp>

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
