// What an access of a warp costs, against what Nsight Compute counted on an H200 and against plain counting.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/simt/warp_access.hpp"

namespace tandem::simt {
static std::ostream& operator<<(std::ostream& out, shared_cost const& c) {
  return out << c.wavefronts << " wavefronts, " << c.conflicts << " conflicts";
}
}  // namespace tandem::simt

using namespace tandem::simt;

namespace {

constexpr std::uint32_t all_lanes = ~std::uint32_t{0};

template <class F>
warp_access access_of(std::uint32_t mask, unsigned bytes, F&& address_of_lane) {
  warp_access access{mask, bytes};
  for (unsigned lane = 0; lane < 32; ++lane) access.address[lane] = address_of_lane(lane);
  return access;
}

using row = std::map<std::string, std::string>;

std::vector<row> read_rows(std::string const& path) {
  std::ifstream file(path);
  auto const cells = [](std::string const& line) {
    std::vector<std::string> result;
    std::istringstream text(line + ',');
    for (std::string cell; std::getline(text, cell, ',');) result.push_back(cell);
    return result;
  };
  std::string line;
  std::getline(file, line);
  auto const names = cells(line);
  std::vector<row> rows;
  while (std::getline(file, line)) {
    auto const values = cells(line);
    REQUIRE(values.size() == names.size());
    for (rows.emplace_back(); rows.back().size() < names.size();)
      rows.back()[names[rows.back().size()]] = values[rows.back().size()];
  }
  return rows;
}

// The number of bank passes by its definition: in each group of lanes, the most distinct words of one bank.
unsigned passes_of_words(warp_access const& access, unsigned group_size) {
  std::size_t total = 0;
  for (unsigned first = 0; first < 32; first += group_size) {
    std::map<std::uint64_t, std::set<std::uint64_t>> words_of_bank;
    std::size_t most = 0;
    for (unsigned lane = first; lane < first + group_size; ++lane)
      if (access.mask >> lane & 1)
        for (auto a = access.address[lane]; a < access.address[lane] + access.bytes; a += 4) {
          auto& words = words_of_bank[a / 4 % 32];
          words.insert(a / 4);
          most = std::max(most, words.size());
        }
    total += most;
  }
  return static_cast<unsigned>(total);
}

}  // namespace

TEST_CASE("the cost of an access is what an H200 counted: patterns of all lanes") {
  std::map<std::string, unsigned (*)(unsigned)> const element = {
      {"i", [](unsigned i) { return i; }},
      {"0", [](unsigned) { return 0U; }},
      {"i/2", [](unsigned i) { return i / 2; }},
      {"(i&1)|(i>>2<<1)", [](unsigned i) { return (i & 1) | (i >> 2 << 1); }},
      {"i%16", [](unsigned i) { return i % 16; }},
      {"i/16", [](unsigned i) { return i / 16; }},
      {"i%8", [](unsigned i) { return i % 8; }},
      {"2*i", [](unsigned i) { return 2 * i; }},
      {"4*i", [](unsigned i) { return 4 * i; }},
      {"8*i", [](unsigned i) { return 8 * i; }},
  };
  auto const rows = read_rows("tests/data/h200_warp_access.csv");
  CHECK(rows.size() == 40);
  for (auto r : rows) {
    CAPTURE(r["space"]);
    CAPTURE(r["bits_per_lane"]);
    CAPTURE(r["element_index_of_lane_i"]);
    unsigned const bytes = static_cast<unsigned>(std::stoul(r["bits_per_lane"])) / 8;
    auto const index = element.at(r["element_index_of_lane_i"]);
    auto const access = access_of(all_lanes, bytes, [&](unsigned lane) { return index(lane) * bytes; });
    if (r["space"] == "global") {
      CHECK(sectors(access).size == std::stoul(r["global_sectors"]));
    } else {
      CHECK(shared_wavefronts(access).wavefronts == std::stoul(r["load_wavefronts"]));
      CHECK(shared_wavefronts(access).conflicts == std::stoul(r["bank_conflicts"]));
    }
  }
}

TEST_CASE("the cost of an access is what an H200 counted: single addresses and lanes") {
  std::string const path = "tests/data/h200_warp_access_random.csv";
  auto const rows = read_rows(path);
  CHECK(rows.size() == 618);
  for (auto r : rows) {
    auto const bytes = static_cast<unsigned>(std::stoul(r["bits"])) / 8;
    std::istringstream offsets(r["offsets"]);
    auto const access = access_of(static_cast<std::uint32_t>(std::stoul(r["mask"], nullptr, 16)), bytes, [&](unsigned) {
      std::uint64_t offset = 0;
      offsets >> offset;
      return offset;
    });
    REQUIRE(offsets);
    CAPTURE(r["pattern"]);
    CAPTURE(r["op"]);
    CAPTURE(bytes);
    CAPTURE(r["mask"]);
    CAPTURE(r["offsets"]);
    if (r["space"] == "global") {
      CHECK(sectors(access).size == std::stoul(r["sectors"]));
    } else {
      auto const cost = shared_wavefronts(access, r["op"] == "load" ? direction::load : direction::store);
      CHECK(cost.wavefronts == std::stoul(r["wavefronts"]));
      CHECK(cost.conflicts == std::stoul(r["conflicts"]));
    }
  }
}

