// The sizes of the caches, from the environment or from Linux.
#include "cpu/caches.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>

#include <tandem/error.hpp>

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

}  // namespace

cache_sizes parse_caches(std::string_view text) {
  auto const first = text.find(',');
  auto const second = first == text.npos ? first : text.find(',', first + 1);
  cache_sizes sizes{.l1 = 0, .l2 = 0, .l3 = 0};
  if (second != text.npos) {
    sizes.l1 = parse_size(text.substr(0, first));
    sizes.l2 = parse_size(text.substr(first + 1, second - first - 1));
    sizes.l3 = parse_size(text.substr(second + 1));
  }
  if (sizes.l1 == 0 || sizes.l2 == 0 || sizes.l3 == 0)
    throw error(
        errc::unsupported,
        fmt::format("TANDEM_CACHES is \"{}\": not three sizes such as \"48K,1M,32M\" (K, M, G or bytes)", text));
  return sizes;
}

cache_sizes read_caches() {
  char const* const text = std::getenv("TANDEM_CACHES");
  return text != nullptr ? parse_caches(text) : ask_system({});
}

cache_sizes const& host_caches() {
  static cache_sizes const sizes = read_caches();
  return sizes;
}

}  // namespace tandem::cpu
