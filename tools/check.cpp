// tandem check: kernels on odd and real shapes, judged by the harness.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>
#include <tandem/harness/harness.hpp>
#include <tandem/simt/kernels.hpp>
#include <tandem/tandem.hpp>

#include "tools/commands.hpp"
#include "tools/ladder.hpp"
#include "tools/names.hpp"

namespace tandem::tools {
namespace {

namespace fs = std::filesystem;

struct check_arguments {
  std::string kernels = "*", against = "eigen,openblas,cublas", dtypes, trans, require, json, one_case, simt = "plain";
  std::vector<std::string> shapes;
  std::vector<std::int64_t> m, n, k;
  std::uint64_t seed = 1;
  int jobs = 1;
  double flop_budget = 0;
  ladder_arguments ladder;
};

// The shape files that come with the project: beside the build tree, or where it is installed.
std::vector<std::string> default_shape_files() {
  auto const here = fs::read_symlink("/proc/self/exe").parent_path();
  for (auto const& folder : {here / "../share/tandem/shapes", here / "../../shapes"}) {
    if (!fs::is_directory(folder)) continue;
    std::vector<std::string> files;
    for (auto const& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".csv") files.push_back(entry.path().lexically_normal().string());
    std::ranges::sort(files);
    return files;
  }
  throw std::runtime_error("no shapes folder near " + here.string() + "; name files with --shapes");
}

// Every combination of the sizes named, for each element type and transpose asked for.
std::vector<harness::shape> shapes_of_sizes(check_arguments const& o) {
  if (o.m.empty() || o.n.empty() || o.k.empty())
    throw std::invalid_argument("--m, --n and --k belong together; at least one of them is missing");
  std::vector<harness::shape> shapes;
  for (auto const& type : split(o.dtypes.empty() ? "f32,f64" : o.dtypes))
    for (auto const m : o.m)
      for (auto const n : o.n)
        for (auto const k : o.k)
          for (bool const trans_a : {false, true})
            for (bool const trans_b : {false, true}) {
              harness::shape s;
              s.m = m, s.n = n, s.k = k;
              s.dtype = parse_dtype(type);
              s.trans_a = trans_a, s.trans_b = trans_b;
              s.source = "command line";
              shapes.push_back(s);
            }
  return shapes;
}

std::vector<harness::test_case> wanted_cases(check_arguments const& o, std::vector<kernel> const& rows) {
  if (!o.one_case.empty()) return {harness::parse_case(o.one_case)};
  harness::case_options options;
  options.seed = o.seed;
  for (auto const& type : split(o.dtypes)) options.dtypes.push_back(parse_dtype(type));
  if (!o.trans.empty()) {
    options.trans_a = o.trans[0] == 't';
    options.trans_b = o.trans[1] == 't';
  }
  bool const sizes = !o.m.empty() || !o.n.empty() || !o.k.empty();
  if (sizes && !o.shapes.empty()) throw std::invalid_argument("--shapes and --m, --n, --k exclude each other");
  options.only_shapes = sizes || !o.shapes.empty();
  std::vector<harness::shape> shapes;
  if (sizes) {
    shapes = shapes_of_sizes(o);
  } else {
    for (auto const& file : o.shapes.empty() ? default_shape_files() : o.shapes) {
      auto const more = harness::read_shapes(file);
      shapes.insert(shapes.end(), more.begin(), more.end());
    }
  }
  return harness::make_cases(shapes, rows, options);
}

// The names among --require of backends that are not there, each with its reason; empty when all are.
std::string missing_backends(std::string const& required) {
  std::string missing;
  if (required.empty()) return missing;  // asking loads libraries, whose threads would not survive the fork
  auto const all = backends();
  for (auto const& name : split(required)) {
    auto const found = std::ranges::find(all, name, [](auto const& b) { return to_string(b.backend); });
    if (found == all.end()) throw std::invalid_argument("--require: there is no backend '" + name + "'");
    if (!found->available) missing += fmt::format("{}{}: {}", missing.empty() ? "" : "; ", name, found->reason);
  }
  return missing;
}

// The table's rows that the globs match; those of the simt backend as --simt wants them.
std::vector<kernel> wanted_rows(std::string const& globs, bool checked) {
  std::vector<kernel> rows;
  for (auto const* row : find_kernels(globs, operation::gemm))
    rows.push_back(checked && row->backend == backend::simt
                       ? *std::ranges::find(simt::checked_kernels(), row->name, &kernel::name)
                       : *row);
  return rows;
}

// Which peers the results were held against, and which are not there.
void print_peers(std::vector<kernel> const& peers) {
  auto const infos = kernels();
  std::string there, missing;
  for (auto const& peer : peers) {
    auto const info = std::ranges::find(infos, peer.name, &kernel_info::name);
    if (info->available)
      there += (there.empty() ? "" : ", ") + peer.name;
    else
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", peer.name, info->reason);
  }
  fmt::print("\ncompared with {}{}{}\n", there.empty() ? "no peer" : there,
             missing.empty() ? "" : "; not there: ", missing);
}

int print_verdict(std::vector<harness::kernel_summary> const& summaries, std::size_t cases, std::uint64_t seed) {
  std::int64_t passed = 0, computed = 0, failed = 0, errors = 0, skipped = 0, unsupported = 0, full = 0, freivalds = 0,
               sampled = 0;
  std::size_t unavailable = 0;
  for (auto const& s : summaries) {
    passed += s.passed, computed += s.computed, failed += s.failed, errors += s.errors, skipped += s.skipped,
        unsupported += s.unsupported;
    full += s.full, freivalds += s.freivalds, sampled += s.sampled;
    if (s.verdict == harness::verdict::unavailable) ++unavailable;
  }
  fmt::print("{} problems (seed {}); products: {} passed, {} failed, {} errors\n", cases, seed, passed, failed, errors);
  fmt::print(
      "checked in full {}, by Freivalds {}, by sampled rows {}; skipped over a budget {}, unsupported {}; kernels not "
      "there {}\n",
      full, freivalds, sampled, skipped, unsupported, unavailable);
  bool const bad = failed + errors != 0;
  fmt::print("verdict: {}\n", bad ? "FAIL" : computed == 0 ? "nothing was run" : "pass");
  return bad ? wrong : computed == 0 ? nothing_run : ok;
}

int check(check_arguments const& o) {
  if (asks_for_ladder(o.ladder)) {
    auto ladder = o.ladder;
    ladder.kernel.dtype = o.dtypes;
    ladder.kernel.simt = o.simt;
    return climb_ladder(ladder, o.kernels, o.seed, o.flop_budget, o.json);
  }
  bool const checked = o.simt == "checked";
  if (auto const why = simt::checked_unavailable(); checked && !why.empty()) {
    fmt::print(stderr, "tandem: --simt checked: {}\n", why);
    return backend_missing;
  }
  auto const missing = missing_backends(o.require);
  auto rows = wanted_rows(o.kernels, checked);
  if (o.flop_budget != 0)
    for (auto& row : rows) row.flop_budget = o.flop_budget;
  auto const cases = wanted_cases(o, rows);

  std::ofstream json;
  if (!o.json.empty()) {  // opened before the work, so that a wrong path costs nothing
    json.open(o.json);
    if (!json) throw std::runtime_error("cannot write " + o.json);
  }
  harness::check_options options;
  if (!o.against.empty()) options.peers = wanted_rows(o.against, checked);
  if (isatty(STDERR_FILENO) != 0)
    options.progress = [](std::size_t done, std::size_t total) {
      fmt::print(stderr, "\r{}/{} problems{}", done, total, done == total ? "\r\x1b[K" : "");
    };
  auto const results = harness::check_in_processes(cases, rows, o.jobs, options);

  auto const summaries = harness::summarize(results);
  fmt::print("{}", harness::summary_table(summaries));
  if (auto const failures = harness::describe_failures(results); !failures.empty()) fmt::print("\n{}", failures);
  if (!o.json.empty() && !(json << harness::to_json(results) << '\n').flush())
    throw std::runtime_error("cannot write " + o.json);
  print_peers(options.peers);
  int const code = print_verdict(summaries, cases.size(), o.seed);
  if (missing.empty()) return code;
  fmt::print(stderr, "tandem: a required backend is missing: {}\n", missing);
  return code == wrong ? wrong : backend_missing;
}

}  // namespace

action add_check(CLI::App& app) {
  auto o = std::make_shared<check_arguments>();
  app.add_option("--kernels", o->kernels, "names, globs or backends, by commas")->capture_default_str();
  app.add_option("--against", o->against, "kernels that the others' results are compared with, besides the oracle")
      ->capture_default_str();
  app.add_option("--shapes", o->shapes, "CSV files of shapes, instead of the project's and of the tile edges");
  app.add_option("--m", o->m, "rows of C, several by commas, instead of shape files")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--n", o->n, "columns of C")->delimiter(',')->check(CLI::NonNegativeNumber);
  app.add_option("--k", o->k, "inner size")->delimiter(',')->check(CLI::NonNegativeNumber);
  app.add_option("--dtype", o->dtypes, "f32, f64 or both (default: both)");
  app.add_option("--trans", o->trans, "nn, nt, tn or tt: only this pair of transposes")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  app.add_option("--require", o->require, "backends that have to be there, such as gpu");
  app.add_option("--json", o->json, "write every result there");
  app.add_option("--case", o->one_case, "the one problem of this line, as a failure prints it");
  app.add_option("--simt", o->simt, "how simt kernels run: plain, or checked for races, stray accesses and the like")
      ->check(CLI::IsMember({"plain", "checked"}))
      ->capture_default_str();
  app.add_option("--flop-budget", o->flop_budget,
                 "the largest problem that each kernel gets, instead of its own budget")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", o->jobs, "processes to share the problems, for host kernels; 0: as many as cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", o->seed, "of problems and data")->capture_default_str();
  add_ladder_options(app, o->ladder);
  // The ladder's problems are its own; a function of a library climbs it, too.
  app.get_option("--kernels")->excludes(app.get_option("--kernel-lib"));
  for (auto const* const name :
       {"--against", "--shapes", "--m", "--n", "--k", "--trans", "--case", "--require", "--jobs"})
    for (auto const* const ladder : {"--kernel-lib", "--level", "--rungs", "--junit"})
      app.get_option(name)->excludes(app.get_option(ladder));
  return [o] { return check(*o); };
}

}  // namespace tandem::tools
