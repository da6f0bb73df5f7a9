// Which rows are timed on a shape, and how often: hopeless ones must not cost the minutes that the others need.
#pragma once

#include <functional>
#include <vector>

#include "tools/tune/measurements.hpp"

namespace tandem::tune {

/// Times `calls` calls of the row on the shape; microseconds of one.
using stopwatch = std::function<double(kernel const& row, int calls)>;

/// The rows of the shape's type, the cheapest by their own estimate first, those without one after them. A row whose
/// estimate is over 20 times the lowest is not called; one that takes over 8 times the best so far, twice, is given
/// up. Rows near the best are timed again, after all others, so that a clock that drifts meets them alike.
std::vector<timing> sweep(shape const& s, std::vector<kernel const*> const& rows, stopwatch const& time);

}  // namespace tandem::tune
