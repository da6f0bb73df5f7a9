// The diagnosis of one witness.
#include "harness/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tandem/harness/bound.hpp>

#include "harness/address.hpp"
#include "harness/context.hpp"
#include "harness/hypotheses.hpp"
#include "harness/observation.hpp"
#include "harness/random.hpp"
#include "harness/reduce.hpp"
#include "harness/tile_map.hpp"
#include "harness/votes.hpp"
#include "harness/wrong_set.hpp"

namespace tandem::harness {
namespace {

/// Whether C's numbers are what is wrong, so that the class follows from them.
bool of_numbers(failure_class c) {
  switch (c) {
    case failure_class::wrong_value:
    case failure_class::not_a_number:
    case failure_class::untouched:
    case failure_class::stale:
    case failure_class::swapped_index: return true;
    default: return false;
  }
}

template <element T>
class diagnosis {
 public:
  diagnosis(candidate const& kernel, judge_options const& options, failure& f)
      : kernel_(kernel), options_(silent(options)), f_(f) {}

  void operator()() {
    if (f_.what == failure_class::hang || f_.what == failure_class::accepted) return;
    if (!affordable(f_.test)) {
      note(fmt::format("not looked at again: {:.3g} flop, {} x {} elements", flops(f_.test), f_.test.m, f_.test.n));
      return;
    }
    if (!reproduce()) return;
    if (!calls_.empty()) {
      see_more(calls_, [this](std::uint64_t s) { return with_data_and_scalars(s); });
      tell_numbers();
    }
    tell_smallest();
  }

 private:
  static judge_options silent(judge_options options) {
    options.progress = {};
    return options;
  }

  bool affordable(test_case const& t) const {
    double const oracle = t.dtype == dtype::f32 ? 1e8 : 2e7;
    double const elements = static_cast<double>(t.m) * static_cast<double>(t.n) +
                            static_cast<double>(t.m) * static_cast<double>(t.k) +
                            static_cast<double>(t.k) * static_cast<double>(t.n);
    return flops(t) <= std::min(oracle, kernel_.flop_budget) && elements <= 1e7;
  }

  void note(std::string const& text) { f_.pattern += (f_.pattern.empty() ? "" : "\n") + text; }

  /// A fresh child.
  void restart() {
    x_.emplace(kernel_, options_);
    x_->open();
    x_->begin_rung(rung::exact);
  }

  /// One more call in the same child. What its numbers are is seen if it finishes.
  struct outcome {
    bool bad = false;
    bool died = false;
    failure_class what = failure_class::wrong_value;  // apart from numbers
    std::string reason;                               // likewise
    std::optional<observation<T>> seen;               // where elements are wrong
  };
  outcome call(test_case const& t) {
    outcome out;
    operands<T> data;
    try {
      data = draw<T>(t, kernel_.precision);
    } catch (std::invalid_argument const&) {  // there are no such data, and so no such call
      return out;
    }
    call_options quiet;
    quiet.quiet = true;
    quiet.at_end = at_end_;
    auto done = x_->call(t, data, quiet);
    if (done.how.status == call_status::refused) return out;
    out.died = done.how.status == call_status::died;
    out.bad = !done.finished() || !done.damage.empty() || !done.how.defects.empty() || !done.how.disturbed.empty();
    out.reason = !done.finished()           ? done.how.reason
                 : !done.damage.empty()     ? done.damage
                 : done.how.defects.empty() ? done.how.disturbed
                                            : done.how.defects;
    bool const outside = !done.damage.empty() || done.how.touched >= 0;
    if (done.how.status == call_status::hung)
      out.what = failure_class::hang;
    else if (done.how.status == call_status::threw)
      out.what = failure_class::refused;
    else if (out.died && !outside)
      out.what = failure_class::crash;
    else if (outside)
      out.what = out.died && !done.how.wrote ? failure_class::read_outside : failure_class::written_outside;
    else if (!done.how.defects.empty())
      out.what = failure_class::defect;
    else if (!done.how.disturbed.empty())
      out.what = failure_class::disturbed;
    if (!done.finished()) return out;
    auto seen = observe(t, std::move(data), std::move(done.c), kernel_.precision, scale_);
    if (!seen.wrong.empty()) out.bad = true, out.seen = std::move(seen);
    return out;
  }

  test_case with_data(std::uint64_t index) const {
    auto t = f_.test;
    t.seed = derive(t.seed, 1000 + index);
    return t;
  }

