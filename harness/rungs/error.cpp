// L4: the componentwise bound over every kind of data, and how large the errors are in units of u (|A| |B|).
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "harness/measure.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

struct sizes {
  std::int64_t m, n, k;
};

// Small k, where the bound is sharp, on small and on large C, since a kernel may have a path of its own for either;
// large k, where a sum has time to go astray, thin and squarish.
constexpr std::array quick_sizes{sizes{40, 37, 1},    sizes{64, 64, 2},   sizes{52, 61, 7},  sizes{64, 48, 32},
                                 sizes{128, 128, 64}, sizes{64, 64, 512}, sizes{8, 9, 1024}, sizes{3, 4, 4096}};
constexpr std::array standard_sizes{
    sizes{33, 65, 3},     sizes{72, 80, 4},     sizes{128, 64, 8},   sizes{100, 100, 16},  sizes{256, 256, 32},
    sizes{512, 512, 16},  sizes{200, 136, 300}, sizes{96, 96, 4096}, sizes{16, 16, 16384}, sizes{5, 7, 65536},
    sizes{512, 512, 256}, sizes{3, 9, 20001},   sizes{24, 17, 5003}};
constexpr std::array full_sizes{sizes{1, 1, 1},       sizes{17, 1, 5},       sizes{1, 33, 9},
                                sizes{129, 127, 65},  sizes{31, 33, 100000}, sizes{2, 2, 1000000},
                                sizes{1024, 1024, 8}, sizes{768, 768, 768},  sizes{200, 200, 10000}};

// None that is a float's is left after a scalar of f64 has gone through one.
struct scalars {
  double alpha, beta;
};
constexpr std::array all_scalars{scalars{1, 0}, scalars{0.7, 0.3}, scalars{-1, 1}, scalars{1, 0}, scalars{2.7, -1.6}};

/// The index-th variation of transposes, storage and scalars: all four transposes with each of the scalars in 20.
test_case varied(test_case t, std::size_t index) {
  t.trans_a = index % 4 >= 2;
  t.trans_b = index % 2 == 1;
  t.alpha = all_scalars[index % all_scalars.size()].alpha;
  t.beta = all_scalars[index % all_scalars.size()].beta;
  auto const gap = static_cast<std::int64_t>(index % 3);
  t.lda = tight_lda(t) + gap, t.ldb = tight_ldb(t) + 2 * gap, t.ldc = tight_ldc(t) + gap;
  return t;
}

/// Where k is so long that threads may share it, several numbers of them.
int threads_for(candidate const& kernel, std::int64_t k, std::size_t index) {
  constexpr std::int64_t long_k = 4096;
  constexpr std::array counts{0, 4, 3, 1};
  return kernel.threaded && k >= long_k ? counts[index / all_scalars.size() % counts.size()] : 0;
}

std::string describe(error_statistics const& e, std::int64_t k) {
  return fmt::format("k = {}: max {:.2f} u, mean {:.2f} u, signed {:+.3f} +- {:.3f} u", k, e.max, e.mean(),
                     e.signed_mean(), e.standard_error());
}

/// Whether the errors of sums whose terms all have one sign point towards zero, nearly all and beyond doubt.
bool points_to_zero(error_statistics const& e) {
  return e.count >= 100 && e.signed_mean() < -10 * e.standard_error() && e.signed_mean() < -0.9 * e.mean();
}

std::vector<sizes> sizes_of(level l, std::vector<std::int64_t> const& k_blocks) {
  std::vector<sizes> all(quick_sizes.begin(), quick_sizes.end());
  if (l >= level::standard) all.insert(all.end(), standard_sizes.begin(), standard_sizes.end());
  if (l >= level::full) all.insert(all.end(), full_sizes.begin(), full_sizes.end());
  for (std::size_t b = 0; b < std::min<std::size_t>(k_blocks.size(), 3); ++b)
    all.push_back({17, 19, 2 * k_blocks[b] + 1});
  return all;
}

}  // namespace

template <element T>
void climb_error(context<T>& x) {
  auto const all = sizes_of(x.level(), x.k_blocks);
  double const oracle_budget = dtype_of<T> == dtype::f32 ? 4e7 : 1e7;
  std::size_t const rounds = x.level() == level::full ? 2 : 1;
  std::int64_t judged = 0, wrong = 0;
  double worst = 0;
  std::string worst_where, spread;
  for (auto const f : {fill::normal, fill::uniform, fill::cancellation, fill::graded, fill::absorption}) {
    if (f == fill::graded && x.kernel().precision == precision::f16) {
      x.add_fact("graded", "left out: beyond the range of f16");
      continue;
    }
    measurement shown;  // of alpha = 1, beta = 0, the one with the largest k of those with many elements
    double fill_worst = 0;
    for (std::size_t s = 0; s < all.size() * rounds && !x.enough(); ++s) {
      // Each round meets each size with another variation, and each fill too.
      auto const& [m, n, k] = all[s % all.size()];
      std::size_t const index = s + s / all.size() + static_cast<std::size_t>(f);
      auto t = varied(x.plain(m, n, k, f, x.seed(static_cast<std::uint64_t>(f), s)), index);
      t.threads = threads_for(x.kernel(), k, index);
      auto const found = measure(x, t, oracle_budget);
      if (!found.ran) continue;
      ++judged;
      if (!found.right) {
        ++wrong;
        x.fail(found.wrong);
      }
      fill_worst = std::max(fill_worst, found.ratios.componentwise);
      if (found.ratios.componentwise > worst) {
        worst = found.ratios.componentwise;
        worst_where = fmt::format("{}, k = {}", to_string(f), found.test.k);
      }
      bool const plain = found.test.alpha == 1 && found.test.beta == 0 && found.errors.count >= 1000;
      if (plain && found.test.k >= shown.test.k) shown = found;
    }
    if (shown.ran) {
      x.add_fact(std::string(to_string(f)),
                 fmt::format("{}; at worst {:.3g} of the bound", describe(shown.errors, shown.test.k), fill_worst));
      if (f == fill::uniform) {
        spread = describe(shown.errors, shown.test.k);
        if (points_to_zero(shown.errors))
          x.add_fact("sums", "errors point towards zero: sums are cut off, not rounded");
      }
    }
  }
  if (judged == 0) return;
  if (wrong > 0)
    x.set_summary(fmt::format("{} of {} problems break the bound, the worst {:.3g} times ({})", wrong, judged, worst,
                              worst_where));
  else
    x.set_summary(fmt::format("{} problems within the bound, at worst {:.3g} of it ({}); uniform {}", judged, worst,
                              worst_where, spread));
}

template void climb_error<float>(context<float>&);
template void climb_error<double>(context<double>&);

}  // namespace tandem::harness
