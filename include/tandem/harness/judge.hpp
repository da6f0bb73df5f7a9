// The verdict ladder: ten rungs, each with a verdict of its own and its worst witness.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tandem/harness/candidate.hpp>
#include <tandem/harness/check.hpp>
#include <tandem/harness/problem.hpp>

namespace tandem::harness {

/// L0 to L9, in this order.
enum class rung { interface, memory, exact, precision, error, grade, special_values, accumulation, determinism, scale };
inline constexpr std::size_t rungs = 10;

/// "L0 interface", …
std::string_view to_string(rung) noexcept;

/// How much is tried: quick a few seconds, standard less than a minute, full as long as it takes (minutes).
enum class level { quick, standard, full };

std::string_view to_string(level) noexcept;
level parse_level(std::string_view word);  ///< throws std::invalid_argument for any other word

/// What went wrong with one call.
enum class failure_class {
  wrong_value,
  not_a_number,     ///< NaN where a number belongs
  untouched,        ///< elements of C that were not written
  stale,            ///< C holds what an earlier call left, or beta's part is missing or stale
  swapped_index,    ///< the product of other elements than those wanted
  disturbed,        ///< right once, wrong while it is called again and again, or by several threads at once
  written_outside,  ///< gaps, canaries or inputs changed
  read_outside,     ///< a guard page was touched, or a gap's NaN came through
  crash,            ///< the process ended
  hang,             ///< over the time limit
  defect,           ///< a watched kernel did what it must not, such as a race, whatever its numbers are
  refused,          ///< threw, or returned an error code, for what it must take
  accepted          ///< took what it must refuse
};

std::string_view to_string(failure_class) noexcept;

/// A witness: one call on which the kernel was seen to be wrong.
struct failure {
  test_case test;
  harness::failure_class what = failure_class::wrong_value;
  std::string reason = {};     ///< in words, one line
  std::int64_t wrong = 0;      ///< elements
  std::int64_t checked = 0;    ///< elements
  worst_element first, worst;  ///< rows and columns of C; row -1: none
  std::string map = {};        ///< the output on the kernel's own tiles, drawn; several lines
  std::string pattern = {};    ///< what automatic probes say about it
  std::string votes = {};      ///< what other kernels compute there
  std::string after = {};      ///< the problem that has to run before it, where it fails only then
  std::string replay = {};     ///< the argument of `tandem replay`
};

/// Something the rung found out, such as {"products", "f32, exact"}.
using fact = std::pair<std::string, std::string>;

enum class rung_verdict { pass, fail, not_applicable };

std::string_view to_string(rung_verdict) noexcept;

/// One rung of the ladder.
struct rung_report {
  harness::rung rung = rung::interface;
  rung_verdict verdict = rung_verdict::not_applicable;
  std::string summary = {};  ///< one line: what holds, or what is wrong, or why it does not apply
  std::vector<fact> facts = {};
  std::int64_t calls = 0;               ///< of the kernel
  std::int64_t unsupported = 0;         ///< problems outside the kernel's limits: not run
  std::int64_t failed = 0;              ///< calls that failed
  std::optional<failure> witness = {};  ///< the worst
  double seconds = 0;
};

/// What is said of one kernel.
struct judgement {
  std::string kernel = {};
  tandem::dtype dtype = tandem::dtype::f32;
  tandem::memory memory = tandem::memory::host;
  harness::precision precision = precision::element;
  harness::level level = level::standard;
  std::uint64_t seed = 1;
  std::string unavailable = {};         ///< why it could not be run at all; empty when it was
  std::vector<rung_report> rungs = {};  ///< those asked for, in the ladder's order

  /// fail if a rung failed; unavailable; otherwise pass if any rung passed, unsupported if none did.
  harness::verdict verdict() const noexcept;
  bool passed() const noexcept { return verdict() == harness::verdict::pass; }
};

struct judge_options {
  harness::level level = level::standard;
  std::uint64_t seed = 1;                   ///< the same seed gives the same calls with the same data
  std::vector<harness::rung> only = {};     ///< these rungs; empty: all
  double time_limit = 20;                   ///< seconds a call may take, on top of 1 s for each 2e7 flop
  bool stop_at_failure = false;             ///< no rung after the first that fails, and of that only its first witness
  bool diagnose = true;                     ///< probes, map and votes of each witness
  std::vector<tandem::kernel> voters = {};  ///< kernels whose results a failure is held against
  /// Called now and then with the rung at work and how many calls it has made.
  std::function<void(harness::rung, std::int64_t calls)> progress = {};
};

/// Runs the ladder. The kernel runs in a child process, one after the other if it ends them; it sees no memory of the
/// judge's. For a process without OpenMP threads of its own, which do not survive a fork, and, for device kernels,
/// one that has not called CUDA.
judgement judge(candidate const& kernel, judge_options const& options = {});

/// One problem, as `tandem replay` runs it: alone in a fresh child (after `before`, if there is one), diagnosed.
/// Empty when the kernel passes.
std::optional<failure> replay(candidate const& kernel, test_case const& t, judge_options const& options = {},
                              std::optional<test_case> const& before = {});

/// As `tandem check --level` prints it: a line a rung, then each failure.
std::string to_text(judgement const& j);
std::string to_text(failure const& f);
/// {"kernels": [{"kernel", "dtype", …, "verdict", "rungs": [{"rung", "verdict", "summary", "facts", …, "witness"}]}]}
std::string to_json(std::span<judgement const> judgements);
/// JUnit XML: a test suite a kernel, a test case a rung; not applicable is skipped.
std::string to_junit(std::span<judgement const> judgements);

}  // namespace tandem::harness
