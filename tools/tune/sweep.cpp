#include "tools/tune/sweep.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

namespace tandem::tune {
namespace {

constexpr double hopeless_estimate = 20, hopeless_time = 8;
constexpr double near = 1.12, near_in_turn = 1.3;  // called in turn, a row loses up to a tenth to another
constexpr double batch_microseconds = 300;
constexpr int most_calls = 100;           // the launches of which fit in a stream's queue
constexpr double shortest_in_turn = 50;   // microseconds, of which the two events around a call are little
constexpr int turns = 9, long_turns = 3;  // the latter of calls over `long_call`
constexpr double long_call = 5000;

double median(std::vector<double> samples) {
  auto const middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

class candidate {
 public:
  candidate(kernel const& row, stopwatch& time) : row_(&row), time_(&time) {}

  /// One call; where it looks hopeless, another, since the first may have waited for its code or its workspace.
  double first_call(double best) {
    once_ = time(1);
    if (once_ > hopeless_time * best) once_ = std::min(once_, time(1));
    return once_;
  }
  /// Each of as many calls as is now known to fill its time: a first call may have been slow, and what a batch takes
  /// besides its calls counts where these are few.
  void add_samples(int count) {
    for (int i = 0; i < count; ++i) {
      samples_.push_back(time(std::clamp(static_cast<int>(batch_microseconds / once_), 1, most_calls)));
      once_ = result();
    }
  }
  /// In place of all samples before.
  void replace_samples(std::vector<double> samples) { samples_ = std::move(samples); }
  double result() const { return median(samples_); }
  kernel const& row() const { return *row_; }
  bool has_samples() const { return !samples_.empty(); }
  timing report() const { return {row_->name, has_samples() ? result() : once_, !has_samples(), {}}; }

 private:
  double time(int calls) const { return time_->in_a_row(*row_, calls); }

  kernel const* row_;
  stopwatch* time_;
  double once_ = 0;
  std::vector<double> samples_;
};

void time_in_turn(std::vector<candidate*> const& all, int rounds, stopwatch& time) {
  std::vector<kernel const*> rows;
  for (auto const* c : all) rows.push_back(&c->row());
  std::vector<std::vector<double>> samples(all.size());
  for (int i = 0; i < rounds; ++i) {
    auto const round = time.in_turn(rows);
    for (std::size_t r = 0; r < all.size(); ++r) samples[r].push_back(round[r]);
  }
  for (std::size_t r = 0; r < all.size(); ++r) all[r]->replace_samples(std::move(samples[r]));
}

void time_again(std::vector<candidate>& timed, double best, stopwatch& time) {
  bool const by_turns = best >= shortest_in_turn;
  std::vector<candidate*> close;
  for (auto& c : timed)
    if (c.has_samples() && c.result() < (by_turns ? near_in_turn : near) * best) close.push_back(&c);
  if (by_turns) return time_in_turn(close, best > long_call ? long_turns : turns, time);
  for (auto* const c : close) c->add_samples(5);
}

}  // namespace

std::vector<timing> sweep(shape const& s, std::vector<kernel const*> const& rows, stopwatch& time) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  struct estimated {
    kernel const* row;
    double cost;
  };
  std::vector<timing> timings;
  std::vector<estimated> order;
  auto const p = place(s);
  for (auto const* row : rows) {
    if (row->dtype != p.dtype) continue;
    if (auto why = row->refuses ? row->refuses(p) : std::string(); !why.empty())
      timings.push_back({row->name, {}, false, std::move(why)});
    else
      // Of another library's row the cost orders its own rows only.
      order.push_back({row, row->cost && row->backend != backend::cublas ? row->cost(p) : unknown});
  }
  std::ranges::stable_sort(order, {}, &estimated::cost);

  std::vector<candidate> timed;
  double best = unknown;
  for (auto const& [row, cost] : order) {
    if (cost != unknown && cost > hopeless_estimate * order.front().cost) {
      timings.push_back({row->name, {}, false, fmt::format("estimated at {:.3g} us", cost)});
      continue;
    }
    candidate c(*row, time);
    try {
      double const once = c.first_call(best);
      if (once <= hopeless_time * best) {
        c.add_samples(once > long_call ? 1 : once > 3 * best ? 2 : 5);
        best = std::min(best, c.result());
      }
      timed.push_back(c);
    } catch (error const& e) {
      if (e.code() != errc::out_of_memory) throw;
      timings.push_back({row->name, {}, false, e.what()});
    }
  }
  time_again(timed, best, time);
  for (auto const& c : timed) timings.push_back(c.report());
  return timings;
}

}  // namespace tandem::tune
