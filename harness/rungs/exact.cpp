// L2: integers whose sums are exact, so that C must be equal, whatever the storage, the scalars, the sizes, the number
// of threads and the calls before.
#include <fmt/format.h>

#include <cstddef>
#include <deque>

#include "harness/rungs/exact_problems.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

/// Judges one problem after the other. Where one fails that alone does not, finds the one that has to run before it.
template <element T>
class exact_run {
 public:
  explicit exact_run(context<T>& x) : x_(x) {}

  void operator()(test_case const& t) {
    auto const calls = x_.report().calls;
    if (t.fill == fill::nan_all)
      x_.call(t, draw<T>(t));  // what comes of it is another rung's matter
    else if (!x_.check(t))
      explain(t);
    if (t.b_is_a) b_is_a_ += x_.report().calls - calls;
    before_.push_front(t);
    if (before_.size() > most_before) before_.pop_back();
  }

  void restart() {
    x_.restart();
    before_.clear();
  }

  /// How many calls had one matrix for A and B.
  std::int64_t with_b_as_a() const noexcept { return b_is_a_; }

 private:
  static constexpr std::size_t most_before = 12;
  static constexpr int most_explained = 3;  // each takes up to most_before processes

  void explain(test_case const& t) {
    auto& witness = x_.report().witness;
    if (!witness || to_string(witness->test) != to_string(t) || explained_++ == most_explained) return;
    if (fails_after({}, t)) return;
    for (auto const& earlier : before_)
      if (fails_after({earlier}, t)) {
        witness->after = to_string(earlier);
        witness->reason += "; not alone, but after another call";
        return;
      }
    std::deque<test_case> const all(before_.rbegin(), before_.rend());
    witness->reason += fails_after(all, t) ? fmt::format("; not alone, but after the {} calls before it", all.size())
                                           : "; not every time";
  }

  /// Whether t fails after these in a new process.
  bool fails_after(std::deque<test_case> const& earlier, test_case const& t) {
    x_.restart();
    for (auto const& e : earlier) x_.call(e, draw<T>(e, x_.kernel().precision), {.quiet = true});
    return !x_.check(t, {.quiet = true});
  }

  context<T>& x_;
  std::deque<test_case> before_;  // the latest first
  std::int64_t b_is_a_ = 0;
  int explained_ = 0;
};

}  // namespace

template <element T>
void climb_exact(context<T>& x) {
  auto const problems = make_exact_problems(x.kernel(), x.level(), x.seed(1), x.k_blocks);
  exact_run<T> run(x);
  for (auto const& sequence : problems.sequences) {
    if (x.enough()) break;
    if (sequence.fresh) run.restart();
    for (auto const& t : sequence.tests) {
      if (x.enough()) break;
      run(t);
    }
  }
  auto const& r = x.report();
  if (r.calls == 0) return;
  x.add_fact("covering array", problems.described);
  x.add_fact("B in A's memory", fmt::format("{} products", run.with_b_as_a()));
  x.set_summary(r.failed == 0 ? fmt::format("{} products of integers, all equal to the exact ones", r.calls)
                              : fmt::format("{} of {} products of integers are wrong", r.failed, r.calls));
}

template void climb_exact<float>(context<float>&);
template void climb_exact<double>(context<double>&);

}  // namespace tandem::harness
