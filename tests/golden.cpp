// What `tandem list` and `tandem tiles` print, held against files. After a wanted change:
//   TANDEM_UPDATE_GOLDEN=1 build/release/tests/test_golden
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

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

void check_golden(std::string const& text, std::string const& name) {
  std::string const path = "tests/golden/" + name;
  if (std::getenv("TANDEM_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  REQUIRE(!golden.str().empty());
  CHECK(text == golden.str());
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

TEST_SUITE_END();
