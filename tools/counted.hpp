// One kernel's memory accesses on one problem, as `tandem count` shows them.
#pragma once

#include <string>

#include <nlohmann/json.hpp>
#include <tandem/simt/kernels.hpp>

namespace tandem::tools {

/// What was counted, and for what. The problem's operands are gone.
struct counted {
  std::string kernel;  ///< of the gpu backend
  tandem::problem problem;
  simt::sampling sampling;
  simt::counts counts;
};

/// A page of text: each line of the source that accesses memory, the sums, and what follows from them.
std::string describe(counted const& c);

/// {kernel, m, n, k, trans_a, trans_b ("n", "t"), lda, ldb, ldc, alpha, beta, sampling, blocks, blocks_run, counts,
/// sites}. `counts` has ffma, dfma, barriers, {block,grid}_sectors_{loaded,stored} and one object for each kind of
/// access; a site has kernel, file, line, kind, bytes (that each lane accesses) and such an object as `counts`.
nlohmann::json to_json(counted const& c);

}  // namespace tandem::tools
