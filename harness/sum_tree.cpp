// Trees of sums: growing one from counts, and its shape.
#include "harness/sum_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::harness {

int sum_tree::add_leaf(std::int64_t term) {
  node x;
  x.leaf = x.first = term;
  nodes_.push_back(std::move(x));
  return root();
}

int sum_tree::add_node(std::vector<int> children, bool exact) {
  std::ranges::sort(children, {}, [this](int c) { return at(c).first; });
  node x;
  x.first = at(children.front()).first;
  x.leaves = 0;
  for (int const c : children) x.leaves += at(c).leaves;
  x.children = std::move(children);
  x.exact = exact;
  nodes_.push_back(std::move(x));
  return root();
}

int sum_tree::add_tree(sum_tree const& other) {
  auto const offset = static_cast<int>(nodes_.size());
  for (auto x : other.nodes()) {
    for (int& c : x.children) c += offset;
    nodes_.push_back(std::move(x));
  }
  return root();
}

std::vector<std::int64_t> sum_tree::terms(int index) const {
  std::vector<std::int64_t> out;
  std::vector<int> open{index};
  while (!open.empty()) {
    auto const& x = at(open.back());
    open.pop_back();
    if (x.leaf >= 0) out.push_back(x.leaf);
    open.insert(open.end(), x.children.begin(), x.children.end());
  }
  std::ranges::sort(out);
  return out;
}

sum_tree sum_tree::restricted_to(std::function<bool(std::int64_t)> const& keep) const {
  sum_tree out;
  std::vector<int> image(nodes_.size(), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto const& x = nodes_[i];
    if (x.leaf >= 0) {
      if (keep(x.leaf)) image[i] = out.add_leaf(x.leaf);
      continue;
    }
    std::vector<int> children;
    for (int const c : x.children)
      if (image[static_cast<std::size_t>(c)] >= 0) children.push_back(image[static_cast<std::size_t>(c)]);
    if (children.size() == 1) image[i] = children[0];
    if (children.size() > 1) image[i] = out.add_node(std::move(children), x.exact);
  }
  return out;
}

bool sum_tree::operator==(sum_tree const& other) const {
  if (nodes_.empty() || other.nodes_.empty()) return nodes_.empty() == other.nodes_.empty();
  std::vector<std::pair<int, int>> open{{root(), other.root()}};
  while (!open.empty()) {
    auto const [l, r] = open.back();
    open.pop_back();
    auto const &x = at(l), &y = other.at(r);
    if (x.leaf != y.leaf || x.exact != y.exact || x.children.size() != y.children.size()) return false;
    for (std::size_t c = 0; c < x.children.size(); ++c) open.emplace_back(x.children[c], y.children[c]);
  }
  return true;
}

namespace {

/// Grows one tree; what lacks a pivot is collected, and the tree is then thrown away.
class grower {
 public:
  grower(std::int64_t terms, lost_counts const& lost) : terms_(terms), lost_(lost) {}

  growth operator()() {
    std::vector<std::int64_t> all(static_cast<std::size_t>(terms_));
    std::iota(all.begin(), all.end(), 0);
    auto const tops = grow(all, terms_ + 1);
    growth out;
    if (!wanted_.empty()) {
      out.wanted = std::move(wanted_);
      return out;
    }
    if (tops.size() != 1) throw not_a_tree("the terms do not meet in one sum");
    check();
    out.tree = std::move(tree_);
    return out;
  }

 private:
  // The subtrees that the terms of a set form below a node of `above` terms that joins them: one, unless the node adds
  // more than two at once.
  std::vector<int> grow(std::vector<std::int64_t> set, std::int64_t above) {
    std::vector<int> tops;
    while (!set.empty()) {
      if (set.size() == 1) {
        tops.push_back(tree_.add_leaf(set[0]));
        break;
      }
      // The pivot that splits the set most finely leaves the least to do. A tree has few in a set; what is not a tree
      // may make every term one, and looking at all of them took minutes.
      constexpr int most_looked_at = 16;
      int looked_at = 0;
      std::vector<std::int64_t> const* counts = nullptr;
      std::int64_t pivot = -1;
      std::size_t finest = 0;
      for (auto const term : set) {
        auto const found = lost_.find(term);
        if (found == lost_.end()) continue;
        if (++looked_at > most_looked_at) break;
        std::vector<std::int64_t> levels;
        for (auto const other : set)
          if (other != term) levels.push_back(found->second[static_cast<std::size_t>(other)]);
        std::ranges::sort(levels);
        auto const distinct = static_cast<std::size_t>(std::unique(levels.begin(), levels.end()) - levels.begin());
        if (distinct <= finest) continue;
        finest = distinct, pivot = term, counts = &found->second;
      }
      if (counts == nullptr) {
        wanted_.push_back(set);
        for (auto const term : set) tops.push_back(tree_.add_leaf(term));
        break;
      }
      set = climb(set, pivot, *counts, above, tops);
    }
    return tops;
  }

