// What a benchmark run found: the printed tables, the summary against the best peer, and the JSON file.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/bench/bandwidth.hpp"
#include "tools/bench/contender.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/machine.hpp"

namespace tandem::bench {

/// What contenders met on: one problem, on one number of threads.
struct match {
  tandem::operation operation = operation::gemm;
  tandem::dtype dtype = dtype::f32;
  std::int64_t m = 1, n = 1, k = 1;  ///< an axpy has n alone
  bool trans_a = false, trans_b = false;
  double beta = 0;
  int threads = 1;
  std::string source = {};                   ///< what the shape file says
  std::string set = {};                      ///< the shape file
  limit bound = {}, device_bound = {};       ///< of host and of device operands, where there are such
  byte_rates loops = {}, device_loops = {};  ///< at the operands' size
  std::vector<contender> them = {};          ///< in the order of the subjects

  double work() const;  ///< flop of a product; bytes of an axpy
  limit const& bound_of(contender const& c) const { return c.who->device ? device_bound : bound; }
  std::string name() const;  ///< "16x4096x4096", with the transposes where there are any: "33x31x29 tn"
};

class report {
 public:
  enum class lines { contender, match };  ///< a printed line each

  /// Everything that all matches share goes into `head`.
  report(lines how, nlohmann::json head);

  void add(match const& m);
  /// A subject did not take a problem.
  void leave_out(std::string const& subject, std::string const& why);

  bool empty() const noexcept { return json_["rows"].empty(); }
  bool anything_wrong() const noexcept { return !wrong_.empty(); }
  std::string text() const;  ///< the table, what was left out, the summary
  nlohmann::json json() const;
  void note(std::string const& key, nlohmann::json value) { json_[key] = std::move(value); }

 private:
  struct ratio {
    std::string match, set;
    double value;
    bool peer_below_limit;  ///< the best peer is under 90 % of the limit
  };
  /// Against the best peer: our contender, its type, its threads (0: on the device).
  using group = std::tuple<std::string, tandem::dtype, int>;

  void print_contenders(match const& m);
  void print_match(match const& m);
  nlohmann::json summary() const;

  lines how_;
  nlohmann::json json_;
  std::vector<std::vector<std::string>> table_;
  std::map<group, std::vector<ratio>> ratios_;
  std::map<std::pair<std::string, std::string>, int> left_out_;
  std::vector<std::string> wrong_;  ///< what was not timed, and why
  std::vector<std::string> short_;  ///< what had fewer rounds than the others
};

/// The faster of the copies that stand beside c's axpy in the same memory. nullptr: none.
contender const* best_copy(match const& m, contender const& c);

/// The fastest peer that c is held against: plain calls against plain calls, handles against all. nullptr: none.
contender const* best_peer(match const& m, contender const& c);

}  // namespace tandem::bench
