// What `tandem list`, `tandem tiles` and `tandem count` print, held against files. After a wanted change:
//   TANDEM_UPDATE_GOLDEN=1 build/release/tests/test_golden
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tandem/simt/kernels.hpp>

#include "tests/support.hpp"

namespace {

// Tilings follow the caches, so these are fixed.
std::string run(std::string const& arguments) {
  setenv("TANDEM_CACHES", "48K,1M,32M", 1);
  auto const result = tandem::tests::run_tandem(arguments);
  unsetenv("TANDEM_CACHES");
  REQUIRE(result.exit_code == 0);
  return result.out;
}

// The table's cells by line, without the one that tells what this machine has. Two blanks or more end a cell.
std::string without_column(std::string const& table, std::size_t dropped) {
  std::istringstream in(table);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    std::string kept;
    std::size_t column = 0;
    for (std::size_t begin = 0; begin < line.size(); ++column) {
      auto const end = std::min(line.find("  ", begin), line.size());
      if (column != dropped) kept += (kept.empty() ? "" : " | ") + line.substr(begin, end - begin);
      begin = std::min(line.find_first_not_of(' ', end), line.size());
    }
    text += kept + '\n';
  }
  return text;
}

bool updating() { return std::getenv("TANDEM_UPDATE_GOLDEN") != nullptr; }

// The golden file, after it became this text where that was asked for.
std::string golden(std::string const& text, std::string const& name) {
  std::string const path = "tests/golden/" + name;
  if (updating()) std::ofstream(path) << text;
  std::ostringstream file;
  file << std::ifstream(path).rdbuf();
  REQUIRE(!file.str().empty());
  return file.str();
}

void check_golden(std::string const& text, std::string const& name) { CHECK(text == golden(text, name)); }

// Each entry of a file of counts by kernel and problem. Lines of the source move with every comment, so they are left
// out.
std::map<std::string, nlohmann::json> entries_of(std::string const& text) {
  std::map<std::string, nlohmann::json> entries;
  for (auto& entry : nlohmann::json::parse(text)) {
    for (auto& site : entry["sites"]) site.erase("line");
    auto name = entry["kernel"].get<std::string>();
    for (auto const* part : {"m", "n", "k", "trans_a", "trans_b", "lda", "ldb", "ldc"})
      name += " " + entry[part].dump();
    entries[name] = std::move(entry);
  }
  return entries;
}

bool can_count() {
  auto const why = tandem::simt::checked_unavailable();
  if (!why.empty()) tandem::tests::skip(why);
  return why.empty();
}

}  // namespace

TEST_SUITE_BEGIN("golden output");

TEST_CASE("tandem list names every kernel with its tiling") {
  auto const out = run("list");
  check_golden(without_column(out.substr(out.find("\nkernel") + 1), 1), "list.txt");
}

TEST_CASE("tandem tiles shows levels, edges, waste and traffic") {
  check_golden(run("tiles 1000 1000 1000"), "tiles_1000_1000_1000.txt");
  check_golden(run("tiles 129 7 4097 --dtype f64 --kernels 'gpu.*,cpu.avx512*'"), "tiles_129_7_4097_f64.txt");
}

TEST_CASE("tandem count shows each line's accesses, the sums, and what follows from them") {
  if (!can_count()) return;
  check_golden(run("count --kernel gpu.smem_tile.f64.16x16x16 129 131 137 --trans tt --ldc 140 --beta 2"),
               "count_smem_tile.txt");
}

// On a machine with a GPU, tests/gpu_counts.sh holds the same file against Nsight Compute.
TEST_CASE("every kernel's accesses are counted as before") {
  if (!can_count()) return;
  bool const all = tandem::tests::thorough() || updating();
  auto const text = run(
      fmt::format("count --kernel 'gpu.*' --cases tests/golden/{} --json -", all ? "counts.csv" : "counts_few.csv"));
  auto const counted = entries_of(text), wanted = entries_of(golden(text, "counts.json"));
  if (all)
    CHECK(counted.size() == wanted.size());
  else
    CHECK(counted.size() >= 50);
  for (auto const& each : counted) {  // clang captures no structured binding
    auto const& name = each.first;
    CAPTURE(name);
    CHECK(wanted.contains(name));
    if (wanted.contains(name)) CHECK(nlohmann::json::diff(wanted.at(name), each.second).dump() == "[]");
  }
}

TEST_SUITE_END();
