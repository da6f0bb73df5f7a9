// What `tandem tune` has measured, and its file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tune/shapes.hpp"

namespace tandem::tune {

/// One row on one shape.
struct timing {
  std::string kernel = {};
  /// Microseconds of a call, the median; with `single`, of the one call after which the row was given up. Unset: it was
  /// not called, for the reason in `why_not`.
  std::optional<double> microseconds = {};
  bool single = false;
  std::string why_not = {};

  /// Whether it counts for the best row of a shape.
  bool is_median() const { return microseconds.has_value() && !single; }
};

struct measurement {
  tune::shape shape = {};
  std::vector<timing> timings = {};
};

struct measurements {
  std::string device = {};  ///< backend_info::version of the GPU backend
  int multiprocessors = 0;
  std::string library = {};  ///< Tandem's version
  std::vector<measurement> all = {};
};

/// Throws std::runtime_error with the path if it cannot be read, written, or is not such a file.
measurements read_measurements(std::string const& path);
/// Whole or not at all: written beside it, then renamed.
void write_measurements(measurements const& m, std::string const& path);

}  // namespace tandem::tune
