// Block sizes from cache sizes, after Low et al., "Analytical modeling is enough for high-performance BLIS" (2016).
#include "cpu/blocking.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tandem::cpu {
namespace {

/// "48K" as bytes; 0 where it is not a size.
std::int64_t parse_size(std::string_view text) {
  std::int64_t value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  int const shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  bool const valid = status == std::errc() && (shift != 0 || unit.empty()) && value > 0 && value <= (1 << 30);
  return valid ? value << shift : 0;
}

/// Level 1 to 3 of Linux's description of processor 0; fields that are not there stay as they are.
cache_sizes ask_system(cache_sizes sizes) {
  for (int index = 0; index < 8; ++index) {
    std::string const folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::string type, text;
    int level = 0;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "level") >> level;
    std::ifstream(folder + "size") >> text;
    std::int64_t const size = parse_size(text);
    if (size == 0 || (type != "Data" && type != "Unified")) continue;
    if (level == 1) sizes.l1 = size;
    if (level == 2) sizes.l2 = size;
    if (level == 3) sizes.l3 = size;
  }
  return sizes;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

/// Splits `size` into equal blocks of at most `limit`, in multiples of `step`: no thin block is left at the end.
std::int64_t balanced(std::int64_t size, std::int64_t limit, std::int64_t step) {
  limit = std::max(limit / step * step, step);
  std::int64_t const blocks = (size + limit - 1) / limit;
  return round_up((size + blocks - 1) / blocks, step);
}

}  // namespace

cache_sizes parse_caches(std::string_view text, cache_sizes otherwise) {
  auto const first = text.find(',');
  auto const second = first == text.npos ? first : text.find(',', first + 1);
  if (second == text.npos) return otherwise;
  cache_sizes const sizes{.l1 = parse_size(text.substr(0, first)),
                          .l2 = parse_size(text.substr(first + 1, second - first - 1)),
                          .l3 = parse_size(text.substr(second + 1))};
  return sizes.l1 > 0 && sizes.l2 > 0 && sizes.l3 > 0 ? sizes : otherwise;
}

cache_sizes read_caches() {
  cache_sizes const system = ask_system({});
  char const* const text = std::getenv("TANDEM_CACHES");
  return text ? parse_caches(text, system) : system;
}

cache_sizes const& host_caches() {
  static cache_sizes const sizes = read_caches();
  return sizes;
}

blocking choose_blocking(cache_sizes const& caches, std::int64_t element_bytes, std::int64_t mr, std::int64_t nr,
                         std::int64_t m, std::int64_t n, std::int64_t k) {
  // L1 holds one panel of B (kc x nr), reused by every panel of A, and the panel of A (mr x kc) that passes.
  std::int64_t const kc = balanced(k, caches.l1 / (element_bytes * (mr + nr)), 8);
  // Half of L2 holds a block of A, reused by every panel of B; the other half is for what passes: B and C.
  std::int64_t const mc = balanced(m, caches.l2 / 2 / (element_bytes * kc), mr);
  // Half of the last level holds a block of B, which all threads share.
  std::int64_t const nc = balanced(n, caches.l3 / 2 / (element_bytes * kc), nr);
  return {.mc = mc, .kc = std::min(kc, k), .nc = nc};
}

}  // namespace tandem::cpu
