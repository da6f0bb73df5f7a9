// A judgement in words: as text, JSON and JUnit XML, and the names of what it is made of. Nothing is printed here.
#include <tandem/harness/judge.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/json_number.hpp"

namespace tandem::harness {
namespace {

using nlohmann::json;

/// A value of the element type, with the digits that tell it from its neighbours.
std::string value(double x, tandem::dtype type) {
  auto const narrow = static_cast<float>(x);
  if (type == dtype::f32 && static_cast<double>(narrow) == x) return fmt::format("{}", narrow);
  return fmt::format("{}", x);
}

/// Text whose further lines start below its first one, `column` characters in.
std::string indented(std::string text, std::size_t column) {
  while (text.ends_with('\n')) text.pop_back();
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
    text.insert(at + 1, column, ' ');
  return text;
}

/// As a shell reads it back, in single quotes.
std::string quoted(std::string text) {
  for (auto at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4)) text.replace(at, 1, R"('\'')");
  return "'" + text + "'";
}

std::string describe(worst_element const& e, tandem::dtype type) {
  return fmt::format("({}, {}): got {}, wanted {}, error {:.6g}, bound {:.6g}", e.row, e.col, value(e.got, type),
                     value(e.wanted, type), e.error, e.bound);
}

std::string heading(failure const& f) {
  if (f.wrong == 0) return std::string(to_string(f.what));
  return fmt::format("{}: {} of {} elements of C", to_string(f.what), f.wrong, f.checked);
}

json to_object(worst_element const& e) {
  if (e.row < 0) return {};
  return {{"row", e.row},
          {"col", e.col},
          {"got", json_number(e.got)},
          {"wanted", json_number(e.wanted)},
          {"error", json_number(e.error)},
          {"bound", json_number(e.bound)}};
}

json to_object(failure const& f) {
  return {{"case", to_string(f.test)},
          {"source", f.test.source},
          {"class", to_string(f.what)},
          {"reason", f.reason},
          {"wrong", f.wrong},
          {"checked", f.checked},
          {"first", to_object(f.first)},
          {"worst", to_object(f.worst)},
          {"map", f.map},
          {"pattern", f.pattern},
          {"votes", f.votes},
          {"after", f.after},
          {"replay", f.replay}};
}

json to_object(rung_report const& r) {
  json facts = json::array();
  for (auto const& [name, text] : r.facts) facts.push_back({{"name", name}, {"value", text}});
  return {{"rung", to_string(r.rung)},
          {"verdict", to_string(r.verdict)},
          {"summary", r.summary},
          {"facts", facts},
          {"calls", r.calls},
          {"unsupported", r.unsupported},
          {"failed", r.failed},
          {"seconds", json_number(r.seconds)},
          {"witness", r.witness ? to_object(*r.witness) : json()}};
}

json to_object(judgement const& j) {
  json all = json::array();
  for (auto const& r : j.rungs) all.push_back(to_object(r));
  return {{"kernel", j.kernel},
          {"dtype", to_string(j.dtype)},
          {"memory", to_string(j.memory)},
          {"precision", to_string(j.precision)},
          {"level", to_string(j.level)},
          {"seed", j.seed},
          {"unavailable", j.unavailable},
          {"verdict", to_string(j.verdict())},
          {"rungs", all}};
}

/// Text as XML takes it: valid UTF-8, nothing that XML 1.0 has no place for. An attribute would lose its line ends.
std::string escaped(std::string_view raw, bool in_attribute = true) {
  // nlohmann's writer puts U+FFFD for what is no UTF-8.
  auto const text = json::parse(json(raw).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char const c = text[at];
    bool const no_character = text.compare(at, 3, "\xef\xbf\xbe") == 0 || text.compare(at, 3, "\xef\xbf\xbf") == 0;
    if (no_character) {
      out += "\xef\xbf\xbd";
      at += 2;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\r' || (in_attribute && (c == '\n' || c == '\t'))) {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
  }
  return out;
}

std::string to_test_case(rung_report const& r, std::string const& kernel) {
  std::string out = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")", escaped(kernel),
                                escaped(to_string(r.rung)), r.seconds);
  switch (r.verdict) {
    case rung_verdict::pass: return out + "/>\n";
    case rung_verdict::not_applicable:
      return out + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(r.summary));
    case rung_verdict::fail: break;
  }
  auto const kind = r.witness ? std::string(to_string(r.witness->what)) : "failure";
  auto const told = r.witness ? to_text(*r.witness) : std::string();
  return out + fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                           escaped(kind), escaped(r.summary), escaped(told, false));
}

std::string to_suite(judgement const& j) {
  auto const count = [&j](rung_verdict v) { return std::ranges::count(j.rungs, v, &rung_report::verdict); };
  double seconds = 0;
  for (auto const& r : j.rungs) seconds += r.seconds;
  bool const there = j.unavailable.empty();
  auto const name = escaped(j.kernel);
  std::string out =
      fmt::format(R"(  <testsuite name="{}" tests="{}" failures="{}" errors="0" skipped="{}" time="{:.3f}">)"
                  "\n",
                  name, std::ssize(j.rungs) + !there, count(rung_verdict::fail),
                  count(rung_verdict::not_applicable) + !there, seconds);
  if (!there)
    out += fmt::format(
        "    <testcase classname=\"{}\" name=\"available\" time=\"0.000\">\n      <skipped message=\"{}\"/>\n"
        "    </testcase>\n",
        name, escaped(j.unavailable));
  for (auto const& r : j.rungs) out += to_test_case(r, j.kernel);
  return out + "  </testsuite>\n";
}

}  // namespace

