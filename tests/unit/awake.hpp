// A team that takes part in the next small product.
#pragma once

#include <chrono>

#include "cpu/threads.hpp"

namespace tandem::tests {

/// Whether the calling thread's team waits for work, of which it is given some until it does, for as long as patience
/// lasts: where its processors are far from each other, or others have them, it does so now and then only.
inline bool is_awake(int threads, std::chrono::seconds patience = std::chrono::seconds(20)) {
  constexpr int least = 64;
  auto const deadline = std::chrono::steady_clock::now() + patience;
  for (int runs = 0; runs < least || std::chrono::steady_clock::now() < deadline; ++runs) {
    cpu::run_team(threads, [](int) {});
    if (cpu::slowness_of_team() == 1) return true;
  }
  return false;
}

/// The same with patience for the first time alone, of which it keeps count: cases are many.
class awake_times {
 public:
  void wait(int threads) { count_ += is_awake(threads, std::chrono::seconds(count_ == 0 ? 20 : 0)); }
  int count() const { return count_; }

 private:
  int count_ = 0;
};

}  // namespace tandem::tests
