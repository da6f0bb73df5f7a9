// Makes the problems of a check.
#include <tandem/harness/bound.hpp>
#include <tandem/harness/cases.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <stdexcept>

#include "harness/fill.hpp"
#include "harness/random.hpp"

namespace tandem::harness {
namespace {

// Without 0, which leaves no product to test; the cross of alphas and betas has it.
constexpr std::array integer_alphas{1.0, -1.0, 2.0, 1.0, -2.0, 1.0, 2.0, -1.0, 1.0};
constexpr std::array normal_alphas{1.0, 0.7, -1.0, 1.0, 2.0, -1.3, 1.0, 0.7, 2.0};
constexpr std::array integer_betas{0.0, 1.0, 0.0, -1.0, 2.0, 0.0, -2.0};
constexpr std::array normal_betas{0.0, 1.0, 0.0, 0.3, -1.0, 0.0, 2.0};

// Odd, prime and one past a power of two: what stands beside a size that is tested.
constexpr std::array<std::int64_t, 10> small_sizes{1, 2, 3, 5, 7, 9, 13, 17, 31, 33};

/// What a case fixes; the rest rotates.
struct wish {
  std::int64_t m = 0, n = 0, k = 0;
  harness::fill fill = harness::fill::integer;
  std::string source;
  int trans = -1;                  ///< bit 0: A, bit 1: B; -1: rotates
  int layouts = -1;                ///< bits 0 to 2: A, B, C are column-major; -1: rotates
  double alpha = -99, beta = -99;  ///< -99: rotates
};

class case_maker {
 public:
  case_maker(tandem::dtype dtype, case_options const& options)
      : dtype_(dtype), options_(options), turn_(derive(options.seed, static_cast<std::uint64_t>(dtype) + 11)) {}

  void add(wish const& w) {
    if (options_.fill && *options_.fill != w.fill) return;
    random r(derive(turn_, count_));
    test_case t;
    t.dtype = dtype_;
    t.m = w.m, t.n = w.n, t.k = w.k;
    auto const trans = w.trans >= 0 ? w.trans : static_cast<int>((turn_ + count_) % 4);
    auto const layouts = w.layouts >= 0 ? w.layouts : static_cast<int>((turn_ + count_) / 4 % 8);
    t.trans_a = options_.trans_a.value_or((trans & 1) != 0);
    t.trans_b = options_.trans_b.value_or((trans & 2) != 0);
    auto const layout_of = [layouts](int bit) { return layouts & bit ? layout::col_major : layout::row_major; };
    t.layout_a = layout_of(1), t.layout_b = layout_of(2), t.layout_c = layout_of(4);

    // One problem in three has everything aligned, which is when kernels take their wide loads, and every fourth of
    // these has rows a multiple of a page apart, which is when they fear for their caches.
    bool const aligned = r.below(3) == 0, paged = aligned && r.below(4) == 0;
    static constexpr std::array<std::int64_t, 9> gaps{1, 2, 3, 5, 8, 13, 16, 40, 67};
    auto const padded = [&](std::int64_t tight, std::int64_t elements) {
      constexpr std::int64_t page = 4096, most_elements = 1 << 20;
      auto const up = [tight](std::int64_t step) { return (tight + step - 1) / step * step; };
      auto const by_pages = up(page / static_cast<std::int64_t>(size_of(dtype_)));
      if (paged && elements / tight * by_pages <= most_elements) return by_pages;
      if (aligned) return up(16);
      return tight + (r.below(2) == 0 ? 0 : gaps[r.below(gaps.size())]);
    };
    t.lda = padded(tight_lda(t), t.m * t.k);
    t.ldb = padded(tight_ldb(t), t.k * t.n);
    t.ldc = padded(tight_ldc(t), t.m * t.n);
    auto const offset = [&] { return aligned || r.below(2) == 0 ? 0 : static_cast<std::int64_t>(1 + r.below(3)); };
    t.offset_a = offset(), t.offset_b = offset(), t.offset_c = offset();

    bool const integer = w.fill == fill::integer;
    auto const pick = [&r](auto const& list) { return list[r.below(list.size())]; };
    auto const alpha = integer ? pick(integer_alphas) : pick(normal_alphas);
    auto const beta = integer ? pick(integer_betas) : pick(normal_betas);
    t.alpha = w.alpha != -99 ? w.alpha : alpha;
    t.beta = w.beta != -99 ? w.beta : beta;
    if (integer && limits_of(dtype_, t.k, t.alpha, t.beta).ab == 0) t.alpha = 1, t.beta = 0;
    t.fill = w.fill;
    t.seed = r.next();
    t.source = w.source;
    ++count_;
    cases_.push_back(std::move(t));
  }

