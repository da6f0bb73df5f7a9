// Calls on device memory, timed by events.
#pragma once

#include <deque>

#include "gpu/runtime/device.hpp"
#include "tools/bench/operands.hpp"
#include "tools/tune/shapes.hpp"
#include "tools/tune/sweep.hpp"

namespace tandem::tune {

/// Times calls on a shape, each on the next operands of a ring, so that none finds in the second-level cache what an
/// earlier one read.
class device_clock : public stopwatch {
 public:
  /// Throws errc::out_of_memory.
  explicit device_clock(shape const& s);

  /// One after the other without a pause; another call is under way when the clock starts. Of a single call: with its
  /// launch.
  double in_a_row(kernel const& row, int calls) override;
  /// Without a pause, after a call of the last row.
  std::vector<double> in_turn(std::span<kernel const* const> rows) override;

 private:
  void run(kernel const& row);

  shape const& shape_;
  bench::operand_ring operands_;
  gpu::stream stream_;
  std::deque<gpu::event> marks_;
};

}  // namespace tandem::tune
