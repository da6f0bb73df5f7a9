// L8: on what beside its terms an element's bits depend: the run, threads, streams, placement, the other rows and
// columns. That they depend on something is a fact; that an outcome is wrong is a failure.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tandem/harness/bound.hpp>

#include "harness/expectation.hpp"
#include "harness/random.hpp"
#include "harness/rungs/callers.hpp"
#include "harness/rungs/rungs.hpp"
#include "harness/ulps.hpp"

namespace tandem::harness {
namespace {

/// Where two results differ first, and by how much at most.
template <element T>
class difference {
 public:
  void look(T x, T y, std::int64_t row, std::int64_t col) {
    using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
    ++looked_;
    if (std::bit_cast<bits>(x) == std::bit_cast<bits>(y)) return;
    if (differ_++ == 0) row_ = row, col_ = col;
    nan_ = nan_ || std::isnan(x) != std::isnan(y);
    if (!nan_) ulps_ = std::max(ulps_, ulps_between(x, y));
  }
  bool any() const noexcept { return differ_ > 0; }
  bool nan() const noexcept { return nan_; }
  std::string text() const {
    return fmt::format("{} of {} elements differ, first ({}, {}), {}", differ_, looked_, row_, col_,
                       nan_ ? "some are NaN" : fmt::format("at most by {} ulp", ulps_));
  }

 private:
  std::int64_t differ_ = 0, looked_ = 0, row_ = 0, col_ = 0;
  std::uint64_t ulps_ = 0;
  bool nan_ = false;
};

template <element T>
class determinism {
 public:
  explicit determinism(context<T>& x) : x_(x) {}

  void operator()() {
    for (auto const& [m, n, k] : sizes()) {
      if (x_.enough()) break;
      auto const t = x_.plain(m, n, k, fill::normal, x_.seed(1, index_++));
      if (!x_.affordable(t)) continue;
      look_at(t);
    }
    if (!looked_) return x_.set_summary("no problem within the kernel's limits and budget");
    report();
  }

 private:
  // Fewer rows or columns than threads, one tile and several; the last is worth several threads to anybody.
  std::vector<std::array<std::int64_t, 3>> sizes() const {
    std::vector<std::array<std::int64_t, 3>> out{{65, 70, 129}, {3, 5, 300}};
    if (x_.level() != level::quick) out.insert(out.end(), {{1, 197, 64}, {130, 17, 33}, {7, 300, 40}, {200, 210, 190}});
    if (x_.level() == level::full) out.insert(out.end(), {{513, 6, 700}, {400, 380, 410}});
    return out;
  }
  int repeats() const { return x_.level() == level::quick ? 5 : 20; }

  void look_at(test_case const& t) {
    auto const data = draw<T>(t, x_.kernel().precision);
    auto const first = call(t, data);
    if (!first) return;
    judge(t, data, *first, "");
    looked_ = true;
    bool repeatable = true;
    for (int i = 1; i < repeats(); ++i) {
      auto const again = call(t, data);
      if (!again) return;
      repeatable &= compare(t, data, *first, *again, run_to_run_, fmt::format("call {}", i + 1));
    }
    if (x_.kernel().threaded) {
      for (int const threads : {1, 2, 3, 4, 8}) {
        call_options how;
        how.threads = threads;
        auto const c = call(t, data, how);
        if (!c) return;
        compare(t, data, *first, *c, threads_, fmt::format("{} threads", threads));
      }
    }
    if (x_.kernel().memory == memory::device) {
      for (bool const own : {false, true}) {
        call_options how;
        how.own_stream = own;
        auto const c = call(t, data, how);
        if (!c) return;
        compare(t, data, *first, *c, streams_, own ? "a stream of its own" : "the default stream");
      }
    }
    // Beside other bits in each run, nothing can be said of what else they depend on.
    if (!repeatable) return;
    look_at_placements(t, data, *first);
    look_at_rows(t, data, *first);
    look_at_columns(t, data, *first);
  }

  void look_at_placements(test_case const& t, operands<T> const& data, std::vector<T> const& first) {
    for (int i = 0; i < 5; ++i) {
      auto moved = t;
      moved.offset_a = i % 4, moved.offset_b = (i + 1) % 4, moved.offset_c = (i + 2) % 4;
      if (i > 0) moved.lda += i, moved.ldb += 2 * i + 1, moved.ldc += 3 * i;
      moved = x_.adapted(moved);
      call_options how;
      how.at_end = i % 2 == 0;
      auto const c = call(moved, data, how);
      if (!c) return;
      compare(moved, data, first, *c, placement_,
              fmt::format("lda {}, ldb {}, ldc {}, offsets {}, {}, {}", moved.lda, moved.ldb, moved.ldc, moved.offset_a,
                          moved.offset_b, moved.offset_c));
    }
  }

