// How gemv deals out a matrix and a vector, and that their bits follow from the sizes alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

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

// How the operands of a product with one column lie.
struct layout {
  int before = 0;   // elements before X and v
  int padding = 0;  // of X's rows
  int stride = 1;   // of v
};

// y = X v, or X^T v, through the executor, each element within the bound of any order of its sum.
template <class T>
std::vector<T> product(std::int64_t length, std::int64_t k, bool along_k, layout const& lies) {
  std::int64_t const rows = along_k ? length : k, ld = (along_k ? k : length) + lies.padding;
  std::vector<T> x(static_cast<std::size_t>(lies.before + rows * ld)), y(static_cast<std::size_t>(length));
  std::vector<T> v(static_cast<std::size_t>(lies.before + k * lies.stride));
  std::mt19937 random(7);
  auto const next = [&] { return static_cast<T>(random() % 2001) / 1000 - 1; };
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t q = 0; q < k; ++q)
      x[static_cast<std::size_t>(lies.before + (along_k ? i * ld + q : q * ld + i))] = next();
  for (std::int64_t q = 0; q < k; ++q) v[static_cast<std::size_t>(lies.before + q * lies.stride)] = next();
  problem p;
  p.dtype = dtype_of<T>;
  p.m = length, p.n = 1, p.k = k, p.trans_a = !along_k, p.alpha = 1;
  p.a = x.data() + lies.before, p.lda = ld, p.b = v.data() + lies.before, p.ldb = lies.stride, p.c = y.data(),
  p.ldc = 1;
  launch_gemv<T>(p, nullptr);
  bool within = true;
  for (std::int64_t i = 0; i < length; ++i) {
    long double sum = 0, magnitudes = 0;
    for (std::int64_t q = 0; q < k; ++q) {
      auto const a = x[static_cast<std::size_t>(lies.before + (along_k ? i * ld + q : q * ld + i))];
      auto const term = static_cast<long double>(a) * v[static_cast<std::size_t>(lies.before + q * lies.stride)];
      sum += term, magnitudes += std::abs(term);
    }
    auto const bound = static_cast<long double>(k + 1) * std::numeric_limits<T>::epsilon() / 2 * magnitudes;
    within = within && std::abs(y[static_cast<std::size_t>(i)] - sum) <= bound;
  }
  CHECK(within);
  return y;
}

}  // namespace

TEST_SUITE_BEGIN("gemv");

TEST_CASE_TEMPLATE("every element of y has one block in each slice, and slices begin at vectors", T, float, double) {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::int64_t const length = 1 + random() % (1 << (random() % 20)), k = 1 + random() % (1 << (random() % 20));
    for (bool const along_k : {false, true}) {
      CAPTURE(length);
      CAPTURE(k);
      CAPTURE(along_k);
      auto const cut = cut_gemv<T>(length, k, along_k, false);
      std::int64_t const threads = along_k ? dots_threads : sums_threads;
      std::int64_t const of_block =
          along_k ? (threads >> cut.log_team) * cut.rows : std::int64_t{vector_width<T>} << cut.log_team;
      CHECK((1 << cut.log_team) <= threads);
      CHECK(cut.blocks * of_block >= length);
      CHECK((cut.blocks - 1) * of_block < length);
      auto const slice = slice_of(cut, k), slices = slices_of(cut, k);
      CHECK(slices <= std::max<std::int64_t>(cut.slices, 1));
      CHECK((slices == 1 || slice % 16 == 0));
    }
  }
}

TEST_CASE_TEMPLATE("the bits follow from the sizes, however the operands lie", T, float, double) {
  struct a_line {
    std::int64_t length, k;
    bool along_k, sliced, gathered;  // beside a v of a stride of 40
  };
  constexpr a_line lines[] = {
      {37, 515, true, false, false},   {37, 512, true, false, false},   {600, 4, true, false, false},
      {700, 3600, true, false, true},  {700, 3601, true, false, true},  {200, 20000, true, true, true},
      {200, 20001, true, true, true},  {37, 515, false, false, false},  {1001, 130, false, false, false},
      {9, 40001, false, true, false},  {12, 40001, false, true, false}, {37, 16001, false, true, false},
      {16001, 8, false, false, false}, {16003, 3, false, false, false}};  // in pieces of whole warps
  for (auto const& line : lines) {
    auto const length = line.length, k = line.k;
    bool const along_k = line.along_k;
    CAPTURE(length);
    CAPTURE(k);
    CAPTURE(along_k);
    auto const cut = cut_gemv<T>(length, k, along_k, false);
    CHECK((slices_of(cut, k) > 1) == line.sliced);
    if (along_k) CHECK(is_gathered<T>(cut, 40, k) == line.gathered);
    auto const packed = product<T>(length, k, along_k, {});
    for (layout const& lies :
         {layout{.before = 1}, layout{.padding = 4}, layout{.padding = 1}, layout{.padding = 3}, layout{.stride = 3},
          layout{.stride = 40}, layout{.before = 3, .padding = 7, .stride = 5}}) {
      CAPTURE(lies.before);
      CAPTURE(lies.padding);
      CAPTURE(lies.stride);
      CHECK(product<T>(length, k, along_k, lies) == packed);
    }
  }
}

