// What a check found, as text and as JSON. Nothing is printed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tandem/harness/check.hpp>

namespace tandem::harness {

/// One kernel's results on one memory, counted. `passed` counts every pass; `full`, `freivalds` and `sampled` say how
/// the outputs were checked that were, passed or not.
struct kernel_summary {
  std::string kernel = {};
  tandem::memory memory = tandem::memory::host;
  std::int64_t passed = 0, failed = 0, unsupported = 0, unavailable = 0, skipped = 0, errors = 0;
  std::int64_t computed = 0;  ///< passes in which the kernel ran; dispatch settles an empty product without it
  std::int64_t full = 0, freivalds = 0, sampled = 0;
  double worst_ratio = 0;   ///< the largest error / bound of the bound lane; NaN where an element was NaN
  std::string reason = {};  ///< of the first result that is not a pass
  /// fail or error if any result is; else pass if the kernel computed any; else what the results say.
  harness::verdict verdict = harness::verdict::skipped;
};

/// In the order in which the kernels first appear.
std::vector<kernel_summary> summarize(std::span<result const> results);

/// One line a kernel, with a heading; columns aligned.
std::string summary_table(std::span<kernel_summary const> summaries);

/// A failure in full: the problem's line, the reason, the worst element with row, column, got, wanted and bound, and
/// the tile of each level that it lies in.
std::string describe(result const& r);

/// `describe` of the first `limit` results that failed or threw; empty when none did.
std::string describe_failures(std::span<result const> results, std::size_t limit = 10);

/// Where element (row, col) of C lies in a tiling of t: "block (1, 0) warp (0, 1) thread (3, -)". Each index counts
/// within the level around it; "-": the level does not cut this dimension. Indices are the canonical problem's, so
/// those of a column-major C are its transpose's. Levels that cut neither m nor n are left out.
std::string locate(tandem::plan const& plan, test_case const& t, std::int64_t row, std::int64_t col);

/// A JSON array with one object a result: backend, kernel, memory, dtype, m, n, k, trans_a, trans_b ("n", "t"),
/// layout_a, layout_b, layout_c, lda, ldb, ldc, offset_a, offset_b, offset_c, alpha, beta, fill, seed, source, case,
/// verdict, reason, method, peers, worst_error, bound, row, col, got, wanted, wrong_elements, flops, seconds.
/// JSON has no NaN or infinity: they are the strings "nan", "inf" and "-inf". worst_error, bound, row, col, got and
/// wanted are null where no single element was looked at. A problem that no kernel computes has kernel "none".
std::string to_json(std::span<result const> results);

}  // namespace tandem::harness
