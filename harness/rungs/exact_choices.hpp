// What a problem of the exact rung is made of, drawn or chosen: storage, scalars, ends of pages, and sizes that matter
// to a kernel's tiling.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tandem/harness/cases.hpp>

#include "harness/covering.hpp"
#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "harness/rungs/exact_problems.hpp"

namespace tandem::harness::exact {

/// What a row of the covering array chooses.
enum factor : std::size_t {
  trans_a,
  trans_b,
  layout_a,
  layout_b,
  layout_c,
  ld_a,
  ld_b,
  ld_c,
  offset_a,
  offset_b,
  offset_c,
  end_a,
  end_b,
  end_c,  // of its pages, or the start
  alpha,
  beta,
  size_m,
  size_n,
  size_k,
  factors
};

// tight; 1 more; odd; a multiple of 16; a power of two above twice the tight one; the same for all operands
inline constexpr int ld_classes = 6;
inline constexpr std::array alphas{1.0, -1.0, 2.0, -2.0};
inline constexpr std::array betas{0.0, 1.0, -1.0, 2.0, -2.0};
inline constexpr int size_classes = 8;
inline constexpr std::array<int, factors> levels_of_factor{
    2,           2, 2, 2, 2, ld_classes,    ld_classes,   ld_classes,   4,
    4,           4, 2, 2, 2, alphas.size(), betas.size(), size_classes, size_classes,
    size_classes};

using sizes = std::array<std::int64_t, 3>;  // m, n, k

inline double flops_of(sizes const& s) {
  return 2.0 * static_cast<double>(s[0]) * static_cast<double>(s[1]) * static_cast<double>(s[2]);
}

class choices {
 public:
  choices(candidate const& kernel, std::uint64_t seed, std::span<std::int64_t const> k_blocks)
      : kernel_(kernel), random_(seed) {
    row_.name = kernel.name;
    row_.dtype = kernel.dtype;
    row_.host = kernel.memory == memory::host;
    row_.plan = kernel.plan;
    std::vector<tile_shape> tiles;
    if (row_.plan) tiles = tile_shapes({&row_, 1}, kernel.dtype);
    for (std::size_t d = 0; d < 3; ++d) {
      edges_[d] = {32, 64, 128};
      for (auto const& tile : tiles)
        if (tile[d] >= 4 && tile[d] <= 192) edges_[d].push_back(tile[d]);
    }
    for (auto const block : k_blocks)
      if (block >= 4 && block <= 192) edges_[2].push_back(block);
  }

  random& source() { return random_; }
  /// The kernel as a row of the table, for its tiling.
  kernel const& row() const { return row_; }

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }

  bool once_in(std::uint64_t n) { return random_.below(n) == 0; }

  template <class List>
  auto pick(List const& list) {
    return list[random_.below(list.size())];
  }

  /// A seed that puts each operand at the start or the end of its pages.
  std::uint64_t seed_for(bool a_at_end, bool b_at_end, bool c_at_end) {
    while (true) {
      auto const seed = random_.next();
      if (lies_at_end(seed, 0) == a_at_end && lies_at_end(seed, 1) == b_at_end && lies_at_end(seed, 2) == c_at_end)
        return seed;
    }
  }

  std::int64_t size_of_class(int which, std::size_t dimension) {
    switch (which) {
      case 0: return 1;
      case 1: return between(2, 7);
      case 2: return between(8, 33);
      case 3: return 8 * between(1, 4);
      case 4: return between(34, 70);
      case 5: return 16 * between(3, 5);
      case 6: return pick(edges_[dimension]) + (once_in(2) ? 1 : -1);
      default: return pick(edges_[dimension]) * (once_in(3) ? 2 : 1);
    }
  }

  /// The stored problem that a row of choices describes, with these sizes of the canonical problem.
  test_case chosen(covering_row const& row, sizes const& s, std::string source) {
    test_case t;
    t.dtype = kernel_.dtype;
    t.m = s[0], t.n = s[1], t.k = s[2];
    if (row[layout_c] == 1) std::swap(t.m, t.n);
    t.trans_a = row[trans_a] == 1, t.trans_b = row[trans_b] == 1;
    auto const layout_of = [](int choice) { return choice == 0 ? layout::row_major : layout::col_major; };
    t.layout_a = layout_of(row[layout_a]), t.layout_b = layout_of(row[layout_b]), t.layout_c = layout_of(row[layout_c]);
    choose_lds(t, row);
    t.offset_a = row[offset_a], t.offset_b = row[offset_b], t.offset_c = row[offset_c];
    t.alpha = alphas[static_cast<std::size_t>(row[alpha])];
    t.beta = betas[static_cast<std::size_t>(row[beta])];
    t.fill = fill::integer;
    t.seed = seed_for(row[end_a] == 1, row[end_b] == 1, row[end_c] == 1);
    t.source = std::move(source);
    return fitted(std::move(t));
  }

