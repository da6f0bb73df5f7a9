// How many blocks of rank_k share C's rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#define TANDEM_KERNEL_NAMESPACE tandem::tests::few_terms
#include <tandem/simt/words.hpp>

#include "gpu/kernels/rank_k.cuh"

namespace tandem::tests::few_terms {
namespace {

std::int64_t rounded_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

}  // namespace

TEST_SUITE_BEGIN("rank_k");

TEST_CASE("every column of tiles has a block, and no block is without tiles") {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::int64_t const across = 1 + random() % 2000, down = 1 + random() % 65535, places = 1 + random() % 1000;
    auto const blocks = blocks_down(across, down, places);
    CHECK(blocks >= 1);
    CHECK(blocks <= down);
  }
}

TEST_CASE("a narrow C fills the places once") {
  CHECK(blocks_down(1, 1563, 396) == 396);
  CHECK(blocks_down(2, 1250, 396) == 198);
}

TEST_CASE("a small C has a block for each tile") { CHECK(blocks_down(7, 5, 396) == 5); }

TEST_CASE("more columns of tiles than places have a block each") { CHECK(blocks_down(5000, 20, 396) == 1); }

TEST_CASE("the last round of a wide C has no room for another block of each column") {
  constexpr std::int64_t places = 396;
  for (std::int64_t across = 10; across < places; ++across) {
    std::int64_t const blocks = blocks_down(across, 500, places), all = across * blocks;
    CAPTURE(across);
    CHECK(rounded_up(all, places) * places - all < across);
  }
}

TEST_SUITE_END();

}  // namespace tandem::tests::few_terms
