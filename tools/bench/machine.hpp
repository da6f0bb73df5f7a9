// The machine that is measured on, as far as it tells.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::bench {

struct cache {
  int level = 0;
  std::size_t bytes = 0;
  std::string shared_by;  ///< "0-1": logical processors
};

struct machine {
  std::string processor = "unknown";  ///< the model's name; family, model and stepping in numbers
  std::string instruction_set;        ///< the widest that the benchmark's own loops use
  int cores = 1;                      ///< logical processors that this process may use
  std::vector<cache> caches;          ///< of the first processor's data, smallest first; empty: the system does not say
  std::string governor = "not readable";
  std::string huge_pages = "not readable";  ///< of transparent huge pages: always, madvise or never

  std::size_t last_level_bytes() const;  ///< 32 MiB where the system does not say
};

machine this_machine();

/// Cycles a second: the best of several runs of a chain of integer additions, of which a core does one a cycle.
double clock_hz();

/// The load averages over 1, 5 and 15 minutes, as the system writes them.
std::string load_average();

nlohmann::json to_json(machine const& m);

}  // namespace tandem::bench
