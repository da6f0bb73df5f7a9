// tandem selftest: has the harness judge kernels with planted bugs, wrong kernels and right ones, and prints what it
// caught and what it refused.
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tests/mutants/probes.hpp"
#include "tests/mutants/report.hpp"
#include "tests/mutants/todays_checks.hpp"
#include "tests/mutants/workers.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tandem::mutants;

enum exit_code : int { ok = 0, wrong = 1, usage = 2, nothing_run = 77 };

struct arguments {
  std::string level = "standard", right_level = "quick", only = "*", json, plugins, expect_harness;
  std::vector<std::string> probes;
  std::uint64_t seed = 1;
  int seeds = 1, jobs = 0;
  bool all_rungs = false, kernels_only = false, harness_only = false, today = false;
};

void show_progress(std::size_t done, std::size_t all, std::string const& what) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{}/{} {:<50.50}{}", done, all, what, done == all ? "\r\x1b[K" : "");
}

/// Seconds after which a judgement is taken for one that does not end. Not what is judged depends on it.
double limit_of(tandem::harness::level level) {
  switch (level) {
    case tandem::harness::level::quick: return 300;
    case tandem::harness::level::standard: return 1200;
    case tandem::harness::level::full: return 7200;
  }
  return 7200;
}

/// How long the judge took with each kernel the last time, in a file beside the plugins: those that take longest are
/// begun first, so that none of them is left alone at the end. Nothing but the order depends on it.
class durations {
 public:
  explicit durations(fs::path file) : file_(std::move(file)) {
    std::ifstream in(file_);
    std::string id;
    for (double seconds; in >> seconds >> id;) seconds_[id] = seconds;
  }

  /// One that is not known may take long, and longest if it has to climb the whole ladder.
  double of(subject const& s) const {
    auto const known = seconds_.find(s.id);
    return known != seconds_.end() ? known->second : s.is_right() ? 1e6 : 1e5;
  }

  void keep(selftest_result const& r) {
    for (auto const& t : r.trials)
      if (t.seed == r.how.seed) seconds_[t.about->id] = t.result.seconds;
    std::ofstream out(file_);
    for (auto const& [id, seconds] : seconds_) out << seconds << ' ' << id << '\n';
  }

 private:
  fs::path file_;
  std::map<std::string, double> seconds_;
};

/// Judges trials [begin, end).
void judge_trials(selftest_result& r, std::size_t begin, std::size_t end, int jobs, durations const& known,
                  std::map<std::string, tandem::harness::rung> const& caught_by) {
  auto const trials = std::span(r.trials).subspan(begin, end - begin);
  std::ranges::stable_sort(trials, std::greater(), [&](trial const& t) { return known.of(*t.about); });
  auto const task = [&](std::size_t i) {
    auto const& t = trials[i];
    auto how = r.how;
    if (t.about->is_right()) how.level = r.right_level;
    how.seed = t.seed;
    how.witnesses = how.seed == r.how.seed;  // they have seeds of their own
    if (auto const rung = caught_by.find(t.about->id); rung != caught_by.end() && !how.all_rungs)
      how.first = rung->second;
    return to_text(judge_subject(*t.about, how));
  };
  std::size_t finished = begin;
  auto const done = [&](std::size_t i, outcome const& o) {
    auto& t = trials[i];
    if (o.error.empty()) t.result = parse_record(o.output);
    if (!o.error.empty()) t.result.verdict = "error", t.result.error = o.error;
    t.result.seconds = o.seconds;
    show_progress(++finished, r.trials.size(), t.about->id);
  };
  run_in_processes(trials.size(), jobs, std::max(limit_of(r.how.level), limit_of(r.right_level)), task, done);
}

/// The first seed, and then the others, which begin with the rung that caught a wrong kernel with the first.
void judge_all(selftest_result& r, int jobs, fs::path const& folder) {
  durations known(folder / "durations.txt");
  for (int i = 0; i < r.seeds; ++i)
    for (auto const& s : r.subjects) r.trials.push_back({&s, r.how.seed + static_cast<std::uint64_t>(i), {}});
  std::map<std::string, tandem::harness::rung> caught_by;
  judge_trials(r, 0, r.subjects.size(), jobs, known, caught_by);
  for (auto const& t : std::span(r.trials).first(r.subjects.size()))
    if (!t.about->is_right() && !t.result.failed.empty())
      caught_by.emplace(t.about->id, parse_rung(t.result.failed.front()));
  judge_trials(r, r.subjects.size(), r.trials.size(), jobs, known, caught_by);
  known.keep(r);
  set_skipped_apart(r);
}

