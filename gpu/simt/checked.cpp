// The table's rows in sessions: checked one by one, or counted.
#include <tandem/simt/kernels.hpp>

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/describe.hpp"
#include "gpu/simt/rows.hpp"

namespace tandem::simt {
namespace {

// What is thrown for what a session found.
void throw_findings(session const& watched) {
  auto const found = watched.findings();
  if (found.empty()) return;
  std::string all;
  for (auto const& f : found) all += (all.empty() ? "" : "\n") + to_string(f);
  throw kernel_defect(all);
}

template <class Row, class Problem>
void run_checked(Row const& row, Problem const& p) {
  session watched({.operands = operands_of(p)});
  try {
    row.launch(p, nullptr);
  } catch (error const&) {
    throw_findings(watched);  // tells more of a deadlock
    throw;
  }
  throw_findings(watched);
}

// The blocks that differ in more than where they lie, for a launch with one block for each tile of C: by how much of
// its tile lies in C, and by where in a sector its rows of each operand begin.
std::vector<block_class> block_classes(gpu::tiling const& t, problem const& p, index3 grid) {
  std::int64_t const tiles_m = (p.m + t.bm - 1) / t.bm, tiles_n = (p.n + t.bn - 1) / t.bn;
  if (grid.z != 1 || grid.y != tiles_m || grid.x != tiles_n) return {};
  auto const size = static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t sector = 32;

  // In each dimension: the tiles with the same extent, and shifts of an operand and of C that end in the same bytes.
  struct member {
    std::int64_t tile, operand_shift, c_shift;
  };
  using classes = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<member>>;
  auto const classify = [&](std::int64_t tiles, std::int64_t extent, int edge, std::int64_t operand_step,
                            std::int64_t c_step) {
    classes all;
    for (std::int64_t i = 0; i < tiles; ++i) {
      member const each{i, i * edge * operand_step * size, i * edge * c_step * size};
      all[{std::min<std::int64_t>(edge, extent - i * edge), each.operand_shift % sector, each.c_shift % sector}]
          .push_back(each);
    }
    return all;
  };
  auto const rows = classify(tiles_m, p.m, t.bm, p.trans_a ? 1 : p.lda, p.ldc);
  auto const cols = classify(tiles_n, p.n, t.bn, p.trans_b ? p.ldb : 1, 1);

  std::vector<block_class> chosen;
  for (auto const& [row_key, row] : rows)
    for (auto const& [col_key, col] : cols) {
      block_class c;
      c.block = {static_cast<unsigned>(col[0].tile), static_cast<unsigned>(row[0].tile), 0};
      c.members = row.size() * col.size();
      c.shifts.resize(3);
      for (auto const& r : row) c.shifts[0].push_back(r.operand_shift - row[0].operand_shift);
      for (auto const& each : col) c.shifts[1].push_back(each.operand_shift - col[0].operand_shift);
      for (auto const& r : row)
        for (auto const& each : col) c.shifts[2].push_back(r.c_shift + each.c_shift - row[0].c_shift - col[0].c_shift);
      chosen.push_back(std::move(c));
    }
  return chosen;
}

gpu::gemm_row const& find_row(std::string_view name) {
  auto const dot = std::min(name.find('.'), name.size());
  auto const backend = name.substr(0, dot);
  if (backend == "gpu" || backend == "simt") {
    auto const wanted = "simt" + std::string(name.substr(dot));
    auto const& rows = checked_kernels();
    auto const at = std::ranges::find(rows, wanted, &kernel::name);
    auto const index = at - rows.begin();
    auto const& table = *(checked_rows() != nullptr ? checked_rows() : &plain_rows());
    if (index < table.gemm_count) return table.gemm[index];
  }
  throw error(errc::unknown_kernel, fmt::format("'{}' is no GEMM kernel that the SIMT executor runs", name));
}

}  // namespace

std::string checked_unavailable() {
  auto const* const why = no_checked_rows();
  return why == nullptr ? "" : why;
}

std::vector<kernel> const& checked_kernels() {
  static auto const& all = *new std::vector<kernel>([] {
    auto rows = gpu::describe(
        checked_rows() != nullptr ? *checked_rows() : plain_rows(),
        {.backend = backend::simt,
         .device = false,
         .flop_budget = 1e7,
         .run = [](gpu::gemm_row const& row, problem const& p, execution const&) { run_checked(row, p); },
         .run_axpy = [](gpu::axpy_row const& row, axpy_problem const& p, execution const&) { run_checked(row, p); }});
    for (auto& row : rows) row.unavailable = checked_unavailable;
    return rows;
  }());
  return all;
}

std::vector<operand> operands_of(problem const& p) {
  auto const size = size_of(p.dtype);
  return {{"A", p.a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.lda, size, false},
          {"B", p.b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.ldb, size, false},
          {"C", p.c, p.m, p.n, p.ldc, size, true}};
}

std::vector<operand> operands_of(axpy_problem const& p) {
  auto const size = size_of(p.dtype);
  auto const vector = [&](char const* name, void const* data, std::int64_t stride, bool writable) {
    auto const* const bytes = static_cast<char const*>(data);
    auto const first = stride < 0 ? (p.n - 1) * stride : 0;
    return operand{name,
                   bytes + first * static_cast<std::int64_t>(size),
                   stride == 0 ? 1 : p.n,
                   1,
                   stride < 0 ? -stride : stride,
                   size,
                   writable};
  };
  return {vector("x", p.x, p.stride_x, false), vector("y", p.y, p.stride_y, true)};
}

counts count_accesses(std::string_view name, problem const& p, sampling blocks) {
  auto const& row = find_row(name);
  if (auto const why = checked_unavailable(); !why.empty())
    throw error(errc::unavailable, fmt::format("{}: {}", name, why));
  if (row.dtype != p.dtype)
    throw error(errc::unsupported,
                fmt::format("{} computes in {}, not {}", name, to_string(row.dtype), to_string(p.dtype)));
  session_options options{.check = false, .count = true, .operands = operands_of(p)};
  if (blocks == sampling::classes && row.cut_k == nullptr)  // one block for each tile of C
    options.sample = [&](index3 grid, index3) { return block_classes(row.tiling, p, grid); };
  session watched(std::move(options));
  row.launch(p, nullptr);
  throw_findings(watched);
  return watched.counts();
}

}  // namespace tandem::simt
