// L1: unmapped pages on both sides of every operand, at every alignment and every gap, at the edges of vectors and
// tiles; and results too large for a cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <tandem/harness/cases.hpp>

#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "harness/rungs/forms.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

using sizes = std::array<std::int64_t, 3>;  // m, n, k

// Vectors and the usual tiles: a kernel may cut where it does not say.
constexpr std::array<std::int64_t, 6> usual_edges{4, 8, 16, 32, 64, 128};
// What stands beside a size that is tested.
constexpr std::array<std::int64_t, 10> small_sizes{1, 2, 3, 5, 7, 9, 13, 17, 31, 33};

/// A C of so many MiB: in all ways, or in a few.
struct large_result {
  double megabytes;
  bool often;
};

/// How much of each part a level tries.
struct amounts {
  int forms_each = 1;  ///< storage forms of every size, gap and offset; one rotates
  int mixed = 0;       ///< problems drawn at random among all of it
  double flops = 0;    ///< of the largest problem
  std::vector<large_result> large_results = {};
};

amounts amounts_of(level l) {
  switch (l) {
    case level::quick: return {1, 120, 1e6, {{4.6, false}}};
    case level::standard: return {storage_forms, 600, 4e6, {{4.6, true}, {20, false}}};
    case level::full: break;
  }
  return {storage_forms, 4000, 2e7, {{4.6, true}, {20, true}, {80, false}}};
}

enum class place { at_start, at_end, by_seed };

/// The first seed from this one on that puts all three operands there, so that the problem's line says it, too.
std::uint64_t seed_for(place where, std::uint64_t seed) {
  if (where == place::by_seed) return seed;
  bool const end = where == place::at_end;
  while (lies_at_end(seed, 0) != end || lies_at_end(seed, 1) != end || lies_at_end(seed, 2) != end) ++seed;
  return seed;
}

/// The offset with which an operand's last byte is the last one before the unmapped page.
template <element T>
std::int64_t flush_offset(storage const& s) {
  constexpr std::int64_t step = 16 / sizeof(T);
  return (step - s.span() % step) % step;
}

template <element T>
class memory_rung {
 public:
  explicit memory_rung(context<T>& x) : x_(x), amount_(amounts_of(x.level())) {
    // A share of what the kernel takes at once, for those that are slow.
    most_flops_ = std::min(amount_.flops, x.kernel().flop_budget / 16);
  }

  void climb() {
    find_edges();
    around_edges();
    alignments();
    widths_of_gaps();
    whole_lines();
    mixed();
    if (x_.report().calls == 0 || x_.report().failed > 0) return;
    x_.set_summary(fmt::format("nothing outside the operands touched, all of C written; {} calls at {} placements",
                               x_.report().calls, had_.size()));
  }

 private:
  /// Every level's edges of the declared tiling, and the usual ones.
  void find_edges() {
    outer_.insert(usual_edges.begin(), usual_edges.end());
    inner_.insert(usual_edges.begin(), usual_edges.end());
    inner_.insert(x_.k_blocks.begin(), x_.k_blocks.end());
    kernel row;
    row.name = x_.kernel().name;
    row.dtype = dtype_of<T>;
    row.host = x_.kernel().memory == memory::host;
    row.plan = x_.kernel().plan;
    tiles_ = tile_shapes(std::span(&row, 1), dtype_of<T>);
    for (auto const& tile : tiles_) {
      // A column-major product is computed as its transpose, so that m's edges cut n.
      outer_.insert({tile[0], tile[1]});
      inner_.insert(tile[2]);
    }
    outer_.erase(0), inner_.erase(0);
  }

  bool fits(sizes const& s) const {
    return 2.0 * static_cast<double>(s[0]) * static_cast<double>(s[1]) * static_cast<double>(s[2]) <= most_flops_;
  }

  void check(test_case t, place where) {
    if (x_.enough()) return;
    t = x_.adapted(t);
    t.seed = 0;
    if (!x_.affordable(t) || !had_.insert(fmt::format("{} {}", to_string(t), static_cast<int>(where))).second) return;
    t.seed = seed_for(where, x_.seed(1, had_.size()));
    x_.check(t);
  }

  /// beta = 0 in two of three, where C must lose its poison without being read; otherwise C is read and written.
  test_case sized(sizes const& s, int form, gaps const& gap, std::uint64_t turn) const {
    test_case t;
    t.dtype = dtype_of<T>;
    t.m = s[0], t.n = s[1], t.k = s[2];
    t.beta = turn % 3 == 2 ? 1 : 0;
    return in_form(t, form, gap);
  }

