// The cost model, in time of one fused multiply-add of vectors (`steps`): what a grid of threads costs is what its
// slowest part costs, and what it takes to wake the others.
#include "cpu/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::cpu {
namespace {

double as_double(std::int64_t x) { return static_cast<double>(x); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Steps of a microsecond: one a cycle at 3.5 GHz.
constexpr double microsecond = 3500;

/// Waking a team, which mostly still watches for work.
double waking(int parts) { return parts == 1 ? 0 : (2 + 0.2 * parts) * microsecond; }

/// A block's steps for one term: its tiles, each with some loads and a turn of the loop of its own, and a row of A to
/// pack.
double steps(std::int64_t rows, double vectors, tiling const& t) {
  double const tiles = as_double(ceil_div(rows, t.rows));
  return vectors * (as_double(rows) + 1.5 * tiles) + (t.pack_a ? 0.35 * as_double(rows) : 0);
}

}  // namespace

template <class T>
tiling choose_tiling(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  tiling t;
  auto const b = choose_blocking(caches, size, kernel.mr, kernel.nr, o.m, o.n, o.k);
  t.kc = b.kc, t.mc = b.mc;
  t.rows = kernel.mr, t.cols = kernel.nr;
  // All rows in one tile leave registers for wider ones, which read longer stretches of B.
  if (o.m <= kernel.rows[4]) t.cols = 4 * kernel.lanes;
  // A small block of A that is used a few times is read from L1 wherever it lies.
  std::int64_t const uses = ceil_div(o.n, t.cols);
  bool const near = std::min(t.mc, o.m) * t.kc * size <= caches.l1 && (o.a_row * size) % 2048 != 0;
  t.pack_a = o.m > kernel.mr && uses > (near ? 8 : 2);
  return t;
}

template <class T>
grid choose_grid(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, int threads) {
  double const halves = as_double(ceil_div(2 * o.n, kernel.lanes));  // half vectors of a row of C
  double const k = as_double(o.k);
  grid best;
  double best_cost = steps(o.m, halves / 2, t) * k;
  if (best_cost < 2 * waking(2)) return best;
  auto const consider = [&](grid const& g) {
    double const share = std::ceil(halves / g.cols) / 2;
    auto const panels = ceil_div(o.k, t.kc);
    double cost = steps(ceil_div(o.m, g.rows), share, t) * as_double(ceil_div(panels, g.terms) * t.kc);
    cost += waking(g.parts());
    // Sums apart are written once and read once.
    if (g.terms > 1) cost += waking(g.parts()) + 4 * as_double(o.m) * halves / 2 * as_double(panels) / g.parts();
    if (cost < best_cost) best = g, best_cost = cost;
  };
  for (int rows = 1; rows <= threads && rows <= o.m; ++rows)
    for (int cols = 1; rows * cols <= threads && cols <= ceil_div(o.n, kernel.lanes); ++cols) {
      consider({rows, cols, 1});
      int const terms = static_cast<int>(std::min<std::int64_t>(threads / (rows * cols), ceil_div(o.k, t.kc)));
      if (terms > 1) consider({rows, cols, terms});
    }
  return best;
}

template tiling choose_tiling(cache_sizes const&, microkernel<float> const&, operands<float> const&);
template tiling choose_tiling(cache_sizes const&, microkernel<double> const&, operands<double> const&);
template grid choose_grid(microkernel<float> const&, operands<float> const&, tiling const&, int);
template grid choose_grid(microkernel<double> const&, operands<double> const&, tiling const&, int);

}  // namespace tandem::cpu