  /// Other data, and other scalars where those of the witness say something, so that alpha^2 is not 2 alpha.
  test_case with_data_and_scalars(std::uint64_t index) const {
    auto t = with_data(index);
    auto const other = [](double x) { return x == -1 ? 2 : x == 0 || x == 1 ? x : -x; };
    if (index % 2 == 1) t.alpha = other(t.alpha), t.beta = other(t.beta);
    return within(kernel_.limits, t);
  }

  /// A rung may have a bound of its own, smaller than that of the fill.
  void adopt_bound() {
    auto const& e = f_.worst;
    if (e.row < 0 || !(e.bound > 0) || !std::isfinite(e.bound)) return;
    auto const size = static_cast<std::size_t>(f_.test.m * f_.test.n);
    auto const seen = observe(f_.test, draw<T>(f_.test, kernel_.precision), std::vector<T>(size), kernel_.precision);
    double const ours = seen.bounds[static_cast<std::size_t>(e.row * f_.test.n + e.col)];
    if (ours > 0 && std::isfinite(ours)) scale_ = e.bound / ours;
  }

  /// Runs the witness again, alone, and then after another call.
  bool reproduce() {
    adopt_bound();
    restart();
    if (!f_.after.empty()) call(parse_case(f_.after));
    auto first = call(f_.test);
    for (auto const& before : {f_.test, with_data(0)}) {
      if (first.bad || !f_.after.empty()) break;
      restart();
      call(before);
      first = call(f_.test);
      if (!first.bad) continue;
      f_.after = to_string(before);
      note("fails only after another call, here one of the same size: it keeps something");
    }
    if (!first.bad) {
      note(
          "not seen again in a fresh process on the data of its line: it depends on earlier calls, on data of the "
          "rung's own, or on chance, as a race does");
      return false;
    }
    // One that dies of what it reads or writes outside may get to its end where its operands lie otherwise.
    if (of_numbers(f_.what) && !first.seen) f_.what = first.what;
    if (f_.reason.empty()) f_.reason = first.reason;
    for (bool const at_end : {false, true}) {
      if (!first.died || !f_.after.empty()) break;
      at_end_ = at_end;
      first = call(f_.test);
    }
    if (!first.seen) at_end_.reset();
    if (at_end_) note(fmt::format("with all operands at the {} of their pages it ends:", *at_end_ ? "end" : "start"));
    if (first.seen) calls_.push_back(std::move(*first.seen));
    return true;
  }

  /// Calls of the same size with other data, so that nothing is explained by chance. A probe may take each for the one
  /// just before the next, so a call that is right ends them.
  void see_more(std::vector<observation<T>>& calls, std::function<test_case(std::uint64_t)> const& problem) {
    constexpr std::uint64_t fewest = 2, most = 6;
    constexpr std::int64_t enough = 16;
    std::int64_t wrong = 0;
    for (auto const& c : calls) wrong += std::ssize(c.wrong);
    for (std::uint64_t s = 1; s <= most && (s <= fewest || wrong < enough); ++s) {
      auto next = call(problem(s));
      if (!next.seen) break;
      wrong += std::ssize(next.seen->wrong);
      calls.push_back(std::move(*next.seen));
    }
  }

  tandem::plan plan() const {
    if (!kernel_.plan || f_.test.m == 0 || f_.test.n == 0 || f_.test.k == 0) return {};
    return kernel_.plan(canonical(f_.test));
  }

  /// Which elements are read where others belong, by calls with the address code: one in which B is coded, one with A.
  void trace() {
    bool seen[2] = {};
    std::int64_t wrong = 0, read_elsewhere = 0;
    for (std::uint64_t s = 0; s < 16 && !(seen[0] && seen[1]); ++s) {
      auto t = with_data(50 + s);
      t.fill = fill::address;
      std::optional<address_code> code;
      try {
        code.emplace(t, kernel_.precision);
      } catch (std::invalid_argument const&) {  // alpha or beta is no small integer
        return;
      }
      if (std::exchange(seen[code->a_selects()], true)) continue;
      auto const now = call(t);
      if (!now.seen) continue;
      std::string example;
      for (auto const at : now.seen->wrong) {
        auto const i = static_cast<std::int64_t>(at) / t.n, j = static_cast<std::int64_t>(at) % t.n;
        auto const got = static_cast<double>(now.seen->c[at]);
        double const old = now.seen->data.c.empty() ? 0 : static_cast<double>(now.seen->data.c[at]);
        auto const read = code->decode(i, j, got, old);
        ++wrong;
        read_elsewhere += read && !(*read == code->wanted(i, j));
        if (example.empty()) example = code->explain(i, j, got, old);
      }
      if (!example.empty()) note("by the address code: " + example);
    }
    if (f_.what == failure_class::wrong_value && 2 * read_elsewhere > wrong) f_.what = failure_class::swapped_index;
  }

