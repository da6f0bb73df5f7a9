// Probes: masks of units and huge values, and products of equal rows.
#include "harness/probes.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "harness/random.hpp"

namespace tandem::harness {
namespace {

// The first that a kernel bears is taken. f64: beyond the digits of any accumulator. f32: likewise, within the range of
// tf32 and bf16. Then, for what rounds its operands to f16, its largest power of two, with units that f16's subnormals
// still hold (products and sums in f32) and with units whose sums f16 holds.
template <element T>
std::vector<probe_scale> scales() {
  std::vector<probe_scale> out{{1, 0x1p100}, {0x1p-24, 0x1p15}, {0x1p-6, 0x1p15}};
  if constexpr (std::is_same_v<T, double>) out.insert(out.begin(), {1, 0x1p400});
  return out;
}

template <class T>
std::size_t index(T i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

template <element T>
std::vector<T> prober<T>::call(probe<T> const& p) {
  auto t = shape_;
  t.alpha = static_cast<double>(p.alpha), t.beta = static_cast<double>(p.beta);
  call_options how;
  how.threads = threads_;
  spent_ += flops(t);
  auto x = x_.call(t, p.data, how);
  if (!x.finished()) throw probe_failed(fmt::format("{}: {}", to_string(t), x.how.reason));
  return std::move(x.c);
}

template <element T>
probe<T> prober<T>::random_data(std::uint64_t purpose, bool alike, T alpha, T beta) const {
  random r(seed(purpose));
  probe<T> p{{std::vector<T>(index(m() * k())), std::vector<T>(index(k() * n())), {}}, alpha, beta};
  for (std::int64_t i = 0; i < m(); ++i)
    for (std::int64_t q = 0; q < k(); ++q)
      p.data.a[index(i * k() + q)] = alike && i > 0 ? p.data.a[index(q)] : static_cast<T>(r.normal());
  for (std::int64_t q = 0; q < k(); ++q)
    for (std::int64_t j = 0; j < n(); ++j)
      p.data.b[index(q * n() + j)] = alike && j > 0 ? p.data.b[index(q * n())] : static_cast<T>(r.normal());
  if (beta != 0) {
    p.data.c.resize(index(m() * n()));
    for (auto& c : p.data.c) c = static_cast<T>(r.normal());
  }
  return p;
}

template <element T>
std::vector<element_class> prober<T>::classes() {
  constexpr int fingerprints = 4;  // two trees may round to the same number once
  using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  std::vector<std::array<bits, fingerprints>> prints(index(m() * n()));
  for (int f = 0; f < fingerprints; ++f) {
    auto const c = call(random_data(static_cast<std::uint64_t>(10 + f), true));
    for (std::size_t e = 0; e < c.size(); ++e) prints[e][index(f)] = std::bit_cast<bits>(c[e]);
  }
  std::map<std::array<bits, fingerprints>, element_class> found;
  for (std::size_t e = 0; e < prints.size(); ++e) found[prints[e]].elements.push_back(static_cast<std::int64_t>(e));
  std::vector<element_class> out;
  for (auto& [print, one] : found) {
    // The columns of the row that has most of them, then all rows that have these columns.
    std::map<std::int64_t, std::set<std::int64_t>> columns;
    for (auto const e : one.elements) columns[e / n()].insert(e % n());
    auto const widest = std::ranges::max_element(columns, {}, [](auto const& r) { return r.second.size(); });
    one.cols.assign(widest->second.begin(), widest->second.end());
    for (auto const& [row, cols] : columns)
      if (std::ranges::includes(cols, widest->second)) one.rows.push_back(row);
    out.push_back(std::move(one));
  }
  std::ranges::stable_sort(out, [](auto const& x, auto const& y) { return x.elements.size() > y.elements.size(); });
  return out;
}

template <element T>
void prober<T>::ask(element_class const& where, std::vector<std::int64_t> const& pivots, bool with_c,
                    probe_scale const& scale, lost_counts& lost) {
  auto const unit = static_cast<T>(scale.unit), huge = static_cast<T>(scale.huge);
  auto const terms = k() + (with_c ? 1 : 0);
  // A carries one term of a pair in each row, B the other in each column, so that every element answers a pair.
  bool const pivots_in_rows = where.cols.size() >= where.rows.size();
  auto const& targets_at = pivots_in_rows ? where.cols : where.rows;
  auto const width = std::ssize(targets_at);
  std::vector<std::int64_t> in_row(index(m())), in_col(index(n()));
  for (auto const pivot : pivots) lost[pivot].assign(index(terms), -1);
  for (std::int64_t begin = 0; begin < terms; begin += width) {
    for (std::size_t i = 0; i < in_row.size(); ++i) in_row[i] = static_cast<std::int64_t>(i) % terms;
    for (std::size_t j = 0; j < in_col.size(); ++j) in_col[j] = static_cast<std::int64_t>(j + 1) % terms;
    auto& pivot_slots = pivots_in_rows ? in_row : in_col;
    auto& target_slots = pivots_in_rows ? in_col : in_row;
    auto const& pivots_at = pivots_in_rows ? where.rows : where.cols;
    for (std::size_t p = 0; p < pivots.size(); ++p) pivot_slots[index(pivots_at[p])] = pivots[p];
    for (std::int64_t t = 0; t < width && begin + t < terms; ++t) target_slots[index(targets_at[index(t)])] = begin + t;

    probe<T> p{{std::vector<T>(index(m() * k()), unit), std::vector<T>(index(k() * n()), unit), {}}};
    for (std::int64_t i = 0; i < m(); ++i)
      if (auto const q = in_row[index(i)]; q < k()) p.data.a[index(i * k() + q)] = huge;
    for (std::int64_t j = 0; j < n(); ++j)
      if (auto const q = in_col[index(j)]; q < k()) p.data.b[index(q * n() + j)] = -huge;
    if (with_c) {
      p.beta = 1;
      p.data.c.assign(index(m() * n()), unit * unit);
      for (std::int64_t i = 0; i < m(); ++i)
        for (std::int64_t j = 0; j < n(); ++j) {
          bool const row = in_row[index(i)] == k(), col = in_col[index(j)] == k();
          if (row != col) p.data.c[index(i * n() + j)] = row ? huge * unit : -huge * unit;
        }
    }
    auto const c = call(p);
    for (std::size_t pivot = 0; pivot < pivots.size(); ++pivot)
      for (std::int64_t t = 0; t < width && begin + t < terms; ++t) {
        if (begin + t == pivots[pivot]) continue;
        auto const row = pivots_in_rows ? pivots_at[pivot] : targets_at[index(t)];
        auto const col = pivots_in_rows ? targets_at[index(t)] : pivots_at[pivot];
        double const left = static_cast<double>(c[index(row * n() + col)]) / (scale.unit * scale.unit);
        if (!(left >= 0 && left <= static_cast<double>(terms - 2)) || left != std::floor(left))
          throw not_a_tree(fmt::format("with terms {} and {} huge and of opposite sign, {:.6g} of {} ones are left",
                                       pivots[pivot], begin + t, left, terms - 2));
        lost[pivots[pivot]][index(begin + t)] = terms - static_cast<std::int64_t>(left);
      }
  }
}

template <element T>
sum_tree prober<T>::grow(element_class const& where, bool with_c, probe_scale const& scale) {
  auto const terms = k() + (with_c ? 1 : 0);
  auto const longer = std::max(where.rows.size(), where.cols.size());
  auto const at_once = std::min(where.rows.size(), where.cols.size());
  auto const products = std::ceil(static_cast<double>(terms) / static_cast<double>(longer));
  random r(seed(30));
  lost_counts lost;
  std::vector<std::vector<std::int64_t>> sets(1);
  sets[0].resize(index(terms));
  std::iota(sets[0].begin(), sets[0].end(), 0);
  for (;;) {
    if (!can_afford(products))
      throw std::length_error(
          fmt::format("the tree is not complete within {:.2g} flop and {:.3g} s", budget_.flop, budget_.seconds));
    // The ends of each set first: a chain's bottom is at one of them. Then its neighbours and any others, since chains
    // may begin anywhere.
    std::ranges::stable_sort(sets, [](auto const& x, auto const& y) { return x.size() > y.size(); });
    std::set<std::int64_t> chosen;
    for (std::size_t round = 0; chosen.size() < std::min(at_once, index(terms)) && round < at_once; ++round)
      for (auto const& set : sets) {
        if (chosen.size() >= at_once) break;
        auto const size = set.size();
        auto const step = round / 3;
        if (step >= size) continue;
        chosen.insert(round % 3 == 0   ? set[step]
                      : round % 3 == 1 ? set[size - 1 - step]
                                       : set[index(r.below(static_cast<std::uint64_t>(size)))]);
      }
    std::vector<std::int64_t> pivots;
    for (auto const c : chosen)
      if (!lost.contains(c)) pivots.push_back(c);
    ask(where, pivots, with_c, scale, lost);
    auto grown = grow_tree(terms, lost);
    if (grown.tree) return std::move(*grown.tree);
    sets = std::move(grown.wanted);
  }
}

template <element T>
sum_tree prober<T>::tree_of(element_class const& where, bool with_c) {
  std::string first_reason;
  for (auto const& scale : scales<T>()) {
    try {
      return grow(where, with_c, scale);
    } catch (not_a_tree const& e) {
      if (first_reason.empty()) first_reason = e.what();
    }
  }
  throw not_a_tree(first_reason);
}

template <element T>
std::string prober<T>::miscounted() {
  probe<T> ones{{std::vector<T>(index(m() * k()), T{1}), std::vector<T>(index(k() * n()), T{1}), {}}};
  auto const sums = call(ones);
  auto const wrong = std::ranges::find_if(sums, [&](T c) { return c != static_cast<T>(k()); });
  if (wrong == sums.end()) return {};
  auto const e = wrong - sums.begin();
  auto const row = e / n(), col = e % n();
  // Halves until one term is left; where both halves count rightly, their sum is only inexact.
  std::int64_t begin = 0, end = k();
  auto const counted = [&](std::int64_t from, std::int64_t to) {
    probe<T> some = ones;
    for (std::int64_t q = 0; q < k(); ++q)
      if (q < from || q >= to) std::fill_n(some.data.b.begin() + q * n(), n(), T{0});
    return call(some)[index(e)];
  };
  T weight = sums[index(e)];
  while (end - begin > 1) {
    auto const middle = (begin + end) / 2;
    if (weight = counted(begin, middle); weight != static_cast<T>(middle - begin)) {
      end = middle;
    } else if (weight = counted(middle, end); weight != static_cast<T>(end - middle)) {
      begin = middle;
    } else {
      return {};
    }
  }
  return fmt::format("term {} of {} counts {} times in element ({}, {})", begin, k(), static_cast<double>(weight), row,
                     col);
}

template <element T>
int prober<T>::digits_of(element_class const& where, sum_tree const& tree) {
  // Along a chain's own terms nothing has gathered yet that a one could vanish with.
  std::optional<chain> found;
  for (int node = 0; node <= tree.root(); ++node)
    if (auto c = chain_at(tree, node); c && (!found || c->order.size() > found->order.size())) found = std::move(c);
  if (!found || found->order.size() < 3 || found->order.front() >= k() || found->order.back() >= k()) return 0;
  auto const first = found->order.front(), last = found->order.back();
  auto const lost_by_then = static_cast<std::int64_t>(found->order.size());
  constexpr int most = 100;
  bool const in_rows = where.rows.size() >= where.cols.size();
  auto const& slots = in_rows ? where.rows : where.cols;
  for (int begin = 1; begin <= most; begin += static_cast<int>(slots.size())) {
    if (!can_afford(1)) return 0;
    probe<T> p{{std::vector<T>(index(m() * k()), T{1}), std::vector<T>(index(k() * n()), T{1}), {}}};
    for (std::size_t s = 0; s < slots.size(); ++s) {
      auto const huge = static_cast<T>(std::ldexp(1.0, std::min(begin + static_cast<int>(s), most)));
      auto const at = [&](std::int64_t q) -> T& {
        return in_rows ? p.data.a[index(slots[s] * k() + q)] : p.data.b[index(q * n() + slots[s])];
      };
      at(first) = huge, at(last) = huge;
    }
    for (std::int64_t other = 0; other < (in_rows ? n() : m()); ++other)
      (in_rows ? p.data.b[index(last * n() + other)] : p.data.a[index(other * k() + last)]) = -1;
    auto const c = call(p);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      auto const row = in_rows ? slots[s] : where.rows[0], col = in_rows ? where.cols[0] : slots[s];
      auto const left = static_cast<double>(c[index(row * n() + col)]);
      if (left == static_cast<double>(k() - lost_by_then)) return begin + static_cast<int>(s);
    }
  }
  return 0;
}

template class prober<float>;
template class prober<double>;

}  // namespace tandem::harness
