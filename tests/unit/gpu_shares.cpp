// How tiles of C are dealt out to blocks that stay on their multiprocessor.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#define TANDEM_KERNEL_NAMESPACE tandem::tests::dealt
#include <tandem/simt/words.hpp>

#include "gpu/kernels/shares.cuh"

namespace tandem::tests::dealt {
namespace {

// Blocks that take 1 us for a chunk, and as long for ten parts of tiles; nothing comes from memory.
constexpr block_times plain = {.blocks = 1, .chunk = 1, .part = 0.1, .from_memory = 0};

enum kind { whole, slices, shares_anywhere };
kind kind_of(shares const& s) { return s.shared_tiles == 0 ? whole : s.slices > 0 ? slices : shares_anywhere; }
kind dealt(std::int64_t all, std::int64_t chunks, block_times const& t = plain, std::int64_t least = 4) {
  return kind_of(deal(1, all, chunks, least, t));
}

TEST_SUITE("shares") {
  TEST_CASE("every chunk of every tile is one block's, and every part of a tile has a place of its own") {
    std::mt19937 random(7);
    auto const one_of = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    int kinds[3] = {};
    for (int i = 0; i < 2000; ++i) {
      std::int64_t const tiles_m = one_of(1, 30), tiles_n = one_of(1, 30), chunks = one_of(1, 400),
                         least = one_of(1, 8);
      block_times const t = {.blocks = static_cast<int>(one_of(1, 4)),
                             .chunk = 0.02 * static_cast<double>(one_of(1, 100)),
                             .part = 0.01 * static_cast<double>(one_of(0, 20)),
                             .from_memory = static_cast<double>(one_of(0, 400))};
      auto const s = deal(tiles_m, tiles_n, chunks, least, t);
      ++kinds[kind_of(s)];
      CAPTURE(tiles_m);
      CAPTURE(tiles_n);
      CAPTURE(chunks);
      CAPTURE(s.share);
      CAPTURE(s.slices);
      std::vector<int> taken(static_cast<std::size_t>(tiles_m * tiles_n * chunks));
      std::set<std::int64_t> places;
      bool in_range = true, parts_apart = true;
      for (std::int64_t block = 0; block < s.blocks; ++block)
        for (int number = 0;; ++number) {
          auto const now = find_stretch(s, block, number);
          if (now.empty()) break;
          in_range = in_range && now.tile >= 0 && now.tile < tiles_m * tiles_n && now.begin >= 0 && now.end <= chunks;
          if (!in_range) break;
          for (std::int64_t chunk = now.begin; chunk < now.end; ++chunk)
            ++taken[static_cast<std::size_t>(now.tile * chunks + chunk)];
          if (now.end - now.begin == chunks) continue;
          auto const place = find_part(s, block, now);
          parts_apart = parts_apart && place >= 0 && place < s.parts() && places.insert(place).second;
        }
      CHECK(in_range);
      CHECK(parts_apart);
      CHECK(taken == std::vector<int>(taken.size(), 1));
      CHECK(s.blocks <= dealt_multiprocessors * t.blocks);
    }
    for (int const times : kinds) CHECK(times > 100);
  }

  TEST_CASE("every number is another tile of C, in groups of eight rows of tiles") {
    for (std::int64_t const tiles_m : {1, 7, 8, 9, 16, 37})
      for (std::int64_t const tiles_n : {1, 2, 13}) {
        shares s{};
        s.tiles_m = tiles_m, s.tiles_n = tiles_n;
        CAPTURE(tiles_m);
        CAPTURE(tiles_n);
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        bool in_range = true, in_groups = true;
        for (std::int64_t number = 0; number < tiles_m * tiles_n; ++number) {
          auto const at = find_tile<8>(s, number);
          in_range = in_range && at.m >= 0 && at.m < tiles_m && at.n >= 0 && at.n < tiles_n;
          in_groups = in_groups && at.m / 8 == number / (8 * tiles_n);
          seen.emplace(at.m, at.n);
        }
        CHECK(in_range);
        CHECK(in_groups);
        CHECK(seen.size() == static_cast<std::size_t>(tiles_m * tiles_n));
      }
  }

  TEST_CASE("the last of 600 million tiles is found, in a row of them and in a column") {
    constexpr std::int64_t many = 600'000'000;
    shares row{}, column{};
    row.tiles_m = column.tiles_n = 1, row.tiles_n = column.tiles_m = many;
    auto const right = find_tile<8>(row, many - 1), below = find_tile<8>(column, many - 1);
    CHECK(right.m == 0);
    CHECK(right.n == many - 1);
    CHECK(below.m == many - 1);
    CHECK(below.n == 0);
  }

  TEST_CASE("tiles that fill whole rounds stay whole") {
    CHECK(dealt(132, 10000) == whole);
    CHECK(dealt(5 * 132, 10000) == whole);
    CHECK(dealt(2 * 132, 10000, {.blocks = 2, .chunk = 1, .part = 0, .from_memory = 0}) == whole);
  }

  TEST_CASE("tiles left over stay whole where parts cost more than idle multiprocessors") {
    CHECK(dealt(130, 1000) == whole);
    CHECK(dealt(120, 100) == whole);
    CHECK(dealt(66, 20) == whole);  // 10 us less, for parts, another kernel, and the end of another block
    CHECK(dealt(1, 4) == whole);    // parts have four chunks
    CHECK(dealt(132 + 66, 20) == whole);
    block_times const free_parts = {.blocks = 1, .chunk = 1, .part = 0, .from_memory = 0};
    CHECK(dealt(66, 3, free_parts, 1) == whole);  // 1 us less, for another kernel
    CHECK(dealt(90, 20, free_parts) == whole);    // 6 us less, for another kernel and a second part
  }

  TEST_CASE("tiles left over are cut into slices where these fill the multiprocessors, or nearly") {
    CHECK(dealt(66, 1000) == slices);
    CHECK(dealt(132 + 33, 1000) == slices);
    CHECK(dealt(43, 200) == slices);  // three slices of each for 129 of them
    auto const s = deal(1, 132 + 33, 1000, 4, plain);
    CHECK(s.shared_tiles == 33);
    CHECK(s.slices == 4);
    CHECK(s.share == 250);
    CHECK(s.blocks == 132);
  }

  TEST_CASE("tiles left over are shared chunk by chunk where slices leave multiprocessors idle") {
    CHECK(dealt(90, 2000) == shares_anywhere);  // two slices of each take two rounds
    CHECK(dealt(132 + 90, 2000) == shares_anywhere);
    auto far = plain;
    far.from_memory = 10000;  // what shares that begin anywhere read, at what time they like
    CHECK(dealt(90, 2000, far) != shares_anywhere);
  }

  TEST_CASE("a deep k is cut into as many slices as there are blocks") {
    auto const s = deal(1, 1, 100000, 4, plain);
    CHECK(kind_of(s) == slices);
    CHECK(s.slices == 132);
    CHECK(s.blocks == 132);
  }

  TEST_CASE("of several blocks a multiprocessor, those that are alone are faster, if not by as much") {
    block_times const three = {.blocks = 3, .chunk = 1, .part = 0.1, .from_memory = 0};
    auto const time = [&](std::int64_t all) { return time_of(deal(1, all, 10, 100, three), three); };
    CHECK(time(132) < time(2 * 132));
    CHECK(time(2 * 132) < 2 * time(132));
    CHECK(time(133) == time(2 * 132));
    CHECK(time(3 * 132) == 3 * 10 + 8);
    CHECK(time(6 * 132) == 2 * time(3 * 132));
  }
}

}  // namespace
}  // namespace tandem::tests::dealt
