// tandem tiles: how each kernel cuts one problem, level by level, CPU and GPU side by side.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "tools/commands.hpp"
#include "tools/names.hpp"
#include "tools/table.hpp"

namespace tandem::tools {
namespace {

// The pieces of one dimension at one level: length -> how many. A level cuts each piece of the level above.
using pieces = std::map<std::int64_t, double>;

pieces cut(pieces const& outer, std::int64_t edge) {
  if (edge == 0) return outer;
  pieces inner;
  for (auto const& [length, count] : outer) {
    if (length >= edge) inner[edge] += count * static_cast<double>(length / edge);
    if (length % edge != 0) inner[length % edge] += count;
  }
  return inner;
}

double number_of(pieces const& p) {
  double sum = 0;
  for (auto const& [length, count] : p) sum += count;
  return sum;
}

struct dimension {
  pieces parts;
  std::int64_t edge = 0;  // of the whole tiles at this level

  void cut_to(std::int64_t wanted) {
    parts = cut(parts, wanted);
    edge = wanted != 0 ? wanted : parts.rbegin()->first;
  }
  double tiles() const { return number_of(parts); }
  double whole() const { return parts.contains(edge) ? parts.at(edge) : 0; }
};

std::string human(double bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

// One line of the table a level: what its tiles are, how many lie at an edge, and what they move.
//   waste      the share of the level's work if every edge tile is computed whole
//   traffic    bytes that the level takes in: each tile reads its part of A and B once, and C once for every step of k
//              that does not keep it
//   flop/byte  the whole problem's flop over that traffic
void add_levels(std::vector<std::vector<std::string>>& rows, kernel const& row, problem const& p) {
  auto const plan = row.plan ? row.plan(p) : tandem::plan{};
  if (plan.levels.empty()) rows.push_back({row.name, "(does not say)", "", "", "", "", "", "", "", ""});
  dimension m{{{p.m, 1.0}}, p.m}, n{{{p.n, 1.0}}, p.n}, k{{{p.k, 1.0}}, p.k};
  dimension c_steps = k;  // the steps of k that make C travel
  double const volume = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  auto const size = static_cast<double>(size_of(p.dtype));
  bool first = true;
  for (auto const& level : plan.levels) {
    m.cut_to(level.m);
    n.cut_to(level.n);
    k.cut_to(level.k);
    if (!level.keeps_c) c_steps.cut_to(level.k);
    auto const em = static_cast<double>(m.edge), en = static_cast<double>(n.edge), ek = static_cast<double>(k.edge);
    double const tiles = m.tiles() * n.tiles() * k.tiles();
    double const at_edge = tiles - m.whole() * n.whole() * k.whole();
    double const waste = 1 - volume / (tiles * em * en * ek);
    double const tile_bytes = (em * ek + ek * en + em * en) * size;
    auto const dm = static_cast<double>(p.m), dn = static_cast<double>(p.n), dk = static_cast<double>(p.k);
    double const traffic = (dm * dk * n.tiles() + dk * dn * m.tiles() + dm * dn * c_steps.tiles()) * size;
    rows.push_back({first ? row.name : "", level.name, fmt::format("{}x{}x{}", m.edge, n.edge, k.edge), level.memory,
                    fmt::format("{:.0f}", tiles), fmt::format("{:.0f}", at_edge), fmt::format("{:.1f} %", 100 * waste),
                    human(tile_bytes), human(traffic), fmt::format("{:.2f}", 2 * volume / traffic)});
    first = false;
  }
}

int tiles(std::int64_t m, std::int64_t n, std::int64_t k, std::string const& globs, dtype type) {
  problem p;
  p.dtype = type;
  p.m = m, p.n = n, p.k = k;
  p.lda = k, p.ldb = n, p.ldc = n;
  std::vector<std::vector<std::string>> rows{
      {"kernel", "level", "tile", "kept in", "tiles", "at an edge", "waste", "tile bytes", "traffic", "flop/byte"}};
  for (auto const* row : find_kernels(globs, operation::gemm))
    if (row->dtype == type) add_levels(rows, *row, p);
  fmt::print("C ({0} x {1}) = A ({0} x {2}) B ({2} x {1}), {3}: {4:.4g} Mflop, {5} of operands\n\n", m, n, k,
             to_string(type), 2e-6 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
             human((static_cast<double>(m) * static_cast<double>(k) + static_cast<double>(k) * static_cast<double>(n) +
                    static_cast<double>(m) * static_cast<double>(n)) *
                   static_cast<double>(size_of(type))));
  fmt::print("{}", text_table(rows));
  return rows.size() > 1 ? ok : nothing_run;
}

}  // namespace

action add_tiles(CLI::App& app) {
  struct options {
    std::vector<std::int64_t> sizes;
    std::string globs = "cpu,gpu";
    std::string type = "f32";
  };
  auto o = std::make_shared<options>();
  app.add_option("sizes", o->sizes, "M N K")->expected(3)->required()->check(CLI::PositiveNumber);
  app.add_option("--kernels", o->globs, "names, globs or backends, separated by commas")->capture_default_str();
  app.add_option("--dtype", o->type, "f32 or f64")->capture_default_str();
  return [o] { return tiles(o->sizes[0], o->sizes[1], o->sizes[2], o->globs, parse_dtype(o->type)); };
}

}  // namespace tandem::tools