std::string_view to_string(rung r) noexcept {
  switch (r) {
    case rung::interface: return "L0 interface";
    case rung::memory: return "L1 memory";
    case rung::exact: return "L2 exact";
    case rung::precision: return "L3 precision";
    case rung::error: return "L4 error";
    case rung::grade: return "L5 grade";
    case rung::special_values: return "L6 special values";
    case rung::accumulation: return "L7 accumulation";
    case rung::determinism: return "L8 determinism";
    case rung::scale: return "L9 scale";
  }
  return "L?";
}

std::string_view to_string(level l) noexcept {
  switch (l) {
    case level::quick: return "quick";
    case level::standard: return "standard";
    case level::full: return "full";
  }
  return "standard";
}

level parse_level(std::string_view word) {
  for (auto const l : {level::quick, level::standard, level::full})
    if (word == to_string(l)) return l;
  throw std::invalid_argument(fmt::format("'{}' is no level: wanted quick, standard or full", word));
}

std::string_view to_string(failure_class c) noexcept {
  switch (c) {
    case failure_class::wrong_value: return "wrong value";
    case failure_class::not_a_number: return "NaN";
    case failure_class::untouched: return "untouched";
    case failure_class::stale: return "stale C";
    case failure_class::swapped_index: return "swapped index";
    case failure_class::disturbed: return "disturbed by other calls";
    case failure_class::written_outside: return "written outside";
    case failure_class::read_outside: return "read outside";
    case failure_class::crash: return "crash";
    case failure_class::hang: return "hang";
    case failure_class::defect: return "defect";
    case failure_class::refused: return "refused";
    case failure_class::accepted: return "accepted";
  }
  return "wrong value";
}

std::string_view to_string(rung_verdict v) noexcept {
  switch (v) {
    case rung_verdict::pass: return "pass";
    case rung_verdict::fail: return "fail";
    case rung_verdict::not_applicable: return "not applicable";
  }
  return "fail";
}

verdict judgement::verdict() const noexcept {
  auto const any = [this](rung_verdict v) { return std::ranges::find(rungs, v, &rung_report::verdict) != rungs.end(); };
  if (any(rung_verdict::fail)) return verdict::fail;
  if (!unavailable.empty()) return verdict::unavailable;
  return any(rung_verdict::pass) ? verdict::pass : verdict::unsupported;
}

std::string to_text(failure const& f) {
  std::string out = fmt::format("  {}\n", heading(f));
  auto const add = [&out](std::string_view name, std::string const& text) {
    if (!text.empty()) out += fmt::format("    {:<8} {}\n", name, indented(text, 13));
  };
  add("reason", f.reason);
  add("problem", to_string(f.test));
  add("from", f.test.source);
  add("after", f.after);
  if (f.first.row >= 0) add("first", describe(f.first, f.test.dtype));
  if (f.worst.row >= 0) add("worst", describe(f.worst, f.test.dtype));
  add("pattern", f.pattern);
  add("votes", f.votes);
  add("map", f.map);
  if (!f.replay.empty()) add("replay", "tandem replay " + quoted(f.replay));
  return out;
}

std::string to_text(judgement const& j) {
  std::string out =
      fmt::format("{} ({}, {} memory, declared precision {}), level {}, seed {}: {}\n", j.kernel, to_string(j.dtype),
                  to_string(j.memory), to_string(j.precision), to_string(j.level), j.seed, to_string(j.verdict()));
  if (!j.unavailable.empty()) out += "  " + indented(j.unavailable, 2) + '\n';
  for (auto const& r : j.rungs) {
    out += fmt::format("  {:<17}  {:<14}  {:>6} calls", to_string(r.rung), to_string(r.verdict), r.calls);
    if (r.unsupported > 0) out += fmt::format(", {} unsupported", r.unsupported);
    if (!r.summary.empty()) out += "  " + indented(r.summary, 4);
    out += '\n';
    for (auto const& [name, text] : r.facts) out += fmt::format("    {}: {}\n", name, indented(text, 6));
  }
  for (auto const& r : j.rungs)
    if (r.witness) out += fmt::format("\n{}\n{}", to_string(r.rung), to_text(*r.witness));
  return out;
}

std::string to_json(std::span<judgement const> judgements) {
  json all = json::array();
  for (auto const& j : judgements) all.push_back(to_object(j));
  // What a kernel throws need not be UTF-8.
  return json{{"kernels", all}}.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string to_junit(std::span<judgement const> judgements) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (auto const& j : judgements) out += to_suite(j);
  return out + "</testsuites>\n";
}

}  // namespace tandem::harness
