// The selftest's result in numbers, tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/mutants/judging.hpp"

namespace tandem::mutants {

/// A subject judged once, with one seed.
struct trial {
  subject const* about = nullptr;
  std::uint64_t seed = 1;
  record result;

  /// Whether the harness was right about it.
  bool as_expected() const noexcept { return result.verdict == (about->is_right() ? "pass" : "fail"); }
};

/// A bug planted in the harness, and which subject showed it.
struct harness_trial {
  std::string id, what, file;
  std::string killed_by;  ///< empty where every subject was judged as by the harness as it is
  std::string error;      ///< why it could not be tried
  double seconds = 0;
};

/// One of the checks people use today, over all subjects.
struct other_check {
  std::string name, source;
  int caught = 0, wrong = 0;   ///< wrong kernels that it refuses, of how many
  int refused = 0, right = 0;  ///< right kernels that it refuses, of how many
  std::vector<std::string> misjudged = {};
};

/// All that the selftest found out.
struct selftest_result {
  judging how;
  harness::level right_level = harness::level::quick;  ///< of the judge with right kernels; `how` has the others'
  int seeds = 1;
  std::vector<subject> subjects;
  std::vector<trial> trials;
  std::vector<trial> skipped = {};  ///< of kernels that this machine cannot run
  std::vector<harness_trial> harness;
  std::vector<other_check> others;
};

/// Takes the trials of kernels that this machine cannot run, for want of an instruction set, from the others.
void set_skipped_apart(selftest_result& r);

/// How many of the wrong kernels may pass at a level: none at full, one in twenty otherwise.
bool is_enough(int caught, int wrong, harness::level level) noexcept;

/// Whether the harness passes its test: enough wrong kernels caught, no right one refused, every kernel judged, every
/// witness as it should be.
bool passed(selftest_result const& r);

std::string to_text(selftest_result const& r);
std::string to_json(selftest_result const& r);

}  // namespace tandem::mutants
