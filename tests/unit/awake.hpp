// A team that takes part in the next small product.
#pragma once

#include <chrono>

#include "cpu/threads.hpp"

namespace tandem::tests {

/// Whether the calling thread's team waits for work, of which it is given some until it does: at most for some seconds,
/// since other processes may have its processors.
inline bool is_awake(int threads) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do cpu::run_team(threads, [](int) {});
  while (cpu::slowness_of_team() != 1 && std::chrono::steady_clock::now() < deadline);
  return cpu::slowness_of_team() == 1;
}

}  // namespace tandem::tests
