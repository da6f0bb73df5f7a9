// Reveals how a kernel adds up: classes of elements, a tree for each, an arithmetic for the tree, and what does not
// fit.
#include "harness/reveal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "harness/model_search.hpp"
#include "harness/probes.hpp"
#include "harness/ulps.hpp"

namespace tandem::harness {
namespace {

// alpha and beta that are no powers of two, so that where they are applied shows.
constexpr double odd_alpha = 0.7, odd_beta = -1.3;

template <class T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

std::string range_of(char const* what, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{} {}", what, first) : fmt::format("{}s {}–{}", what, first, last);
}

/// Where a class lies, in words.
std::string describe_place(element_class const& where, std::int64_t m, std::int64_t n) {
  auto const count = std::ssize(where.elements);
  if (count == m * n) return "everywhere";
  std::int64_t const top = where.elements.front() / n, bottom = where.elements.back() / n;
  std::int64_t left = n, right = 0;
  for (auto const e : where.elements) left = std::min(left, e % n), right = std::max(right, e % n);
  if ((bottom - top + 1) * (right - left + 1) != count) {
    if (2 * count > m * n) return "most elements";
    return fmt::format("{} elements, first ({}, {})", count, top, where.elements.front() % n);
  }
  if (left == 0 && right == n - 1) return range_of("row", top, bottom);
  if (top == 0 && bottom == m - 1) return range_of("column", left, right);
  return range_of("row", top, bottom) + ", " + range_of("column", left, right);
}

/// A tree of k terms into which C, term k, comes as it does into another one: next to the same terms. Empty where fused
/// steps take C in, of which the terms alone do not tell enough.
std::optional<sum_tree> joined_as(sum_tree const& with_c, sum_tree const& plain, std::int64_t k) {
  sum_tree out;
  int reached = out.add_leaf(k);
  std::vector<bool> has_c(with_c.nodes().size(), false);
  for (int i = 0; i <= with_c.root(); ++i) {
    auto const& x = with_c.at(i);
    has_c[static_cast<std::size_t>(i)] = x.leaf == k;
    for (int const child : x.children) {
      if (!has_c[static_cast<std::size_t>(child)]) continue;
      if (x.children.size() > 2) return std::nullopt;
      has_c[static_cast<std::size_t>(i)] = true;
      auto const terms = with_c.terms(x.children[x.children[0] == child ? 1 : 0]);
      reached = out.add_node({reached, out.add_tree(plain.restricted_to(
                                           [&](std::int64_t t) { return std::ranges::binary_search(terms, t); }))});
    }
  }
  return out;
}

/// Spread over a class: at most `most` of its elements.
std::vector<std::int64_t> some_of(std::vector<std::int64_t> const& elements, std::size_t most) {
  if (elements.size() <= most) return elements;
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(elements[i * (elements.size() - 1) / (most - 1)]);
  return out;
}

template <element T>
class revealer {
 public:
  revealer(context<T>& x, test_case const& shape, probing_budget const& budget)
      : kernel_(x.kernel()), probes_(x, shape, budget), m_(shape.m), n_(shape.n), k_(shape.k) {
    out_.test = shape;
  }

