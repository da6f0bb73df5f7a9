// JSON: a line a shape, so that two files can be compared by diff.
#include "tools/tune/measurements.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tandem::tune {
namespace {

constexpr int format_number = 1;
constexpr char const* sets[] = {"calibration", "held_out", "file"};

nlohmann::json to_json(measurement const& m) {
  auto const& p = m.shape.p;
  nlohmann::json rows = nlohmann::json::object();
  for (auto const& t : m.timings) {
    if (t.microseconds)
      rows[t.kernel] = {{t.single ? "one_call_us" : "us", *t.microseconds}};
    else
      rows[t.kernel] = {{"not", t.why_not}};
  }
  return {{"set", m.shape.set},
          {"dtype", to_string(p.dtype)},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"trans", fmt::format("{}{}", p.trans_a ? 't' : 'n', p.trans_b ? 't' : 'n')},
          {"ld", {p.lda, p.ldb, p.ldc}},
          {"offset", {m.shape.offsets.a, m.shape.offsets.b, m.shape.offsets.c}},
          {"rows", std::move(rows)}};
}

dtype type_named(std::string const& name) {
  for (auto const type : {dtype::f32, dtype::f64})
    if (name == to_string(type)) return type;
  throw std::runtime_error("dtype '" + name + "'");
}

measurement from_json(nlohmann::json const& j) {
  measurement m;
  auto const set = j.at("set").get<std::string>();
  for (auto const* known : sets)
    if (set == known) m.shape.set = known;
  if (m.shape.set.empty()) throw std::runtime_error("set '" + set + "'");
  auto& p = m.shape.p;
  p.dtype = type_named(j.at("dtype").get<std::string>());
  p.memory = memory::device;
  p.m = j.at("m"), p.n = j.at("n"), p.k = j.at("k");
  auto const trans = j.at("trans").get<std::string>();
  p.trans_a = trans.at(0) == 't', p.trans_b = trans.at(1) == 't';
  p.lda = j.at("ld").at(0), p.ldb = j.at("ld").at(1), p.ldc = j.at("ld").at(2);
  m.shape.offsets = {j.at("offset").at(0), j.at("offset").at(1), j.at("offset").at(2)};
  for (auto const& [name, row] : j.at("rows").items()) {
    timing t;
    t.kernel = name;
    t.single = row.contains("one_call_us");
    if (t.single || row.contains("us"))
      t.microseconds = row.at(t.single ? "one_call_us" : "us").get<double>();
    else
      t.why_not = row.at("not").get<std::string>();
    m.timings.push_back(std::move(t));
  }
  return m;
}

}  // namespace

measurements read_measurements(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  try {
    auto const j = nlohmann::json::parse(file);
    if (j.at("format") != format_number) throw std::runtime_error("format " + j.at("format").dump());
    measurements m{j.at("device"), j.at("multiprocessors"), j.at("library"), {}};
    for (auto const& each : j.at("measurements")) m.all.push_back(from_json(each));
    return m;
  } catch (std::exception const& e) {
    throw std::runtime_error(fmt::format("{}: not a file of measurements: {}", path, e.what()));
  }
}

void write_measurements(measurements const& m, std::string const& path) {
  auto const beside = path + ".part";
  {
    std::ofstream file(beside);
    nlohmann::json const head = {{"format", format_number},
                                 {"device", m.device},
                                 {"multiprocessors", m.multiprocessors},
                                 {"library", m.library}};
    auto text = head.dump();
    text.pop_back();
    file << text << ",\n\"measurements\": [";
    char const* between = "\n";
    for (auto const& each : m.all) file << std::exchange(between, ",\n") << to_json(each).dump();
    file << "\n]}\n";
    if (!file.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", beside));
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0)
    throw std::runtime_error(fmt::format("{}: cannot be written", path));
}

}  // namespace tandem::tune