  /// At both ends of its pages: at the start, and with the last byte right before the unmapped page.
  void check_both_ends(test_case t) {
    check(t, place::at_start);
    check(at_the_very_end(t), place::at_end);
  }

  test_case at_the_very_end(test_case t) const {
    t = x_.adapted(t);
    t.offset_a = flush_offset<T>(storage_a(t));
    t.offset_b = flush_offset<T>(storage_b(t));
    t.offset_c = flush_offset<T>(storage_c(t));
    return t;
  }

  /// In each dimension every edge - 1, 0 and + 1 and every size up to 9; and whole tiles, each edge moved by itself.
  void around_edges() {
    std::uint64_t turn = 0;
    auto const run = [&](sizes const& s) {
      for (int i = 0; i < amount_.forms_each; ++i, ++turn) {
        auto const form = static_cast<int>(turn % storage_forms);
        auto const gap = static_cast<std::int64_t>(turn / storage_forms % 2);
        check_both_ends(sized(s, form, {gap, gap, gap}, turn));
      }
    };
    for (std::size_t d = 0; d < 3; ++d) {
      std::set<std::int64_t> lengths;
      for (std::int64_t i = 1; i < 10; ++i) lengths.insert(i);
      for (auto const edge : d < 2 ? outer_ : inner_)
        lengths.insert({std::max<std::int64_t>(1, edge - 1), edge, edge + 1});
      for (auto const length : lengths) {
        sizes s{};
        for (std::size_t reach = small_sizes.size(); reach > 0;
             --reach) {  // the widest neighbours that are cheap enough
          for (std::size_t e = 0; e < 3; ++e) s[e] = small_sizes[(turn + 3 * e) % reach];
          s[d] = length;
          if (fits(s)) break;
        }
        if (fits(s)) run(s);
      }
    }
    constexpr std::array<sizes, 6> steps{{{0, 0, 0}, {-1, -1, -1}, {1, 1, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (auto const& tile : tiles_)
      for (auto const& step : steps) {
        sizes s{};
        for (std::size_t d = 0; d < 3; ++d)
          s[d] =
              tile[d] > 0 ? std::max<std::int64_t>(1, tile[d] + step[d]) : small_sizes[(turn + d) % small_sizes.size()];
        if (fits(s)) run(s);
      }
  }

  /// The next form. Where there is one each, four sets of operands take turns, and each has to meet every form.
  int form_of(std::uint64_t turn) const {
    return static_cast<int>((amount_.forms_each == 1 ? turn + turn / 4 : turn) % storage_forms);
  }

  /// Each operand by itself, and all together, at every element of a cache line and a little past it.
  void alignments() {
    constexpr std::int64_t line = 64 / sizeof(T);
    std::uint64_t turn = 0;
    // All whole vectors, which is when a kernel takes its widest loads; and none.
    for (auto const& s : {sizes{32, 32, 32}, sizes{19, 23, 21}})
      for (std::int64_t offset = 0; offset <= 2 * line; offset += offset < line ? 1 : line / 2)
        for (int which = 1; which < 8; which = which == 4 ? 7 : which * 2)
          for (int i = 0; i < amount_.forms_each; ++i, ++turn) {
            test_case t = sized(s, form_of(turn), {}, turn);
            t.offset_a = which & 1 ? offset : 0;
            t.offset_b = which & 2 ? offset : 0;
            t.offset_c = which & 4 ? offset : 0;
            check(t, place::at_start);
          }
  }

  /// Gaps of 1 to 17 elements, and around powers of two, between the rows of each operand.
  void widths_of_gaps() {
    std::uint64_t turn = 0;
    for (auto const& s : {sizes{32, 32, 32}, sizes{18, 21, 13}})
      for (std::int64_t const wide : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 31, 32, 33, 64, 100})
        for (std::size_t which = 0; which < 4; ++which)
          for (int i = 0; i < amount_.forms_each; ++i, ++turn) {
            gaps gap{};
            for (std::size_t operand = 0; operand < 3; ++operand)
              gap[operand] = which == operand || which == 3 ? wide : 0;
            test_case const t = sized(s, form_of(turn), gap, turn);
            bool const end = turn / 32 % 2 == 1;
            check(end ? at_the_very_end(t) : t, end ? place::at_end : place::at_start);
          }
  }

  /// A C too large to stay in a cache, whose rows all begin at a cache line: when kernels may write whole lines past
  /// the caches. Wide, squarish and tall, since threads cut C along its rows, its columns or both. And such whose rows
  /// nearly do.
  void whole_lines() {
    std::uint64_t turn = 0;
    for (auto const& [megabytes, often] : amount_.large_results) {
      std::vector<int> counts{4};
      if (often && x_.kernel().threaded) counts.push_back(1);
      for (std::int64_t const outer : {12, 1100, 15000}) {
        auto const inner = static_cast<std::int64_t>(megabytes * 0x1p20 / sizeof(T)) / outer;
        for (int const threads : counts)
          for (bool const by_columns : {false, true}) {
            bool const other = (turn / 2 + turn / 4) % 2 == 1;
            check_lines(outer, inner, by_columns, other ? lines::ragged : lines::whole, threads, turn++);
            check_lines(outer, inner, by_columns, other ? lines::askew : lines::shifted, threads, turn++);
            if (!often) continue;
            check_lines(outer, inner, by_columns, other ? lines::whole : lines::ragged, threads, turn++);
            check_lines(outer, inner, by_columns, other ? lines::shifted : lines::askew, threads, turn++);
          }
      }
    }
  }

  /// Rows of C that begin at a cache line and are an odd number of them, or end inside one; and rows of which all, or
  /// all but the first, begin inside one.
  enum class lines { whole, ragged, shifted, askew };

  /// `outer` rows (or columns) of C of about `inner` elements.
  void check_lines(std::int64_t outer, std::int64_t inner, bool by_columns, lines kind, int threads,
                   std::uint64_t turn) {
    constexpr std::int64_t line = 64 / sizeof(T), step = 16 / sizeof(T);
    auto const length = (inner / line | 1) * line;
    sizes s{outer, kind == lines::ragged ? length - 5 : length, turn % 5 == 4 ? 40 : 8};
    if (by_columns) std::swap(s[0], s[1]);
    // A share of what the kernel takes at once.
    auto const most_k = x_.kernel().flop_budget / 16 / (2.0 * static_cast<double>(s[0] * s[1]));
    if (most_k < 1) return;
    s[2] = static_cast<std::int64_t>(std::min(most_k, static_cast<double>(s[2])));
    auto t = sized(s, static_cast<int>((turn + turn / 4) % 4) + (by_columns ? 4 : 0), {}, turn);
    t.ldc = length + (kind == lines::askew ? step : turn / 2 % 3 == 2 ? line : 0);
    t.offset_c = kind == lines::shifted ? (turn % 4 < 2 ? step : 3) : 0;
    if (x_.kernel().threaded) t.threads = threads;
    bool const end = kind == lines::whole && t.ldc == length && turn % 2 == 0;
    check(end ? at_the_very_end(t) : t, end ? place::at_end : place::at_start);
  }

  /// Sizes near edges, forms, gaps, offsets and scalars drawn together: what only a mixture shows.
  void mixed() {
    random r(x_.seed(2));
    auto const pick = [&r](auto const& list) {
      auto at = list.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(r.below(list.size())));
      return *at;
    };
    auto const near = [&](std::set<std::int64_t> const& edges) {
      if (r.below(3) == 0) return pick(small_sizes);
      return std::max<std::int64_t>(1, pick(edges) + static_cast<std::int64_t>(r.below(7)) - 3);
    };
    constexpr std::array<std::int64_t, 8> some_gaps{0, 0, 0, 1, 3, 4, 7, 16};
    for (int i = 0; i < amount_.mixed && !x_.enough(); ++i) {
      sizes s{near(outer_), near(outer_), near(inner_)};
      for (int tries = 0; tries < 9 && !fits(s); ++tries) *std::ranges::max_element(s) = pick(small_sizes);
      test_case t = sized(s, static_cast<int>(r.below(storage_forms)),
                          {pick(some_gaps), pick(some_gaps), pick(some_gaps)}, r.next());
      if (r.below(4) == 0) t.alpha = -1;
      auto const offset = [&r] { return r.below(2) == 0 ? 0 : static_cast<std::int64_t>(r.below(64 / sizeof(T))); };
      t.offset_a = offset(), t.offset_b = offset(), t.offset_c = offset();
      auto const where = static_cast<place>(r.below(3));
      check(where == place::at_end ? at_the_very_end(t) : t, where);
    }
  }

  context<T>& x_;
  amounts amount_;
  double most_flops_ = 0;
  std::vector<tile_shape> tiles_;
  std::set<std::int64_t> outer_, inner_;  // edges of m and n, and of k
  std::set<std::string> had_;
};

}  // namespace

template <element T>
void climb_memory(context<T>& x) {
  memory_rung<T>(x).climb();
}

template void climb_memory<float>(context<float>&);
template void climb_memory<double>(context<double>&);

}  // namespace tandem::harness
