// Elements read or written elsewhere: other steps through A or B, results displaced.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/hypotheses/hypotheses.hpp"

namespace tandem::harness {
namespace {

/// An operand read by other steps: transposed, with another leading dimension, or from another start.
struct reading {
  std::string text;
  std::int64_t shift = 0, row_step = 0, col_step = 0;
};

template <element T>
std::vector<reading> readings(std::string const& name, stored_operand<T> const& x, test_case const& t,
                              std::int64_t ld) {
  std::vector<reading> all{{name + " is read transposed", 0, x.col_step, x.row_step}};
  bool const by_rows = x.col_step == 1 && x.row_step == ld;
  auto const tight = by_rows ? (name == "A" ? t.k : t.n) : (name == "A" ? t.m : t.k);
  std::pair<std::string, std::int64_t> const others[] = {{name == "A" ? "ldb" : "lda", name == "A" ? t.ldb : t.lda},
                                                         {"ldc", t.ldc},
                                                         {"m", t.m},
                                                         {"n", t.n},
                                                         {"k", t.k},
                                                         {"ld + 1", ld + 1},
                                                         {"ld - 1", ld - 1}};
  std::set<std::int64_t> tried{ld};
  auto const with_ld = [&](std::string const& which, std::int64_t other) {
    if (!tried.insert(other).second) return;
    auto const text = fmt::format("{} is read with leading dimension {} ({}) instead of {}", name, other, which, ld);
    all.push_back({text, 0, by_rows ? other : 1, by_rows ? 1 : other});
    // Transposed as well: steps and leading dimension go wrong together.
    all.push_back({text + ", and transposed", 0, by_rows ? 1 : other, by_rows ? other : 1});
  };
  with_ld("as if it had no gaps", tight);
  for (auto const& [which, other] : others) with_ld(which, other);
  char const row = name == "A" ? 'i' : 'p', col = name == "A" ? 'p' : 'j';
  auto const shifted = [&](std::int64_t di, std::int64_t dj) {
    auto const index = [](char letter, std::int64_t d) {
      return d == 0 ? std::string(1, letter) : fmt::format("{} {} {}", letter, d > 0 ? '+' : '-', std::abs(d));
    };
    all.push_back(
        {fmt::format("{0}({1}, {2}) is read instead of {0}({3}, {4})", name, index(row, di), index(col, dj), row, col),
         di * x.row_step + dj * x.col_step, x.row_step, x.col_step});
  };
  shifted(0, 1), shifted(0, -1), shifted(1, 0), shifted(-1, 0);
  return all;
}

}  // namespace

template <element T>
void try_strides(evidence<T>& e) {
  auto const& t = e.test();
  if (!reads_operands(t)) return;
  auto const& first = e.calls().front();
  auto const right_a = reading{"", 0, first.a.row_step, first.a.col_step};
  auto const right_b = reading{"", 0, first.b.row_step, first.b.col_step};
  auto const product = [k = t.k](stored_operand<T> const& a, stored_operand<T> const& b, reading const& of_a,
                                 reading const& of_b, witness<T> const& w) {
    double sum = 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum += a[of_a.shift + w.i * of_a.row_step + p * of_a.col_step] *
             b[of_b.shift + p * of_b.row_step + w.j * of_b.col_step];
    return update(w, sum);
  };
  auto const propose_reading = [&](std::string const& text, reading const& of_a, reading const& of_b) {
    e.propose(text, failure_class::swapped_index,
              [=](witness<T> const& w) { return product(w.call->a, w.call->b, of_a, of_b, w); });
  };
  auto const all_a = readings("A", first.a, t, t.lda), all_b = readings("B", first.b, t, t.ldb);
  for (auto const& r : all_a) propose_reading(r.text, r, right_b);
  for (auto const& r : all_b) propose_reading(r.text, right_a, r);
  propose_reading("A and B are both read transposed", all_a.front(), all_b.front());
  e.propose("A and B are exchanged", failure_class::swapped_index,
            [=](witness<T> const& w) { return product(w.call->b, w.call->a, right_b, right_a, w); });
}

/// The right values in a wrong place.
template <element T>
void try_result_places(evidence<T>& e) {
  auto const& t = e.test();
  e.propose("the result is transposed: C(i, j) holds what belongs into C(j, i)", failure_class::swapped_index,
            [&t](auto const& w) -> std::optional<double> {
              if (w.j >= t.m || w.i >= t.n) return std::nullopt;
              return w.call->seen->wanted.hi[static_cast<std::size_t>(w.j * t.n + w.i)];
            });
}

/// C(i, j) holds what belongs elsewhere.
template <element T>
void try_displacements(evidence<T>& e) {
  constexpr std::size_t seeds = 6, most_places = 64;
  auto const& t = e.test();
  std::map<std::pair<std::int64_t, std::int64_t>, int> votes;
  auto const count = std::min(seeds, e.witnesses().size());
  for (std::size_t s = 0; s < count; ++s) {
    auto const& w = e.witnesses()[s * (e.witnesses().size() - 1) / std::max<std::size_t>(1, count - 1)];
    auto const& wanted = w.call->seen->wanted.hi;
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (std::size_t at = 0; at < wanted.size() && places.size() <= most_places; ++at)
      if (w.is(wanted[at]))
        places.emplace_back(static_cast<std::int64_t>(at) / t.n - w.i, static_cast<std::int64_t>(at) % t.n - w.j);
    if (places.size() <= most_places)
      for (auto const& place : places) ++votes[place];
  }
  auto const displaced = [&t](witness<T> const& w, std::int64_t di, std::int64_t dj) {
    auto const i = w.i + di, j = w.j + dj;
    if (i < 0 || i >= t.m || j < 0 || j >= t.n) return w.wanted;  // explains nothing
    return w.call->seen->wanted.hi[static_cast<std::size_t>(i * t.n + j)];
  };
  auto const index = [](char letter, std::int64_t d) {
    return d == 0 ? std::string(1, letter) : fmt::format("{} {} {}", letter, d > 0 ? '+' : '-', std::abs(d));
  };
  for (auto const& [place, n] : votes) {
    auto const [di, dj] = place;
    auto f = e.evaluate([&, di = di, dj = dj](witness<T> const& w) { return displaced(w, di, dj); });
    f.what = failure_class::swapped_index;
    f.text = fmt::format("C(i, j) holds what belongs into C({}, {})", index('i', di), index('j', dj));
    if (f.matched >= 3 || f.matched == std::ssize(e.witnesses())) e.keep(f);
    if (!votes.contains({-di, -dj}) || std::pair(di, dj) < std::pair(-di, -dj)) continue;
    auto const back = e.evaluate([&, di = di, dj = dj](witness<T> const& w) { return displaced(w, -di, -dj); });
    for (std::size_t x = 0; x < f.explains.size(); ++x) {
      f.matched += back.explains[x] && !f.explains[x];
      f.numbers += back.explains[x] && !f.explains[x];
      f.explains[x] = f.explains[x] || back.explains[x];
    }
    f.text = fmt::format(
        "pairs {} apart are exchanged: C(i, j) holds what belongs into C({}, {}), and that what "
        "belongs here",
        di == 0 ? "columns" : "rows", index('i', di), index('j', dj));
    if (f.matched >= 3) e.keep(std::move(f));
  }
}

template void try_strides(evidence<float>&);
template void try_strides(evidence<double>&);
template void try_result_places(evidence<float>&);
template void try_result_places(evidence<double>&);
template void try_displacements(evidence<float>&);
template void try_displacements(evidence<double>&);

}  // namespace tandem::harness
