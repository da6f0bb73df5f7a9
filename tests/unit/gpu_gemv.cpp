// How gemv deals out a matrix whose rows lie along y.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#define TANDEM_KERNEL_NAMESPACE tandem::tests::one_line
#include <tandem/simt/words.hpp>

#include "gpu/kernels/gemv.cuh"

namespace tandem::tests::one_line {
namespace {

constexpr std::int64_t multiprocessors = dealt_multiprocessors;

std::int64_t slices_of(gemv_cut const& cut, std::int64_t k) {
  auto const slice = slice_of(cut, k);
  return (k + slice - 1) / slice;
}

}  // namespace

TEST_SUITE_BEGIN("gemv");

TEST_CASE_TEMPLATE("every element of y has one block in each slice, and no slice is empty", T, float, double) {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::int64_t const length = 1 + random() % (1 << (random() % 20)), k = 1 + random() % (1 << (random() % 20));
    for (bool const vectors : {false, true}) {
      CAPTURE(length);
      CAPTURE(k);
      auto const cut = cut_sums<T>(length, k, vectors);
      std::int64_t const of_block = std::int64_t{vector_width<T>} << cut.log_team;
      CHECK(cut.blocks * of_block >= length);
      CHECK((cut.blocks - 1) * of_block < length);
      CHECK((1 << cut.log_team) <= sums_threads);
      auto const slice = slice_of(cut, k), slices = slices_of(cut, k);
      CHECK(slices >= 1);
      CHECK((slices - 1) * slice < k);
    }
  }
}

TEST_CASE("slices of a large matrix leave an eighth of the places in their rounds empty at most") {
  for (std::int64_t const length : {1001, 1578, 2121, 5001, 20869, 44395, 100001}) {
    CAPTURE(length);
    auto const cut = cut_sliced_sums<float>(length, 20000);
    std::int64_t const blocks = cut.blocks * cut.slices, rounds = (blocks + multiprocessors - 1) / multiprocessors;
    CHECK(blocks * 8 >= rounds * multiprocessors * 7);
  }
}

TEST_CASE("a large matrix whose rows begin anywhere is read in longer pieces, and in slices") {
  auto const anywhere = cut_sums<float>(8191, 8191, false), at_vectors = cut_sums<float>(8192, 8192, true);
  CHECK(anywhere.log_team == 5);
  CHECK(slices_of(anywhere, 8191) == 2);
  CHECK(at_vectors.log_team == 3);
  CHECK(slices_of(at_vectors, 8192) == 1);
}

TEST_CASE("few columns and many steps are cut into slices, a small matrix is not") {
  CHECK(slices_of(cut_sums<float>(255, 65535, false), 65535) > 60);
  CHECK(slices_of(cut_sums<float>(511, 16383, false), 16383) > 30);
  CHECK(slices_of(cut_sums<float>(1244, 22615, true), 22615) > 10);
  CHECK(slices_of(cut_sums<float>(301, 3001, false), 3001) == 1);
  CHECK(slices_of(cut_sums<double>(301, 3001, false), 3001) == 1);
}

TEST_CASE("a short k is dealt to no more threads than have twelve steps each") {
  CHECK(cut_sliced_sums<float>(100001, 192).slices == 1);
  CHECK(cut_sliced_sums<float>(100001, 191).slices == 0);
  CHECK(cut_sums<float>(100001, 191, false).log_team == cut_whole_sums<float>(100001, 191).log_team);
}

TEST_CASE("a line beside the tiles of another kernel is not cut") {
  matrix_vector<float> s{};
  s.length = 8191, s.k = 8191;
  CHECK(slices_of(cut_gemv<float>(s, false, false), s.k) > 1);
  CHECK(slices_of(cut_gemv<float>(s, false, true), s.k) == 1);
}

TEST_SUITE_END();

}  // namespace tandem::tests::one_line
