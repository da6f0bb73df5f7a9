// Fits the rows' models to measurements, and judges what dispatch would choose by them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/model.hpp"
#include "tools/tune/measurements.hpp"

namespace tandem::tune {

/// A row's model and how far its estimates are from the measured times, over the shapes near which the row is of use
/// (at most twice as slow as the best).
struct fitted_row {
  std::string name = {};  ///< without its backend
  gpu::row_model model = {};
  int shapes = 0;           ///< that it was fitted to
  double median_error = 0;  ///< of |ln(estimate / time)|
  double large_error = 0;   ///< its 90th percentile
};

/// By all shapes but the held-out ones. Rows with too few times get no model, and are never taken by themselves.
std::vector<fitted_row> fit(measurements const& m, std::vector<gpu::gemm_row const*> const& rows);

/// What would have been chosen for one shape.
struct choice {
  measurement const* of = nullptr;
  std::string pick = {}, best = {};  ///< kernels
  double pick_microseconds = 0, best_microseconds = 0;
  double ratio() const { return pick_microseconds / best_microseconds; }
};

/// A kernel and what dispatch believes that a problem takes it; infinite: never taken by itself.
struct rated_row {
  std::string kernel = {};
  std::function<double(problem const&)> cost = {};
};
std::vector<rated_row> rated(std::vector<gpu::gemm_row const*> const& rows, std::vector<fitted_row> const& models,
                             int multiprocessors);

/// For each shape of the set and type: the row with the lowest cost, against the fastest. A pick that was only timed
/// once counts with that time; one that was not timed at all, as ten times slower.
std::vector<choice> choices(measurements const& m, std::string const& set, dtype type,
                            std::vector<rated_row> const& rows);

/// The share of choices within `factor` of the best.
double share_within(std::vector<choice> const& all, double factor);
/// So large a part of the choices has a ratio up to this. `all` is not empty.
double percentile(std::vector<choice> const& all, double part);

}  // namespace tandem::tune
