// Names and plans of the GPU kernels' rows.
#include "gpu/describe.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace tandem::gpu {
namespace {

k_cut cut_of(gemm_row const& row, problem const& p) { return row.cut_k != nullptr ? row.cut_k(p) : k_cut{}; }

// As the tiles lie in C.
tiling tiling_of(gemm_row const& row, k_cut const& cut) {
  auto t = row.tiling;
  if (cut.on_its_side) std::swap(t.bm, t.bn), std::swap(t.wm, t.wn), std::swap(t.tm, t.tn);
  return t;
}

plan plan_of(gemm_row const& row, problem const& p) {
  auto const cut = cut_of(row, p);
  auto const t = tiling_of(row, cut);
  // Without a step in k nothing is kept between the memory and a thread's registers. C stays there throughout.
  char const* const block_memory = t.bk != 0 ? "shared" : "L2";
  plan all{{{.name = "block", .m = t.bm, .n = t.bn, .k = t.bk, .memory = block_memory, .keeps_c = true},
            {.name = "warp", .m = t.wm, .n = t.wn, .k = t.bk / t.groups, .memory = block_memory, .keeps_c = true},
            {.name = "thread", .m = t.tm, .n = t.tn, .k = 1, .memory = "registers", .keeps_c = true}}};
  if (cut.unit != nullptr)
    all.levels.insert(all.levels.begin(),
                      {.name = cut.unit, .m = t.bm, .n = t.bn, .k = cut.length, .memory = "L2", .keeps_c = false});
  return all;
}

std::string refusal(gemm_row const& row, problem const& p) {
  constexpr std::int64_t most_tiles = 0x7fffffff;  // blocks in x
  bool const on_its_side = cut_of(row, p).on_its_side;
  if (std::int64_t const in_x = on_its_side ? p.m : p.n; in_x / row.tiling.bn >= most_tiles)
    return fmt::format("{} {} is over 2^31 - 1 tiles", on_its_side ? 'm' : 'n', in_x);
  if (row.one_line && p.m != 1 && p.n != 1) return fmt::format("C is {}x{}: not one row or one column", p.m, p.n);
  if (row.most_k != 0 && p.k > row.most_k) return fmt::format("k {} > {}", p.k, row.most_k);
  if (row.most_elements == 0) return {};
  auto const of_operand = [&](char const* name, std::int64_t lines, std::int64_t ld, std::int64_t length) {
    // Not multiplied out, which could overflow.
    bool const fits = length <= row.most_elements && (lines <= 1 || ld <= (row.most_elements - length) / (lines - 1));
    return fits ? std::string()
                : fmt::format("{} spans {} lines of {} elements, ld {}: more than the {} that a texture takes", name,
                              lines, length, ld, row.most_elements);
  };
  auto const why = of_operand("A", p.trans_a ? p.k : p.m, p.lda, p.trans_a ? p.m : p.k);
  return why.empty() ? of_operand("B", p.trans_b ? p.n : p.k, p.ldb, p.trans_b ? p.k : p.n) : why;
}

}  // namespace

std::string row_name(gemm_row const& row) {
  auto const& t = row.tiling;
  return fmt::format("{}.{}.{}x{}{}", row.technique, to_string(row.dtype), t.bm, t.bn,
                     t.bk != 0 ? fmt::format("x{}", t.bk) : "");
}

std::vector<kernel> describe(row_table const& table, row_runner const& runner) {
  std::vector<kernel> kernels;
  for (auto const* row = table.gemm; row != table.gemm + table.gemm_count; ++row) {
    kernel k;
    k.name = fmt::format("{}.{}", to_string(runner.backend), row_name(*row));
    k.backend = runner.backend;
    k.dtype = row->dtype;
    k.device = runner.device;
    k.flop_budget = std::min(row->flop_budget, runner.flop_budget);
    k.concurrent = true;
    k.run = [row, run = runner.run](problem const& p, execution const& how) { run(*row, p, how); };
    k.refuses = [row](problem const& p) { return refusal(*row, p); };
    k.plan = [row](problem const& p) { return plan_of(*row, p); };
    if (runner.models != nullptr)
      k.cost = [row, at = static_cast<std::size_t>(row - table.gemm), models = runner.models,
                multiprocessors = runner.multiprocessors, code_version = runner.code_version](problem const& p) {
        bool const runs = code_version == nullptr || row->least_code <= code_version();
        return runs ? models().cost(at, p, multiprocessors()) : std::numeric_limits<double>::infinity();
      };
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
