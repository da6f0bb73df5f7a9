// tandem check --level, --kernel-lib: one kernel after the other climbs the ladder.
#include "tools/ladder.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <tandem/harness/judge.hpp>

#include "tools/commands.hpp"
#include "tools/names.hpp"

namespace tandem::tools {
namespace {

/// "L2" or "exact".
harness::rung parse_rung(std::string const& word) {
  for (std::size_t r = 0; r < harness::rungs; ++r) {
    std::string const name(to_string(static_cast<harness::rung>(r)));  // "L2 exact"
    if (word == name || word == name.substr(0, 2) || word == name.substr(3)) return static_cast<harness::rung>(r);
  }
  throw std::invalid_argument(fmt::format("'{}' is no rung; there are L0 to L9", word));
}

/// Opened before the work, so that a wrong path costs nothing; not open when none was asked for.
std::ofstream open_file(std::string const& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  if (!file) throw std::runtime_error("cannot write " + path);
  return file;
}

void write(std::ofstream& file, std::string const& path, std::string const& text) {
  if (!path.empty() && !(file << text << '\n').flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

void add_ladder_options(CLI::App& app, ladder_arguments& o) {
  app.add_option("--level", o.level, "climb the verdict ladder with each kernel: quick, standard or full")
      ->check(CLI::IsMember({"quick", "standard", "full"}));
  app.add_option("--rungs", o.rungs, "only these rungs of the ladder, such as L1,L2");
  app.add_option("--junit", o.junit, "write the ladder's verdicts there, as JUnit does");
  app.add_option("--time-limit", o.time_limit, "seconds that a call may take, and 1 more for each 2e7 flop")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_candidate_options(app, o.kernel);
}

bool asks_for_ladder(ladder_arguments const& o) {
  return !o.level.empty() || !o.kernel.kernel_lib.empty() || !o.rungs.empty() || !o.junit.empty();
}

int climb_ladder(ladder_arguments const& o, std::string const& globs, std::uint64_t seed, double flop_budget,
                 std::string const& json) {
  harness::judge_options options;
  options.level = o.level.empty() ? harness::level::standard : harness::parse_level(o.level);
  options.seed = seed;
  options.time_limit = o.time_limit;
  for (auto const& word : split(o.rungs)) options.only.push_back(parse_rung(word));
  for (auto const* row : find_kernels("oracle,eigen,openblas", operation::gemm)) options.voters.push_back(*row);
  auto kernels = candidates(o.kernel, globs);
  if (kernels.empty()) throw std::invalid_argument("no kernel of this type");
  if (flop_budget != 0)
    for (auto& kernel : kernels) kernel.flop_budget = flop_budget, kernel.budget_follows_speed = false;
  auto json_file = open_file(json), junit_file = open_file(o.junit);

  bool const terminal = isatty(STDERR_FILENO) != 0;
  std::vector<harness::judgement> judgements;
  int failed = 0, passed = 0, unavailable = 0;
  for (auto const& kernel : kernels) {
    if (terminal)
      options.progress = [&](harness::rung r, std::int64_t calls) {
        if (calls % 16 == 0) fmt::print(stderr, "\r\x1b[K{}: {}, {} calls", kernel.name, to_string(r), calls);
      };
    judgements.push_back(harness::judge(kernel, options));
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    auto const& j = judgements.back();
    fmt::print("{}\n", harness::to_text(j));
    switch (j.verdict()) {
      case harness::verdict::pass: ++passed; break;
      case harness::verdict::unavailable: ++unavailable; break;
      default: ++failed;
    }
  }
  write(json_file, json, harness::to_json(judgements));
  write(junit_file, o.junit, harness::to_junit(judgements));
  if (kernels.size() > 1)
    fmt::print("{} kernels: {} passed, {} did not, {} not there\n", kernels.size(), passed, failed, unavailable);
  return failed > 0 ? wrong : passed > 0 ? ok : nothing_run;
}

}  // namespace tandem::tools
