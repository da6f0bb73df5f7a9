// Sizes for callers that call again and again, alone and at once, and what is said of them.
#include "harness/rungs/callers.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "harness/rungs/forms.hpp"
#include "harness/rungs/problems.hpp"

namespace tandem::harness {
namespace {

struct tried {
  product_size size;
  int form;  ///< of storage (forms.hpp)
  level from = level::quick;
};

/// Too small to pack, a few columns, a few rows beside a transposed B, of long sums and of shorter ones, less than two
/// tiles in height, one tile in width, several blocks, long sums of few elements: what libraries have ways of their own
/// for.
constexpr std::array sizes_tried{tried{{9, 7, 11}, 0},
                                 tried{{64, 48, 40}, 1},
                                 tried{{90, 5, 140}, 0},
                                 tried{{17, 190, 150}, 2},
                                 tried{{10, 190, 60}, 2},
                                 tried{{20, 300, 180}, 0},
                                 tried{{150, 30, 170}, 3},
                                 tried{{130, 140, 150}, 0},
                                 tried{{8, 8, 6000}, 0},
                                 tried{{200, 210, 190}, 5},
                                 tried{{330, 35, 300}, 7, level::standard},
                                 tried{{3, 5, 20001}, 0, level::standard},
                                 tried{{260, 270, 280}, 2, level::standard},
                                 tried{{33, 1030, 129}, 0, level::standard},
                                 tried{{510, 520, 530}, 0, level::full}};

template <element T>
class callers_of {
 public:
  explicit callers_of(context<T>& x) : x_(x) {}

  /// One caller, which calls again and again: whatever follows how often it is called belongs to the kernel.
  void in_a_row() {
    for (auto const& each : sizes_tried)
      for (int const other_form : x_.level() == level::quick ? std::vector{0} : std::vector{0, 1, 2, 3})
        for (int const threads : threads_of(1)) look_at(each, each.form ^ other_form, 1, threads);
    say("calls in a row", fmt::format("{} products: each call got its own", products_), true);
  }

  void at_once() {
    for (auto const& each : sizes_tried)
      for (int const callers : {2, 4})
        for (int const threads : threads_of(callers)) look_at(each, each.form, callers, threads);
    say("callers at once", fmt::format("2 and 4, {} products: each got its own", products_), x_.kernel().concurrent);
  }

 private:
  /// 3 threads for each caller share a few cores badly, so at `quick` not everything is tried.
  std::vector<int> threads_of(int callers) const {
    if (!x_.kernel().threaded) return {0};
    if (callers == 1) return x_.level() == level::quick ? std::vector{2} : std::vector{2, 3};
    if (x_.level() == level::quick) return {callers == 2 ? 1 : 3};
    return {1, 3};
  }

  void say(char const* fact, std::string const& right, bool is_promised) {
    if (!went_wrong_.empty())
      x_.add_fact(fact, went_wrong_ + (is_promised ? "" : "; nothing else is promised"));
    else
      x_.add_fact(fact, products_ > 0 ? right
                        : x_.enough() ? "not tried: it has failed enough"
                                      : "no product within the kernel's limits and budget");
  }

  void look_at(tried const& each, int form, int callers, int threads) {
    if (x_.level() < each.from || !went_wrong_.empty() || x_.enough()) return;
    auto t = x_.plain(each.size[0], each.size[1], each.size[2], fill::integer, x_.seed(20, index_++));
    t = x_.adapted(in_form(t, form));
    t.threads = threads, t.callers = callers;
    // Some dozens of calls from each, beside all else that the budget is for.
    constexpr double calls = 24, share = 1.0 / 8;
    if (flops(t) * callers * calls > share * x_.kernel().flop_budget) return;
    call_options quiet;
    quiet.quiet = true;
    auto const seen = x_.call(t, draw<T>(t, x_.kernel().precision), quiet);
    if (seen.how.status == call_status::refused) return;
    ++products_;
    went_wrong_ = seen.how.disturbed;
    if (!seen.finished()) went_wrong_ = seen.how.reason;
    if (went_wrong_.empty()) return;
    went_wrong_ =
        fmt::format("{}{}x{}x{}: {}", callers > 1 ? fmt::format("{} at ", callers) : "", t.m, t.n, t.k, went_wrong_);
    if (callers == 1 || x_.kernel().concurrent) blame(t, seen);
  }

  void blame(test_case const& t, trial<T> const& seen) {
    failure f;
    f.test = t;
    f.what = seen.how.status == call_status::died   ? failure_class::crash
             : seen.how.status == call_status::hung ? failure_class::hang
                                                    : failure_class::disturbed;
    f.reason = seen.finished() ? seen.how.disturbed : seen.how.reason;
    x_.fail(std::move(f));
  }

  context<T>& x_;
  std::uint64_t index_ = 0;
  std::int64_t products_ = 0;
  std::string went_wrong_;
};

}  // namespace

template <element T>
void try_callers(context<T>& x) {
  callers_of<T>{x}.in_a_row();
  callers_of<T>{x}.at_once();
}

template void try_callers<float>(context<float>&);
template void try_callers<double>(context<double>&);

}  // namespace tandem::harness
