// Calls the judge and the replay of witnesses.
#include "tests/mutants/judging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace tandem::mutants {
namespace {

using nlohmann::json;

/// The judge without what explains a failure.
harness::judge_options options_of(judging const& how, bool to_the_end) {
  harness::judge_options options;
  options.level = how.level;
  options.seed = how.seed;
  options.only = how.only;
  options.stop_at_failure = !to_the_end;
  options.diagnose = false;
  return options;
}

/// Why the witness does not show what it should; empty when it does.
std::string defect_of_witness(subject const& s, harness::candidate const& wrong) {
  if (s.about.witness.empty()) return {};
  auto t = harness::parse_case(s.about.witness);
  std::optional<harness::test_case> before;
  if (!s.about.before.empty()) before = harness::parse_case(s.about.before);
  auto const options = options_of({}, false);
  for (int i = 0; i < s.about.tries; ++i, ++t.seed) {
    if (!harness::replay(wrong, t, options, before)) continue;
    if (s.original.empty()) return {};
    auto const f = harness::replay(load(s.original, s.kernel), t, options, before);
    return f ? fmt::format("the original fails on it too: {}", f->reason) : std::string();
  }
  return fmt::format("passes on it ({} tries)", s.about.tries);
}

}  // namespace

harness::rung parse_rung(std::string word) {
  std::ranges::replace(word, '_', ' ');
  for (std::size_t i = 0; i < harness::rungs; ++i) {
    auto const r = static_cast<harness::rung>(i);
    auto const name = to_string(r);
    if (word == name || word == name.substr(name.find(' ') + 1)) return r;
  }
  throw std::runtime_error("there is no rung " + word);
}

record judge_kernel(harness::candidate const& kernel, bool is_right, judging const& how) {
  harness::judgement judged;
  if (how.first) {
    auto alone = how;
    alone.only = {harness::rung::accumulation};  // from which others have sizes
    if (*how.first != harness::rung::accumulation) alone.only.push_back(*how.first);
    judged = harness::judge(kernel, options_of(alone, false));
  }
  if (!how.first || judged.verdict() != harness::verdict::fail)
    judged = harness::judge(kernel, options_of(how, is_right || how.all_rungs));
  record out;
  out.verdict = to_string(judged.verdict());
  out.error = judged.unavailable;
  for (auto const& r : judged.rungs) {
    std::string const name(to_string(r.rung));
    if (r.verdict == harness::rung_verdict::pass) out.passed.push_back(name);
    if (r.verdict != harness::rung_verdict::fail) continue;
    if (out.failed.empty() && r.witness) {
      out.failure_class = to_string(r.witness->what);
      out.reason = r.witness->reason;
      out.problem = to_string(r.witness->test);
    }
    if (out.reason.empty()) out.reason = r.summary;
    out.failed.push_back(name);
  }
  return out;
}

record judge_subject(subject const& s, judging const& how) {
  auto const kernel = load(s.plugin, s.kernel);
  auto out = judge_kernel(kernel, s.is_right(), how);
  if (how.witnesses && !s.is_right() && out.error.empty()) out.witness_defect = defect_of_witness(s, kernel);
  return out;
}

std::string to_text(record const& r) {
  return json{
      {"verdict", r.verdict},     {"error", r.error},   {"failed", r.failed},   {"passed", r.passed},
      {"class", r.failure_class}, {"reason", r.reason}, {"problem", r.problem}, {"witness_defect", r.witness_defect}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

record parse_record(std::string const& text) {
  auto const j = json::parse(text);
  record r;
  r.verdict = j.at("verdict"), r.error = j.at("error");
  r.failed = j.at("failed").get<std::vector<std::string>>();
  r.passed = j.at("passed").get<std::vector<std::string>>();
  r.failure_class = j.at("class"), r.reason = j.at("reason"), r.problem = j.at("problem");
  r.witness_defect = j.at("witness_defect");
  return r;
}

}  // namespace tandem::mutants
