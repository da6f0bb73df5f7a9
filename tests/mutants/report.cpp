// Counts, tables, JSON.
#include "tests/mutants/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace tandem::mutants {
namespace {

using nlohmann::json;

struct count {
  int as_expected = 0, all = 0;
};

template <class Wanted>
count count_trials(selftest_result const& r, Wanted const& wanted) {
  count out;
  for (auto const& t : r.trials)
    if (wanted(t)) {
      ++out.all;
      out.as_expected += t.as_expected() ? 1 : 0;
    }
  return out;
}

bool is_wrong(trial const& t) { return !t.about->is_right(); }
bool is_right(trial const& t) { return t.about->is_right(); }

std::string percent(int part, int whole) {
  return whole == 0 ? "none" : fmt::format("{} / {} ({:.1f} %)", part, whole, 100.0 * part / whole);
}

std::string describe_seed(selftest_result const& r, trial const& t) {
  return r.seeds > 1 ? fmt::format(" (seed {})", t.seed) : std::string();
}

/// "L2 exact" as "L2".
std::string short_name(std::string const& rung) { return rung.substr(0, rung.find(' ')); }

std::string table_of_rungs(selftest_result const& r) {
  std::map<std::string, int> first, any, alone;
  for (auto const& t : r.trials) {
    // With later seeds the rung that caught a kernel before is tried first, unless all are climbed.
    if (!is_wrong(t) || t.result.failed.empty() || (!r.how.all_rungs && t.seed != r.how.seed)) continue;
    ++first[t.result.failed.front()];
    for (auto const& rung : t.result.failed) ++any[rung];
    if (t.result.failed.size() == 1) ++alone[t.result.failed.front()];
  }
  std::string out;
  if (r.how.all_rungs) {
    out = fmt::format("{:<20} {:>8} {:>12}\n", "rung", "catches", "alone does");
    for (auto const& [rung, n] : any) out += fmt::format("{:<20} {:>8} {:>12}\n", rung, n, alone[rung]);
  } else {
    out = fmt::format("{:<20} {:>14}\n", "rung", "is first with");
    for (auto const& [rung, n] : first) out += fmt::format("{:<20} {:>14}\n", rung, n);
  }
  return out;
}

std::string list_of_wrong(selftest_result const& r) {
  std::string out;
  for (auto const& s : r.subjects) {
    if (s.is_right()) continue;
    std::map<std::string, int> by;
    int missed = 0;
    std::string what;
    for (auto const& t : r.trials) {
      if (t.about != &s) continue;
      if (t.result.failed.empty()) ++missed;
      std::vector<std::string> names;
      for (auto const& rung : t.result.failed) names.push_back(short_name(rung));
      if (!names.empty()) ++by[fmt::format("{}", fmt::join(names, " "))];
      if (what.empty()) what = t.result.failure_class;
    }
    std::vector<std::string> parts;
    for (auto const& [rungs, n] : by) parts.push_back(r.seeds > 1 ? fmt::format("{} ({})", rungs, n) : rungs);
    if (missed > 0) parts.push_back(r.seeds > 1 ? fmt::format("MISSED ({})", missed) : "MISSED");
    out += fmt::format("  {:<40} {:<28} {}\n", s.id, fmt::format("{}", fmt::join(parts, ", ")), what);
  }
  return out;
}

std::string complaints(selftest_result const& r) {
  std::string out;
  for (auto const& t : r.trials) {
    auto const& s = *t.about;
    auto const seed = describe_seed(r, t);
    if (!t.result.error.empty())
      out += fmt::format("  not judged: {}{}: {}\n", s.id, seed, t.result.error);
    else if (!t.as_expected() && s.is_right())
      out += fmt::format("  refused, and right: {}{}: {}: {}\n    {}\n", s.id, seed, fmt::join(t.result.failed, ", "),
                         t.result.reason, t.result.problem);
    else if (!t.as_expected())
      out += fmt::format("  passed, and wrong: {}{}: {}\n", s.id, seed, s.about.what);
    if (!t.result.witness_defect.empty())
      out += fmt::format("  witness of {}{}: {}\n    {}\n", s.id, seed, t.result.witness_defect, s.about.witness);
  }
  return out;
}

std::string table_of_harness(selftest_result const& r) {
  int killed = 0;
  std::string rows;
  for (auto const& h : r.harness) {
    if (!h.killed_by.empty()) ++killed;
    rows += fmt::format("  {:<40} {}\n", h.id,
                        !h.error.empty()      ? "not tried: " + h.error
                        : h.killed_by.empty() ? "ALIVE: " + h.what
                                              : h.killed_by);
  }
  return fmt::format("\nbugs planted in the harness itself: killed {}\n{}",
                     percent(killed, static_cast<int>(r.harness.size())), rows);
}

std::string table_of_others(selftest_result const& r, count caught, count right) {
  std::string out = fmt::format("\nthe same kernels under the checks people use today\n{:<36} {:>24} {:>22}\n", "check",
                                "wrong kernels caught", "right ones refused");
  auto const row = [&](std::string const& name, int c, int w, int f, int n) {
    out += fmt::format("{:<36} {:>24} {:>22}\n", name, percent(c, w), percent(f, n));
  };
  for (auto const& o : r.others) row(o.name, o.caught, o.wrong, o.refused, o.right);
  row(fmt::format("tandem, {}", to_string(r.how.level)), caught.as_expected, caught.all, right.all - right.as_expected,
      right.all);
  return out;
}

json to_object(trial const& t) {
  auto const& s = *t.about;
  return {{"id", s.id},
          {"origin", to_string(s.origin)},
          {"kernel", s.kernel},
          {"what", s.about.what},
          {"seen", s.about.seen},
          {"witness", s.about.witness},
          {"before", s.about.before},
          {"witness_defect", t.result.witness_defect},
          {"seed", t.seed},
          {"as_expected", t.as_expected()},
          {"verdict", t.result.verdict},
          {"error", t.result.error},
          {"failed", t.result.failed},
          {"passed", t.result.passed},
          {"class", t.result.failure_class},
          {"reason", t.result.reason},
          {"problem", t.result.problem},
          {"seconds", t.result.seconds}};
}

}  // namespace

