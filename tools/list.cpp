// tandem list: backends and kernels, there or why not, and their tiling.
#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "tools/commands.hpp"
#include "tools/table.hpp"

namespace tandem::tools {
namespace {

// The tiling of this problem is shown: large enough that no edge is clipped.
constexpr std::int64_t shown_size = 8192;

std::string edges(tile_level const& level) {
  auto const edge = [](std::int64_t e) { return e == 0 ? std::string("-") : std::to_string(e); };
  return fmt::format("{} {}x{}x{}", level.name, edge(level.m), edge(level.n), edge(level.k));
}

std::string tiling(kernel const& row) {
  if (!row.plan) return "-";
  problem p;
  p.dtype = row.dtype;
  p.m = p.n = p.k = shown_size;
  p.lda = p.ldb = p.ldc = shown_size;
  std::string text;
  for (auto const& level : row.plan(p).levels) text += (text.empty() ? "" : " > ") + edges(level);
  return text;
}

int list() {
  std::vector<std::vector<std::string>> rows{{"backend", "status", "what stands behind it"}};
  for (auto const& b : backends())
    rows.push_back(
        {std::string(to_string(b.backend)), b.available ? "available" : "unavailable: " + b.reason, b.version});
  fmt::print("{}\n", text_table(rows));

  auto const choice = tuning();
  fmt::print("gpu's choice among its kernels: {}; tuning file {}: {}\n\n", choice.models,
             choice.path.empty() ? "nowhere" : choice.path, choice.used ? "used" : "not used, " + choice.ignored);

  rows = {{"kernel", "status", fmt::format("tiling, m x n x k (at {0} x {0} x {0})", shown_size)}};
  auto const infos = kernels();
  auto const& table = kernel_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    rows.push_back(
        {infos[i].name, infos[i].available ? "available" : "unavailable: " + infos[i].reason, tiling(table[i])});
  fmt::print("{}", text_table(rows));
  return ok;
}

}  // namespace

action add_list(CLI::App&) { return list; }

}  // namespace tandem::tools
