// Which rows are timed on a shape, and how often: hopeless ones must not cost the minutes that the others need.
#pragma once

#include <span>
#include <vector>

#include "tools/tune/measurements.hpp"

namespace tandem::tune {

/// Times calls on a shape. Microseconds of one.
class stopwatch {
 public:
  virtual ~stopwatch() = default;
  /// Of so many in a row.
  virtual double in_a_row(kernel const& row, int calls) = 0;
  /// Of one of each row, which follow each other.
  virtual std::vector<double> in_turn(std::span<kernel const* const> rows) = 0;
};

/// The rows of the shape's type, the cheapest by their own estimate first, those without one after them. A row whose
/// estimate is over 20 times the lowest is not called; one that takes over 8 times the best so far, twice, is given
/// up. Rows near the best are timed again, after all others, so that a clock that drifts meets them alike; where a call
/// takes long enough to be timed by itself, in turn, as a program's calls differ: a row that is called over and over
/// finds its code in the caches.
std::vector<timing> sweep(shape const& s, std::vector<kernel const*> const& rows, stopwatch& time);

}  // namespace tandem::tune
