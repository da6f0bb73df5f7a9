// Calls on device memory, timed by events.
#pragma once

#include "gpu/runtime/device.hpp"
#include "tools/bench/operands.hpp"
#include "tools/tune/shapes.hpp"

namespace tandem::tune {

/// Times calls on a shape, each on the next operands of a ring, so that none finds in the second-level cache what an
/// earlier one read.
class device_clock {
 public:
  /// Throws errc::out_of_memory.
  explicit device_clock(shape const& s);

  /// Microseconds of one of so many calls in a row, one after the other without a pause; another call is under way when
  /// the clock starts. Of a single call: with its launch.
  double operator()(kernel const& row, int calls);

 private:
  void run(kernel const& row);

  shape const& shape_;
  bench::operand_ring operands_;
  gpu::stream stream_;
  gpu::event start_, stop_;
};

}  // namespace tandem::tune
