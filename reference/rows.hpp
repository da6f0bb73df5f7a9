// How a reference's rows are put together; no arithmetic, so that the references share none.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
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

/// The row, which promises that several threads may call it at once: of a library, its own documentation would have to.
inline kernel concurrent(kernel row) {
  row.concurrent = true;
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

/// Why a library whose sizes are int cannot take these; empty when it can.
inline std::string too_large(std::initializer_list<std::int64_t> sizes) {
  for (auto const size : sizes)
    if (size > std::numeric_limits<int>::max() || size < -std::numeric_limits<int>::max())
      return "the library takes 32-bit sizes, not " + std::to_string(size);
  return {};
}

/// The row, refusing problems with a size beyond int.
inline kernel with_int_sizes(kernel row) {
  row.refuses = [](problem const& p) { return too_large({p.m, p.n, p.k, p.lda, p.ldb, p.ldc}); };
  return row;
}

}  // namespace tandem::reference