  revelation operator()() {
    out_.defect = probes_.miscounted();
    if (repeats()) {
      auto classes = probes_.classes();
      answer_random_data();
      for (std::size_t c = 0; c < classes.size(); ++c) {
        if (c == most_classes) {
          leave_out(classes, c);
          break;
        }
        reveal_class(classes[c]);
      }
      find_mixing();
    }
    out_.flops = probes_.spent();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t most_classes = 6;  // more are no tiles' edges but another algorithm

  // Whether a call gives the same bits again, on one thread if not on all.
  bool repeats() {
    auto const data = probes_.random_data(1, false);
    for (int const threads : {0, 1}) {
      probes_.set_threads(threads);
      auto const first = probes_.call(data);
      std::int64_t differ = 0;
      for (int repeat = 0; repeat < 3 && differ == 0; ++repeat) {
        auto const again = probes_.call(data);
        for (std::size_t e = 0; e < first.size(); ++e)
          if (!same_bits(std::vector{first[e]}, std::vector{again[e]})) ++differ;
      }
      if (differ == 0) {
        if (threads == 1) out_.facts.emplace_back("repeats", "the same bits on one thread only, which is shown");
        return true;
      }
      if (threads == 0 && kernel_.threaded) continue;
      summed_region r;
      r.where = "everywhere", r.elements = m_ * n_;
      r.summary = fmt::format("not a tree: the same call gives other bits, in {} of {} elements", differ, m_ * n_);
      out_.regions.push_back(std::move(r));
      return false;
    }
    return false;
  }

  void answer_random_data() {
    auto const ask = [&](std::uint64_t purpose, double alpha, double beta) {
      auto p = probes_.random_data(purpose, false, static_cast<T>(alpha), static_cast<T>(beta));
      auto c = probes_.call(p);
      answers_.push_back({std::move(p), std::move(c)});
    };
    ask(2, 1, 0);
    if (!kernel_.limits.alpha_one) ask(3, odd_alpha, 0);
    if (!kernel_.limits.beta_zero) ask(4, kernel_.limits.alpha_one ? 1 : odd_alpha, odd_beta);
  }

  void leave_out(std::vector<element_class> const& classes, std::size_t from) {
    summed_region r;
    for (std::size_t c = from; c < classes.size(); ++c) r.elements += std::ssize(classes[c].elements);
    r.where = fmt::format("{} elements in {} more classes", r.elements, classes.size() - from);
    r.row = classes[from].elements.front() / n_, r.col = classes[from].elements.front() % n_;
    r.summary = "not looked at";
    out_.regions.push_back(std::move(r));
  }

  void reveal_class(element_class const& where) {
    summed_region r;
    r.where = describe_place(where, m_, n_);
    r.elements = std::ssize(where.elements);
    r.row = where.elements.front() / n_, r.col = where.elements.front() % n_;
    try {
      auto const tree = probes_.tree_of(where, false);
      r.tree = true;
      std::optional<sum_tree> with_c;
      // Most often C meets the same blocks as elsewhere, which its bits then confirm.
      if (main_with_c_) {
        fit(where, tree, joined_as(*main_with_c_, tree, k_), r);
        if (!r.bit_exact) r.misfit.clear();
      }
      if (!r.bit_exact) {
        if (!kernel_.limits.beta_zero) with_c = tree_with_c(where, r);
        fit(where, tree, with_c, r);
      }
      if (out_.regions.empty()) main_with_c_ = std::move(with_c);
      if (out_.regions.empty()) {
        out_.k_blocks = edges_of(tree);
        if (int const digits = probes_.digits_of(where, tree); digits > 0)
          out_.facts.emplace_back("accumulator", fmt::format("{} digits: ones vanish beside 2^{}", digits, digits));
      }
    } catch (not_a_tree const& e) {
      r.summary = fmt::format("not a tree: {}", e.what());
    } catch (std::length_error const& e) {
      r.summary = fmt::format("not found: {}", e.what());
    }
    out_.regions.push_back(std::move(r));
  }

  std::optional<sum_tree> tree_with_c(element_class const& where, summed_region& r) {
    try {
      return probes_.tree_of(where, true);
    } catch (not_a_tree const& e) {
      r.misfit = fmt::format("with C no tree: {}", e.what());
    } catch (std::length_error const&) {
      // Nothing is known of C here, then.
    }
    return std::nullopt;
  }

  void fit(element_class const& where, sum_tree const& tree, std::optional<sum_tree> const& with_c, summed_region& r) {
    fitted_model<T> model(tree, with_c, n_, k_);
    // Without its tree, neither what is done with C can be predicted, nor alpha, which may go onto each panel.
    std::span<answered<T> const> answers = answers_;
    if (!with_c && !kernel_.limits.beta_zero) answers = answers.first(1);
    model.fit(answers, some_of(where.elements, 32), kernel_.precision);

    bool const fused = model.fits_sums() && model.arithmetic().addition == addition::fused;
    tree_words const words{fused ? "FMA chain" : "chain"};
    r.summary = summarize(tree, words);
    r.text = to_text(tree, words);
    if (model.fits_sums()) r.sums = model.describe_sums();
    if (model.fits_others() && answers.size() > 1) r.epilogue = model.describe_epilogue();
    for (auto const& answer : answers) {
      auto const wrong = misfit(model, answer, where);
      if (wrong.empty()) continue;
      if (answer.asked.alpha == 1 && answer.asked.beta == 0 && !model.fits_sums())
        r.misfit = wrong + first_misfit(model, where);
      else
        r.misfit += (r.misfit.empty() ? "" : "; ") + wrong;
      break;
    }
    r.bit_exact = r.misfit.empty();
  }

  // How many elements of a call the model does not give; empty if none.
  std::string misfit(fitted_model<T> const& model, answered<T> const& answer, element_class const& where) const {
    std::int64_t wrong = 0, first = -1;
    std::uint64_t first_ulps = 0, most_ulps = 0;
    for (auto const e : where.elements) {
      T const wanted = model.predict(answer.asked, e), got = answer.c[static_cast<std::size_t>(e)];
      if (same_bits(std::vector{wanted}, std::vector{got})) continue;
      auto const ulps = ulps_between(wanted, got);
      if (wrong++ == 0) first = e, first_ulps = ulps;
      most_ulps = std::max(most_ulps, ulps);
    }
    if (wrong == 0) return {};
    return fmt::format("{} of {} elements differ{}, first ({}, {}) by {} ulp, at most by {} ulp (nearest: {})", wrong,
                       where.elements.size(),
                       answer.asked.alpha == 1 && answer.asked.beta == 0
                           ? ""
                           : fmt::format(" at alpha = {:.3g}, beta = {:.3g}", static_cast<double>(answer.asked.alpha),
                                         static_cast<double>(answer.asked.beta)),
                       first / n_, first % n_, first_ulps, most_ulps, model.describe_sums());
  }

  // By which term the kernel leaves the model: rows with ever more terms that are not 0, then with all lengths below
  // the shortest that does not fit. A rounding shows in some elements only, hence several rounds.
  std::string first_misfit(fitted_model<T> const& model, element_class const& where) {
    auto const rows = std::ssize(where.rows);
    std::int64_t wrong = k_;  // so many terms are not predicted
    std::int64_t span = k_;
    constexpr int rounds = 6;
    for (int round = 0; round < rounds && probes_.can_afford(1); ++round) {
      auto p = probes_.random_data(static_cast<std::uint64_t>(40 + round), false);
      auto const from = std::max<std::int64_t>(0, wrong - span), to = wrong;
      auto const terms_of = [&](std::int64_t r) { return from + (to - from) * r / rows; };
      for (std::int64_t r = 0; r < rows; ++r) {
        auto const begin = p.data.a.begin() + where.rows[static_cast<std::size_t>(r)] * k_;
        std::fill(begin + terms_of(r), begin + k_, T{0});
      }
      auto const c = probes_.call(p);
      auto const fits = [&](std::int64_t row) {
        return std::ranges::all_of(where.cols, [&](std::int64_t col) {
          auto const e = row * n_ + col;
          return model.predict(p, e) == c[static_cast<std::size_t>(e)];
        });
      };
      for (std::int64_t r = 0; r < rows && wrong == to; ++r)
        if (!fits(where.rows[static_cast<std::size_t>(r)])) wrong = terms_of(r);
      span = std::max(rows, 2 * span / rows);
    }
    return fmt::format("; astray by term {}", std::max<std::int64_t>(0, wrong - 1));
  }

  // Whether elements take in what belongs to other rows, as fast algorithms do.
  void find_mixing() {
    if (std::ranges::all_of(out_.regions, [](auto const& r) { return r.tree; }) || m_ < 2) return;
    auto p = probes_.random_data(50, false);
    auto const before = probes_.call(p);
    std::fill(p.data.a.begin() + k_, p.data.a.end(), std::numeric_limits<T>::quiet_NaN());
    auto const after = probes_.call(p);
    std::int64_t nans = 0;
    for (std::int64_t j = 0; j < n_; ++j)
      if (std::isnan(after[static_cast<std::size_t>(j)])) ++nans;
    if (nans > 0)
      out_.facts.emplace_back("rows mix",
                              fmt::format("NaN in the other rows of A reaches {} of {} elements of row 0, as "
                                          "in fast (Strassen-like) algorithms",
                                          nans, n_));
  }

  candidate const& kernel_;
  prober<T> probes_;
  std::int64_t m_, n_, k_;
  std::vector<answered<T>> answers_;
  std::optional<sum_tree> main_with_c_ = {};  // of the largest class
  revelation out_;
};

template <element T>
revelation reveal_alone(candidate const& kernel, test_case const& t, reveal_options const& options) {
  judge_options judging;
  judging.seed = options.seed;
  judging.time_limit = options.time_limit;
  context<T> x(kernel, judging);
  revelation out;
  out.test = t;
  out.unavailable = x.open();
  if (!out.unavailable.empty()) return out;
  x.begin_rung(rung::accumulation);
  return reveal_in(x, t, {.flop = options.flop_budget});
}

}  // namespace

template <element T>
revelation reveal_in(context<T>& x, test_case const& shape, probing_budget const& budget) {
  return revealer<T>(x, shape, budget)();
}

template revelation reveal_in<float>(context<float>&, test_case const&, probing_budget const&);
template revelation reveal_in<double>(context<double>&, test_case const&, probing_budget const&);

revelation reveal(candidate const& kernel, test_case const& t, reveal_options const& options) {
  if (t.m < 1 || t.n < 1 || t.k < 1) throw std::invalid_argument("there is no sum to reveal: m, n and k begin at 1");
  if (t.dtype != kernel.dtype)
    throw std::invalid_argument(
        fmt::format("{} computes {}, not {}", kernel.name, to_string(kernel.dtype), to_string(t.dtype)));
  if (auto const why = outside(kernel.limits, t); !why.empty())
    throw std::invalid_argument(fmt::format("{} does not take {}: {}", kernel.name, to_string(t), why));
  if (auto why = kernel.refuses ? kernel.refuses(t) : std::string(); !why.empty()) {
    revelation out;
    out.test = t;
    out.unavailable = std::move(why);
    return out;
  }
  return kernel.dtype == dtype::f32 ? reveal_alone<float>(kernel, t, options)
                                    : reveal_alone<double>(kernel, t, options);
}

bool revelation::bit_exact() const noexcept {
  return !regions.empty() && std::ranges::all_of(regions, &summed_region::bit_exact);
}

std::string revelation::summary() const {
  if (!unavailable.empty()) return unavailable;
  std::string out = fmt::format("K = {}: ", test.k);
  if (!defect.empty()) return out + defect;
  for (auto const& r : regions) {
    bool const first = &r == &regions.front();
    if (std::distance(regions.data(), &r) == 3) return out + fmt::format("; and {} more regions", regions.size() - 3);
    if (!first) out += fmt::format("; {}: ", r.where);
    out += r.summary;
    if (!r.tree || (!first && r.bit_exact)) continue;
    out += r.bit_exact ? "; bit-exact to its own model" : "; not bit-exact" + (first ? ": " + r.misfit : "");
  }
  return out;
}

std::string to_text(revelation const& r) {
  std::string out = r.summary() + "\n";
  for (auto const& region : r.regions) {
    if (r.regions.size() > 1) out += fmt::format("\n{}: {}\n", region.where, region.summary);
    out += region.text;
    if (!region.sums.empty()) out += fmt::format("  {:<14}{}\n", "arithmetic", region.sums);
    if (!region.epilogue.empty()) out += fmt::format("  {:<14}{}\n", "C", region.epilogue);
    if (r.regions.size() > 1 && region.tree)
      out += fmt::format("  {:<14}{}\n", "model", region.bit_exact ? "bit-exact" : "not bit-exact: " + region.misfit);
  }
  if (r.regions.size() > 1 && !r.facts.empty()) out += "\n";
  for (auto const& [name, value] : r.facts) out += fmt::format("  {:<14}{}\n", name, value);
  return out;
}

}  // namespace tandem::harness