  void tell_numbers() {
    auto const& seen = calls_.front();
    auto const tiling = plan();
    auto const found = classify(seen);
    f_.wrong = found.wrong, f_.checked = found.checked;
    f_.first = found.first, f_.worst = found.worst;
    if (of_numbers(f_.what)) f_.what = found.what;
    bool const counts_only = f_.reason.find(" elements ") != std::string::npos;
    f_.reason = f_.reason.empty() || counts_only ? found.reason : f_.reason + "; " + found.reason;
    f_.map = draw_map(seen.test, tiling, seen.marks);

    std::vector<std::int64_t> depths;
    for (auto const& level : tiling.levels)
      if (level.k > 0) depths.push_back(level.k);
    auto explanations = probe<T>(calls_, depths);
    if (explanations.empty() && found.what == failure_class::read_outside) explanations = probe_without_gaps(depths);
    for (auto const& e : explanations) {
      bool const all = e.share >= 1;
      note(all ? e.text : fmt::format("{} ({:.0f} % of the wrong elements looked at)", e.text, 100 * e.share));
    }
    if (f_.what == failure_class::wrong_value && !explanations.empty() && explanations.front().share >= 0.5)
      f_.what = explanations.front().what;
    if (of_numbers(found.what) && (explanations.empty() || explanations.front().share < 0.5)) trace();
    // An element of these data may be right by chance; what is wrong in any call is taken together.
    auto marks = seen.marks;
    for (auto const& c : calls_)
      for (auto const at : c.wrong) marks[at] = c.marks[at];
    note(describe_wrong_set(seen.test, marks, grids_of(tiling, seen.test)));
    f_.votes = vote(seen, kernel_.name, f_.worst, kernel_.precision, options_);
  }

  /// A gap's NaN hides which element was read; without gaps, wrong steps read numbers.
  std::vector<explanation> probe_without_gaps(std::span<std::int64_t const> depths) {
    std::vector<observation<T>> calls;
    see_more(calls, [this](std::uint64_t s) {
      auto t = with_data_and_scalars(s);
      t.lda = tight_lda(t), t.ldb = tight_ldb(t);
      return t;
    });
    auto explanations = probe<T>(calls, depths);
    for (auto& e : explanations) e.text += ", where A and B have no gaps";
    return explanations;
  }

  void tell_smallest() {
    at_end_.reset();                // as the witness was
    if (!f_.after.empty()) return;  // two problems would have to shrink together
    // Where each failing call costs a process and its CUDA context, a few have to do.
    bool const dear = kernel_.memory == memory::device && f_.what == failure_class::crash;
    int const calls = dear ? 8 : 60;
    auto const smaller =
        reduce(f_.test, kernel_.limits, [this](test_case const& t) { return affordable(t) && call(t).bad; },
               {calls, std::min(1e8, 10 * kernel_.flop_budget)});
    if (!smaller.needed.empty()) {
      std::string list;
      for (auto const& property : smaller.needed) list += (list.empty() ? "" : ", ") + property;
      note("only with " + list);
    }
    if (to_string(smaller.test) == to_string(f_.test)) return;
    auto small = f_;
    small.test = smaller.test;
    note(fmt::format("smallest that fails: {}", replay_line(kernel_, small)));
  }

  candidate const& kernel_;
  judge_options const options_;
  failure& f_;
  std::optional<context<T>> x_;
  std::optional<bool> at_end_;         // where the operands lie in their pages; unset: by the problem's seed
  double scale_ = 1;                   // of bounds: the witness's own over that of its fill
  std::vector<observation<T>> calls_;  // each made just after the one before it
};

}  // namespace

std::string replay_line(candidate const& kernel, failure const& f) {
  std::string line = to_string(f.test);
  if (!f.after.empty()) line += ":after=" + f.after;
  return line + ":kernel=" + (kernel.spec.empty() ? kernel.name : kernel.spec);
}

void diagnose(candidate const& kernel, judge_options const& options, failure& f) {
  if (options.diagnose)
    f.test.dtype == dtype::f32 ? diagnosis<float>(kernel, options, f)() : diagnosis<double>(kernel, options, f)();
  f.replay = replay_line(kernel, f);
}

}  // namespace tandem::harness
