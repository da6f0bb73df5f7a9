// Calls on device memory, timed by events.
#pragma once

#include <vector>

#include "gpu/runtime/device.hpp"
#include "tools/tune/shapes.hpp"

namespace tandem::tune {

/// Operands for shapes of one type: every shape's lie at the same place, one operand after the other, full of random
/// normals; C has memory of its own, so that no product becomes an operand.
class device_clock {
 public:
  /// Memory for the largest of the shapes. Throws errc::out_of_memory.
  device_clock(dtype type, std::vector<shape> const& shapes);

  /// Microseconds of one of so many calls in a row, hot, one after the other without a pause; another call is under way
  /// when the clock starts. Of a single call: with its launch.
  double operator()(kernel const& row, shape const& s, int calls);

 private:
  gpu::device_buffer inputs_, outputs_;
  gpu::stream stream_;
  gpu::event start_, stop_;
};

}  // namespace tandem::tune
