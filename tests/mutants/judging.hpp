// Has the harness judge a subject, and shows it wrong on its witness.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tandem/harness/judge.hpp>

#include "tests/mutants/subjects.hpp"

namespace tandem::mutants {

/// How the selftest has a kernel judged.
struct judging {
  harness::level level = harness::level::standard;
  std::uint64_t seed = 1;
  std::vector<harness::rung> only = {};
  /// Climbed, after L7, before all others, which follow only if neither fails. It has the sizes that it would have on
  /// the ladder; what the rungs before it would leave in the process is missing.
  std::optional<harness::rung> first = {};
  bool all_rungs = false;  ///< judge a wrong kernel to the end of the ladder, not to its first failure
  bool witnesses = true;   ///< run the witnesses of wrong kernels
};

/// What the harness said of a subject. Plain text, since it comes from another process.
struct record {
  std::string verdict;              ///< harness::verdict's word; "error" where the harness itself did not come through
  std::string error;                ///< why, then; or why the kernel is unavailable
  std::vector<std::string> failed;  ///< rungs, in the ladder's order
  std::vector<std::string> passed;
  std::string failure_class, reason, problem;  ///< of the first failed rung's witness
  /// What is wrong with the stored witness: it passes, or fails on the original too. Empty when it holds, or where
  /// there is none to run.
  std::string witness_defect;
  double seconds = 0;
};

/// Without its witness.
record judge_kernel(harness::candidate const& kernel, bool is_right, judging const& how);

/// In this process, which loads the plugin: for forked ones.
record judge_subject(subject const& s, judging const& how);

/// "special_values", as the name stands in the enumeration, or "L6 special values".
harness::rung parse_rung(std::string word);

/// As JSON, and back.
std::string to_text(record const& r);
record parse_record(std::string const& text);

}  // namespace tandem::mutants
