// Blocks that come while those of the kernel before still run take the multiprocessors evenly.
#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/runtime/device.hpp"
#include "tests/kernels/early.hpp"
#include "tests/support.hpp"

TEST_SUITE("gpu places") {
  TEST_CASE("no multiprocessor takes more blocks than its share") {
    if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
    int const there = tandem::gpu::multiprocessors();
    for (int const share : {1, 2, 3, 5, 8})
      for (int const blocks : {share * there, share * there - there / 3})
        for (int const dynamic_bytes : {0, 4000, 20000}) {
          CAPTURE(blocks);
          CAPTURE(dynamic_bytes);
          for (int const most : tandem::tests::most_blocks_together(6, blocks, 128, dynamic_bytes))
            CHECK(most == share);
        }
  }
}
