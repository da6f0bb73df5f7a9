// What a rung of the ladder works with: the kernel under test, called on guarded operands in its child process, and the
// report that it fills.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tandem/harness/judge.hpp>

#include "harness/fill.hpp"
#include "harness/sandbox.hpp"

namespace tandem::harness {

/// One call, and all that was noticed about it.
template <element T>
struct trial {
  call_outcome how;         ///< finished, refused, threw, died, hung; see sandbox.hpp
  std::string damage = {};  ///< what the call changed that is not C; empty if nothing
  std::vector<T> c = {};    ///< packed m x n, after the call; empty unless it finished
  bool finished() const noexcept { return how.status == call_status::finished; }
};

struct call_options {
  int threads = 0;                      ///< 0: those of the problem
  std::optional<test_case> as = {};     ///< what the kernel is told, where that differs from the operands laid out
  std::optional<bool> at_end = {};      ///< all operands at the end (true) or start of their pages; unset: by the seed
  std::optional<bool> own_stream = {};  ///< device memory: on a stream of its own; unset: by the seed
  std::optional<test_case> after = {};  ///< what ran before, where that is the point: named by a failure
  bool conjugated = false;              ///< transposes are said to be conjugate ones
  bool infinite = false;                ///< what must not be read holds infinities, not NaN
  surroundings amid = {};
  bool soon_judged = false;  ///< by Freivalds' check already where the oracle would take a few milliseconds
  /// Only tells what happened; records nothing. Otherwise damage and death are noted as failures (of L1 memory, and of
  /// the rung at work where the kernel died without touching a guard page, hung or threw).
  bool quiet = false;
};

/// The judge's side of one kernel, through all its rungs.
template <element T>
class context {
 public:
  context(candidate const& kernel, judge_options const& options);
  ~context();

  candidate const& kernel() const noexcept { return kernel_; }
  judge_options const& options() const noexcept { return options_; }
  harness::level level() const noexcept { return options_.level; }
  /// A seed that depends on the judge's seed, the rung at work and these two.
  std::uint64_t seed(std::uint64_t purpose, std::uint64_t index = 0) const noexcept;

  /// Why the kernel is not there; empty when it is. Throws what its `open` threw.
  std::string open();

  /// A problem of this size with everything plain: row-major, tight, alpha = 1, beta = 0, within the kernel's limits.
  test_case plain(std::int64_t m, std::int64_t n, std::int64_t k, harness::fill fill, std::uint64_t seed) const;
  /// t within the kernel's limits.
  test_case adapted(test_case const& t) const { return within(kernel_.limits, t); }
  /// Whether a problem fits the kernel's flop budget; loops leave larger ones out.
  bool affordable(test_case const& t) const noexcept { return flops(t) <= kernel_.flop_budget; }

  /// Ends the child, and with it all that the kernel remembers; the next call starts a fresh one.
  void restart();
  /// Calls the kernel. Counts the call, or a problem outside its limits as unsupported. `data` are packed row-major
  /// op(A), op(B) and C; they are not written.
  trial<T> call(test_case const& t, operands<T> const& data, call_options const& how = {});
  /// Draws t's data by its fill, calls, judges C against the oracle in the lane of its fill, records what is wrong.
  /// Returns whether it is right (true as well when the problem is outside the limits).
  bool check(test_case const& t, call_options const& how = {});

  /// Whether its sums carry their own error along (Kahan), which makes NaN of an infinity; probed when first asked.
  bool is_compensated();

  /// Records a failure of the rung at work, or of another one. Keeps the worst as the witness.
  void fail(failure f) { fail(std::move(f), report().rung); }
  void fail(failure f, rung where);
  void add_fact(std::string name, std::string value) { report().facts.push_back({std::move(name), std::move(value)}); }
  void set_summary(std::string text) { report().summary = std::move(text); }
  /// The rung at work; its verdict is set by `end_rung`.
  rung_report& report() noexcept { return *current_; }
  /// Whether this rung has seen enough failures to go on.
  bool enough() const noexcept;
  /// Whether the kernel hung so often that no further rung is worth its time.
  bool hangs() const noexcept;

  /// Starts a rung. `end_rung` sets its verdict: fail if anything failed, not applicable if nothing was called, else
  /// pass.
  void begin_rung(rung r);
  void end_rung();
  /// Instead of climbing it.
  void leave_out(std::string why);
  std::vector<rung_report> take();
  /// Drops what was recorded so far; the child stays as it is.
  void forget();

  /// Whether operands that are not read have an address in each problem: a function that cannot do without one fails
  /// L0, and is judged by the other rungs all the same.
  bool gives_addresses = false;

  /// K-blocks that L7 found, for the sizes of later rungs; empty before.
  std::vector<std::int64_t> k_blocks = {};

 private:
  void note(test_case const& t, trial<T> const& x);
  /// Whether t's caller is one who flushes subnormal numbers: in one of eight problems that have none.
  bool flushes(test_case const& t) const noexcept;

  candidate const& kernel_;
  judge_options const& options_;
  sandbox sandbox_;
  bool flushed_ = false;  // the child has been called by one who does; threads that it made then may go on so
  int hangs_ = 0;
  std::vector<rung_report> reports_;  // all ten
  std::vector<bool> begun_;
  rung_report* current_ = nullptr;
  std::optional<bool> compensated_ = {};
};

extern template class context<float>;
extern template class context<double>;

}  // namespace tandem::harness