  // From the pivot up to the node of `above` terms: each level of its counts joins what was reached so far with the
  // terms that have this count. Returns those that meet the pivot only in that node.
  std::vector<std::int64_t> climb(std::vector<std::int64_t> const& set, std::int64_t pivot,
                                  std::vector<std::int64_t> const& counts, std::int64_t above, std::vector<int>& tops) {
    std::map<std::int64_t, std::vector<std::int64_t>> levels;
    for (auto const term : set)
      if (term != pivot) levels[counts[static_cast<std::size_t>(term)]].push_back(term);
    int reached = tree_.add_leaf(pivot);
    std::int64_t size = 1;
    for (auto& [level, members] : levels) {
      auto const joined = size + static_cast<std::int64_t>(members.size());
      if (level == above) {
        tops.push_back(reached);
        return members;
      }
      // A unit that adds terms exactly loses only the two huge ones, however many there are.
      bool const exact = level == 2 && size == 1 && members.size() > 1;
      if (level != joined && !exact)
        throw not_a_tree(fmt::format("beside terms {} and {} {} are lost, but {} or more are added by then", pivot,
                                     members.front(), level, joined));
      auto children = grow(members, level);
      children.push_back(reached);
      reached = tree_.add_node(std::move(children), exact);
      size = joined;
    }
    tops.push_back(reached);
    return {};
  }

  // Every count that was measured is what the tree says, not only those that it was grown from.
  void check() const {
    auto const nodes = tree_.nodes();
    std::vector<int> parent(nodes.size(), -1);
    std::vector<int> leaf(static_cast<std::size_t>(terms_), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].leaf >= 0) leaf[static_cast<std::size_t>(nodes[i].leaf)] = static_cast<int>(i);
      for (int const c : nodes[i].children) parent[static_cast<std::size_t>(c)] = static_cast<int>(i);
    }
    for (auto const& [pivot, counts] : lost_) {
      // The distance of each node's meeting with the pivot, from above downwards.
      std::vector<std::int64_t> meeting(nodes.size(), -1);
      for (int up = leaf[static_cast<std::size_t>(pivot)]; up >= 0; up = parent[static_cast<std::size_t>(up)])
        meeting[static_cast<std::size_t>(up)] =
            nodes[static_cast<std::size_t>(up)].exact ? 2 : nodes[static_cast<std::size_t>(up)].leaves;
      for (std::size_t i = nodes.size(); i-- > 0;)
        if (meeting[i] < 0) meeting[i] = meeting[static_cast<std::size_t>(parent[i])];
      for (std::int64_t term = 0; term < terms_; ++term) {
        auto const expected = meeting[static_cast<std::size_t>(leaf[static_cast<std::size_t>(term)])];
        auto const got = counts[static_cast<std::size_t>(term)];
        if (term != pivot && got != expected)
          throw not_a_tree(
              fmt::format("beside terms {} and {} {} are lost; other pairs say {}", pivot, term, got, expected));
      }
    }
  }

  std::int64_t terms_;
  lost_counts const& lost_;
  sum_tree tree_;
  std::vector<std::vector<std::int64_t>> wanted_;
};

}  // namespace

growth grow_tree(std::int64_t terms, lost_counts const& lost) { return grower(terms, lost)(); }

std::optional<chain> chain_at(sum_tree const& tree, int node) {
  // From the top down: the terms of each step, and the one inner child that they are added to.
  std::vector<std::vector<std::int64_t>> steps;
  for (int at = node; at >= 0;) {
    auto const& x = tree.at(at);
    if (x.exact) return std::nullopt;
    steps.emplace_back();
    at = -1;
    if (x.leaf >= 0) steps.back().push_back(x.leaf);
    for (int const c : x.children) {
      if (tree.at(c).leaf >= 0) {
        steps.back().push_back(tree.at(c).leaf);
      } else if (at < 0) {
        at = c;
      } else {
        return std::nullopt;
      }
    }
  }
  std::ranges::reverse(steps);
  chain out;
  auto const terms_of = [&](std::size_t s) { return static_cast<std::int64_t>(steps[s].size()); };
  out.width = std::max<std::int64_t>(terms_of(0) > 2 ? terms_of(0) : 1, steps.size() > 1 ? terms_of(1) : 1);
  if (terms_of(0) != out.width && (out.width > 1 || terms_of(0) > 2)) return std::nullopt;
  // The last step may have fewer terms.
  for (std::size_t s = 1; s < steps.size(); ++s)
    if (terms_of(s) > out.width || (terms_of(s) < out.width && s + 1 < steps.size())) return std::nullopt;
  bool const falling = steps.size() > 1 && steps[1][0] < steps[0][0];
  for (auto& terms : steps) {
    std::ranges::sort(terms);
    if (falling) std::ranges::reverse(terms);
    out.order.insert(out.order.end(), terms.begin(), terms.end());
  }
  if (out.order.size() > 1) out.stride = out.order[1] - out.order[0];
  for (std::size_t i = 1; i < out.order.size(); ++i)
    if (out.order[i] - out.order[i - 1] != out.stride) out.stride = 0;
  return out;
}

}  // namespace tandem::harness
