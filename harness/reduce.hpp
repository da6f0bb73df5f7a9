// Makes a failing problem simpler while it still fails, and says which of its properties cannot be left out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tandem/harness/candidate.hpp>
#include <tandem/harness/problem.hpp>

namespace tandem::harness {

struct reduction {
  test_case test;                   ///< fails as well
  std::vector<std::string> needed;  ///< "beta != 0", "ldc > n": without any one of these the simplest problem passes
  int calls = 0;                    ///< of `fails`
};

/// How much a reduction may cost.
struct reduction_budget {
  int calls = 60;
  double flop = 3e8;
};

/// Sizes are cut by halves and by ones; callers, B's lying in A's memory, transposes, column-major layouts,
/// gaps between rows, offsets, alpha = 0, alpha != 1 and beta != 0 are taken away one by one; whatever passes then is
/// put back. Problems stay within the limits. Deterministic.
reduction reduce(test_case const& t, limits const& allowed, std::function<bool(test_case const&)> const& fails,
                 reduction_budget budget = {});

}  // namespace tandem::harness