  /// t within the kernel's limits, its longest side halved until the kernel gets a problem of its size.
  test_case fitted(test_case t) {
    t = within(kernel_.limits, std::move(t));
    while (flops(t) > kernel_.flop_budget && std::max({t.m, t.n, t.k}) > 1) {
      auto& longest = t.m >= t.n && t.m >= t.k ? t.m : t.n >= t.k ? t.n : t.k;
      auto const before = longest;
      longest /= 2;
      retighten(t);
      t = within(kernel_.limits, std::move(t));
      if (longest >= before) break;
    }
    return t;
  }

  /// Everything aligned, which is when kernels take their wide loads.
  static void align(covering_row& row) {
    row[ld_a] = row[ld_b] = row[ld_c] = 3;
    row[offset_a] = row[offset_b] = row[offset_c] = 0;
  }

  void retighten(test_case& t) {
    t.lda = std::max(t.lda, tight_lda(t)), t.ldb = std::max(t.ldb, tight_ldb(t)), t.ldc = std::max(t.ldc, tight_ldc(t));
  }

  /// Drawn, one row in four aligned.
  covering_row any_choices() {
    covering_row row;
    for (auto const count : levels_of_factor)
      row.push_back(static_cast<int>(random_.below(static_cast<std::uint64_t>(count))));
    if (once_in(4)) align(row);
    return row;
  }

  /// Everything but the sizes drawn.
  test_case drawn(sizes const& s, std::string source) {
    auto t = chosen(any_choices(), s, std::move(source));
    if (once_in(32)) t.alpha = 0;
    return fitted(std::move(t));
  }

  /// What stands beside a size that is tested: mostly small, at times a whole tile or near it.
  std::int64_t beside(std::size_t dimension) {
    auto const which = random_.below(16);
    if (which == 0) return 1;
    if (which < 4) return between(2, 9);
    if (which < 10) return between(10, 40);
    if (which < 13) return between(41, 140);
    return pick(edges_[dimension]) + between(-1, 1);
  }

  /// `size` in one dimension and others beside it within so many flop.
  sizes with_neighbours(std::size_t dimension, std::int64_t size, double most_flops) {
    sizes s{beside(0), beside(1), beside(2)};
    s[dimension] = size;
    while (flops_of(s) > most_flops) {
      auto& one = s[(dimension + 1) % 3];
      auto& other = s[(dimension + 2) % 3];
      auto& larger = one > other ? one : other;
      if (larger == 1) break;
      larger = (larger + 1) / 2;
    }
    return s;
  }

  /// Drawn, but for the transposes of the canonical problem (bit 0: A, bit 1: B).
  test_case with_transposes(int trans, sizes const& s, std::string source, bool aligned = false) {
    auto row = any_choices();
    if (aligned) align(row);
    row[trans_a] = trans % 2, row[trans_b] = trans / 2;
    row[layout_a] = row[layout_b] = row[layout_c];
    return chosen(row, s, std::move(source));
  }

  sizes usual_sizes() {
    sizes s{};
    for (std::size_t d = 0; d < 3; ++d) s[d] = size_of_class(static_cast<int>(random_.below(size_classes)), d);
    return s;
  }

  /// Sizes that make a kernel with tiles take its large paths, whichever they are.
  sizes large_sizes() {
    sizes s{};
    for (std::size_t d = 0; d < 3; ++d) s[d] = pick(edges_[d]) + between(0, 40);
    return s;
  }

  /// Drawn choices, but with each operand at the start of its pages: the same address whatever the size.
  test_case at_start(sizes const& s, std::string source) {
    auto row = any_choices();
    row[end_a] = row[end_b] = row[end_c] = 0;
    return chosen(row, s, std::move(source));
  }

 private:
  void choose_lds(test_case& t, covering_row const& row) {
    static constexpr std::array<std::int64_t, 5> gaps{2, 3, 5, 13, 67};
    std::array const tight{tight_lda(t), tight_ldb(t), tight_ldc(t)};
    std::array const runs{storage_a(t).outer(), storage_b(t).outer(), storage_c(t).outer()};
    auto const widest = *std::ranges::max_element(tight);
    std::array<std::int64_t, 3> ld{};
    for (std::size_t i = 0; i < 3; ++i) {
      std::int64_t power = 64;
      while (power <= 2 * tight[i]) power *= 2;
      constexpr std::int64_t most_elements = 1 << 21;  // a gap costs as much as an element
      bool const wide = runs[i] * std::max(power, widest) > most_elements;
      switch (row[ld_a + i]) {
        case 0: ld[i] = tight[i]; break;
        case 1: ld[i] = tight[i] + 1; break;
        case 2: ld[i] = (tight[i] + pick(gaps)) | 1; break;
        case 3: ld[i] = (tight[i] + (once_in(2) ? 15 : 16)) / 16 * 16; break;
        case 4: ld[i] = wide ? tight[i] + 8 : power; break;
        default: ld[i] = wide ? tight[i] : widest; break;
      }
    }
    t.lda = ld[0], t.ldb = ld[1], t.ldc = ld[2];
  }

  candidate const& kernel_;
  random random_;
  kernel row_;
  std::array<std::vector<std::int64_t>, 3> edges_;  // that may matter in m, n and k
};

}  // namespace tandem::harness::exact