TEST_CASE("so do those of many rows of a very long k") {
  CHECK(product<float>(513, 34001, true, {}) == product<float>(513, 34001, true, {.before = 1, .stride = 9}));
}

TEST_CASE("v is copied first where much lies between its elements, and many blocks read it") {
  auto const cut = cut_gemv<float>(4096, 4096, true, false);
  CHECK(is_gathered<float>(cut, 4096, 4096));
  CHECK_FALSE(is_gathered<float>(cut, 1, 4096));
  CHECK_FALSE(is_gathered<float>(cut, 3, 4096));
  CHECK(is_gathered<float>(cut_gemv<float>(700, 3600, true, false), 40, 3600));
  CHECK_FALSE(is_gathered<float>(cut_gemv<float>(1024, 1024, true, false), 1024, 1024));
  CHECK_FALSE(is_gathered<float>(cut_gemv<float>(1, 2000000, true, false), 8, 2000000));  // one block reads it once
}

TEST_CASE("teams grow where blocks would leave a fifth of the places in their rounds empty") {
  CHECK(cut_dots<float>(5001, 12001).log_team == 8);   // 1251 blocks in three rounds of 528 with seven
  CHECK(cut_dots<float>(20001, 5001).log_team == 6);   // with 2501 in five it stays
  CHECK(cut_dots<double>(2193, 20001).log_team == 8);  // 549 in two with seven
}

TEST_CASE("many rows of a very long k are read by warps, in slices that fill the places") {
  for (std::int64_t const length : {513, 1125, 2408, 5001}) {
    CAPTURE(length);
    auto const cut = cut_dots<float>(length, 50257);
    CHECK(cut.log_team == 5);
    std::int64_t const blocks = cut.blocks * slices_of(cut, 50257), rounds = (blocks + 527) / 528;
    CHECK(blocks * 8 >= rounds * 528 * 7);
  }
}

TEST_CASE("slices of a large matrix leave an eighth of the places in their rounds empty at most") {
  constexpr std::int64_t places = 2 * multiprocessors;
  for (std::int64_t const length : {1001, 1578, 2121, 5001, 20869, 44395, 100001}) {
    CAPTURE(length);
    auto const cut = cut_sliced_sums<float>(length, 20000);
    std::int64_t const blocks = cut.blocks * slices_of(cut, 20000), rounds = (blocks + places - 1) / places;
    CHECK(blocks * 8 >= rounds * places * 7);
  }
}

TEST_CASE("a large matrix is read in pieces of 512 bytes, and in slices") {
  for (std::int64_t const length : {8191, 8192, 8193}) {
    CAPTURE(length);
    auto const cut = cut_sums<float>(length, length);
    CHECK(cut.log_team == 5);
    CHECK(slices_of(cut, length) == 4);
  }
}

TEST_CASE("short pieces are shunned most where rows that lie close together begin anywhere") {
  CHECK(slices_of(cut_sums<float>(408, 13374), 13374) == 1);
  CHECK(slices_of(cut_sums<float>(409, 13374), 13374) > 1);
}

TEST_CASE("few columns and many steps are cut into slices, a small matrix is not") {
  CHECK(slices_of(cut_sums<float>(255, 65535), 65535) > 60);
  CHECK(slices_of(cut_sums<float>(511, 16383), 16383) > 30);
  CHECK(slices_of(cut_sums<float>(1244, 22615), 22615) > 10);
  CHECK(slices_of(cut_sums<float>(301, 3001), 3001) == 1);
  CHECK(slices_of(cut_sums<double>(301, 3001), 3001) == 1);
}

TEST_CASE("a short k is dealt to no more threads than have twelve steps each") {
  CHECK(cut_sliced_sums<float>(100001, 192).slices == 1);
  CHECK(cut_sliced_sums<float>(100001, 191).slices == 0);
  CHECK(cut_sums<float>(100001, 191).log_team == cut_whole_sums<float>(100001, 191).log_team);
}

TEST_CASE("a line beside the tiles of another kernel is not cut") {
  CHECK(slices_of(cut_gemv<float>(8191, 8191, false, false), 8191) > 1);
  CHECK(slices_of(cut_gemv<float>(8191, 8191, false, true), 8191) == 1);
}

TEST_SUITE_END();

}  // namespace tandem::tests::one_line
