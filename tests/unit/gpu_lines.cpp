// The few rows or columns of C that are computed beside the tiles of another kernel.
#include <doctest/doctest.h>

#include <cstdint>

#define TANDEM_KERNEL_NAMESPACE tandem::tests::few_lines
#include <tandem/simt/words.hpp>

#include "gpu/kernels/peeled.cuh"
#include "tests/unit/gpu_problems.hpp"

namespace tandem::tests::few_lines {

TEST_SUITE_BEGIN("lines beside tiles");

TEST_CASE("rows and columns of C are right, however the operands lie, and nothing else is written") {
  constexpr double alphas[] = {1, -0.75, 2}, betas[] = {0, 1, -0.5};
  int turn = 0;
  for (bool const columns : {false, true})
    for (std::int64_t lines = 1; lines <= most_lines; ++lines)
      for (std::int64_t const length : {1, 2, 7, 8, 9, 31, 33, 100})
        for (std::int64_t const k : {1, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 300})
          for (int trans = 0; trans < 4; ++trans, ++turn) {
            auto const m = columns ? length : lines, n = columns ? lines : length;
            bool const trans_a = trans % 2 != 0, trans_b = trans / 2 != 0;
            gpu_problems::shape const s{m, n, k, trans_a, trans_b, alphas[turn % 3], betas[turn % 3], turn % 5};
            gpu_problems::host_problem<float> const before(s);
            auto after = before;
            launch_lines_beside<float>(after.canonical(), columns, nullptr);
            INFO(columns, " ", gpu_problems::describe(s));
            CHECK(gpu_problems::wrong_elements(before, after.c, false) == 0);
          }
}

TEST_CASE("lines go beside tiles that leave them registers, and time enough") {
  CHECK(goes_beside<float>(1, 4097, 4097, 2500));
  CHECK(goes_beside<float>(most_lines, 1025, 1025, 60));
  CHECK_FALSE(goes_beside<float>(most_lines + 1, 1025, 1025, 60));
  CHECK_FALSE(goes_beside<float>(1, 1025, 1025, 16));   // it reads 4.2 MB, at about 0.5 TB/s
  CHECK_FALSE(goes_beside<float>(1, 9, 100000, 1000));  // few blocks share a long k
  CHECK_FALSE(goes_beside<double>(1, 4097, 4097, 2500));
}

TEST_CASE("of a strip beside the tiles the estimate counts what it hinders them, of others that they come after") {
  CHECK(time_of_strip<float>(1, 4097, 4097, true) < 5);
  CHECK(time_of_strip<float>(1, 4097, 4097, false) > 15);
  CHECK(time_of_strip<float>(0, 4097, 4097, false) == 0);
}

TEST_SUITE_END();

}  // namespace tandem::tests::few_lines
