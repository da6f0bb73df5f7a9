// The five loops around the microkernel (Goto and van de Geijn 2008): jc, pc, ic cut the problem into blocks that fit
// the caches and are packed once; jr, ir walk a block in register tiles.
//
// k is cut into panels of kc. The first panel computes fma(alpha, sum, beta C), every later one fma(alpha, sum, C). A
// product of the first panel is rounded once in each of its kc sums and once by each panel; without a fused operation
// once more, for alpha * sum: at most k + 2 roundings, as the bound gamma(k + 2) demands.
#include "cpu/gemm.hpp"

#include <omp.h>

#include <algorithm>

#include "cpu/blocking.hpp"
#include "cpu/operands.hpp"
#include "cpu/threads.hpp"
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
  int const offered = offered_threads(e);
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

/// What the threads of one product share.
template <class T>
struct product {
  microkernel<T> const& kernel;
  problem const& p;
  operands<T> o;
  blocking block;
  T* packed_b;          ///< (nc / nr, kc, nr), one for all
  T* packed_a;          ///< (mc / mr, kc, mr) for each thread
  std::int64_t a_size;  ///< elements from one thread's to the next

  void compute(std::int64_t thread, std::int64_t threads) const;
  void multiply_block(share const& col_panels, std::int64_t ic, std::int64_t mb, std::int64_t jc, std::int64_t nb,
                      std::int64_t kb, T beta, T const* block_a) const;
};

/// Waits for the rest of the team. A call on one thread may stand in a caller's parallel region, whose barrier this
/// would be.
void meet(std::int64_t threads) {
  if (threads > 1) {
#pragma omp barrier
  }
}

/// Loops jc, pc, ic as one thread of a team runs them.
template <class T>
void product<T>::compute(std::int64_t thread, std::int64_t threads) const {
  auto const mr = kernel.mr, nr = kernel.nr;
  T* const block_a = packed_a + thread * a_size;
  thread_grid const grid(threads, ceil_div(p.m, mr));
  share const row_panels(ceil_div(p.m, mr), thread / grid.cols, grid.rows);
  std::int64_t const m0 = row_panels.first * mr, m1 = std::min(row_panels.last * mr, p.m);

  for (std::int64_t jc = 0; jc < p.n; jc += block.nc) {
    std::int64_t const nb = std::min(block.nc, p.n - jc), panels = ceil_div(nb, nr);
    share const col_panels(panels, thread % grid.cols, grid.cols), packed(panels, thread, threads);
    std::int64_t const j0 = packed.first * nr, j1 = std::min(packed.last * nr, nb);
    for (std::int64_t pc = 0; pc < p.k; pc += block.kc) {
      std::int64_t const kb = std::min(block.kc, p.k - pc);
      if (jc + pc > 0) meet(threads);  // the block of B packed before is no longer read
      if (j0 < j1)
        kernel.pack_b(o.b + pc * o.b_row + (jc + j0) * o.b_col, o.b_col, o.b_row, j1 - j0, kb, packed_b + j0 * kb);
      meet(threads);  // the block of B is complete
      for (std::int64_t ic = m0; ic < m1; ic += block.mc) {
        std::int64_t const mb = std::min(block.mc, m1 - ic);
        kernel.pack_a(o.a + ic * o.a_row + pc * o.a_col, o.a_row, o.a_col, mb, kb, block_a);
        multiply_block(col_panels, ic, mb, jc, nb, kb, pc == 0 ? o.beta : T(1), block_a);
      }
    }
  }
}

/// Loops jr, ir: a packed block of A times this thread's panels of the packed block of B.
template <class T>
void product<T>::multiply_block(share const& col_panels, std::int64_t ic, std::int64_t mb, std::int64_t jc,
                                std::int64_t nb, std::int64_t kb, T beta, T const* block_a) const {
  auto const mr = kernel.mr, nr = kernel.nr;
  std::int64_t const last = std::min(col_panels.last * nr, nb);
  for (std::int64_t jr = col_panels.first * nr; jr < last; jr += nr)
    for (std::int64_t ir = 0; ir < mb; ir += mr)
      kernel.multiply(kb, block_a + ir * kb, packed_b + jr * kb, o.alpha, beta, o.c + (ic + ir) * p.ldc + jc + jr,
                      p.ldc, std::min(mr, mb - ir), std::min(nr, nb - jr));
}

}  // namespace

template <class T>
void gemm(microkernel<T> const& kernel, problem const& p, execution const& e) {
  // Everything that can fail happens before C is touched: one block of B for all, one of A for each thread.
  blocking const block = blocks(kernel, p);
  int const threads = choose_threads(p, e);
  std::int64_t const line = 64 / sizeof(T);  // vectors are loaded aligned, and threads share no cache line
  std::int64_t const b_size = ceil_div(block.kc * block.nc, line) * line;
  std::int64_t const a_size = ceil_div(block.kc * block.mc, line) * line;
  auto const bytes = static_cast<std::size_t>(b_size + threads * a_size) * sizeof(T);
  T* const packed = static_cast<T*>(thread_workspace().reserve(bytes));
  product<T> const work{kernel, p, operands<T>(p), block, packed, packed + b_size, a_size};
  if (threads == 1) return work.compute(0, 1);
#pragma omp parallel num_threads(threads)
  work.compute(omp_get_thread_num(), omp_get_num_threads());
}

template <class T>
plan gemm_plan(microkernel<T> const& kernel, problem const& p) {
  blocking const b = blocks(kernel, p);
  return {{{.name = "jc", .m = 0, .n = b.nc, .k = 0, .memory = "memory"},
           {.name = "pc", .m = 0, .n = b.nc, .k = b.kc, .memory = "L3"},
           {.name = "ic", .m = b.mc, .n = b.nc, .k = b.kc, .memory = "L2"},
           {.name = "jr", .m = b.mc, .n = kernel.nr, .k = b.kc, .memory = "L1"},
           {.name = "register", .m = kernel.mr, .n = kernel.nr, .k = 1, .memory = "registers", .keeps_c = true}}};
}

template void gemm(microkernel<float> const&, problem const&, execution const&);
template void gemm(microkernel<double> const&, problem const&, execution const&);
template plan gemm_plan(microkernel<float> const&, problem const&);
template plan gemm_plan(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
