// Greedy reduction of a failing problem.
#include "harness/reduce.hpp"

#include <cstdint>

namespace tandem::harness {
namespace {

/// Changes a problem and keeps the gaps of its leading dimensions as wide as they were.
template <class Change>
test_case changed(test_case t, Change change) {
  auto const gap_a = t.lda - tight_lda(t), gap_b = t.ldb - tight_ldb(t), gap_c = t.ldc - tight_ldc(t);
  change(t);
  t.lda = tight_lda(t) + gap_a, t.ldb = tight_ldb(t) + gap_b, t.ldc = tight_ldc(t) + gap_c;
  return t;
}

/// A property of a problem that it may fail without.
struct property {
  char const* name;
  bool (*has)(test_case const&);
  void (*drop)(test_case&);
};

constexpr property properties[] = {
    {"several callers at once", [](test_case const& t) { return t.callers > 1; }, [](test_case& t) { t.callers = 1; }},
    {"calls in a row", [](test_case const& t) { return t.callers > 0; }, [](test_case& t) { t.callers = 0; }},
    {"B in A's memory", [](test_case const& t) { return t.b_is_a; }, [](test_case& t) { t.b_is_a = false; }},
    {"beta != 0", [](test_case const& t) { return t.beta != 0; }, [](test_case& t) { t.beta = 0; }},
    {"alpha = 0", [](test_case const& t) { return t.alpha == 0; }, [](test_case& t) { t.alpha = 2; }},
    {"alpha != 1", [](test_case const& t) { return t.alpha != 1 && t.alpha != 0; }, [](test_case& t) { t.alpha = 1; }},
    {"A is transposed", [](test_case const& t) { return t.trans_a; }, [](test_case& t) { t.trans_a = false; }},
    {"B is transposed", [](test_case const& t) { return t.trans_b; }, [](test_case& t) { t.trans_b = false; }},
    {"A is column-major", [](test_case const& t) { return t.layout_a == layout::col_major; },
     [](test_case& t) { t.layout_a = layout::row_major; }},
    {"B is column-major", [](test_case const& t) { return t.layout_b == layout::col_major; },
     [](test_case& t) { t.layout_b = layout::row_major; }},
    {"C is column-major", [](test_case const& t) { return t.layout_c == layout::col_major; },
     [](test_case& t) { t.layout_c = layout::row_major; }},
    {"an offset of A", [](test_case const& t) { return t.offset_a != 0; }, [](test_case& t) { t.offset_a = 0; }},
    {"an offset of B", [](test_case const& t) { return t.offset_b != 0; }, [](test_case& t) { t.offset_b = 0; }},
    {"an offset of C", [](test_case const& t) { return t.offset_c != 0; }, [](test_case& t) { t.offset_c = 0; }},
};

constexpr property gaps[] = {
    {"gaps in A (lda)", [](test_case const& t) { return t.lda > tight_lda(t); },
     [](test_case& t) { t.lda = tight_lda(t); }},
    {"gaps in B (ldb)", [](test_case const& t) { return t.ldb > tight_ldb(t); },
     [](test_case& t) { t.ldb = tight_ldb(t); }},
    {"gaps in C (ldc)", [](test_case const& t) { return t.ldc > tight_ldc(t); },
     [](test_case& t) { t.ldc = tight_ldc(t); }},
};

class reducer {
 public:
  reducer(test_case const& t, limits const& allowed, std::function<bool(test_case const&)> const& fails,
          reduction_budget budget)
      : allowed_(allowed), fails_(fails), budget_(budget) {
    out_.test = t;
  }

  reduction operator()() {
    shrink();
    simplify();
    shrink();
    simplify();
    return std::move(out_);
  }

 private:
  /// Whether a problem fails; then it is the simplest so far. No, where the budget does not allow to ask.
  bool take(test_case t) {
    t = within(allowed_, t);
    double const flop = flops(t);
    if (to_string(t) == to_string(out_.test) || out_.calls >= budget_.calls || spent_ + flop > budget_.flop)
      return false;
    ++out_.calls;
    spent_ += flop;
    asked_ = true;
    if (!fails_(t)) return false;
    out_.test = t;
    return true;
  }

  void shrink() {
    for (bool progress = true; progress;) {
      progress = false;
      for (auto const size : {&test_case::k, &test_case::m, &test_case::n}) progress |= shrink(size);
    }
  }

  /// To the first of a few smaller sizes that fails.
  bool shrink(std::int64_t test_case::*size) {
    auto const now = out_.test.*size;
    std::int64_t before = 0;
    for (auto const smaller :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, now / 4, now / 2, now - now / 4, now - 1}) {
      if (smaller <= before || smaller >= now) continue;
      before = smaller;
      if (take(changed(out_.test, [&](test_case& t) { t.*size = smaller; }))) return true;
    }
    return false;
  }

  void simplify() {
    out_.needed.clear();
    for (auto const& p : properties)
      if (p.has(out_.test)) try_without(p, changed(out_.test, p.drop));
    for (auto const& p : gaps) {
      if (!p.has(out_.test)) continue;
      auto t = out_.test;
      p.drop(t);
      try_without(p, t);
    }
  }

  void try_without(property const& p, test_case const& t) {
    asked_ = false;
    if (!take(t) && asked_) out_.needed.emplace_back(p.name);
  }

  limits const& allowed_;
  std::function<bool(test_case const&)> const& fails_;
  reduction_budget budget_;
  double spent_ = 0;
  bool asked_ = false;  // whether the last `take` got to ask
  reduction out_;
};

}  // namespace

reduction reduce(test_case const& t, limits const& allowed, std::function<bool(test_case const&)> const& fails,
                 reduction_budget budget) {
  return reducer(t, allowed, fails, budget)();
}

}  // namespace tandem::harness