  /// The same rows of op(A), `rows` of them, as rows `at` … of a problem with as many rows as op(A) gets.
  void look_at_rows(test_case const& t, operands<T> const& data, std::vector<T> const& first) {
    if (t.m < 2) return;
    std::optional<difference<T>> fewer, place, others;
    for (std::int64_t const m : {std::int64_t{1}, (t.m + 1) / 2, t.m - 1}) {
      auto const part = resized(t, m, t.n);
      if (part.m >= t.m) continue;
      operands<T> some{{data.a.begin(), data.a.begin() + part.m * t.k}, data.b, {}};
      if (auto const c = call(part, some))
        look(
            fewer, first, *c, part.m, t.n, [](auto i, auto j) { return std::pair(i, j); }, t.n, part.n);
    }
    // Row i as row i + 1, the last as the first.
    auto turned = data;
    std::rotate(turned.a.begin(), turned.a.end() - t.k, turned.a.end());
    if (auto const c = call(t, turned))
      look(
          place, first, *c, t.m, t.n, [m = t.m](auto i, auto j) { return std::pair((i + 1) % m, j); }, t.n, t.n);
    // Only row 0 stays what it is.
    auto changed = data;
    random r(x_.seed(5));
    for (auto at = changed.a.begin() + t.k; at != changed.a.end(); ++at) *at = static_cast<T>(r.normal());
    auto const same = [](auto i, auto j) { return std::pair(i, j); };
    if (auto const c = call(t, changed)) look(others, first, *c, 1, t.n, same, t.n, t.n);
    std::fill(changed.a.begin() + t.k, changed.a.end(), std::numeric_limits<T>::quiet_NaN());
    if (auto const c = call(t, changed)) {
      look(others, first, *c, 1, t.n, same, t.n, t.n);
      if (others && others->nan()) leaks(t, fill::nan_a, "rows of A");
    }
    note(rows_, t, "m", fewer);
    note(rows_, t, "its place", place);
    note(rows_, t, "the other rows", others);
  }

  void look_at_columns(test_case const& t, operands<T> const& data, std::vector<T> const& first) {
    if (t.n < 2) return;
    std::optional<difference<T>> fewer, place, others;
    auto const columns = [&](std::int64_t n, auto&& source) {
      operands<T> out{data.a, std::vector<T>(static_cast<std::size_t>(t.k * n)), {}};
      for (std::int64_t q = 0; q < t.k; ++q)
        for (std::int64_t j = 0; j < n; ++j) out.b[static_cast<std::size_t>(q * n + j)] = source(q, j);
      return out;
    };
    auto const b = [&](std::int64_t q, std::int64_t j) { return data.b[static_cast<std::size_t>(q * t.n + j)]; };
    for (std::int64_t const n : {std::int64_t{1}, (t.n + 1) / 2, t.n - 1}) {
      auto const part = resized(t, t.m, n);
      if (part.n >= t.n) continue;
      if (auto const c = call(part, columns(part.n, b)))
        look(
            fewer, first, *c, t.m, part.n, [](auto i, auto j) { return std::pair(i, j); }, t.n, part.n);
    }
    auto const turned = columns(t.n, [&](auto q, auto j) { return b(q, (j + t.n - 1) % t.n); });
    if (auto const c = call(t, turned))
      look(
          place, first, *c, t.m, t.n, [n = t.n](auto i, auto j) { return std::pair(i, (j + 1) % n); }, t.n, t.n);
    auto const same = [](auto i, auto j) { return std::pair(i, j); };
    random r(x_.seed(6));
    auto const changed = columns(t.n, [&](auto q, auto j) { return j == 0 ? b(q, 0) : static_cast<T>(r.normal()); });
    if (auto const c = call(t, changed)) look(others, first, *c, t.m, 1, same, t.n, t.n);
    auto const nans =
        columns(t.n, [&](auto q, auto j) { return j == 0 ? b(q, 0) : std::numeric_limits<T>::quiet_NaN(); });
    if (auto const c = call(t, nans)) {
      look(others, first, *c, t.m, 1, same, t.n, t.n);
      if (others && others->nan()) leaks(t, fill::nan_b, "columns of B");
    }
    note(columns_, t, "n", fewer);
    note(columns_, t, "its place", place);
    note(columns_, t, "the other columns", others);
  }

  test_case resized(test_case t, std::int64_t m, std::int64_t n) const { return x_.plain(m, n, t.k, t.fill, t.seed); }

  std::optional<std::vector<T>> call(test_case const& t, operands<T> const& data, call_options const& how = {}) {
    auto x = x_.call(t, data, how);
    if (!x.finished()) return std::nullopt;
    return std::move(x.c);
  }

