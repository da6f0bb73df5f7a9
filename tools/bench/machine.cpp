// What /proc and /sys say, and the clock, which is measured.
#include "tools/bench/machine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>

#include "tools/bench/fma_peak.hpp"

namespace tandem::bench {
namespace {

std::string first_line(std::string const& path, std::string const& otherwise = "") {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : otherwise;
}

std::string processor_text() {
  std::map<std::string, std::string> fields;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    auto const colon = line.find(':');
    if (colon == std::string::npos) continue;
    auto const name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    fields[name] = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  auto const model = fields.contains("model name") ? fields["model name"] : "unknown";
  if (!fields.contains("cpu family")) return model;
  return fmt::format("{}, family {} model {} stepping {}", model, fields["cpu family"], fields["model"],
                     fields["stepping"]);
}

std::vector<cache> data_caches() {
  std::vector<cache> all;
  for (int index = 0;; ++index) {
    auto const folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    auto const level = first_line(folder + "level");
    if (level.empty()) break;
    auto const size = first_line(folder + "size");  // "32768K"
    if (first_line(folder + "type") == "Instruction" || size.empty()) continue;
    std::size_t const unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
    all.push_back({std::stoi(level), std::stoul(size) * unit, first_line(folder + "shared_cpu_list")});
  }
  return all;
}

// "always [madvise] never": the chosen one
std::string chosen_word(std::string const& text) {
  auto const open = text.find('['), close = text.find(']');
  return close == std::string::npos ? text : text.substr(open + 1, close - open - 1);
}

}  // namespace

std::size_t machine::last_level_bytes() const { return caches.empty() ? std::size_t{32} << 20 : caches.back().bytes; }

machine this_machine() {
  machine m;
  m.processor = processor_text();
  m.instruction_set = widest_instruction_set();
  m.cores = omp_get_num_procs();
  m.caches = data_caches();
  m.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", m.governor);
  m.huge_pages = chosen_word(first_line("/sys/kernel/mm/transparent_hugepage/enabled", m.huge_pages));
  return m;
}

double clock_hz() {
  constexpr std::int64_t steps = 200'000;
  double best = 0;
  for (int sample = 0; sample < 9; ++sample) {
    std::uint64_t sum = 1, addend = 3;
    auto const start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) {
      asm volatile("" : "+r"(addend));
#pragma GCC unroll 16
      for (int j = 0; j < 16; ++j) {
        sum += addend;
        asm volatile("" : "+r"(sum));  // each addition is done, and waits for the one before
      }
    }
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 16 * static_cast<double>(steps) / seconds);
  }
  return best;
}

std::string load_average() {
  auto const line = first_line("/proc/loadavg", "not readable");  // "0.1 0.2 0.3 1/234 5678"
  std::size_t end = 0;
  for (int blanks = 0; end < line.size() && (line[end] != ' ' || ++blanks < 3); ++end) {
  }
  return line.substr(0, end);
}

nlohmann::json to_json(machine const& m) {
  auto caches = nlohmann::json::array();
  for (auto const& c : m.caches) caches.push_back({{"level", c.level}, {"bytes", c.bytes}, {"shared_by", c.shared_by}});
  return {{"processor", m.processor}, {"instruction_set", m.instruction_set},
          {"cores", m.cores},         {"caches", caches},
          {"governor", m.governor},   {"huge_pages", m.huge_pages}};
}

}  // namespace tandem::bench
