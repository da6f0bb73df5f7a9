// The five loops around the microkernel (Goto and van de Geijn 2008): jc, pc, ic cut the problem into blocks that fit
// the caches and are packed once; jr, ir walk a block in register tiles.
//
// k is cut into panels of kc. The first panel computes fma(alpha, sum, beta C), every later one fma(alpha, sum, C). A
// product of the first panel is rounded once in each of its kc sums and once by each panel; without a fused operation
// once more, for alpha * sum: at most k + 2 roundings, as the bound gamma(k + 2) demands.
#include "cpu/gemm.hpp"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "cpu/blocking.hpp"
#include "cpu/workspace.hpp"

namespace tandem::cpu {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Worker `index`'s share of `count` things split evenly among `workers`.
struct share {
  share(std::int64_t count, std::int64_t index, std::int64_t workers)
      : first(count * index / workers), last(count * (index + 1) / workers) {}
  std::int64_t first, last;
};

/// How many threads a product deserves: below about 4 us of work for each, waking them costs more than they bring.
int choose_threads(problem const& p, execution const& e) {
  if (omp_in_parallel()) return 1;
  int const offered = e.threads > 0 ? e.threads : omp_get_max_threads();
  double const worth = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / 5e5;
  return worth < offered ? std::max(1, static_cast<int>(worth)) : offered;
}

/// A grid of threads over the rows and columns of C. Rows come first, since threads side by side in a row of the grid
/// pack the same A; columns serve where there are fewer panels of rows than threads.
struct thread_grid {
  thread_grid(std::int64_t threads, std::int64_t row_panels) {
    rows = std::min(threads, row_panels);
    while (threads % rows != 0) --rows;
    cols = threads / rows;
  }
  std::int64_t rows, cols;
};

template <class T>
blocking blocks(microkernel<T> const& kernel, problem const& p) {
  return choose_blocking(host_caches(), sizeof(T), kernel.mr, kernel.nr, p.m, p.n, p.k);
}

}  // namespace

template <class T>
void gemm(microkernel<T> const& kernel, problem const& p, execution const& e) {
  auto const [mr, nr] = std::pair(kernel.mr, kernel.nr);
  auto const [mc, kc, nc] = blocks(kernel, p);
  T const alpha = static_cast<T>(p.alpha);
  T const *const a = static_cast<T const*>(p.a), *const b = static_cast<T const*>(p.b);
  T* const c = static_cast<T*>(p.c);
  std::int64_t const a_row = p.trans_a ? 1 : p.lda, a_col = p.trans_a ? p.lda : 1;
  std::int64_t const b_row = p.trans_b ? 1 : p.ldb, b_col = p.trans_b ? p.ldb : 1;

  // Everything that can fail happens before C is touched: one block of B for all, one of A for each thread.
  int const offered = choose_threads(p, e);
  std::int64_t const line = workspace::alignment / sizeof(T);
  std::int64_t const b_size = ceil_div(kc * nc, line) * line, a_size = ceil_div(kc * mc, line) * line;
  T* const packed_b =
      static_cast<T*>(thread_workspace().reserve(static_cast<std::size_t>(b_size + offered * a_size) * sizeof(T)));

#pragma omp parallel num_threads(offered)
  {
    std::int64_t const threads = omp_get_num_threads(), thread = omp_get_thread_num();
    T* const packed_a = packed_b + b_size + thread * a_size;
    thread_grid const grid(threads, ceil_div(p.m, mr));
    share const row_panels(ceil_div(p.m, mr), thread / grid.cols, grid.rows);
    std::int64_t const m0 = row_panels.first * mr, m1 = std::min(row_panels.last * mr, p.m);

    for (std::int64_t jc = 0; jc < p.n; jc += nc) {
      std::int64_t const nb = std::min(nc, p.n - jc), panels = ceil_div(nb, nr);
      share const col_panels(panels, thread % grid.cols, grid.cols);
      for (std::int64_t pc = 0; pc < p.k; pc += kc) {
        std::int64_t const kb = std::min(kc, p.k - pc);
        T const beta = pc == 0 ? static_cast<T>(p.beta) : T(1);
#pragma omp barrier  // the block of B packed before is no longer read
        share const mine(panels, thread, threads);
        if (std::int64_t const j0 = mine.first * nr, j1 = std::min(mine.last * nr, nb); j0 < j1)
          kernel.pack_b(b + pc * b_row + (jc + j0) * b_col, b_col, b_row, j1 - j0, kb, packed_b + j0 * kb);
#pragma omp barrier  // the block of B is complete
        for (std::int64_t ic = m0; ic < m1; ic += mc) {
          std::int64_t const mb = std::min(mc, m1 - ic);
          kernel.pack_a(a + ic * a_row + pc * a_col, a_row, a_col, mb, kb, packed_a);
          for (std::int64_t jr = col_panels.first * nr; jr < std::min(col_panels.last * nr, nb); jr += nr)
            for (std::int64_t ir = 0; ir < mb; ir += mr)
              kernel.multiply(kb, packed_a + ir * kb, packed_b + jr * kb, alpha, beta, c + (ic + ir) * p.ldc + jc + jr,
                              p.ldc, std::min(mr, mb - ir), std::min(nr, nb - jr));
        }
      }
    }
  }
}

template <class T>
plan gemm_plan(microkernel<T> const& kernel, problem const& p) {
  auto const [mc, kc, nc] = blocks(kernel, p);
  return {{{.name = "jc", .m = 0, .n = nc, .k = 0, .memory = "memory"},
           {.name = "pc", .m = 0, .n = nc, .k = kc, .memory = "L3"},
           {.name = "ic", .m = mc, .n = nc, .k = kc, .memory = "L2"},
           {.name = "jr", .m = mc, .n = kernel.nr, .k = kc, .memory = "L1"},
           {.name = "register", .m = kernel.mr, .n = kernel.nr, .k = 1, .memory = "registers"}}};
}

template void gemm(microkernel<float> const&, problem const&, execution const&);
template void gemm(microkernel<double> const&, problem const&, execution const&);
template plan gemm_plan(microkernel<float> const&, problem const&);
template plan gemm_plan(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
