// Names, plans and costs of the GPU kernels' rows.
#include "gpu/describe.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace tandem::gpu {
namespace {

std::string name(tandem::backend backend, gemm_row const& row) {
  auto const& t = row.tiling;
  return fmt::format("{}.{}.{}.{}x{}{}", to_string(backend), row.technique, to_string(row.dtype), t.bm, t.bn,
                     t.bk != 0 ? fmt::format("x{}", t.bk) : "");
}

plan plan_of(tiling const& t) {
  // Without a step in k nothing is kept between the memory and a thread's registers. C stays there throughout.
  char const* const block_memory = t.bk != 0 ? "shared" : "L2";
  return {{{.name = "block", .m = t.bm, .n = t.bn, .k = t.bk, .memory = block_memory, .keeps_c = true},
           {.name = "warp", .m = t.wm, .n = t.wn, .k = t.bk, .memory = block_memory, .keeps_c = true},
           {.name = "thread", .m = t.tm, .n = t.tn, .k = 1, .memory = "registers", .keeps_c = true}}};
}

// In multiply-adds of one multiprocessor: the blocks of the last round, and a block's elements outside C, count whole,
// so that a large tile wins only where it fills the machine.
double cost(gemm_row const& row, problem const& p, int parallel_blocks) {
  auto const& t = row.tiling;
  double const blocks = std::ceil(static_cast<double>(p.m) / t.bm) * std::ceil(static_cast<double>(p.n) / t.bn);
  double const rounds = std::ceil(blocks / std::max(parallel_blocks, 1));
  return rounds * t.bm * t.bn * static_cast<double>(p.k) / row.throughput;
}

}  // namespace

std::vector<kernel> describe(row_table const& table, row_runner const& runner) {
  std::vector<kernel> kernels;
  for (auto const* row = table.gemm; row != table.gemm + table.gemm_count; ++row) {
    kernel k;
    k.name = name(runner.backend, *row);
    k.backend = runner.backend;
    k.dtype = row->dtype;
    k.device = runner.device;
    k.flop_budget = std::min(row->flop_budget, runner.flop_budget);
    k.run = [row, run = runner.run](problem const& p, execution const& how) { run(*row, p, how); };
    k.refuses = [row](problem const& p) {
      constexpr std::int64_t most_tiles = 0x7fffffff;  // blocks in x
      return p.n / row->tiling.bn < most_tiles ? std::string() : fmt::format("n {} is over 2^31 - 1 tiles", p.n);
    };
    k.plan = [row](problem const&) { return plan_of(row->tiling); };
    k.cost = [row, blocks = runner.parallel_blocks](problem const& p) { return cost(*row, p, blocks()); };
    kernels.push_back(std::move(k));
  }
  for (auto const* row = table.axpy; row != table.axpy + table.axpy_count; ++row) {
    kernel k;
    k.name = fmt::format("{}.{}.{}", to_string(runner.backend), row->technique, to_string(row->dtype));
    k.backend = runner.backend;
    k.dtype = row->dtype;
    k.device = runner.device;
    k.flop_budget = std::min(row->flop_budget, runner.flop_budget);
    k.run_axpy = [row, run = runner.run_axpy](axpy_problem const& p, execution const& how) { run(*row, p, how); };
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace tandem::gpu