  void add_both(wish w) {
    for (auto const f : {fill::integer, fill::normal}) {
      w.fill = f;
      add(w);
    }
  }

  std::size_t turn() const noexcept { return static_cast<std::size_t>(turn_ % 64) + count_; }
  std::vector<test_case> take() { return std::move(cases_); }

 private:
  tandem::dtype dtype_;
  case_options const& options_;
  std::uint64_t turn_;  // where the rotation starts
  std::size_t count_ = 0;
  std::vector<test_case> cases_;
};

void add_small(case_maker& make) {
  for (std::int64_t m = 0; m < 4; ++m)
    for (std::int64_t n = 0; n < 4; ++n)
      for (std::int64_t k = 0; k < 4; ++k) make.add_both({.m = m, .n = n, .k = k, .source = "sizes 0 to 3"});
  constexpr std::array<tile_shape, 6> thin{
      {{33, 17, 0}, {64, 65, 0}, {33, 17, 1}, {129, 65, 1}, {0, 17, 9}, {17, 0, 9}}};
  for (auto const& [m, n, k] : thin) make.add_both({.m = m, .n = n, .k = k, .source = "k = 0 or 1, m = 0, n = 0"});
}

void add_crosses(case_maker& make) {
  constexpr std::array<tile_shape, 4> sizes{{{5, 7, 11}, {17, 9, 13}, {33, 31, 29}, {37, 41, 43}}};
  for (int trans = 0; trans < 4; ++trans)
    for (int layouts = 0; layouts < 8; ++layouts) {
      auto const& [m, n, k] = sizes[static_cast<std::size_t>(trans + layouts) % sizes.size()];
      make.add_both({.m = m,
                     .n = n,
                     .k = k,
                     .source = "transposes x layouts",
                     .trans = trans,
                     .layouts = layouts,
                     .alpha = 1,
                     .beta = layouts % 2 == 0 ? 0.0 : 1.0});
    }
  for (double const alpha : {1.0, 0.0, -1.0, 2.0, 0.7})
    for (double const beta : {0.0, 1.0, -1.0, 2.0, 0.3}) {
      wish w{.m = 19, .n = 23, .k = 21, .source = "alphas x betas", .alpha = alpha, .beta = beta};
      if (alpha != 0.7 && beta != 0.3) make.add(w);
      w.fill = fill::normal;
      make.add(w);
    }
}

double flops_of(tile_shape const& s) {
  return 2.0 * static_cast<double>(s[0]) * static_cast<double>(s[1]) * static_cast<double>(s[2]);
}

/// Every edge - 1, 0, + 1 in every dimension. First each tile as a whole, each of its edges moved differently; then
/// whatever size some dimension has not had yet, beside sizes that keep the problem small.
void add_edges(case_maker& make, std::vector<tile_shape> const& tiles, double most_flops) {
  std::array<std::set<std::int64_t>, 3> had;
  auto const add = [&](tile_shape const& s, std::string const& source) {
    for (std::size_t d = 0; d < 3; ++d) had[d].insert(s[d]);
    make.add_both({.m = s[0], .n = s[1], .k = s[2], .source = source});
  };

  // Whole tiles alone; all sides short or long; each side by itself; then rows of a Latin square, in which each two
  // dimensions meet different steps.
  constexpr std::array<tile_shape, 9> steps{
      {{0, 0, 0}, {-1, -1, -1}, {1, 1, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 1}, {0, 1, -1}, {1, -1, 0}}};
  auto const add_near = [&](tile_shape const& tile, std::int64_t times, tile_shape const& step) {
    tile_shape s{};
    for (std::size_t d = 0; d < 3; ++d)
      s[d] = tile[d] > 0 ? std::max<std::int64_t>(1, tile[d] * times + step[d])
                         : small_sizes[(make.turn() / 2 + d) % small_sizes.size()];
    if (flops_of(s) <= most_flops) add(s, fmt::format("{} x tile {}x{}x{}", times, tile[0], tile[1], tile[2]));
  };
  for (auto const& tile : tiles) {
    for (auto const& step : steps) add_near(tile, 1, step);
    add_near(tile, 3, {0, 0, 0});
    add_near(tile, 2, {1, 1, 1});
  }

  std::set<std::int64_t> sizes;
  constexpr std::int64_t largest_edge = 32768;  // beside any other size; where a level first cuts is found apart
  for (auto const& tile : tiles)
    for (auto const edge : tile)
      for (std::int64_t step = -1; step <= 1; ++step)
        if (edge + step > 0 && edge <= largest_edge) sizes.insert(edge + step);
  for (auto const size : sizes)
    for (std::size_t d = 0; d < 3; ++d) {
      if (had[d].contains(size)) continue;
      // From the widest neighbours that the flop allow, rotating, down to 1 x 1.
      tile_shape s{};
      for (std::size_t reach = small_sizes.size(); reach > 0; --reach) {
        for (std::size_t e = 0; e < 3; ++e) s[e] = small_sizes[(make.turn() / 2 + 3 * e) % reach];
        s[d] = size;
        if (flops_of(s) <= most_flops) break;
      }
      add(s, fmt::format("tile edge near {} in {}", size, "mnk"[d]));
    }
}

/// The kernel's tiling of a row-major product of this size.
plan plan_at(kernel const& row, tile_shape const& size) {
  problem p;
  p.dtype = row.dtype;
  p.memory = row.host ? memory::host : memory::device;
  p.m = size[0], p.n = size[1], p.k = size[2];
  p.lda = p.k, p.ldb = p.ldc = p.n;
  return row.plan(p);
}

/// The edge of one level of a kernel's tiling of a problem; 0 where there is no such level or it does not cut.
std::int64_t edge_of(kernel const& row, tile_shape const& size, std::size_t level, std::size_t dimension) {
  auto const levels = plan_at(row, size).levels;
  if (level >= levels.size()) return 0;
  return std::array{levels[level].m, levels[level].n, levels[level].k}[dimension];
}

/// Where each level of each kernel first cuts each dimension: the last size that is one tile, and the next. A block
/// that follows the caches depends on the other sizes, so this is asked of the very problem that is then run.
void add_first_cuts(case_maker& make, std::span<kernel const> kernels, tandem::dtype dtype) {
  constexpr double most_flops = 2e8;
  constexpr std::array<tile_shape, 3> others{{{0, 2, 301}, {2, 0, 301}, {5, 7, 0}}};  // beside m, n and k
  std::set<tile_shape> had;
  for (auto const& row : kernels) {
    if (row.dtype != dtype || !row.plan) continue;
    for (std::size_t d = 0; d < 3; ++d) {
      tile_shape s = others[d];
      s[d] = 1;
      auto const limit = static_cast<std::int64_t>(most_flops / flops_of(s));
      auto const is_cut = [&](std::size_t level, std::int64_t size) {
        s[d] = size;
        std::int64_t const edge = edge_of(row, s, level, d);
        return edge > 0 && edge < size;
      };
      std::size_t const levels = plan_at(row, {1, 1, 1}).levels.size();
      for (std::size_t level = 0; level < levels; ++level) {
        if (!is_cut(level, limit)) continue;
        std::int64_t one = 1, two = limit;  // one tile, more than one
        while (two - one > 1) (is_cut(level, one + (two - one) / 2) ? two : one) = one + (two - one) / 2;
        for (auto const size : {one, two}) {
          s[d] = size;
          if (had.insert(s).second)
            make.add_both({.m = s[0], .n = s[1], .k = s[2], .source = fmt::format("first cut of {}", "mnk"[d])});
        }
      }
    }
  }
}

void add_shapes(case_maker& make, std::span<shape const> shapes, tandem::dtype dtype, case_options const& options) {
  for (auto const& s : shapes) {
    if (s.dtype != dtype) continue;
    if ((options.trans_a && *options.trans_a != s.trans_a) || (options.trans_b && *options.trans_b != s.trans_b))
      continue;
    wish w{.m = s.m, .n = s.n, .k = s.k, .source = s.source.empty() ? s.where : s.source + " (" + s.where + ")"};
    w.trans = (s.trans_a ? 1 : 0) + (s.trans_b ? 2 : 0);
    w.layouts = 0;
    // alpha = 0 would leave nothing of a shape that was asked for; beta = 0 is what the networks run.
    w.alpha = 1;
    bool const computed = dtype == dtype::f32 || dtype == dtype::f64;
    bool const exact = computed && limits_of(dtype, s.k, 1, 2).ab > 0;
    bool const bounded = computed && gamma(static_cast<double>(s.k) + 2, dtype) < 1;
    if (!computed || !exact || !bounded) {
      w.fill = options.fill.value_or(exact || !computed ? fill::integer : fill::normal);
      make.add(w);
    } else if (flops_of({s.m, s.n, s.k}) <= options.both_fills_flops || options.fill) {
      make.add_both(w);
    } else {
      w.fill = make.turn() % 2 == 0 ? fill::integer : fill::normal;
      make.add(w);
    }
  }
}

}  // namespace

std::vector<tile_shape> tile_shapes(std::span<kernel const> kernels, tandem::dtype dtype) {
  std::set<tile_shape> shapes;
  for (auto const& row : kernels) {
    if (row.dtype != dtype || !row.plan) continue;
    for (std::int64_t const size : {32768, 512, 64}) {
      try {
        for (auto const& level : plan_at(row, {size, size, size}).levels) {
          tile_shape s{level.m, level.n, level.k};
          // A tile as large as the problem cuts nothing, whatever the kernel's true edge is.
          for (auto& edge : s)
            if (edge < 0 || edge >= size) edge = 0;
          if (s != tile_shape{}) shapes.insert(s);
        }
      } catch (std::exception const& e) {
        throw std::runtime_error(fmt::format("plan of {} threw: {}", row.name, e.what()));
      }
    }
  }
  return {shapes.begin(), shapes.end()};
}

std::vector<test_case> make_cases(std::span<shape const> shapes, std::span<kernel const> kernels,
                                  case_options const& options) {
  std::vector<test_case> cases;
  for (auto const type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    if (!options.dtypes.empty() && std::ranges::find(options.dtypes, type) == options.dtypes.end()) continue;
    bool const computed = type == dtype::f32 || type == dtype::f64;
    auto const of_type = [type](kernel const& row) { return row.dtype == type && row.operation() == operation::gemm; };
    if (computed && std::ranges::none_of(kernels, of_type)) continue;

    case_maker make(type, options);
    if (computed && !options.only_shapes) {
      add_small(make);
      add_crosses(make);
      auto tiles = tile_shapes(kernels, type);
      // The usual edges as well: a kernel may cut where it does not say.
      tiles.insert(tiles.end(), {{64, 64, 64}, {128, 128, 128}, {256, 256, 256}});
      add_edges(make, tiles, options.edge_flops);
      add_first_cuts(make, kernels, type);
    }
    add_shapes(make, shapes, type, options);
    auto made = make.take();
    cases.insert(cases.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  }
  return cases;
}

}  // namespace tandem::harness