  /// Element (i, j) of `first` against the element of `c` that `image` says, for i < rows and j < cols.
  template <class Image>
  void look(std::optional<difference<T>>& into, std::vector<T> const& first, std::vector<T> const& c, std::int64_t rows,
            std::int64_t cols, Image image, std::int64_t n_first, std::int64_t n_c) {
    if (!into) into.emplace();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        auto const at = image(i, j);
        into->look(first[static_cast<std::size_t>(i * n_first + j)],
                   c[static_cast<std::size_t>(at.first * n_c + at.second)], i, j);
      }
  }

  /// What was looked at in one respect, and where it first made a difference.
  struct finding {
    bool looked = false;
    std::string differs = {};
  };

  bool compare(test_case const& t, operands<T> const& data, std::vector<T> const& first, std::vector<T> const& c,
               finding& into, std::string const& what) {
    difference<T> d;
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        auto const at = static_cast<std::size_t>(i * t.n + j);
        d.look(first[at], c[at], i, j);
      }
    into.looked = true;
    if (!d.any()) return true;
    if (into.differs.empty()) into.differs = fmt::format("{} at {}x{}x{}: {}", what, t.m, t.n, t.k, d.text());
    judge(t, data, c, what);
    return false;
  }

  void note(finding& into, test_case const& t, char const* what, std::optional<difference<T>> const& d) {
    if (!d) return;
    into.looked = true;
    if (d->any() && into.differs.find(what) == std::string::npos)
      into.differs +=
          fmt::format("{}{} at {}x{}x{}: {}", into.differs.empty() ? "" : "; ", what, t.m, t.n, t.k, d->text());
  }

  /// Whatever the bits are, they obey the bound.
  void judge(test_case const& t, operands<T> const& data, std::vector<T> const& c, std::string const& when) {
    std::vector<tandem::plan> const plans;
    check_options const budgets{.precision = x_.kernel().precision};
    expectation<T> const wanted(t, data, plans, budgets);
    std::int64_t wrong_rows = 0;
    auto const found = wanted.judge(c, wrong_rows);
    if (found.wrong == 0) return;
    failure f;
    f.test = t;
    f.what = found.nans > 0 ? failure_class::not_a_number : failure_class::wrong_value;
    f.wrong = found.wrong, f.checked = found.checked, f.worst = found.worst;
    f.reason = fmt::format("{} of {} elements exceed the bound{}", found.wrong, found.checked,
                           when.empty() ? "" : " in " + when);
    x_.fail(std::move(f));
  }

  // NaN where another row's or column's data came in. The fills of L6 put NaN into a few rows or columns and have
  // replay lines; where none of them shows it, this one is the witness.
  void leaks(test_case t, fill with, char const* what) {
    t.fill = with;
    bool right = true;
    for (std::uint64_t i = 0; i < 4 && right; ++i) {
      t.seed = x_.seed(7, i);
      right = x_.check(t);
    }
    if (!right) return;
    failure f;
    f.test = t;
    f.what = failure_class::not_a_number;
    f.reason = fmt::format("NaN in the other {} reaches elements that do not depend on them", what);
    x_.fail(std::move(f));
  }

  void report() {
    auto const say = [&](char const* name, finding const& f, std::string const& same) {
      if (!f.looked) return;
      x_.add_fact(name, f.differs.empty() ? same : f.differs);
      (f.differs.empty() ? holds_ : lacks_) +=
          fmt::format("{}{}", (f.differs.empty() ? holds_ : lacks_).empty() ? "" : ", ", name);
    };
    say("run to run", run_to_run_, fmt::format("the same bits in {} calls", repeats()));
    say("threads", threads_, "asked for 1, 2, 3, 4 and 8: the same bits");
    say("streams", streams_, "the default one and another: the same bits");
    say("placement", placement_, "the same bits at all offsets, leading dimensions and page ends");
    say("rows", rows_, "a row's bits depend on neither m, nor its place, nor the other rows");
    say("columns", columns_, "a column's bits depend on neither n, nor its place, nor the other columns");
    std::string text = holds_.empty() ? "" : "the same bits whatever: " + holds_;
    if (!lacks_.empty()) text += (text.empty() ? "" : "; ") + ("other bits with other: " + lacks_);
    x_.set_summary(std::move(text));
  }

  context<T>& x_;
  std::uint64_t index_ = 0;
  bool looked_ = false;
  finding run_to_run_, threads_, streams_, placement_, rows_, columns_;
  std::string holds_, lacks_;
};

}  // namespace

template <element T>
void climb_determinism(context<T>& x) {
  determinism<T>{x}();
  try_callers(x);
}

template void climb_determinism<float>(context<float>&);
template void climb_determinism<double>(context<double>&);

}  // namespace tandem::harness