void set_skipped_apart(selftest_result& r) {
  auto const there = [](trial const& t) { return t.result.verdict != "unavailable"; };
  auto const skipped = std::stable_partition(r.trials.begin(), r.trials.end(), there);
  r.skipped.insert(r.skipped.end(), skipped, r.trials.end());
  r.trials.erase(skipped, r.trials.end());
}

bool is_enough(int caught, int wrong, harness::level level) noexcept {
  int const missed = wrong - caught;
  return level == harness::level::full ? missed == 0 : missed * 20 <= wrong;
}

bool passed(selftest_result const& r) {
  auto const caught = count_trials(r, is_wrong), right = count_trials(r, is_right);
  auto const judged = [](trial const& t) { return t.result.error.empty() && t.result.witness_defect.empty(); };
  auto const tried = [](harness_trial const& h) { return h.error.empty() && !h.killed_by.empty(); };
  return is_enough(caught.as_expected, caught.all, r.how.level) && right.as_expected == right.all &&
         std::ranges::all_of(r.trials, judged) && std::ranges::all_of(r.harness, tried);
}

std::string to_text(selftest_result const& r) {
  auto const caught = count_trials(r, is_wrong), right = count_trials(r, is_right);
  auto const of = [&](origin o) { return count_trials(r, [o](trial const& t) { return t.about->origin == o; }); };
  auto const mutants = of(origin::mutant), wrong = of(origin::wrong);
  std::string out = fmt::format("wrong kernels and what catches them\n{}\n{}", list_of_wrong(r), table_of_rungs(r));
  if (auto const text = complaints(r); !text.empty()) out += "\nnot as it should be\n" + text;
  for (auto const& t : r.skipped) out += fmt::format("skipped: {}: {}\n", t.about->id, t.result.error);
  out += fmt::format("\nlevel {}, right kernels {}; {} seed{}\n", to_string(r.how.level), to_string(r.right_level),
                     r.seeds, r.seeds == 1 ? "" : "s");
  out += fmt::format("wrong kernels caught: {}; mutants {}, hand-written {}\n", percent(caught.as_expected, caught.all),
                     percent(mutants.as_expected, mutants.all), percent(wrong.as_expected, wrong.all));
  out += fmt::format("right kernels refused: {}\n", percent(right.all - right.as_expected, right.all));
  if (!r.others.empty()) out += table_of_others(r, caught, right);
  if (!r.harness.empty()) out += table_of_harness(r);
  return out;
}

std::string to_json(selftest_result const& r) {
  auto const caught = count_trials(r, is_wrong), right = count_trials(r, is_right);
  json trials = json::array(), skipped = json::array(), planted = json::array(), others = json::array();
  for (auto const& t : r.trials) trials.push_back(to_object(t));
  for (auto const& t : r.skipped) skipped.push_back(to_object(t));
  for (auto const& h : r.harness)
    planted.push_back({{"id", h.id},
                       {"file", h.file},
                       {"what", h.what},
                       {"killed_by", h.killed_by},
                       {"error", h.error},
                       {"seconds", h.seconds}});
  for (auto const& o : r.others)
    others.push_back({{"name", o.name},
                      {"source", o.source},
                      {"caught", o.caught},
                      {"wrong", o.wrong},
                      {"refused", o.refused},
                      {"right", o.right},
                      {"misjudged", o.misjudged}});
  return json{{"level", to_string(r.how.level)},
              {"right_level", to_string(r.right_level)},
              {"seeds", r.seeds},
              {"first_seed", r.how.seed},
              {"all_rungs", r.how.all_rungs},
              {"caught", caught.as_expected},
              {"wrong", caught.all},
              {"refused", right.all - right.as_expected},
              {"right", right.all},
              {"passed", passed(r)},
              {"kernels", trials},
              {"skipped", skipped},
              {"harness", planted},
              {"checks_of_today", others}}
      .dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tandem::mutants
