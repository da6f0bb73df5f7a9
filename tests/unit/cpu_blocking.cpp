// The block sizes of the CPU driver: read from the caches or TANDEM_CACHES, and sane for every problem.
#include "cpu/blocking.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using tandem::cpu::cache_sizes;
using tandem::cpu::choose_blocking;
using tandem::cpu::parse_caches;

namespace {
constexpr cache_sizes other{.l1 = 1, .l2 = 2, .l3 = 3};
}

TEST_SUITE_BEGIN("cpu_blocking");

TEST_CASE("cache sizes are read with their units") {
  CHECK(parse_caches("48K,1M,32M", other) == cache_sizes{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20});
  CHECK(parse_caches("32768,524288,1G", other) == cache_sizes{.l1 = 32768, .l2 = 524288, .l3 = 1 << 30});
}

TEST_CASE("text that is not three sizes changes nothing") {
  for (char const* text : {"", "48K", "48K,1M", "48K,1M,", "48K,1M,32X", "-1,1M,32M", "0,1M,32M", "48K,1M,32M,1",
                           "99999999999999999999,1M,32M", "48 K,1M,32M"}) {
    CAPTURE(text);
    CHECK(parse_caches(text, other) == other);
  }
}

TEST_CASE("TANDEM_CACHES overrides what the system says") {
  char const* const before = std::getenv("TANDEM_CACHES");
  std::string const saved = before ? before : "";
  setenv("TANDEM_CACHES", "16K,128K,2M", 1);
  CHECK(tandem::cpu::read_caches() == cache_sizes{.l1 = 16 << 10, .l2 = 128 << 10, .l3 = 2 << 20});
  unsetenv("TANDEM_CACHES");
  auto const system = tandem::cpu::read_caches();
  CHECK(system.l1 >= 4096);
  CHECK(system.l2 >= system.l1);
  CHECK(system.l3 >= system.l2);
  if (before) setenv("TANDEM_CACHES", saved.c_str(), 1);
}

TEST_CASE("blocks are multiples of the tile, fit their caches and cover thin problems") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  struct {
    std::int64_t bytes, mr, nr;
  } const tiles[] = {{4, 14, 32}, {8, 14, 16}, {4, 6, 16}, {8, 6, 8}, {4, 6, 8}, {8, 6, 4}};
  for (auto const& t : tiles) {
    for (std::int64_t m : {1, 13, 15, 500, 100000}) {
      for (std::int64_t n : {1, 33, 1000, 100000}) {
        for (std::int64_t k : {1, 7, 255, 257, 100000}) {
          INFO(t.mr, "x", t.nr, " for ", m, "x", n, "x", k);
          auto const b = choose_blocking(caches, t.bytes, t.mr, t.nr, m, n, k);
          CHECK(b.mc % t.mr == 0);
          CHECK(b.nc % t.nr == 0);
          CHECK(b.mc < m + t.mr);
          CHECK(b.nc < n + t.nr);
          CHECK((b.kc >= 1 && b.kc <= k));
          CHECK(b.kc * (t.mr + t.nr) * t.bytes <= caches.l1);
          CHECK(b.mc * b.kc * t.bytes <= caches.l2 / 2);
          CHECK(b.nc * b.kc * t.bytes <= caches.l3 / 2);
          CHECK(b.kc == choose_blocking(caches, t.bytes, t.mr, t.nr, 1, 1, k).kc);
        }
      }
    }
  }
}

TEST_CASE("caches smaller than a tile still give a tile") {
  auto const b = choose_blocking({.l1 = 64, .l2 = 64, .l3 = 64}, 8, 14, 16, 100, 100, 100);
  CHECK(b.kc == 8);
  CHECK(b.mc == 14);
  CHECK(b.nc == 16);
}

TEST_SUITE_END();