TEST_CASE("the cost of a cp.async is what an H200 counted") {
  auto const rows = read_rows("tests/data/h200_async_access.csv");
  CHECK(rows.size() == 384);
  for (auto r : rows) {
    warp_copy copy;
    copy.bytes = static_cast<unsigned>(std::stoul(r["bytes"]));
    copy.mask = static_cast<std::uint32_t>(std::stoul(r["mask"], nullptr, 16));
    copy.there = copy.mask & static_cast<std::uint32_t>(std::stoul(r["there"], nullptr, 16));
    std::istringstream from(r["from"]), to(r["to"]);
    for (unsigned lane = 0; lane < 32; ++lane) from >> copy.from[lane], to >> copy.to[lane];
    REQUIRE(from);
    REQUIRE(to);
    CAPTURE(r["pattern"]);
    CAPTURE(copy.bytes);
    CAPTURE(r["from"]);
    CAPTURE(r["to"]);
    CHECK(copied_sectors(copy) == std::stoul(r["sectors"]));
    CHECK(copy_wavefronts(copy).wavefronts == std::stoul(r["wavefronts"]));
  }
}

TEST_CASE("sectors: those of the active lanes, each once, in ascending order, both where an access straddles two") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    unsigned const bytes = 1U << random() % 5, range = 1U << (5 + random() % 10);
    auto const access =
        access_of(static_cast<std::uint32_t>(random()), bytes, [&](unsigned) { return 4096 + random() % range; });
    std::set<std::uint64_t> expected;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (access.mask >> lane & 1) {
        expected.insert(access.address[lane] / 32);
        expected.insert((access.address[lane] + bytes - 1) / 32);
      }
    auto const list = sectors(access);
    REQUIRE(std::equal(list.begin(), list.end(), expected.begin(), expected.end()));
  }
  CHECK(sectors(access_of(all_lanes, 16, [](unsigned lane) { return lane * 64 + 24; })).size == 64);
}

TEST_CASE("shared memory: aligned addresses without pairs take the passes of their words, bank by bank") {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    unsigned const bytes = 1U << random() % 5, range = 1U << (2 + random() % 9);
    auto access =
        access_of(static_cast<std::uint32_t>(random()), bytes, [&](unsigned) { return random() % range * bytes; });
    // Two pairs of lanes differ, so nothing goes together.
    access.mask |= 0xf;
    for (unsigned lane = 0; lane < 4; ++lane) access.address[lane] = lane * 16;
    REQUIRE(shared_wavefronts(access).wavefronts == passes_of_words(access, std::min(32U, 128 / bytes)));
  }
}

TEST_CASE("shared memory: what lies in one word is read in one pass") {
  CHECK(shared_wavefronts(access_of(all_lanes, 1, [](unsigned lane) { return lane; })) == shared_cost{1, 0});
  CHECK(shared_wavefronts(access_of(all_lanes, 2, [](unsigned lane) { return lane * 2; })) == shared_cost{1, 0});
  CHECK(shared_wavefronts(access_of(all_lanes, 2, [](unsigned lane) { return lane * 128; })) == shared_cost{32, 31});
}

TEST_CASE("shared memory: 64 bits go by half warps, together where lanes share addresses in pairs") {
  CHECK(shared_wavefronts(access_of(all_lanes, 8, [](unsigned lane) { return lane * 8; })) == shared_cost{2, 0});
  CHECK(shared_wavefronts(access_of(all_lanes, 8, [](unsigned lane) { return lane / 2 * 8; })) == shared_cost{1, 0});
  CHECK(shared_wavefronts(access_of(all_lanes, 8, [](unsigned lane) { return lane / 2 * 16; })) == shared_cost{2, 1});
  CHECK(shared_wavefronts(access_of(all_lanes, 8, [](unsigned lane) { return lane % 16 * 8; })) == shared_cost{2, 0});
}

TEST_CASE("shared memory: a group without active lanes takes no pass, and no active lane takes none at all") {
  auto const quarter_warps = [](std::uint32_t mask) {
    return shared_wavefronts(access_of(mask, 16, [](unsigned lane) { return lane * 16; }));
  };
  CHECK(quarter_warps(0x000000ff) == shared_cost{1, 0});
  CHECK(quarter_warps(0x00ff00ff) == shared_cost{2, 0});
  CHECK(quarter_warps(0) == shared_cost{0, 0});
}

TEST_CASE("shared memory: lanes with an inactive partner count as a pair that shares") {
  auto const even_lanes = [](unsigned lane) { return lane % 2 == 0 ? lane / 2 * 16 : 4096 + lane * 16; };
  CHECK(shared_wavefronts(access_of(0x55555555, 16, even_lanes)) == shared_cost{2, 0});
}

TEST_CASE("shared memory: pairs count only where all lanes pair in the same way") {
  auto const in_lower_half = [](unsigned lane) { return (lane < 16 ? lane / 2 : lane) * 16; };
  CHECK(shared_wavefronts(access_of(all_lanes, 16, in_lower_half)) == shared_cost{4, 0});
}

TEST_CASE("shared memory: inactive lanes' addresses mean nothing") {
  auto access = access_of(0x0000ffff, 4, [](unsigned lane) { return lane * 4; });
  for (unsigned lane = 16; lane < 32; ++lane) access.address[lane] = 128 * lane;
  CHECK(shared_wavefronts(access) == shared_cost{1, 0});
  CHECK(sectors(access).size == 2);
}
