// The figures of one count as text and as JSON.
#include "tools/counted.hpp"

#include <fmt/format.h>

#include "tools/table.hpp"

namespace tandem::tools {
namespace {

using nlohmann::json;
using simt::access_counts;
using simt::access_kind;

constexpr std::uint64_t sector_bytes = 32;

bool is_copy(access_kind k) { return k == access_kind::async_copy; }

bool is_shared(access_kind k) {
  return k == access_kind::shared_load || k == access_kind::shared_store || k == access_kind::shared_atomic;
}

std::string words(access_kind k) {
  std::string text(to_string(k));
  text.replace(text.find('_'), 1, " ");
  return text;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Of shared memory the passes are what costs, of global memory the sectors; copies between them have both.
std::vector<std::string> line(std::string where, access_kind kind, std::string width, access_counts const& c) {
  auto const cost = is_shared(kind) ? c.wavefronts : c.sectors;
  return {std::move(where),
          words(kind),
          std::move(width),
          std::to_string(c.requests),
          fmt::format("{:.1f}", ratio(c.lanes, c.requests)),
          is_shared(kind) ? "-" : std::to_string(c.sectors),
          is_shared(kind) || is_copy(kind) ? std::to_string(c.wavefronts) : "-",
          fmt::format("{:.2f}", ratio(cost, c.requests)),
          is_shared(kind) || is_copy(kind) ? std::to_string(c.conflicts) : "-"};
}

std::string accesses(simt::counts const& counts) {
  std::vector<std::vector<std::string>> rows{
      {"line", "access", "bytes", "requests", "lanes", "sectors", "wavefronts", "a request", "conflicts"}};
  for (auto const& s : counts.sites)
    rows.push_back(line(fmt::format("{}:{}", s.where.file.empty() ? "?" : s.where.file, s.where.line), s.kind,
                        std::to_string(s.bytes), s.counts));
  for (std::size_t k = 0; k < simt::access_kinds; ++k)
    if (auto const& c = counts.total[k]; c.requests != 0)
      rows.push_back(line("all", static_cast<access_kind>(k), "-", c));
  return text_table(rows);
}

// What passes between levels of memory lies between these, by how much the nearer one keeps.
std::string traffic(simt::counts const& n) {
  auto const bytes = [](std::uint64_t sectors) { return std::to_string(sectors * sector_bytes); };
  std::uint64_t loads = 0, stores = 0;
  for (std::size_t k = 0; k < simt::access_kinds; ++k) {
    auto const kind = static_cast<access_kind>(k);
    if (kind != access_kind::global_store) loads += n.total[k].sectors;
    if (kind == access_kind::global_store || kind == access_kind::global_atomic) stores += n.total[k].sectors;
  }
  return text_table({{"bytes of sectors", "once a grid", "once a block", "every request"},
                     {"loaded", bytes(n.grid_sectors_loaded), bytes(n.block_sectors_loaded), bytes(loads)},
                     {"stored", bytes(n.grid_sectors_stored), bytes(n.block_sectors_stored), bytes(stores)}}) +
         "DRAM moves at least the first; L2 the second if L1 keeps what its block touches, the third if L1 keeps "
         "nothing.\n";
}

json to_json(access_counts const& c) {
  return {{"requests", c.requests}, {"lanes", c.lanes},           {"bytes", c.bytes},
          {"sectors", c.sectors},   {"wavefronts", c.wavefronts}, {"conflicts", c.conflicts}};
}

}  // namespace

std::string describe(counted const& c) {
  auto const& p = c.problem;
  auto const& n = c.counts;
  access_counts global, shared;
  for (std::size_t k = 0; k < simt::access_kinds; ++k)
    (is_shared(static_cast<access_kind>(k)) ? shared : global) += n.total[k];

  std::string text =
      fmt::format("{}  {}x{}x{} {}{}, lda {}, ldb {}, ldc {}, alpha {}, beta {}\n\n", c.kernel, p.m, p.n, p.k,
                  p.trans_a ? 't' : 'n', p.trans_b ? 't' : 'n', p.lda, p.ldb, p.ldc, p.alpha, p.beta);
  text += accesses(n) + '\n';
  text += fmt::format("blocks            {}, of which {} were run\n", n.blocks, n.blocks_run);
  text += fmt::format("multiply-adds     {}, fused\n", n.ffma + n.dfma);
  text += fmt::format("bytes asked for   {:.4g} of global memory a multiply-add, {:.4g} of shared memory\n",
                      ratio(global.bytes, n.ffma + n.dfma), ratio(shared.bytes, n.ffma + n.dfma));
  text += fmt::format("global memory     {:.2f} sectors a request\n", ratio(global.sectors, global.requests));
  text += fmt::format("shared memory     {:.2f} wavefronts a request; {:.1f} % of them are bank conflicts\n",
                      ratio(shared.wavefronts, shared.requests), 100 * ratio(shared.conflicts, shared.wavefronts));
  text += fmt::format("barriers          {}, {:.4g} a block\n", n.barriers, ratio(n.barriers, n.blocks));
  return text + '\n' + traffic(n);
}

json to_json(counted const& c) {
  auto const& p = c.problem;
  auto const& n = c.counts;
  json counts = {{"ffma", n.ffma},
                 {"dfma", n.dfma},
                 {"barriers", n.barriers},
                 {"block_sectors_loaded", n.block_sectors_loaded},
                 {"grid_sectors_loaded", n.grid_sectors_loaded},
                 {"block_sectors_stored", n.block_sectors_stored},
                 {"grid_sectors_stored", n.grid_sectors_stored}};
  for (std::size_t k = 0; k < simt::access_kinds; ++k)
    counts[std::string(to_string(static_cast<access_kind>(k)))] = to_json(n.total[k]);
  json sites = json::array();
  for (auto const& s : n.sites)
    sites.push_back({{"kernel", s.kernel},
                     {"file", s.where.file},
                     {"line", s.where.line},
                     {"kind", to_string(s.kind)},
                     {"bytes", s.bytes},
                     {"counts", to_json(s.counts)}});
  return {{"kernel", c.kernel},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"trans_a", p.trans_a ? "t" : "n"},
          {"trans_b", p.trans_b ? "t" : "n"},
          {"lda", p.lda},
          {"ldb", p.ldb},
          {"ldc", p.ldc},
          {"alpha", p.alpha},
          {"beta", p.beta},
          {"sampling", c.sampling == simt::sampling::all ? "all" : "classes"},
          {"launches", n.launches},
          {"blocks", n.blocks},
          {"blocks_run", n.blocks_run},
          {"counts", std::move(counts)},
          {"sites", std::move(sites)}};
}

}  // namespace tandem::tools
