// Rows, ratios and their geometric means.
#include "tools/bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/table.hpp"

namespace tandem::bench {
namespace {

double work_of(match const& m, contender const& c) { return c.who->copies ? m.work() * 2 / 3 : m.work(); }

double rate(match const& m, contender const& c) { return work_of(m, c) / c.median() * 1e-9; }

bool has_limit(match const& m, contender const& c) { return !c.who->copies && m.bound_of(c).seconds() > 0; }

double percent(double least, contender const& c) { return 100 * least / c.median(); }

double percent_of_limit(match const& m, contender const& c) { return percent(m.bound_of(c).seconds(), c); }

std::string percent_text(match const& m, contender const& c) {
  return has_limit(m, c) ? fmt::format("{:.1f}", percent_of_limit(m, c)) : "-";
}

// Of the GPU's kernels none has host threads.
int threads_of(match const& m, contender const& c) { return c.who->device ? 0 : m.threads; }

std::string threads_text(int threads) { return threads == 0 ? "-" : std::to_string(threads); }

double gflops_a_watt(match const& m, contender const& c) {
  return m.work() * c.power.calls_per_second * 1e-9 / c.power.watts;
}

double geometric_mean(std::vector<double> const& values) {
  double sum = 0;
  for (auto const v : values) sum += std::log(v);
  return values.empty() ? std::nan("") : std::exp(sum / static_cast<double>(values.size()));
}

char const* trans_text(bool trans) { return trans ? "t" : "n"; }

}  // namespace

double match::work() const {
  auto const dm = static_cast<double>(m), dn = static_cast<double>(n), dk = static_cast<double>(k);
  return operation == operation::gemm ? 2 * dm * dn * dk : 3 * dn * static_cast<double>(size_of(dtype));
}

std::string match::name() const {
  if (operation == operation::axpy) return std::to_string(n);
  auto const size = fmt::format("{}x{}x{}", m, n, k);
  return trans_a || trans_b ? fmt::format("{} {}{}", size, trans_text(trans_a), trans_text(trans_b)) : size;
}

contender const* best_peer(match const& m, contender const& c) {
  contender const* best = nullptr;
  for (auto const& peer : m.them) {
    if (peer.who->ours || peer.who->copies || peer.seconds.empty() || peer.who->device != c.who->device) continue;
    if (peer.who->handle && !c.who->handle) continue;
    if (best == nullptr || peer.median() < best->median()) best = &peer;
  }
  return best;
}

contender const* best_copy(match const& m, contender const& c) {
  contender const* best = nullptr;
  for (auto const& copy : m.them)
    if (copy.who->copies && copy.who->device == c.who->device && !copy.seconds.empty() &&
        (best == nullptr || copy.median() < best->median()))
      best = &copy;
  return best;
}

report::report(lines how, nlohmann::json head) : how_(how), json_(std::move(head)) {
  json_["rows"] = nlohmann::json::array();
}

void report::leave_out(std::string const& subject, std::string const& why) { ++left_out_[{subject, why}]; }

void report::add(match const& m) {
  for (auto const& c : m.them) {
    if (!c.wrong.empty())
      wrong_.push_back(fmt::format("{} at {} {} beta {:g}{}: wrong: {}", c.who->name, m.name(), to_string(m.dtype),
                                   m.beta, c.who->device ? "" : fmt::format(", {} threads", m.threads), c.wrong));
    if (c.rounds_missed > 0)
      short_.push_back(fmt::format("{} at {} {}: {} of {} rounds, by --max-seconds", c.who->name, m.name(),
                                   to_string(m.dtype), c.seconds.size(),
                                   c.rounds_missed + static_cast<int>(c.seconds.size())));
    auto const& bound = m.bound_of(c);
    auto const& loops = c.who->device ? m.device_loops : m.loops;
    nlohmann::json row{{"operation", to_string(m.operation)},
                       {"kernel", c.who->name},
                       {"ours", c.who->ours},
                       {"dtype", to_string(m.dtype)},
                       {"m", m.m},
                       {"n", m.n},
                       {"k", m.k},
                       {"trans_a", trans_text(m.trans_a)},
                       {"trans_b", trans_text(m.trans_b)},
                       {"beta", m.beta},
                       {"memory", c.who->device ? "device" : "host"},
                       {"threads", threads_of(m, c)},
                       {"callers", c.callers.size()},
                       {"source", m.source},
                       {"set", m.set},
                       {"fma_seconds", bound.fma_seconds},
                       {"byte_seconds", bound.byte_seconds},
                       {"read_bytes_per_second", loops.read},
                       {"store_bytes_per_second", loops.store},
                       {"update_bytes_per_second", loops.update}};
    if (!c.wrong.empty()) {
      row["wrong"] = c.wrong;
      json_["rows"].push_back(std::move(row));
      continue;
    }
    row["rounds"] = c.seconds.size();
    row[m.operation == operation::gemm ? "gflops" : "gbytes_per_second"] = rate(m, c);
    row["median_seconds"] = c.median();
    row["min_seconds"] = c.seconds.front();
    row["max_seconds"] = c.seconds.back();
    if (has_limit(m, c)) {
      row["percent_of_limit"] = percent_of_limit(m, c);
      row["percent_of_fma_peak"] = percent(bound.fma_seconds, c);
      row["percent_of_byte_limit"] = percent(bound.byte_seconds, c);
      row["bound_by"] = bound.binding();
    }
    if (c.enqueue.seconds > 0) {
      row["enqueue_us"] = c.enqueue.seconds * 1e6;
      row["launch_us"] = c.enqueue.launch_seconds * 1e6;
    }
    if (c.power.watts > 0) {
      row["watts"] = c.power.watts;
      row["sm_mhz_under_power"] = c.power.sm_mhz;
      row["gflops_under_power"] = m.work() * c.power.calls_per_second * 1e-9;
      row["gflops_per_watt"] = gflops_a_watt(m, c);
    }
    if (auto const* copy = best_copy(m, c); copy != nullptr && !c.who->copies)
      row["ratio_to_copy"] = rate(m, c) / rate(m, *copy);
    auto ratios = nlohmann::json::object();
    for (auto const& peer : m.them)
      if (!peer.who->ours && !peer.who->copies && !peer.seconds.empty())
        ratios[peer.who->name] = peer.median() / c.median();
    row["ratio_to"] = std::move(ratios);
    if (auto const* best = best_peer(m, c); best != nullptr && c.who->ours) {
      double const value = best->median() / c.median();
      row["best_peer"] = best->who->name;
      row["ratio_to_best_peer"] = value;
      ratios_[{c.who->name, m.dtype, threads_of(m, c)}].push_back(
          {fmt::format("{} beta {:g}", m.name(), m.beta), m.set, value, percent_of_limit(m, *best) < 90});
    }
    json_["rows"].push_back(std::move(row));
  }
  how_ == lines::contender ? print_contenders(m) : print_match(m);
}

void report::print_contenders(match const& m) {
  bool const is_gemm = m.operation == operation::gemm;
  if (table_.empty()) {
    table_.push_back({is_gemm ? "m x n x k" : "n", "type", "beta", "threads", "contender", is_gemm ? "GFLOP/s" : "GB/s",
                      "median us", "min us", "max us", "% limit", "bound by", is_gemm ? "% FMA" : "/ copy",
                      "/ best peer", "best peer"});
    if (json_.value("enqueue", false)) table_[0].insert(table_[0].end(), {"enqueue us", "a launch us"});
    if (json_.value("power", false)) table_[0].insert(table_[0].end(), {"W", "SM MHz", "GFLOP/s/W"});
  }
  auto const start_line = [&](int threads, std::string const& name) {
    return std::vector<std::string>{m.name(), std::string(to_string(m.dtype)), fmt::format("{:g}", m.beta),
                                    threads_text(threads), name};
  };
  for (auto const& c : m.them) {
    auto line = start_line(threads_of(m, c), c.who->name);
    if (!c.wrong.empty()) {
      line.push_back("wrong");
      table_.push_back(std::move(line));
      continue;
    }
    line.push_back(fmt::format("{:.2f}", rate(m, c)));
    for (double const seconds : {c.median(), c.seconds.front(), c.seconds.back()})
      line.push_back(fmt::format("{:.3f}", seconds * 1e6));
    line.push_back(percent_text(m, c));
    line.push_back(has_limit(m, c) ? m.bound_of(c).binding() : "");
    auto const* copy = best_copy(m, c);
    line.push_back(is_gemm           ? fmt::format("{:.1f}", percent(m.bound_of(c).fma_seconds, c))
                   : copy == nullptr ? "-"
                                     : fmt::format("{:.3f}", rate(m, c) / rate(m, *copy)));
    auto const* best = c.who->ours ? best_peer(m, c) : nullptr;
    line.push_back(best == nullptr ? "" : fmt::format("{:.3f}", best->median() / c.median()));
    line.push_back(best == nullptr ? "" : best->who->name);
    if (c.enqueue.seconds > 0)
      line.insert(line.end(), {fmt::format("{:.2f}", c.enqueue.seconds * 1e6),
                               fmt::format("{:.2f}", c.enqueue.launch_seconds * 1e6)});
    if (c.power.watts > 0)
      line.insert(line.end(), {fmt::format("{:.0f}", c.power.watts), fmt::format("{:.0f}", c.power.sm_mhz),
                               fmt::format("{:.2f}", gflops_a_watt(m, c))});
    table_.push_back(std::move(line));
  }
  if (is_gemm) return;
  for (auto const* loops : {&m.loops, &m.device_loops}) {
    if (loops->read == 0) continue;
    for (auto const& [name, bytes] :
         {std::pair{"read loop", loops->read}, {"store loop", loops->store}, {"update loop", 2 * loops->update}}) {
      auto line = start_line(loops == &m.loops ? m.threads : 0, name);
      line.push_back(fmt::format("{:.2f}", bytes * 1e-9));
      table_.push_back(std::move(line));
    }
  }
}

void report::print_match(match const& m) {
  if (table_.empty()) {
    table_.push_back({m.operation == operation::gemm ? "m x n x k" : "n", "type", "beta", "threads"});
    for (auto const& entry : json_["contenders"])
      if (entry["missing"] == "") table_[0].push_back(entry["name"]);
    table_[0].insert(table_[0].end(), {"us", "% limit", "best %", "bound by", "/ best peer", "best peer"});
  }
  auto const columns_behind = 6;
  bool const host = std::ranges::any_of(m.them, [](auto const& c) { return !c.who->device; });
  std::vector<std::string> line{m.name(), std::string(to_string(m.dtype)), fmt::format("{:g}", m.beta),
                                threads_text(host ? m.threads : 0)};
  contender const* ours = nullptr;
  for (std::size_t column = 4; column + columns_behind < table_[0].size(); ++column) {
    auto const c = std::ranges::find(m.them, table_[0][column], [](auto const& x) { return x.who->name; });
    if (c != m.them.end() && c->who->ours && c->wrong.empty() && ours == nullptr) ours = &*c;
    line.push_back(c == m.them.end() ? "-" : c->wrong.empty() ? fmt::format("{:.2f}", rate(m, *c)) : "wrong");
  }
  if (ours != nullptr) {
    auto const* best = best_peer(m, *ours);
    line.push_back(fmt::format("{:.1f}", ours->median() * 1e6));
    line.push_back(percent_text(m, *ours));
    line.push_back(best == nullptr ? "-" : percent_text(m, *best));
    line.push_back(has_limit(m, *ours) ? m.bound_of(*ours).binding() : "");
    line.push_back(best == nullptr ? "-" : fmt::format("{:.3f}", best->median() / ours->median()));
    line.push_back(best == nullptr ? "" : best->who->name);
  }
  table_.push_back(std::move(line));
}

nlohmann::json report::summary() const {
  auto all = nlohmann::json::array();
  for (auto const& [key, ratios] : ratios_) {
    auto const& [name, type, threads] = key;
    std::vector<double> values, below;
    for (auto const& r : ratios) {
      values.push_back(r.value);
      if (r.peer_below_limit) below.push_back(r.value);
    }
    auto const& worst = *std::ranges::min_element(ratios, {}, &ratio::value);
    auto const under = [&](double bar) { return std::ranges::count_if(values, [&](double v) { return v < bar; }); };
    std::map<std::string, std::vector<double>> of_sets;
    for (auto const& r : ratios) of_sets[r.set].push_back(r.value);
    auto sets = nlohmann::json::array();
    for (auto const& [set, of_set] : of_sets)
      sets.push_back({{"set", set},
                      {"matches", of_set.size()},
                      {"geometric_mean", geometric_mean(of_set)},
                      {"worst", std::ranges::min(of_set)},
                      {"below_1", std::ranges::count_if(of_set, [](double v) { return v < 1; })}});
    auto ascending = ratios;
    std::ranges::sort(ascending, {}, &ratio::value);
    auto slower = nlohmann::json::array();
    for (auto const& r : ascending)
      if (r.value < 1) slower.push_back({{"match", r.match}, {"ratio", r.value}});
    all.push_back({{"kernel", name},
                   {"dtype", to_string(type)},
                   {"threads", threads},
                   {"matches", values.size()},
                   {"geometric_mean", geometric_mean(values)},
                   {"matches_with_peer_under_90_percent", below.size()},
                   {"geometric_mean_with_peer_under_90_percent",
                    below.empty() ? nlohmann::json(nullptr) : nlohmann::json(geometric_mean(below))},
                   {"worst", worst.value},
                   {"worst_match", worst.match},
                   {"below_0.97", under(0.97)},
                   {"below_1", under(1)},
                   {"slower", std::move(slower)},
                   {"sets", std::move(sets)}});
  }
  return all;
}

nlohmann::json report::json() const {
  auto out = json_;
  out["summary"] = summary();
  out["left_out"] = nlohmann::json::array();
  for (auto const& [key, count] : left_out_)
    out["left_out"].push_back({{"name", key.first}, {"reason", key.second}, {"count", count}});
  return out;
}

std::string report::text() const {
  std::string out = tools::text_table(table_);
  for (auto const& line : wrong_) out += line + '\n';
  for (auto const& [key, count] : left_out_)
    out += fmt::format("{}: left out of {} {}: {}\n", key.first, count, count == 1 ? "match" : "matches", key.second);
  for (auto const& line : short_) out += line + '\n';
  for (auto const& s : summary()) {
    auto const threads = s["threads"].get<int>();
    out += fmt::format("{} {}{}: geometric mean {:.3f} of the best peer over {}", s["kernel"].get<std::string>(),
                       s["dtype"].get<std::string>(),
                       threads == 0 ? "" : fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s"),
                       s["geometric_mean"].get<double>(), s["matches"].get<int>());
    if (!s["geometric_mean_with_peer_under_90_percent"].is_null())
      out += fmt::format("; {:.3f} over the {} where that peer is under 90 % of its limit",
                         s["geometric_mean_with_peer_under_90_percent"].get<double>(),
                         s["matches_with_peer_under_90_percent"].get<int>());
    out += fmt::format("; worst {:.3f} at {}; below 1: {}, below 0.97: {}\n", s["worst"].get<double>(),
                       s["worst_match"].get<std::string>(), s["below_1"].get<int>(), s["below_0.97"].get<int>());
    if (s["sets"].size() > 1)
      for (auto const& set : s["sets"])
        out += fmt::format("  {}: geometric mean {:.3f} over {}; worst {:.3f}; below 1: {}\n",
                           set["set"].get<std::string>(), set["geometric_mean"].get<double>(),
                           set["matches"].get<int>(), set["worst"].get<double>(), set["below_1"].get<int>());
    // On the device a ratio moves little from run to run, so that single shapes are worth naming.
    if (threads == 0)
      for (auto const& match : s["slower"])
        out +=
            fmt::format("  below 1: {:.3f} at {}\n", match["ratio"].get<double>(), match["match"].get<std::string>());
  }
  return out;
}

}  // namespace tandem::bench
