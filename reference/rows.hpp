// How a reference's rows are put together; no arithmetic, so that the references share none.
#pragma once

#include <string>

#include <tandem/kernel.hpp>

namespace tandem::reference {

/// A row "<backend>.gemm.<dtype>" that the backend's name alone selects.
inline kernel gemm_row(tandem::backend id, dtype type, double flop_budget, bool threaded,
                       std::function<void(problem const&, execution const&)> run) {
  kernel row;
  row.name = std::string(to_string(id)) + ".gemm." + std::string(to_string(type));
  row.backend = id;
  row.dtype = type;
  row.flop_budget = flop_budget;
  row.threaded = threaded;
  row.run = std::move(run);
  row.cost = [](problem const&) { return 1.0; };
  return row;
}

/// A row "<backend>.axpy.<dtype>".
inline kernel axpy_row(tandem::backend id, dtype type, bool threaded,
                       std::function<void(axpy_problem const&, execution const&)> run) {
  kernel row;
  row.name = std::string(to_string(id)) + ".axpy." + std::string(to_string(type));
  row.backend = id;
  row.dtype = type;
  row.threaded = threaded;
  row.run_axpy = std::move(run);
  return row;
}

}  // namespace tandem::reference
