// A cheap sequence of numbers to multiply, where drawing better ones would take most of a test's time.
#pragma once

#include <cstdint>

namespace tandem::tests {

/// The upper bits of a linear congruential generator (Knuth's MMIX).
class sequence {
 public:
  explicit sequence(std::uint64_t seed = 1) : state_(seed) {}
  /// From -largest to largest.
  int integer(int largest) { return static_cast<int>(next() % static_cast<std::uint32_t>(2 * largest + 1)) - largest; }
  /// From -1 to 1.
  double real() { return static_cast<double>(next()) / (1U << 30) - 1; }

 private:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

  std::uint64_t state_;
};

}  // namespace tandem::tests
