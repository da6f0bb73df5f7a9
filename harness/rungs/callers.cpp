// Sizes for callers at once, and what is said of them.
#include "harness/rungs/callers.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "harness/rungs/forms.hpp"
#include "harness/rungs/problems.hpp"

namespace tandem::harness {
namespace {

struct tried {
  product_size size;
  int form;  ///< of storage (forms.hpp)
  level from = level::quick;
};

/// Too small to pack, a few columns, a few rows beside a transposed B, less than two tiles in height, one tile in
/// width, several blocks, long sums of few elements: what libraries have ways of their own for.
constexpr std::array sizes_tried{tried{{9, 7, 11}, 0},
                                 tried{{64, 48, 40}, 1},
                                 tried{{90, 5, 140}, 0},
                                 tried{{17, 190, 150}, 2},
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
class callers_at_once {
 public:
  explicit callers_at_once(context<T>& x) : x_(x) {}

  void operator()() {
    for (auto const& each : sizes_tried)
      for (int const callers : {2, 4})
        for (int const threads : threads_of(callers)) {
          if (x_.level() < each.from || !went_wrong_.empty() || x_.enough()) continue;
          look_at(each, callers, threads);
        }
    if (!went_wrong_.empty())
      x_.add_fact("callers at once", went_wrong_ + (x_.kernel().concurrent ? "" : "; nothing else is promised"));
    else if (products_ > 0)
      x_.add_fact("callers at once", fmt::format("2 and 4, {} products: each got its own", products_));
    else
      x_.add_fact("callers at once", "no product within the kernel's limits and budget");
  }

 private:
  /// 3 threads for each caller share a few cores badly, so at `quick` not everything is tried.
  std::vector<int> threads_of(int callers) const {
    if (!x_.kernel().threaded) return {0};
    if (x_.level() == level::quick) return {callers == 2 ? 1 : 3};
    return {1, 3};
  }

  void look_at(tried const& each, int callers, int threads) {
    auto t = x_.plain(each.size[0], each.size[1], each.size[2], fill::integer, x_.seed(20, index_++));
    t = x_.adapted(in_form(t, each.form));
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
    went_wrong_ = fmt::format("{} at {}x{}x{}: {}", callers, t.m, t.n, t.k, went_wrong_);
    if (x_.kernel().concurrent) blame(t, seen);
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
  callers_at_once<T>{x}();
}

template void try_callers<float>(context<float>&);
template void try_callers<double>(context<double>&);

}  // namespace tandem::harness