/// What the checks people use today say of the same kernels, those that were judged.
void ask_others(selftest_result& r, int jobs) {
  auto const& checks = todays_checks();
  auto const task = [&](std::size_t i) -> std::string {
    auto const& s = r.subjects[i / checks.size()];
    return checks[i % checks.size()].ask(load(s.plugin, s.kernel)).accepted ? "accepted" : "refused";
  };
  std::size_t finished = 0;
  std::size_t const all = r.subjects.size() * checks.size();
  auto const outcomes = run_in_processes(all, jobs, 120, task, [&](std::size_t, outcome const&) {
    show_progress(++finished, all, "the checks people use today");
  });
  for (auto const& c : checks) r.others.push_back({c.name, c.source});
  for (std::size_t i = 0; i < all; ++i) {
    auto const& s = r.subjects[i / checks.size()];
    auto& check = r.others[i % checks.size()];
    // One that does not come to an end has not accepted it either.
    bool const accepted = outcomes[i].error.empty() && outcomes[i].output == "accepted";
    ++(s.is_right() ? check.right : check.wrong);
    if (!accepted) ++(s.is_right() ? check.refused : check.caught);
    if (accepted != s.is_right()) check.misjudged.push_back(s.id);
  }
}

int selftest(arguments const& o) {
  int const jobs = o.jobs > 0 ? o.jobs : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  auto const program = fs::read_symlink("/proc/self/exe");
  auto const folder = o.plugins.empty() ? program.parent_path().string() : o.plugins;
  selftest_result r;
  r.how.level = tandem::harness::parse_level(o.level);
  r.right_level = tandem::harness::parse_level(o.right_level);
  r.how.seed = o.seed;
  r.how.all_rungs = o.all_rungs;
  r.seeds = o.seeds;
  r.subjects = find_subjects(folder, jobs);

  if (!o.probes.empty()) {
    std::vector<probe> probes;
    for (auto const& text : o.probes) probes.push_back(parse_probe(text));
    auto const surprise = first_surprise(r.subjects, probes, o.expect_harness);
    fmt::print("{}{}", surprise, surprise.empty() ? "" : "\n");
    return surprise.empty() ? ok : wrong;
  }

  std::ofstream json;
  if (!o.json.empty()) {  // opened before the work, so that a wrong path costs nothing
    json.open(o.json);
    if (!json) throw std::runtime_error("cannot write " + o.json);
  }
  std::erase_if(r.subjects, [&](subject const& s) { return fnmatch(o.only.c_str(), s.id.c_str(), 0) != 0; });
  if (!o.harness_only) {
    judge_all(r, jobs, folder);
    if (o.today) ask_others(r, jobs);
  }
  if (!o.kernels_only)
    r.harness = try_broken_harnesses(program.string(), folder, o.only, jobs, [](std::size_t done, std::size_t all) {
      show_progress(done, all, "broken harnesses");
    });
  fmt::print("{}", to_text(r));
  if (!o.json.empty() && !(json << to_json(r) << '\n').flush()) throw std::runtime_error("cannot write " + o.json);
  if (r.trials.empty() && r.harness.empty()) return nothing_run;
  fmt::print("\nverdict: {}\n", passed(r) ? "pass" : "FAIL");
  return passed(r) ? ok : wrong;
}

}  // namespace

int main(int argc, char** argv) {
  arguments o;
  CLI::App app("has the harness judge planted bugs, wrong kernels and right ones");
  app.name("tandem selftest");
  app.add_option("--level", o.level, "of the judge with wrong kernels: quick, standard or full")->capture_default_str();
  app.add_option("--right-level", o.right_level, "with right ones, which have to climb all of it")
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the judge, the first one")->capture_default_str();
  app.add_option("--seeds", o.seeds, "how many seeds, each of which judges every kernel")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--only", o.only, "kernels and bugs whose name matches this glob")->capture_default_str();
  app.add_option("--jobs", o.jobs, "processes at a time; 0: as many as cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--all-rungs", o.all_rungs, "judge wrong kernels to the end: which rung catches which");
  auto* const kernels = app.add_flag("--kernels", o.kernels_only, "no bugs in the harness");
  app.add_flag("--harness", o.harness_only, "only the bugs in the harness")->excludes(kernels);
  app.add_flag("--today", o.today, "ask the checks that people use today as well: half an hour and more");
  app.add_option("--json", o.json, "write everything there");
  app.add_option("--plugins", o.plugins, "the folder of the plugins, if it is not the program's");
  // What the program runs itself with for the bugs in the harness.
  app.add_option("--probe", o.probes, "judge these subjects at level quick, SUBJECT or SUBJECT@RUNG")->group("");
  app.add_option("--expect-harness", o.expect_harness, "the harness that has to be loaded")->group("");
  try {
    app.parse(argc, argv);
    return selftest(o);
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? ok : usage;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "tandem selftest: %s\n", e.what());
    return usage;
  }
}
