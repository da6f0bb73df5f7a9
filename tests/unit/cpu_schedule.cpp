// The block sizes of the CPU driver: read from the caches or TANDEM_CACHES, and sane for every problem.
#include "cpu/caches.hpp"
#include "cpu/dots.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/schedule.hpp"
#include "cpu/tiles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include <tandem/error.hpp>

#include "cpu/workspace.hpp"

using tandem::cpu::cache_sizes;
using tandem::cpu::parse_caches;

namespace {
constexpr double awake = 1, asleep = std::numeric_limits<double>::infinity();  // a team's slowness
}

TEST_SUITE_BEGIN("cpu_schedule");

TEST_CASE("cache sizes are read with their units") {
  CHECK(parse_caches("48K,1M,32M") == cache_sizes{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20});
  CHECK(parse_caches("32768,524288,1G") == cache_sizes{.l1 = 32768, .l2 = 524288, .l3 = 1 << 30});
}

TEST_CASE("text that is not three sizes is an error with the text") {
  for (char const* text : {"", "48K", "48K,1M", "48K,1M,", "48K,1M,32X", "-1,1M,32M", "0,1M,32M", "48K,1M,32M,1",
                           "99999999999999999999,1M,32M", "48 K,1M,32M"}) {
    CAPTURE(text);
    try {
      parse_caches(text);
      FAIL("sizes");
    } catch (tandem::error const& e) {
      CHECK(e.code() == tandem::errc::unsupported);
      CHECK(std::strstr(e.what(), ('"' + std::string(text) + '"').c_str()) != nullptr);
    }
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

constexpr cache_sizes zen4{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
constexpr cache_sizes intel{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};

/// A product of packed rows without data.
template <class T>
tandem::cpu::operands<T> product(std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a = false,
                                 bool trans_b = false) {
  return tandem::cpu::operands<T>({.dtype = tandem::dtype_of<T>,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .lda = trans_a ? m : k,
                                   .trans_a = trans_a,
                                   .ldb = trans_b ? k : n,
                                   .trans_b = trans_b,
                                   .ldc = n});
}

/// For every instruction set, element type, layout and a range of sizes: f(kernel, operands).
template <class F>
void for_each_product(F const& f) {
  for (auto const* set : tandem::cpu::instruction_sets())
    for (std::int64_t m : {1, 7, 13, 15, 29, 500, 100000})
      for (std::int64_t n : {1, 33, 65, 1000, 100000})
        for (std::int64_t k : {1, 7, 255, 257, 100000})
          for (int trans = 0; trans < 4; ++trans) {
            INFO(set->technique, " ", m, "x", n, "x", k, " trans ", trans);
            f(set->f32, product<float>(m, n, k, trans % 2 != 0, trans / 2 != 0));
            f(set->f64, product<double>(m, n, k, trans % 2 != 0, trans / 2 != 0));
          }
}

/// For every instruction set and element type: f(kernel).
template <class F>
void for_each_kernel(F const& f) {
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    f(set->f32);
    f(set->f64);
  }
}

TEST_CASE("what is packed fits its cache, and tiles fit the registers") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for_each_product([&]<class T>(tandem::cpu::microkernel<T> const& kernel, tandem::cpu::operands<T> const& o) {
    auto const t = tandem::cpu::choose_tiling(caches, kernel, o);
    auto const size = static_cast<std::int64_t>(sizeof(T));
    CHECK((t.kc >= 1 && t.kc <= o.k));
    CHECK((t.mc >= 1 && t.nc >= 1));
    CHECK((t.rows >= 1 && t.rows <= kernel.rows[static_cast<std::size_t>(kernel.width_of(t.cols))]));
    CHECK((o.b_col == 1 || t.pack_b));
    CHECK(tandem::cpu::packed_b_size(kernel, t) * size <= caches.l2);
    CHECK(tandem::cpu::packed_a_size<T>(t) * size <= caches.l3 / 4);
  });
}

TEST_CASE("rows of A are copied only where a tile's rows would meet in one set of L1") {
  cache_sizes const wide{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20},
      narrow{.l1 = 12 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const copied = [&](cache_sizes const& caches, std::int64_t lda) {
      auto o = product<float>(1000, 1000, 1000);
      o.a_row = lda;
      return tandem::cpu::choose_tiling(caches, set->f32, o).pack_a;
    };
    CHECK_FALSE(copied(wide, 1000));
    CHECK_FALSE(copied(wide, 1004));
    CHECK(copied(narrow, 1024));
    CHECK(copied(narrow, 4096));
  }
}

TEST_CASE("a transposed A is copied where its columns would meet in L2, or are passed over for many columns of C") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    if (kernel.has_low_tiles()) return;
    constexpr std::int64_t line = 64 / sizeof(T), page = 4096 / sizeof(T);
    auto const copied = [&](std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t l2 = 1 << 20) {
      auto o = product<T>(1000, n, k, true);
      o.a_col = lda;
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 32 << 20}, kernel, o).pack_a;
    };
    CHECK_FALSE(copied(1000, 1000, 1003));
    CHECK_FALSE(copied(1000, 1000, 2 * page + line));
    CHECK(copied(1000, 500, 2 * page));
    CHECK_FALSE(copied(1000, 250, 2 * page));  // 1 MiB has as many lines at one place of its pages
    CHECK_FALSE(copied(1000, 500, 3 * page / 2));
    CHECK(copied(1000, 1000, 1003, 2 << 20));  // as Intel's
    CHECK_FALSE(copied(1536, 1000, 1003));
    CHECK(copied(1537, 1000, 1003));
    CHECK_FALSE(copied(250, 250, page));  // all stay in L2
  });
}

TEST_CASE("low tiles have a transposed A copied for many columns of C, fewer if A and B fit L2") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    if (!kernel.has_low_tiles()) return;
    auto const copied = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return tandem::cpu::choose_tiling(zen4, kernel, product<T>(m, n, k, true)).pack_a;
    };
    constexpr std::int64_t many = sizeof(T) == 8 ? 64 : 160;
    CHECK(copied(1001, many, 1000));
    CHECK_FALSE(copied(1001, many - 1, 1000));
    CHECK(copied(200, 128, 250));
    CHECK_FALSE(copied(200, 127, 250));
  });
}

TEST_CASE(
    "a copy of A's columns is made a part at a time that stays in L2, if B is one block, and goes to L3 beside more") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const copy = [&](std::int64_t n, std::int64_t k) {
      auto const t = tandem::cpu::choose_tiling(intel, kernel, product<T>(20000, n, k, true));
      REQUIRE((t.pack_a && t.pack_b));
      CHECK((t.nc == n) == (n <= 100));
      return t.mc * t.kc * static_cast<std::int64_t>(sizeof(T));
    };
    std::int64_t const rows = 14 * 4096;  // bytes
    for (std::int64_t const n : {std::int64_t{3 * kernel.lanes + 1}, std::int64_t{100}})
      for (std::int64_t const k : {200, 512, 3000}) {
        CAPTURE(n);
        CAPTURE(k);
        CHECK((copy(n, k) > intel.l2 / 8 && copy(n, k) <= intel.l2 / 4 + rows));
      }
    CHECK((copy(2000, 512) > intel.l2 && copy(2000, 512) <= (4 << 20) + rows));
  });
}

TEST_CASE("threads share a product alike however much of A is copied at a time, if B is one block") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    for (std::int64_t const m : {900, 3000, 20000})
      for (std::int64_t const n : {3 * kernel.lanes + 1, 60, 100})
        for (std::int64_t const k : {100, 250, 512, 2000})
          for (int const threads : {2, 3, 4, 8, 16}) {
            INFO(m, "x", n, "x", k, " ", threads);
            auto const o = product<T>(m, n, k, true);
            auto t = tandem::cpu::choose_tiling(intel, kernel, o);
            auto const parts = [&] {
              auto const g = tandem::cpu::choose_grid(intel, kernel, o, t, threads, true, asleep);
              return std::tuple(g.rows, g.cols, g.terms);
            };
            auto const a_part = parts();
            t.mc = m;
            CHECK(parts() == a_part);
          }
  });
}

TEST_CASE(
    "where fewer rows of A leave each other alone, tiles are low instead, unless a copy is used for many columns") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const& kernel = set->f32;
    auto const low = kernel.rows[static_cast<std::size_t>(kernel.widest)];
    auto const tiling = [&](std::int64_t n, std::int64_t k) {
      return tandem::cpu::choose_tiling(caches, kernel, product<float>(1000, n, k));
    };
    bool const meet = kernel.mr > 8;  // two thirds of twelve ways
    CHECK_FALSE(tiling(1000, 1024).pack_a);
    CHECK(tiling(1000, 1024).rows == (meet ? low : kernel.mr));
    CHECK(tiling(1000, 1024).cols == (meet ? kernel.widest * kernel.lanes : kernel.nr));
    CHECK(tiling(1000, 1024).kc == tiling(3000, 1024).kc);
    CHECK(tiling(3000, 1024).pack_a == meet);
    CHECK(tiling(3000, 1024).rows == kernel.mr);
    CHECK(tiling(1000, 1000).rows == kernel.mr);
  }
}

TEST_CASE("a block of a narrow B leaves a place in L2 for the next one, where that comes from beyond L3") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 128 << 10, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const& kernel = set->f32;
    auto const bytes_of_block = [&](std::int64_t k) {
      auto const t = tandem::cpu::choose_tiling(caches, kernel, product<float>(1000, 2 * kernel.nr, k));
      return t.kc * 2 * kernel.nr * 4;
    };
    auto const depth_of = [&](std::int64_t bytes_of_b) { return bytes_of_b / (2 * kernel.nr) / 4; };
    CHECK(bytes_of_block(depth_of(16 << 20)) > caches.l2 * 3 / 8);
    CHECK(bytes_of_block(depth_of(16 << 20)) <= caches.l2 / 2);
    CHECK(bytes_of_block(depth_of(20 << 20)) > caches.l2 * 3 / 16);
    CHECK(bytes_of_block(depth_of(20 << 20)) <= caches.l2 / 4);
  }
}

TEST_CASE("a skinny C takes short stretches of B where its rows would push each other out of L2") {
  cache_sizes const large{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20}, small{32 << 10, 1 << 20, large.l3};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const depth = [&](cache_sizes const& caches, std::int64_t n) {
      return tandem::cpu::choose_tiling(caches, set->f32, product<float>(set->f32.mr, n, 4096)).kc;
    };
    CHECK(depth(large, 1024) == 64);
    CHECK(depth(large, 1000) == 256);
    CHECK(depth(small, 4096) == 256);
  }
}

TEST_CASE("a C of up to 168 rows goes without a copy of B where tiles are wide and high, and C stays in a large L2") {
  cache_sizes const small{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, large{small.l1, 2 << 20, 256 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const& kernel = set->f32;
    auto const copies = [&](cache_sizes const& caches, std::int64_t m, std::int64_t n, bool trans_b = false) {
      return tandem::cpu::choose_tiling(caches, kernel, product<float>(m, n, 3000, false, trans_b)).pack_b;
    };
    bool const is_high = kernel.rows[3] >= 8;
    CHECK(copies(small, 168, 3000) == !is_high);
    CHECK(copies(small, 169, 3000));
    CHECK(copies(small, 168, 3000, true));
    CHECK(copies(large, 168, 1560) == !is_high);
    CHECK(copies(large, 168, 1561));
  }
}

TEST_CASE("one or two rows of C take B as a few streams") {
  cache_sizes const caches{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const depth = [&](std::int64_t m) {
      return tandem::cpu::choose_tiling(caches, set->f64, product<double>(m, 4000, 4000)).kc;
    };
    CHECK(depth(1) == set->f64.most_terms);
    CHECK(depth(2) == set->f64.most_terms);
    CHECK(depth(3) == 256);
  }
}

TEST_CASE("of an operand in memory the next rows are asked for while these are read, if a small L2 has room for them") {
  cache_sizes const small{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, large{small.l1, 2 << 20, small.l3},
      zen5{48 << 10, small.l2, small.l3}, zen3{small.l1, 512 << 10, small.l3};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    auto const row_of_c = [&](cache_sizes const& caches, std::int64_t n, std::int64_t k) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(1, n, k)).b_ahead;
    };
    CHECK(row_of_c(small, 4096 / size, 8192) == 0);  // B is as large as L3
    CHECK(row_of_c(small, 4096 / size, 8193) == kernel.most_terms * 4096 / size);
    CHECK(row_of_c(small, 65536 / size, 513) == kernel.most_terms * 65536 / size);  // eight rows are half of L2
    CHECK(row_of_c(small, 65536 / size + 1, 513) == 1024 / size);
    CHECK(row_of_c(large, 4096 / size, 100000) == 0);
    CHECK(row_of_c(zen5, 4096 / size, 100000) == 0);
    // A skinny C's B comes from L3, too, along its rows.
    auto const skinny = [&](cache_sizes const& caches) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(3, 4000, 4096));
    };
    CHECK(skinny(large).b_ahead == 256 / size);  // of long rows, 32 at a time
    CHECK(skinny(small).b_ahead == 512 / size);
    CHECK(skinny(zen5).b_ahead == 256 / size);
    CHECK(skinny(zen5).kc == 512);

    auto const column_of_c = [&](cache_sizes const& caches, std::int64_t m, std::int64_t n, std::int64_t k,
                                 bool again = false) {
      return tandem::cpu::dots_ahead(caches, kernel, product<T>(m, n, k), again);
    };
    CHECK(column_of_c(small, 512, 1, 16384 / size) == 0);  // A has a quarter of L3
    CHECK(column_of_c(small, 513, 1, 16384 / size) != 0);
    CHECK(column_of_c(small, 1024, 1, 16384 / size, true) == 0);  // half of it
    CHECK(column_of_c(small, 1025, 1, 16384 / size, true) != 0);
    // Rows of a page at most are streams beside one column or two, and need not be asked for.
    constexpr std::int64_t longer = 4096 / size + 1;
    CHECK(column_of_c(small, 2049, 1, longer) == kernel.dot_rows_of_column * longer);
    CHECK(column_of_c(small, 2049, 2, longer) == (32 << 10) / size / longer * longer);
    CHECK(column_of_c(small, 2049, 1, 4096 / size) == 0);
    CHECK(column_of_c(small, 2049, 2, 4096 / size) == 0);
    CHECK(column_of_c(small, 2049, 3, 4096 / size) == (32 << 10) / size);
    CHECK(column_of_c(small, 100000, 2, 256 / size) == 0);
    auto apart = product<T>(100000, 1, 256 / size);
    apart.a_row += 256 / size + 1;
    CHECK(tandem::cpu::dots_ahead(small, kernel, apart, false) == (32 << 10) / 256 * apart.a_row);
    CHECK(column_of_c(small, 513, 2, 65536 / size) == kernel.dot_rows * 65536 / size);
    CHECK(column_of_c(small, 513, 1, 65536 / size) == kernel.dot_rows_of_column * 65536 / size);
    CHECK(column_of_c(small, 257, 1, 131072 / size) == 512 / size);
    CHECK(column_of_c(large, 100000, 1, 4096 / size) == 0);
    CHECK(column_of_c(zen5, 100000, 1, 4096 / size) == 0);
    CHECK(column_of_c(zen3, 100000, 1, 4096 / size) == 0);
  });
}

TEST_CASE("where half a vector costs half, a narrow C is no wider than its half vectors") {
  cache_sizes const caches{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto in_halves = kernel;
    in_halves.half_costs_half = kernel.rows[0] > 0;
    auto const cols = [&](auto const& of_kernel, std::int64_t n) {
      return tandem::cpu::choose_tiling(caches, of_kernel, product<T>(3000, n, 1000)).cols;
    };
    std::int64_t const lanes = kernel.lanes, half = lanes / 2;
    if (in_halves.half_costs_half) {
      CHECK(cols(in_halves, lanes + half) == lanes);
      CHECK(cols(in_halves, 3 * lanes + half) == 3 * lanes);
      CHECK(cols(in_halves, lanes + half + 1) == kernel.nr);
    }
    auto in_wholes = kernel;
    in_wholes.half_costs_half = false;
    CHECK(cols(in_wholes, lanes + half) == kernel.nr);
  });
}

TEST_CASE("where half a vector costs half, dot products are for few columns of many terms") {
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto kernel = set->f32;
    if (kernel.rows[0] == 0) continue;
    kernel.half_costs_half = true;
    CHECK(!tandem::cpu::are_few_columns(kernel, 400, 4, 16, false));
    CHECK(tandem::cpu::are_few_columns(kernel, 400, 4, 64, false));
    CHECK(!tandem::cpu::are_few_columns(kernel, 400, 6, 64, false));  // tiles of three columns load more often
    CHECK(tandem::cpu::are_few_columns(kernel, 400, 6, 200, false));
    CHECK(tandem::cpu::are_few_columns(kernel, 300, 20, 300, true));
    CHECK(!tandem::cpu::are_few_columns(kernel, 300, 20, 300, false));  // which would have B laid along k first
    CHECK(!tandem::cpu::are_few_columns(kernel, 300, 24, 300, true));   // tiles of one and a half vectors are full
    CHECK(!tandem::cpu::are_few_columns(kernel, 300, 18, 300, true));   // whose last two columns are
  }
}

TEST_CASE("blocks of a narrow B are at most a page of a row of A deep where threads may share k") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(64, 16, 100000)).kc <= 1024);
    CHECK(tandem::cpu::choose_tiling(caches, set->f64, product<double>(64, 8, 100000)).kc <= 512);
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(4096, 16, 4096)).kc == 4096);
  }
}

TEST_CASE("threads share rows rather than columns that each would read all of A for") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const o = product<float>(100000, 32, 32);
    for (int threads : {2, 16}) {
      auto const g = tandem::cpu::choose_grid(caches, set->f32, o, tandem::cpu::choose_tiling(caches, set->f32, o),
                                              threads, true, asleep);
      CHECK(g.rows == threads);
    }
    auto const deep = product<float>(64, std::min<std::int64_t>(64, 4 * set->f32.nr), 100000);
    CHECK(tandem::cpu::choose_grid(caches, set->f32, deep, tandem::cpu::choose_tiling(caches, set->f32, deep), 2, true,
                                   asleep)
              .terms == 2);
  }
}

TEST_CASE("operands that fit L2 are not copied, unless B is transposed") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    CHECK_FALSE(tandem::cpu::choose_tiling(caches, set->f32, product<float>(200, 200, 200)).pack_b);
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(200, 200, 200, false, true)).pack_b);
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(1000, 1000, 100)).pack_b);
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(360, 360, 360)).pack_b);  // C would drive B out
  }
}

TEST_CASE(
    "a B of a few columns that fits L2 is copied unless its rows begin at cache lines, with the same blocks of k") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const columns = std::min<std::int64_t>(4 * set->f32.nr, 64);
    auto const tiling = [&](std::int64_t k, std::int64_t ldb) {
      auto o = product<float>(100, columns, k);
      o.b_row = ldb;
      return tandem::cpu::choose_tiling(caches, set->f32, o);
    };
    for (std::int64_t const k : {100, 1200}) {
      CHECK_FALSE(tiling(k, columns).pack_b);
      CHECK(tiling(k, columns).b_stays);
      CHECK(tiling(k, columns + 1).pack_b);
      CHECK(tiling(k, columns).kc == tiling(k, columns + 1).kc);
    }
    CHECK(tandem::cpu::choose_tiling(caches, set->f32, product<float>(100000, columns, 100)).pack_b);
  }
}

TEST_CASE("a B that meets few rows of A is read where it lies, if it lies together and comes from a cache") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const& kernel = set->f32;
    auto const columns = std::min<std::int64_t>(4 * kernel.nr, 64);
    auto const copies = [&](std::int64_t m, std::int64_t bytes_of_b, std::int64_t padding) {
      auto o = product<float>(m, columns, bytes_of_b / columns / 4);
      o.b_row = columns + padding;
      return tandem::cpu::choose_tiling(caches, kernel, o).pack_b;
    };
    CHECK_FALSE(copies(3 * kernel.mr, 8 << 20, 0));
    CHECK_FALSE(copies(16 * kernel.mr, 8 << 20, 0));
    CHECK(copies(16 * kernel.mr + 1, 8 << 20, 0));
    CHECK(copies(3 * kernel.mr, 9 << 20, 0));
    CHECK(copies(3 * kernel.mr, 8 << 20, 16));  // cache lines, but not next to each other
    CHECK(copies(3 * kernel.mr, 8 << 20, 1));
  }
}

TEST_CASE("of an L3 of some hundred MiB a core counts on 32") {
  for (auto const* set : tandem::cpu::instruction_sets()) {
    auto const& kernel = set->f32;
    auto const columns = std::min<std::int64_t>(4 * kernel.nr, 64);
    auto const copies = [&](std::int64_t bytes_of_b) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20}, kernel,
                                        product<float>(3 * kernel.mr, columns, bytes_of_b / columns / 4))
          .pack_b;
    };
    CHECK_FALSE(copies(8 << 20));
    CHECK(copies(9 << 20));
  }
}

TEST_CASE("a large C of a few terms is computed in wide tiles, unless it goes past the caches") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20},
      amd{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 256 << 20};
  for (auto const* set : tandem::cpu::instruction_sets()) {
    INFO(set->technique);
    auto const& kernel = set->f32;
    auto const cols = [&](cache_sizes const& at, std::int64_t m, std::int64_t k) {
      return tandem::cpu::choose_tiling(at, kernel, product<float>(m, 4112, k)).cols;
    };
    auto const wide = kernel.widest * kernel.lanes;
    CHECK(cols(caches, 4096, 16) == wide);
    CHECK(cols(caches, 4096, 200) == kernel.nr);
    CHECK(cols(amd, 40, 16) == kernel.nr);                              // C stays in L2
    bool const has_lines = kernel.nr % 16 == 0 || 16 % kernel.nr == 0;  // else C does not go past the caches
    CHECK(cols({.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, 4096, 16) == (has_lines ? kernel.nr : wide));
    // Low tiles have more rows where C's meet in one set of L1.
    CHECK(tandem::cpu::choose_tiling(caches, kernel, product<float>(4096, 4096, 16)).cols ==
          (kernel.has_low_tiles() ? kernel.nr : wide));
    // From beyond L3 it is asked for ahead of time.
    auto const far = [&](std::int64_t l3) {
      auto o = product<float>(4095, 4095, 16);
      o.beta = 1;
      auto const t = tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = 2 << 20, .l3 = l3}, kernel, o);
      CHECK(t.c_ahead == 2 * t.cols);
      return t.asks_for_c;
    };
    CHECK(far(64 << 20));
    CHECK(!far(128 << 20));
  }
}

TEST_CASE("short sums are made in tiles of three vectors on Intel's processors, where 32 registers allow") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const tile = [&](std::int64_t l2, std::int64_t k) {
      auto const t =
          tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel, product<T>(1100, 1000, k));
      return std::pair(t.rows, t.cols);
    };
    std::pair const most(kernel.mr, kernel.nr), low(std::int64_t{kernel.rows[3]}, std::int64_t{3 * kernel.lanes});
    bool const has_low = kernel.rows[3] >= 8;
    CHECK(tile(2 << 20, 128) == (has_low ? low : most));
    CHECK(tile(2 << 20, 129) == most);
    CHECK(tile(1 << 20, 128) == most);
  });
}

TEST_CASE("with a large L2 tiles are wider: of floats, and of doubles where the last would be of one vector") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const width = [&](std::int64_t l2, std::int64_t m, std::int64_t vectors) {
      auto const o = product<T>(m, vectors * kernel.lanes - 1, 300);
      auto const t = tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel, o);
      CHECK(t.rows == kernel.rows[static_cast<std::size_t>(t.cols / kernel.lanes)]);
      return t.cols / kernel.lanes;
    };
    std::int64_t const narrow = kernel.nr / kernel.lanes;
    bool const are_wider = narrow == 2 && kernel.rows[3] >= 8;
    struct widths {
      std::int64_t vectors, of_floats, of_doubles;
    };
    for (auto const& of :
         {widths{3, 3, 3}, {4, 4, 2}, {5, 3, 3}, {6, 3, 2}, {7, 4, 2}, {8, 4, 2}, {9, 3, 3}, {15, 3, 3}, {17, 3, 2}}) {
      CAPTURE(of.vectors);
      CHECK(width(2 << 20, 300, of.vectors) == (are_wider ? sizeof(T) == 4 ? of.of_floats : of.of_doubles : narrow));
      CHECK(width(1 << 20, 3000, of.vectors) == narrow);
    }
    CHECK(width(2 << 20, 2000000 / kernel.lanes, 30) == narrow);  // of a large C
  });
}

TEST_CASE("a C beyond L2 is asked for; on Intel's processors only if a tile has its whole rows, which are no stream") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), short_row = 88;
    auto const of = [](std::int64_t m, std::int64_t n, std::int64_t gap, std::int64_t k = 100) {
      auto o = product<T>(m, n, k);
      o.ldc += gap;
      return o;
    };
    auto const asks = [&](std::int64_t l2, std::int64_t m, std::int64_t n, std::int64_t gap = 0) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel, of(m, n, gap)).asks_for_c;
    };
    std::int64_t const many = 2000000 / kernel.nr;  // C has 8 or 16 MB
    CHECK(asks(1 << 20, many, kernel.nr));
    CHECK(asks(2 << 20, many, kernel.nr, 1));
    CHECK(asks(2 << 20, many, kernel.nr) == (kernel.nr * size > short_row));
    CHECK(asks(1 << 20, many, 4 * kernel.lanes + 1));
    CHECK_FALSE(asks(2 << 20, many, 4 * kernel.lanes + 1));
    CHECK_FALSE(asks(1 << 20, 100, kernel.nr));

    // Where many threads share it, rows that lie together are a stream whatever their length. (Beside an A of shorter
    // rows, which are streams, nobody asks.)
    for (std::int64_t const gap : {0, 1}) {
      auto const o = of(many, kernel.nr, gap, 2000);
      auto t = tandem::cpu::choose_tiling(intel, kernel, o);
      t.asks_for_c = true;
      CHECK(tandem::cpu::tiling_of_parts(intel, kernel, o, t, {4, 1, 1}).asks_for_c == (gap == 1));
      CHECK(tandem::cpu::tiling_of_parts(intel, kernel, o, t, {2, 1, 1}).asks_for_c);
    }
  });
}

TEST_CASE("beside few rows of A, rows of B of more than 14 KiB are taken 32 at a time on Intel's processors") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const terms = [&](std::int64_t l2, std::int64_t n) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel,
                                        product<T>(kernel.mr, n, 5120))
          .kc;
    };
    constexpr std::int64_t elements = (14 << 10) / sizeof(T);
    CHECK(terms(2 << 20, elements + 1) == 32);
    CHECK(terms(2 << 20, elements - 1) == 256);
    CHECK(terms(1 << 20, elements + 1) == 512);
    CHECK(terms(2 << 20, 8192 / sizeof(T)) == 64);  // a multiple of a page
  });
}

TEST_CASE("one or two columns behind the last whole vector are dot products, where A lies along k") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const columns = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a = false) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, k, trans_a)).dot_cols;
    };
    std::int64_t const lanes = kernel.lanes, most = std::min<std::int64_t>(2, lanes / 4);
    for (std::int64_t left = 0; left < lanes; ++left) {
      CHECK(columns(100, 8 * lanes + left, 100) == (left <= most ? left : 0));
      CHECK(columns(100, left + 1, 100) == 0);
      CHECK(columns(100, 8 * lanes + left, 100, true) == 0);
    }
    CHECK(columns(16, lanes + most, 32) == most);
    CHECK(columns(15, lanes + most, 32) == 0);
    CHECK(columns(16, lanes + most, 31) == 0);
  });
}

TEST_CASE("with a large L2 the next block of B has a place there beside few rows of A, and is asked for beside fewer") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const tiling = [&](std::int64_t m, std::int64_t l2) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel, product<T>(m, 3500, 999));
    };
    constexpr std::int64_t large = 2 << 20, size = sizeof(T);
    for (std::int64_t m : {200, 256, 300, 512}) {
      auto const t = tiling(m, large);
      INFO(m, ": ", t.kc, " x ", t.nc);
      CHECK(t.kc * t.nc * size <= large / (m <= 256 ? 8 : 4));
    }
    CHECK(tiling(513, large).nc > tiling(512, large).nc);
    CHECK_FALSE(tiling(257, large).asks_for_b);
    CHECK(tiling(256, large).asks_for_b);
    CHECK(tiling(512, 1 << 20).asks_for_b);
    CHECK_FALSE(tiling(257, large).tiles_pack_b);  // their rows are too far apart there
    CHECK(tiling(256, large).tiles_pack_b);
    CHECK(tiling(512, 1 << 20).tiles_pack_b);
  });
}

TEST_CASE("a small C of many terms, A transposed: both operands where they lie") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const choose = [&](std::int64_t l2, std::int64_t k) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel,
                                        product<T>(4 * kernel.mr, 2 * kernel.nr, k, true));
    };
    for (std::int64_t const l2 : {16 << 10, 1 << 20, 2 << 20}) {
      auto const many = choose(l2, 100000), fewer = choose(l2, 512);
      CHECK_FALSE(many.pack_a);
      CHECK(many.a_ahead > 0);
      CHECK(many.b_ahead > 0);
      CHECK(fewer.a_ahead == 0);
      CHECK(fewer.b_ahead == 0);
      CHECK(fewer.pack_a == (l2 < 1 << 20));  // else all stay there
    }
  });
}

TEST_CASE(
    "beyond L3 such operands are copied on Zen 5 if their rows are no whole lines, and stretches are longer there") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t line = 64 / sizeof(T), n = 6 * line;
    auto const choose = [&](std::int64_t l1, std::int64_t l2, std::int64_t cols, std::int64_t k) {
      return tandem::cpu::choose_tiling({.l1 = l1, .l2 = l2, .l3 = 8 << 20}, kernel,
                                        product<T>(4 * line, cols, k, true));
    };
    constexpr std::int64_t l1_of_zen4 = 32 << 10, l1_of_zen5 = 48 << 10, of_amd = 1 << 20, of_intel = 2 << 20;
    if (n > 4 * kernel.nr) return;  // not a narrow C
    CHECK(choose(l1_of_zen5, of_amd, n, 100000).a_ahead > 0);
    CHECK(choose(l1_of_zen5, of_amd, n - 1, 100000).a_ahead == 0);
    CHECK(choose(l1_of_zen5, of_amd, n - 1, 1000).a_ahead > 0);
    CHECK(choose(l1_of_zen4, of_amd, n - 1, 100000).a_ahead > 0);
    CHECK(choose(l1_of_zen5, of_intel, n - 1, 100000).a_ahead > 0);
    CHECK(choose(l1_of_zen5, of_amd, n, 100000).kc == (sizeof(T) == 4 ? 512 : 128));
    CHECK(choose(l1_of_zen4, of_amd, n, 100000).kc == 2048 / sizeof(T));
    CHECK(choose(l1_of_zen4, of_amd / 2, n, 100000).kc == 128);  // a Zen 3
    CHECK(choose(l1_of_zen5, of_intel, n, 100000).kc == 2048 / sizeof(T));
  });
}

/// A modest machine's and a Zen 5's: limits that follow the caches are tried with both.
constexpr cache_sizes both_caches[] = {{32 << 10, 512 << 10, 8 << 20}, {48 << 10, 1 << 20, 32 << 20}};

TEST_CASE("a small C of many terms beside a transposed A beyond half of L2 is turned if that fills vectors better") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      constexpr std::int64_t size = sizeof(T);
      std::int64_t const lanes = kernel.lanes, m = 4 * lanes, enough = caches.l2 / 2 / m / size;
      auto const turns = [&](std::int64_t rows, std::int64_t cols, std::int64_t k, bool trans_a = true,
                             bool trans_b = false) {
        return tandem::cpu::suits_turning(caches, kernel, product<T>(rows, cols, k, trans_a, trans_b));
      };
      CHECK(turns(m, 1, enough + 1));
      CHECK_FALSE(turns(m, 1, enough));
      CHECK_FALSE(turns(m, 1, enough + 1, false));
      CHECK_FALSE(turns(m, 1, enough + 1, true, true));
      std::int64_t const many = 100000, largest = tandem::cpu::most_turned<T>;
      for (std::int64_t const cols : {std::int64_t{1}, lanes + 1}) {
        std::int64_t const rows = largest / cols / lanes * lanes;
        CHECK(turns(rows, cols, many));
        CHECK_FALSE(turns(rows + 1, cols, many));
        CHECK_FALSE(turns(rows, cols, 512));
      }
      std::int64_t const well_filled = 2 * lanes * 5 / 6;
      CHECK(turns(m, well_filled, many));
      CHECK_FALSE(turns(m, well_filled + 1, many));
      CHECK_FALSE(turns(lanes + 1, m, many));
    });
}

TEST_CASE("threads share k alone where C's rows are whole, in panels of B that are alike for any number of them") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const o = product<T>(1, 5 * kernel.lanes, 100000);
    cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
    auto const t = tandem::cpu::choose_tiling(caches, kernel, o);
    CHECK(t.all_rows);
    CHECK(t.cols == o.n);
    CHECK(t.kc * o.n * static_cast<std::int64_t>(sizeof(T)) <= 128 << 10);
    auto const g = tandem::cpu::choose_grid(caches, kernel, o, t, 2, true, asleep);
    CHECK(g.rows * g.cols == 1);
    CHECK(g.terms == 2);
  });
}

TEST_CASE("two threads share rows rather than columns where little is done for a row of C") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const grid = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      auto const o = product<T>(m, n, k);
      return tandem::cpu::choose_grid(zen4, kernel, o, tandem::cpu::choose_tiling(zen4, kernel, o), 2, true, asleep);
    };
    for (std::int64_t const k : {14, 30}) {
      CAPTURE(k);
      CHECK(grid(282, 648, k).rows == 2);
      CHECK(grid(300, 600, k).rows == 2);
    }
    CHECK(grid(40, 20000, 100).cols == 2);
  });
}

TEST_CASE("two threads that are awake share a product that would not be worth waking one for") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const o = product<T>(48, 4 * kernel.lanes, 48);
    auto const t = tandem::cpu::choose_tiling(zen4, kernel, o);
    auto const parts = [&](double slowness) {
      return tandem::cpu::choose_grid(zen4, kernel, o, t, 2, true, slowness).parts();
    };
    CHECK(parts(asleep) == 1);
    CHECK(parts(awake) == 2);
    CHECK(parts(4 * awake) == 1);
  });
}

TEST_CASE("two threads share k in equal panels, the columns where B is near") {
  auto const* set = tandem::cpu::instruction_sets()[0];
  auto const tiling = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return tandem::cpu::choose_tiling(zen4, set->f32, product<float>(m, n, k));
  };
  auto const grid = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return tandem::cpu::choose_grid(zen4, set->f32, product<float>(m, n, k), tiling(m, n, k), 2, true, asleep);
  };
  CHECK(tiling(8, 1330, 257).kc == 136);
  CHECK(tiling(8, 1330, 256).kc == 256);
  CHECK(grid(8, 330, 6300).cols == 2);  // 8 MiB of B
  CHECK(grid(8, 330, 6400).terms == 2);
}

TEST_CASE("many threads share k rather than short pieces of the rows of a B that passes as it lies") {
  auto const* set = tandem::cpu::instruction_sets()[0];
  auto const grid = [&](std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
    auto const o = product<float>(m, n, k);
    return tandem::cpu::choose_grid(intel, set->f32, o, tandem::cpu::choose_tiling(intel, set->f32, o), threads, true,
                                    asleep);
  };
  CHECK(grid(7, 1023, 4097, 16).cols < 16);
  CHECK(grid(7, 1023, 4097, 16).terms > 1);
  CHECK(grid(7, 100000, 300, 2).cols == 2);  // pieces of long rows
  if (set->f32.lanes < 16) return;           // the arithmetic takes longer than B
  for (int const threads : {8, 16}) CHECK(grid(16, 4096, 4096, threads).terms > 1);
}

TEST_CASE("beside long rows of B, where L2 is large, sums of a skinny C are made apart in eight shares of its terms") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    auto const share = [&](std::int64_t m, std::int64_t n, std::int64_t k, cache_sizes const& caches) {
      auto const t = tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, k));
      CHECK(t.kc < 256);
      return t.panels_apart * t.kc;
    };
    std::int64_t const wide = 16384 / size, of_pages = 8192 / size;
    for (std::int64_t const k : {4096, 8192}) {
      CHECK(share(6, wide, k, intel) == k / 8);
      CHECK(share(6, of_pages, k, intel) == k / 8);
      CHECK(share(6, of_pages / 2, k, intel) == 64);
    }
    for (std::int64_t const k : {300, 2048}) CHECK(share(6, wide, k, intel) == 256);
    // More sums than would stay in caches.
    CHECK(share(6, (512 << 10) / size / 6 + 1, 4096, intel) == 32);
    auto const t = tandem::cpu::choose_tiling(zen4, kernel, product<T>(6, wide, 4096));
    CHECK(t.panels_apart == 1);
  });
}

TEST_CASE(
    "beside one row or two of C, where L2 is large, so are those of many terms, of which eight threads take two") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), wide = 16384 / size, many = 250 * size;
    for (std::int64_t const m : {1, 2}) {
      auto const tiling = [&](std::int64_t k, cache_sizes const& caches = intel) {
        return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, wide, k));
      };
      CHECK(tiling(4096).by_rows);
      CHECK(tiling(4096).kc == kernel.terms_of_few_rows);
      CHECK(tiling(4096).panels_apart == tandem::cpu::ceil_div(512, tiling(4096).kc));
      CHECK(tiling(many).panels_apart > 1);
      CHECK(tiling(many - 1).panels_apart == 1);
      CHECK(tiling(4096, zen4).panels_apart == 1);
      for (int const threads : {8, 16}) {
        auto const g =
            tandem::cpu::choose_grid(intel, kernel, product<T>(m, wide, 4096), tiling(4096), threads, true, asleep);
        CHECK(g.terms == 2);
        CHECK(g.cols == threads / 2);
      }
    }
  });
}

TEST_CASE("short pieces of B's rows, where L2 is large and threads are many, ask for the next rows") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    auto const o = product<T>(6, 5120 / size, 4000);
    auto const t = tandem::cpu::choose_tiling(intel, kernel, o);
    auto const ahead = [&](tandem::cpu::grid const& g) {
      return tandem::cpu::tiling_of_parts(intel, kernel, o, t, g).b_ahead;
    };
    CHECK(ahead({1, 4, 4}) == 8 * o.b_row);
    CHECK(ahead({1, 3, 4}) == t.b_ahead);
    CHECK(ahead({1, 2, 1}) == t.b_ahead);
    CHECK(t.b_ahead < o.b_row);
  });
}

TEST_CASE("three or four rows of C are made in wide tiles beside a B within half of L3") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      constexpr std::int64_t size = sizeof(T);
      auto const in_wide_tiles = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return tandem::cpu::are_in_wide_tiles(caches, kernel, m, n, k);
      };
      for (std::int64_t const m : {3, 4}) {
        CAPTURE(m);
        bool const has_tiles = kernel.widest_of(m) > 4;  // 32 registers
        std::int64_t const whole = kernel.widest_of(m) * kernel.lanes, of_l3 = caches.l3 / 2 / size;
        for (std::int64_t const k : {9, 16, 1024, 2048}) {
          CAPTURE(k);
          CHECK(in_wide_tiles(m, of_l3 / k, k) == has_tiles);
          CHECK_FALSE(in_wide_tiles(m, of_l3 / k + 1, k));
        }
        CHECK(in_wide_tiles(m, whole + 1, 9) == has_tiles);
        CHECK_FALSE(in_wide_tiles(m, whole, 9));  // rows are whole in registers
        CHECK_FALSE(in_wide_tiles(m, whole + 1, 8));
      }
      CHECK_FALSE(in_wide_tiles(5, 2000, 100));
    });
}

TEST_CASE("few rows of C are made in wide tiles beside any B in L2, on a Zen 4 within a quarter of L3") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t const m : {1, 2, 3, 4})
      for (std::int64_t const k : {9, 256}) {
        CAPTURE(m);
        CAPTURE(k);
        auto const are_within = [&](cache_sizes const& caches, std::int64_t bytes) {
          auto const are = [&](std::int64_t n) { return tandem::cpu::are_in_wide_tiles(caches, kernel, m, n, k); };
          bool const has_tiles = kernel.widest_of(m) > 4;
          return are(400) == has_tiles && are(bytes / size / k) == has_tiles && !are(bytes / size / k + 1);
        };
        CHECK(are_within(zen4, m == 1 ? 2 * zen4.l2 : zen4.l3 / 4));
        CHECK(are_within({48 << 10, 2 << 20, 256 << 20}, 2 << 20));
      }
  });
}

TEST_CASE("one or two rows of C are made in wide tiles beside a B in L1, or of 64 terms if B has 256 KiB") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      constexpr std::int64_t size = sizeof(T), much = (256 << 10) / size;
      auto const in_wide_tiles = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return tandem::cpu::are_in_wide_tiles(caches, kernel, m, n, k);
      };
      for (std::int64_t const m : {1, 2}) {
        CAPTURE(m);
        CHECK(in_wide_tiles(m, caches.l1 / size / 16, 16));
        CHECK_FALSE(in_wide_tiles(m, caches.l1 / size / 16 + 1, 16));
        CHECK_FALSE(in_wide_tiles(m, much / 63 + 1, 63));
        CHECK(in_wide_tiles(m, much / 64, 64));
        CHECK_FALSE(in_wide_tiles(m, much / 64 - 1, 64));
        CHECK(in_wide_tiles(m, caches.l3 / 2 / size / 64, 64));
        CHECK_FALSE(in_wide_tiles(m, caches.l3 / 2 / size / 64 + 1, 64));
      }
    });
}

TEST_CASE("wide tiles read B where it lies, in panels of at most 1024 terms, and threads share the columns") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      for (std::int64_t m = 1; m <= kernel.wide_rows; ++m) {
        if (kernel.widest_of(m) <= 4) continue;
        auto const tiling = [&](std::int64_t k, bool trans_b = false) {
          return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, 400, k, false, trans_b));
        };
        std::int64_t const cols = kernel.widest_of(m) * kernel.lanes;
        if (400 <= cols) continue;
        CAPTURE(m);
        for (std::int64_t const k : {200, 1024, 1025, 1300}) {
          CAPTURE(k);
          auto const t = tiling(k);
          CHECK(t.all_rows);
          CHECK(t.rows == m);
          CHECK(t.cols == cols);
          CHECK((!t.pack_a && !t.pack_b && t.dot_cols == 0));
          CHECK(t.kc == (k <= 1024 ? k : (k / 2 + 8) / 8 * 8));
          for (int const threads : {1, 2, 7}) {
            auto const g = tandem::cpu::choose_grid(caches, kernel, product<T>(m, 400, k), t, threads, true, asleep);
            CHECK(g.rows == 1);
            CHECK(g.terms <= (k + 1023) / 1024);
          }
        }
        CHECK_FALSE(tiling(1024, true).all_rows);
        auto const wide = product<T>(m, caches.l3 / 2 / 1024 / static_cast<std::int64_t>(sizeof(T)), 1024);
        auto const t = tandem::cpu::choose_tiling(caches, kernel, wide);
        for (int const threads : {2, 4})
          CHECK(tandem::cpu::choose_grid(caches, kernel, wide, t, threads, true, asleep).cols == threads);
      }
    });
}

TEST_CASE("tiles of a skinny C of up to two vectors are as wide as it is, and as high as that width allows") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      std::int64_t const lanes = kernel.lanes;
      auto const tiling = [&](std::int64_t m, std::int64_t n) {
        return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, 3000));
      };
      for (std::int64_t const m : {std::int64_t{5}, kernel.mr, 2 * kernel.mr})
        for (std::int64_t n = 1; n <= 2 * lanes; ++n) {
          CAPTURE(m);
          CAPTURE(n);
          auto const t = tiling(m, n);
          int const width = kernel.width_of(n);
          CHECK(t.cols == kernel.elements(width));
          CHECK(t.cols < n + lanes);
          CHECK(t.rows == kernel.rows[static_cast<std::size_t>(width)]);
        }
      CHECK(tiling(2 * kernel.mr, 2 * lanes + 1).cols == (kernel.has_low_tiles() ? 2 : 3) * lanes);
      CHECK(tiling(kernel.rows[3], 2 * lanes + 1).cols == 3 * lanes);
      if (kernel.rows[4] > 0) CHECK(tiling(kernel.rows[4], 4 * lanes).cols == 4 * lanes);
    });
}

TEST_CASE("beside a far C few terms of a B within half of L2 are in wide tiles, B packed if it is transposed") {
  for (auto const& caches : both_caches)
    for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
      if (kernel.has_low_tiles() && tandem::cpu::has_small_l2(caches)) return;
      constexpr std::int64_t size = sizeof(T);
      std::int64_t const n = caches.l2 / 2 / 24 / size, m = caches.l2 / size / n + 1;
      REQUIRE(m > 2 * kernel.mr);
      for (bool const trans_a : {false, true})
        for (bool const trans_b : {false, true}) {
          INFO(trans_a, trans_b);
          auto const tiling = [&](std::int64_t rows, std::int64_t cols, std::int64_t k) {
            return tandem::cpu::choose_tiling(caches, kernel, product<T>(rows, cols, k, trans_a, trans_b));
          };
          for (std::int64_t const k : {9, 24}) {
            auto const t = tiling(m, n, k);
            CHECK(t.rows == kernel.rows[static_cast<std::size_t>(kernel.widest)]);
            CHECK(t.cols == kernel.widest * kernel.lanes);
            CHECK(t.c_ahead == 2 * t.cols);
            CHECK(t.pack_b == trans_b);
            CHECK(t.b_stays == !trans_b);
            CHECK(t.nc == n);
            CHECK(tandem::cpu::packed_b_size(kernel, t) * size <= caches.l2);
          }
          CHECK(tiling(2 * m, n / 2, 24).c_ahead > 0);
          CHECK(tiling(2 * m, n / 2, 25).c_ahead == 0);
          CHECK(tiling(m, n + 1, 24).c_ahead == 0);
          CHECK(tiling(m - 1, n, 24).c_ahead == 0);  // C stays in L2
        }
    });
}

TEST_CASE("on a Zen 4 not beside a C from beyond five sixteenths of L3") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), n = 300;
    auto const is_in_wide_tiles = [&](cache_sizes const& caches, std::int64_t bytes) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(bytes / size / n, n, 16)).c_ahead > 0;
    };
    CHECK(is_in_wide_tiles(zen4, 10 << 20));
    CHECK_FALSE(is_in_wide_tiles(zen4, 11 << 20));
    CHECK(is_in_wide_tiles({48 << 10, 1 << 20, 32 << 20}, 11 << 20));
  });
}

TEST_CASE("vectors go down C's rows where C is high, and B's have room in registers beside them") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    std::int64_t const two = 2 * kernel.lanes;
    for (std::int64_t k = 1; k <= 12; ++k) {
      CAPTURE(k);
      auto const down = [&](std::int64_t m, std::int64_t n) { return tandem::cpu::goes_down(kernel, m, n, k); };
      std::int64_t const at_once = std::min<std::int64_t>(k, kernel.most_terms), high = k <= 5 ? 8 : 32;
      std::int64_t const most = kernel.vectors_down[static_cast<std::size_t>(at_once - 1)] * kernel.lanes;
      CHECK(down(two + 1, two));
      CHECK_FALSE(down(two, two));
      CHECK(down(most + 1, most));
      CHECK_FALSE(down(1000, most + 1));
      if (most == two) continue;
      CHECK(down(std::min(high, most + 1), most));
      CHECK_FALSE(down(std::min(high - 1, most), most));
    }
  });
}

// Five to eight terms of a B as it lies are measured by processor: only Zen 4 and Zen 5 are said to gain here.
TEST_CASE("up to eight terms are one loop over C within half of L3, or over a few rows of any length") {
  auto const& caches = tandem::cpu::host_caches();
  std::int64_t const l3 = caches.l3;
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    std::int64_t const n = 128, m = l3 / 2 / n / static_cast<std::int64_t>(sizeof(T));
    for (bool const trans_b : {false, true})
      for (std::int64_t k = 1; k <= 9; ++k) {
        if (k > 4 && k <= 8 && !trans_b && !is_like_zen4(caches) && !is_like_zen5(caches)) continue;
        INFO(k, " ", trans_b);
        auto const suits = [&](std::int64_t rows, std::int64_t cols) {
          return tandem::cpu::suits_few_terms(kernel, product<T>(rows, cols, k, false, trans_b));
        };
        CHECK(suits(m, n) == (k <= 8));
        CHECK(suits(4, m * n) == (k <= 8));
        CHECK_FALSE(suits(m + 1, n));
        CHECK_FALSE(suits(5, m * n));
      }
  });
}

TEST_CASE("a far C whose rows are no whole lines is passed over row by row if they are short or not many") {
  std::int64_t const l3 = tandem::cpu::host_caches().l3;
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t k = 1; k <= 8; ++k) {
      INFO(k);
      auto const suits = [&](std::int64_t rows, std::int64_t cols) {
        return tandem::cpu::suits_few_terms(kernel, product<T>(rows, cols, k));
      };
      auto const beyond = [&](std::int64_t edge) { return l3 / size / edge; };
      std::int64_t const longest = (k <= 4 ? 2560 : 2048) / size;
      CHECK(suits(beyond(longest), longest - 1));
      CHECK_FALSE(suits(beyond(longest), longest));  // whole lines
      CHECK_FALSE(suits(beyond(longest), longest + 1));
      std::int64_t const some = k == 1 && size == 4 ? 64 : 128;
      CHECK(suits(some, beyond(some) / 64 * 64 + 1));
      CHECK_FALSE(suits(some + 1, beyond(some + 1) / 64 * 64 + 1));
      CHECK_FALSE(suits(2 * kernel.mr, beyond(2 * kernel.mr) / 64 * 64 + 1));
    }
  });
}

TEST_CASE("on a Zen 4 a far B is packed whose rows come in pieces, neither short nor long") {
  constexpr cache_sizes zen5{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), some = 480 / size, many = 1152 / size, more = 2048 / size;
    auto const packs = [&](cache_sizes const& caches, std::int64_t m, std::int64_t n, std::int64_t bytes) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, bytes / size / n)).pack_b;
    };
    std::int64_t const far = 20 << 20, nearer = 15 << 20, m = 2 * kernel.mr;
    CHECK(packs(zen4, m, some, far));
    CHECK(packs(zen4, m, many, far));
    CHECK(packs(zen4, kernel.mr, many, far));
    CHECK_FALSE(packs(zen4, m, some - 1, far));
    CHECK_FALSE(packs(zen4, m, many + 1, far));
    CHECK_FALSE(packs(zen4, m, many, nearer));
    CHECK_FALSE(packs(zen5, m, many, far));
    if (kernel.rows[3] < 8) return;  // a few rows more are packed as it is
    CHECK(packs(zen4, m + 1, more, nearer));
    CHECK_FALSE(packs(zen4, m + 1, more + 1, nearer));
    CHECK_FALSE(packs(zen4, m + 1, more, 3 << 20));
  });
}

TEST_CASE("a C beyond L2 is asked for a tile early where sums are short") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 256 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const early = [&](std::int64_t n, std::int64_t k) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(1000, n, k)).asks_for_next_c;
    };
    CHECK(early(1000, 256));
    CHECK_FALSE(early(1000, 257));
    CHECK_FALSE(early(100, 256));  // C stays in L2
  });
}

TEST_CASE(
    "a tile has its rows from stretches of an A beyond half of L2, or a large one, whose rows of 256 bytes to a page "
    "are near") {
  cache_sizes const zen5{48 << 10, zen4.l2, zen4.l3}, zen3{zen4.l1, 512 << 10, zen4.l3};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    auto const tiling_of = [&](cache_sizes const& caches, tandem::cpu::operands<T> const& o, int threads = 1) {
      return tandem::cpu::tiling_of_parts(caches, kernel, o, tandem::cpu::choose_tiling(caches, kernel, o), {threads});
    };
    auto const streams = [&](cache_sizes const& caches, std::int64_t bytes, std::int64_t k, std::int64_t gap = 0,
                             int threads = 1, std::int64_t vectors = 4) {
      auto o = product<T>(bytes / (k * size), vectors * kernel.lanes, k);
      o.a_row += gap;
      return tiling_of(caches, o, threads).has_streams;
    };
    constexpr std::int64_t shortest = 256 / size, longest = 4096 / size, more = 64 << 10;
    constexpr std::int64_t beyond_l2 = 80;  // vectors of C, beside such an A
    CHECK(!streams(zen4, zen4.l2 / 2, shortest, 0, 1, beyond_l2));
    CHECK(streams(zen4, zen4.l2 / 2 + more, shortest, 0, 1, beyond_l2));
    CHECK(!streams(zen4, zen4.l2 / 2 + more, shortest - 1, 0, 1, beyond_l2));
    CHECK(streams(zen4, 8 << 20, longest));
    CHECK(!streams(zen4, 8 << 20, longest + 1));
    CHECK(streams(zen4, 8 << 20, shortest, 256 / size));
    CHECK(!streams(zen4, 8 << 20, shortest, 256 / size + 1));
    // Of a part's rows.
    CHECK(!streams(zen4, zen4.l2, shortest, 0, 2));
    CHECK(streams(zen4, zen4.l2 + more, shortest, 0, 2));
    CHECK(!streams(intel, intel.l2, shortest));
    CHECK(streams(intel, intel.l2 + more, shortest));
    CHECK(!streams(zen5, 8 << 20, shortest));
    CHECK(!streams(zen3, 8 << 20, shortest));
    CHECK(!tiling_of(zen4, product<T>(20000, 4 * kernel.lanes, 100, true)).has_streams);
    // Six of them, eight where half a vector's tile would wait for its sums; and nobody asks.
    auto const t = tiling_of(zen4, product<T>(20000, kernel.lanes, 100));
    CHECK(t.rows <= 6);
    CHECK(!t.asks_for_a);
    CHECK(!t.asks_for_c);
    auto in_halves = kernel;
    in_halves.half_costs_half = kernel.rows[0] > 0;
    auto const o = product<T>(20000, 3 * kernel.lanes / 2, 100);
    if (in_halves.half_costs_half)
      CHECK(tandem::cpu::tiling_of_parts(zen4, in_halves, o, tandem::cpu::choose_tiling(zen4, in_halves, o), {}).rows ==
            8);
  });
}

TEST_CASE("beside one row of C the rows of B that pass at a time are from stretches of a B within L3, in shares of k") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), longest = 8192 / size;
    auto const tiling_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t gap = 0) {
      auto o = product<T>(m, n, k);
      o.b_row += gap;
      return tandem::cpu::choose_tiling(zen4, kernel, o);
    };
    CHECK(tiling_of(1, longest, 4096).has_streams);
    CHECK(!tiling_of(1, longest, 4097).has_streams);
    CHECK(!tiling_of(1, longest + 1, 4000).has_streams);
    CHECK(!tiling_of(2, longest, 4096).has_streams);
    CHECK(tiling_of(1, longest, 4000, 256 / size).has_streams);
    CHECK(!tiling_of(1, longest, 4000, 256 / size + 1).has_streams);
    CHECK(tiling_of(1, longest, 4096).panels_apart * kernel.most_terms == 512);  // an eighth
    CHECK(tiling_of(1, longest, 1000).panels_apart * kernel.most_terms == 256);  // at least
    CHECK(tiling_of(1, longest + 1, 4000).panels_apart == 1);
  });
}

TEST_CASE("beside one row of C or two as many terms pass at a time as registers hold, of streams and far rows eight") {
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), longest = 8192 / size;
    auto const at_once = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return tandem::cpu::choose_tiling(zen4, kernel, product<T>(m, n, k)).kc;
    };
    CHECK(kernel.terms_of_few_rows == (kernel.widest == 4 ? 12 : 8));
    CHECK(at_once(1, longest + 1, 2000) == kernel.terms_of_few_rows);
    CHECK(at_once(2, longest, 4000) == kernel.terms_of_few_rows);
    CHECK(at_once(1, longest, 2000) == kernel.most_terms);
    CHECK(at_once(1, 2 * longest, 4000) == kernel.most_terms);
    CHECK(at_once(2, 2 * longest, 4000) == kernel.most_terms);
  });
}

TEST_CASE("caches smaller than a tile still give a tile") {
  for_each_product([&]<class T>(tandem::cpu::microkernel<T> const& kernel, tandem::cpu::operands<T> const& o) {
    auto const t = tandem::cpu::choose_tiling({.l1 = 64, .l2 = 64, .l3 = 64}, kernel, o);
    CHECK((t.kc >= 1 && t.mc >= 1 && t.nc >= 1 && t.rows >= 1 && t.cols >= 1));
  });
}

TEST_CASE("a grid has at most as many parts as threads, and each of its parts something to do") {
  for_each_product([&]<class T>(tandem::cpu::microkernel<T> const& kernel, tandem::cpu::operands<T> const& o) {
    auto const t = tandem::cpu::choose_tiling(tandem::cpu::host_caches(), kernel, o);
    for (int threads : {1, 2, 3, 16}) {
      auto const g = tandem::cpu::choose_grid(tandem::cpu::host_caches(), kernel, o, t, threads, true, asleep);
      CHECK((g.rows >= 1 && g.cols >= 1 && g.terms >= 1));
      CHECK(g.parts() <= threads);
      CHECK((g.rows <= o.m && g.cols <= o.n && g.terms <= (o.k + t.kc - 1) / t.kc));
    }
  });
}

TEST_CASE("threads share k only where the sums stay in a cache until they are added") {
  for_each_product([&]<class T>(tandem::cpu::microkernel<T> const& kernel, tandem::cpu::operands<T> const& o) {
    auto const t = tandem::cpu::choose_tiling(tandem::cpu::host_caches(), kernel, o);
    for (int threads : {4, 16, 64}) {
      auto const g = tandem::cpu::choose_grid(tandem::cpu::host_caches(), kernel, o, t, threads, true, asleep);
      auto const sums = o.m * o.n * g.terms * static_cast<std::int64_t>(sizeof(T));
      CHECK((g.terms == 1 || sums <= tandem::cpu::most_sums));
    }
  });
  auto const& kernel = tandem::cpu::instruction_sets().front()->f32;
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  auto const terms = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    auto const o = product<float>(m, n, k);
    return tandem::cpu::choose_grid(caches, kernel, o, tandem::cpu::choose_tiling(caches, kernel, o), 16, true, asleep)
        .terms;
  };
  CHECK(terms(64, 64, 100000) > 1);
  CHECK(terms(4096, 4096, 4096) == 1);
}

TEST_CASE("parts of many threads are cut along their columns, beside a copy of A or few columns along their rows") {
  auto const& kernel = tandem::cpu::instruction_sets().front()->f32;
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  auto const pieces = [&](std::int64_t m, std::int64_t n, std::int64_t k, tandem::cpu::grid const& g) {
    auto const o = product<float>(m, n, k);
    auto const cut = tandem::cpu::choose_pieces(o, tandem::cpu::choose_tiling(caches, kernel, o), g);
    return std::pair(cut.count, cut.of_columns);
  };
  CHECK(pieces(4000, 4000, 4000, {.rows = 4, .cols = 4, .terms = 1}) == std::pair(12, true));
  CHECK(pieces(4000, 1000, 4000, {.rows = 4, .cols = 4, .terms = 1}) == std::pair(4, true));  // of 64 columns or so
  CHECK(pieces(4000, 700, 4000, {.rows = 4, .cols = 4, .terms = 1}) == std::pair(8, false));
  // Rows of A that meet in L1 are copied if a tile has many: pieces of 64 rows at least.
  auto const beside_pages = kernel.mr > 8 ? std::pair(3, false) : std::pair(12, true);
  CHECK(pieces(1000, 4000, 4096, {.rows = 4, .cols = 4, .terms = 1}) == beside_pages);
  CHECK(pieces(4000, 4000, 4000, {.rows = 2, .cols = 1, .terms = 1}) == std::pair(1, false));
  CHECK(pieces(16, 4000, 4000, {.rows = 1, .cols = 16, .terms = 1}) == std::pair(1, false));
  CHECK(pieces(64, 64, 100000, {.rows = 1, .cols = 1, .terms = 16}) == std::pair(1, false));
  for_each_product([&]<class T>(tandem::cpu::microkernel<T> const& one, tandem::cpu::operands<T> const& o) {
    auto const t = tandem::cpu::choose_tiling(tandem::cpu::host_caches(), one, o);
    tandem::cpu::grid const g{.rows = static_cast<int>(std::min<std::int64_t>(o.m, 16)), .cols = 1, .terms = 1};
    auto const cut = tandem::cpu::choose_pieces(o, t, g);
    CHECK((cut.count >= 1 && cut.count <= (t.pack_b ? cut.of_columns ? 12 : 8 : 4)));
    CHECK((!cut.of_columns || (t.pack_b && !t.pack_a && o.n >= 4 * 48)));
  });
}

TEST_CASE("pieces of a part follow each other without a gap, whole tiles but for the last, and fall in size") {
  for (std::int64_t const size : {1, 7, 64, 250, 1000, 4096})
    for (std::int64_t const step : {1, 8, 14})
      for (std::int64_t const count : {1, 2, 3, 8}) {
        CAPTURE(size);
        CAPTURE(step);
        CAPTURE(count);
        std::int64_t end = 0, before = size;
        for (std::int64_t i = 0; i < count; ++i) {
          auto const piece = tandem::cpu::falling_share(size, i, count, step);
          CHECK(piece.first == end);
          CHECK(piece.size() >= 0);
          CHECK(piece.size() <= before + step);  // of a step at most more
          if (piece.last < size) CHECK(piece.last % step == 0);
          end = piece.last, before = piece.size();
        }
        CHECK(end == size);
      }
  CHECK(tandem::cpu::falling_share(360, 0, 8, 1).size() == 80);
  CHECK(tandem::cpu::falling_share(360, 7, 8, 1).size() == 10);
}

TEST_CASE("many threads share the columns of a product whose A is copied: each piece of a part's rows packs B anew") {
  cache_sizes const caches{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const grid_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, int threads, bool trans_a = false) {
      auto const o = product<T>(m, n, k, trans_a);
      return tandem::cpu::choose_grid(caches, kernel, o, tandem::cpu::choose_tiling(caches, kernel, o), threads, true,
                                      asleep);
    };
    for (std::int64_t const size : {1000, 2039, 4000}) {
      CAPTURE(size);
      auto const copied = grid_of(size, size, size, 16, true);
      CHECK(copied.parts() == 16);
      CHECK(copied.cols >= 4 * copied.rows);
      CHECK(grid_of(size, size, size, 16).parts() == 16);
    }
    CHECK(grid_of(64, 2 * kernel.nr, 100000, 16).cols <= 2);  // for a part to have a tile's
    auto const small = grid_of(255, 255, 255, 16);            // whose B is not packed
    CHECK(small.rows >= small.cols);
  });
}

TEST_CASE("with a large L2, parts of many threads with few columns go without a copy of A, in panels as before") {
  using tandem::cpu::grid;
  cache_sizes const large{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
  for_each_kernel([&]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    // Rows of A that are pages apart meet in one set of L1.
    auto const pages_apart = [](std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a = false) {
      auto o = product<T>(m, n, k, trans_a);
      (trans_a ? o.a_col : o.a_row) = 4096;
      return o;
    };
    auto const parts = [&](cache_sizes const& caches, tandem::cpu::operands<T> const& o, grid const& g) {
      auto const whole = tandem::cpu::choose_tiling(caches, kernel, o);
      auto const part = tandem::cpu::tiling_of_parts(caches, kernel, o, whole, g);
      CHECK(part.kc == whole.kc);
      CHECK(part.dot_cols == whole.dot_cols);
      bool const is_lower = part.rows < whole.rows;
      if (is_lower) CHECK((part.rows == kernel.rows[static_cast<std::size_t>(kernel.widest)] && !part.pack_a));
      if (part.pack_a == whole.pack_a) CHECK((!is_lower || sizeof(T) == 8));
      bool const is_many = g.parts() >= 4 && whole.pack_b && o.n > whole.nc && caches.l2 > (1 << 20);
      if (!is_many) CHECK(part.nc == whole.nc);
      if (is_many) CHECK(part.nc * part.kc * static_cast<std::int64_t>(sizeof(T)) <= caches.l2 / 4);
      return part;
    };
    auto const o = pages_apart(4096, 4081, 4096);
    bool const copied = tandem::cpu::choose_tiling(large, kernel, o).pack_a;
    CHECK(copied == (kernel.mr > 8));
    if (!copied) return;
    auto const part = parts(large, o, {.rows = 2, .cols = 2});
    CHECK_FALSE(part.pack_a);
    CHECK(part.rows == kernel.rows[static_cast<std::size_t>(kernel.widest)]);
    CHECK(part.cols == kernel.widest * kernel.lanes);
    CHECK_FALSE(parts(large, o, {.rows = 1, .cols = 16}).pack_a);
    CHECK(parts(large, o, {.rows = 1, .cols = 3}).pack_a);  // few threads
    CHECK(parts(large, o, {.rows = 4, .cols = 1}).pack_a);  // many columns
    CHECK(parts(large, pages_apart(4096, 4096, 4096, true), {.rows = 1, .cols = 16}).pack_a);
    CHECK(parts({.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, o, {.rows = 1, .cols = 16}).pack_a);
    bool const load_less = sizeof(T) == 8 && kernel.widest == 4;
    CHECK((parts(large, product<T>(4000, 4000, 4000), {.rows = 4, .cols = 4}).rows < kernel.mr) == load_less);
    CHECK(parts(large, product<T>(4000, 4000, 4000), {.rows = 1, .cols = 3}).rows == kernel.mr);  // few threads
    auto const narrow = product<T>(100000, 2 * kernel.nr, 8000);
    CHECK(parts(large, narrow, {.rows = 16, .cols = 1}).nc == narrow.n);
    auto const near = pages_apart(100, 2100, 48);
    REQUIRE_FALSE(tandem::cpu::choose_tiling(large, kernel, near).pack_b);
    CHECK(parts(large, near, {.rows = 1, .cols = 16}).pack_a);
  });
}

TEST_CASE("with a large L2 rows of B that lie far apart are copied by a pass of their own, 256 at a time") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), far = (30 << 10) / size;
    auto const tiling = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t l2 = 2 << 20) {
      return tandem::cpu::choose_tiling({.l1 = 48 << 10, .l2 = l2, .l3 = 256 << 20}, kernel, product<T>(m, n, k));
    };
    constexpr std::int64_t m = 250;  // more than what is computed with B where it lies
    CHECK_FALSE(tiling(m, far, 4096).tiles_pack_b);
    CHECK(tiling(m, far, 4096).kc == 256);
    CHECK(tiling(m, far - 1, 4096).tiles_pack_b);
    CHECK(tiling(m, far - 1, 4096).kc > 256);
    CHECK(tiling(m, far, 699).tiles_pack_b);
    CHECK_FALSE(tiling(m, far, 700).tiles_pack_b);
    CHECK(tiling(m, far, 4096, 1 << 20).tiles_pack_b);
    CHECK(tiling(256, far, 4096).kc == 256);
    CHECK(tiling(256, far, 4096).asks_for_b);
    CHECK(tiling(257, far, 4096).kc > 256);
  });
}

TEST_CASE("on a Zen 4 a B whose rows begin anywhere is packed by a pass of its own where sums are short") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr cache_sizes zen5{.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
    constexpr cache_sizes large{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 256 << 20};
    auto const tiles_pack = [&](std::int64_t n, std::int64_t k, cache_sizes const& caches = zen4) {
      auto const t = tandem::cpu::choose_tiling(caches, kernel, product<T>(250, n, k));
      CHECK(t.pack_b);
      return t.tiles_pack_b;
    };
    CHECK_FALSE(tiles_pack(4001, 77));
    CHECK_FALSE(tiles_pack(4001, 256));
    CHECK(tiles_pack(4001, 257));
    CHECK(tiles_pack(4096, 77));  // whole lines
    CHECK(tiles_pack(4001, 77, zen5));
    CHECK(tiles_pack(4001, 77, large));
  });
}

constexpr cache_sizes small_l2{.l1 = 32 << 10, .l2 = 512 << 10, .l3 = 32 << 20};

TEST_CASE("on a Zen 4 operands that stay in L2 are multiplied where they lie, in one pass over C") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), edge = 256, terms = zen4.l2 / (2 * edge * size);
    auto const tiling = [&](cache_sizes const& caches, std::int64_t m, std::int64_t n, std::int64_t k,
                            bool trans_a = false, bool trans_b = false) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, k, trans_a, trans_b));
    };
    for (bool const trans_a : {false, true}) {
      if (trans_a && kernel.has_low_tiles()) continue;
      CAPTURE(trans_a);
      auto const t = tiling(zen4, edge, edge, terms, trans_a);
      CHECK(t.in_place);
      CHECK(t.kc == terms);
      CHECK_FALSE(t.pack_a);
      CHECK(t.pack_b == (kernel.has_low_tiles() && size == 8));  // rows of half a page
      CHECK_FALSE(tiling(zen4, edge, edge, terms + 1, trans_a).in_place);
      CHECK_FALSE(tiling(zen4, edge, edge, terms, trans_a, true).in_place);
    }
    std::int64_t const columns = zen4.l2 / 2 * 3 / (100 * size);  // of C, which may be half as large again
    CHECK(tiling(zen4, 100, columns, 20).in_place);
    CHECK_FALSE(tiling(zen4, 100, columns + 1, 20).in_place);
    for (auto const& caches : both_caches) CHECK_FALSE(tiling(caches, edge, edge, terms).in_place);
    CHECK_FALSE(tiling(small_l2, edge, edge, terms).in_place);
  });
}

TEST_CASE("low tiles copy the columns of B that they read, if these would not stay in L1 for many rows of A") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), half_page = 2048 / size;
    auto const copies = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      auto const t = tandem::cpu::choose_tiling(zen4, kernel, product<T>(m, n, k));
      CHECK(t.in_place);
      CHECK(t.b_stays == !t.pack_b);
      CHECK(t.cols <= 2 * kernel.nr);
      return t.pack_b;
    };
    bool const low = kernel.has_low_tiles();
    CHECK(copies(96, 201, 180) == low);
    CHECK_FALSE(copies(95, 201, 180));
    CHECK_FALSE(copies(96, 200, 180));
    CHECK_FALSE(copies(96, 201, 170));
    CHECK(copies(96, half_page, 180) == low);
    auto const t = tandem::cpu::choose_tiling(zen4, kernel, product<T>(96, 201, 180));
    if (low) CHECK(tandem::cpu::packed_b_size(kernel, t) <= 180 * (t.cols + 2) + 16);  // not all of B, and what is left
  });
}

TEST_CASE("low tiles read a B that is far where it lies beside some rows of A, few if its rows are a page apart") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    if (!kernel.has_low_tiles()) return;
    constexpr std::int64_t page = 4096 / sizeof(T);
    auto const copied = [&](std::int64_t m, std::int64_t n, bool trans_a = false) {
      return tandem::cpu::choose_tiling(zen4, kernel, product<T>(m, n, 1000, trans_a)).pack_b;
    };
    CHECK_FALSE(copied(96, 3000));
    CHECK(copied(97, 3000));
    CHECK_FALSE(copied(40, 3001));
    CHECK(copied(41, 3001));
    CHECK_FALSE(copied(16, 4 * page));
    CHECK(copied(17, 4 * page));
    CHECK(copied(40, 3000, true));
  });
}

TEST_CASE("tiles where registers are few are three vectors wide for few rows or short sums, and else two") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t many = 1 << 20;
    auto const width = [&](std::int64_t m, std::int64_t k) { return tandem::cpu::widest_beside(kernel, m, k); };
    if (!kernel.has_low_tiles()) {
      CHECK(width(5, many) == kernel.widest);
      return;
    }
    for (std::int64_t const m : {1, 4, 7, 8}) CHECK(width(m, many) == 3);
    for (std::int64_t const m : {5, 6, 9, 100}) CHECK(width(m, many) == 2);
    // Terms of which three vectors take half of L1.
    std::int64_t const terms =
        tandem::cpu::host_caches().l1 / (6 * kernel.lanes * static_cast<std::int64_t>(sizeof(T)));
    for (std::int64_t const m : {9, 100}) CHECK(width(m, terms) == 3);
    for (std::int64_t const m : {5, 17}) CHECK(width(m, 1) == 2);  // fewer tiles begin
  });
}

TEST_CASE("where L2 is small a block of B fills a quarter of it, and one of A a sixteenth of L3") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T);
    auto const t = tandem::cpu::choose_tiling(small_l2, kernel, product<T>(5000, 5000, 5000));
    CHECK(t.kc * t.nc * size <= small_l2.l2 / 4);
    CHECK(t.kc * t.nc * size > small_l2.l2 / 8);
    CHECK(t.kc * t.mc * size <= small_l2.l3 / 16 + t.rows * t.kc * size);
    CHECK(t.kc * t.mc * size > small_l2.l3 / 32);
    CHECK_FALSE(t.tiles_pack_b);
  });
}

TEST_CASE("beside a small L2, tiles of three vectors make short sums where registers are few, and nobody asks for C") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    auto const tiling = [&](std::int64_t k, std::int64_t m = 4096) {
      return tandem::cpu::choose_tiling(small_l2, kernel, product<T>(m, 4096, k));
    };
    bool const low = kernel.has_low_tiles();
    // Of a C that stays in L3 shorter ones.
    constexpr std::int64_t rows_of_half_l3 = small_l2.l3 / 2 / 4096 / sizeof(T);
    if (low) CHECK(tiling(24, rows_of_half_l3).cols == 3 * kernel.lanes);
    CHECK(tiling(25, rows_of_half_l3).cols == kernel.nr);
    if (low) CHECK(tiling(25, rows_of_half_l3 + 1).cols == 3 * kernel.lanes);
    for (std::int64_t const k : {9, 24, 25, 128}) {
      auto const t = tiling(k);
      INFO("k ", k);
      if (low) CHECK(t.cols == 3 * kernel.lanes);
      if (low) CHECK(t.rows == kernel.rows[3]);
      if (low) CHECK_FALSE(t.streaming);  // such rows are no whole lines
      if (low) CHECK_FALSE(t.asks_for_c);
    }
    CHECK(tiling(129).cols == kernel.nr);
    CHECK_FALSE(tiling(129).asks_for_c);
    CHECK(
        tandem::cpu::choose_tiling({.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, kernel, product<T>(4096, 4096, 129))
            .asks_for_c);
  });
}

namespace {

bool asks_for_nothing(tandem::cpu::tiling const& t) { return !t.asks_for_a && !t.asks_for_c && !t.asks_for_next_c; }

}  // namespace

TEST_CASE("on Zen 4 short rows of A beside a narrow C pass as streams, in low tiles, and nobody asks for them") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), m = 100000, k = 264 / size, widest = (size == 8 ? 576 : 464) / size - k;
    auto const tiling = [&](std::int64_t n, std::int64_t terms, cache_sizes const& caches = zen4) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, terms));
    };
    std::int64_t const n = 2 * kernel.lanes;
    CHECK(asks_for_nothing(tiling(n, k)));
    CHECK(tiling(n, k).rows == std::min<std::int64_t>(kernel.mr, 8));
    CHECK(asks_for_nothing(tiling(kernel.lanes, k)));
    CHECK(tiling(kernel.lanes, k).rows == kernel.mr);
    CHECK_FALSE(asks_for_nothing(tiling(n, k + 1)));
    CHECK(tiling(n, k + 1).rows == kernel.mr);
    CHECK(asks_for_nothing(tiling(widest, k)));
    CHECK_FALSE(asks_for_nothing(tiling(widest + 1, k)));
    auto apart = product<T>(m, n, k);
    apart.a_row = 512 / size;
    CHECK(asks_for_nothing(tandem::cpu::choose_tiling(zen4, kernel, apart)));
    ++apart.a_row;
    CHECK_FALSE(asks_for_nothing(tandem::cpu::choose_tiling(zen4, kernel, apart)));
    CHECK_FALSE(asks_for_nothing(tiling(n, k, {.l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 20})));  // Zen 5's
    CHECK_FALSE(asks_for_nothing(tiling(n, k, intel)));
  });
}

TEST_CASE("on Intel's processors shorter ones do, of one vector's width, too, and three vectors are one tile") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t size = sizeof(T), m = 100000, k = (size == 8 ? 200 : 160) / size;
    constexpr std::int64_t widest = (size == 8 ? 900 : 576) / size - k;
    auto const tiling = [&](std::int64_t n, std::int64_t terms) {
      return tandem::cpu::choose_tiling(intel, kernel, product<T>(m, n, terms));
    };
    CHECK(asks_for_nothing(tiling(kernel.lanes, k)));
    CHECK(tiling(kernel.lanes, k).rows == std::min<std::int64_t>(kernel.mr, 8));
    CHECK_FALSE(asks_for_nothing(tiling(kernel.lanes, k + 1)));
    CHECK(asks_for_nothing(tiling(widest, k)));
    if (widest < 4 * kernel.nr) CHECK_FALSE(asks_for_nothing(tiling(widest + 1, k)));
    auto const three = tiling(3 * kernel.lanes, k);
    CHECK(three.cols == (kernel.rows[3] >= 8 ? 3 * kernel.lanes : kernel.nr));
    CHECK(three.rows == std::min<std::int64_t>(kernel.mr, 8));
  });
}

TEST_CASE("on Intel's processors nobody asks for short rows of A beside many columns") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t k = 512 / sizeof(T);
    auto const asks = [&](std::int64_t n, std::int64_t terms, cache_sizes const& caches) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(4000, n, terms)).asks_for_a;
    };
    CHECK_FALSE(asks(2000, k, intel));
    CHECK(asks(2000, k + 1, intel));
    CHECK(asks(4 * kernel.nr, k, intel));
    CHECK(asks(2000, k, zen4));
  });
}

TEST_CASE("on Zen 4 nobody asks for short sums' operands that lie together in a fifth of L3") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t n = 4096 / sizeof(T), m = 1200;
    auto const nothing = [&](tandem::cpu::operands<T> const& o) {
      return asks_for_nothing(tandem::cpu::choose_tiling(zen4, kernel, o));
    };
    CHECK(nothing(product<T>(m, n, 96)));
    CHECK(nothing(product<T>(m, n, 17)));
    CHECK_FALSE(nothing(product<T>(m, n, 97)));
    CHECK_FALSE(nothing(product<T>(2 * m, n, 64)));
    for (int of = 0; of < 3; ++of) {
      auto padded = product<T>(m, n, 64);
      ++(of == 0 ? padded.a_row : of == 1 ? padded.b_row : padded.ldc);
      CHECK_FALSE(nothing(padded));
    }
    auto transposed = product<T>(m, n, 64);
    transposed.a_row = 1, transposed.a_col = m;
    CHECK_FALSE(nothing(transposed));
  });
}

TEST_CASE("beside a small L2, in low tiles, a B from memory is copied for three rows and more, by a pass of its own") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    if (kernel.widest > 3) return;
    constexpr std::int64_t size = sizeof(T);
    std::int64_t const far = small_l2.l3 / 4000 / size + 1;
    auto const tiling = [&](std::int64_t m, std::int64_t k) {
      return tandem::cpu::choose_tiling(small_l2, kernel, product<T>(m, 4000, k));
    };
    for (std::int64_t const m : {std::int64_t{3}, 2 * kernel.mr}) {
      INFO(m, " rows");
      CHECK(tiling(m, far).pack_b);
      CHECK_FALSE(tiling(m, far).tiles_pack_b);
      CHECK_FALSE(tiling(m, far - 1).pack_b);
    }
    CHECK_FALSE(tiling(2, far).pack_b);
    CHECK(tiling(2, far).b_ahead == 0);  // the hardware follows its rows
    // In long pieces of few rows, if these meet few of A.
    std::int64_t const deep = 2 * far;
    CHECK(tiling(64, deep).kc <= 128);
    CHECK(tiling(65, deep).kc > 128);
    CHECK(tiling(64, far - 1).kc > 128);
    CHECK(tandem::cpu::choose_tiling(small_l2, kernel, product<T>(64, 4000, deep, false, true)).kc > 128);
  });
}

TEST_CASE("beside a small L2 rows of A in many pages are copied beside many columns") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t page = 4096, size = sizeof(T), row = page / size + 16;  // whose rows do not meet in L1
    auto const packs_a = [&](cache_sizes const& caches, std::int64_t m, std::int64_t n) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(m, n, row)).pack_a;
    };
    std::int64_t const rows = 1024 * page / (row * size);
    CHECK_FALSE(packs_a(small_l2, rows, 769));
    CHECK(packs_a(small_l2, rows + 1, 769));
    CHECK(packs_a(small_l2, rows + 1, 2049));
    CHECK_FALSE(packs_a({.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, rows + 1, 2049));
    // Beside fewer nothing changes.
    auto const fewer = tandem::cpu::choose_tiling(small_l2, kernel, product<T>(rows + 1, 768, row));
    CHECK_FALSE(fewer.pack_a);
    CHECK(fewer.cols == kernel.nr);
  });
}

TEST_CASE("beside a small L2 rows of A of less than 256 bytes are not asked for") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t terms = 256 / sizeof(T);
    auto const asks = [&](cache_sizes const& caches, std::int64_t k) {
      return tandem::cpu::choose_tiling(caches, kernel, product<T>(5000, 500, k)).asks_for_a;
    };
    CHECK_FALSE(asks(small_l2, terms - 1));
    CHECK(asks(small_l2, terms));
    CHECK(asks({.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20}, terms - 1));
  });
}

TEST_CASE("beside a small L2 a transposed A is copied, and so are rows that meet in L1 beside many columns") {
  for_each_kernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    CHECK(tandem::cpu::choose_tiling(small_l2, kernel, product<T>(1000, 1000, 1000, true)).pack_a);
    CHECK(tandem::cpu::choose_tiling(small_l2, kernel, product<T>(1000, 1024, 1024)).pack_a);
  });
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TANDEM_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TANDEM_TEST_SANITIZED 1
#endif
#endif

#ifndef TANDEM_TEST_SANITIZED  // whose allocators end the program instead
TEST_CASE("a workspace that cannot be had is an error with its size, and the next one works") {
  tandem::cpu::workspace memory;
  try {
    memory.reserve(std::size_t(1) << 60);
    FAIL("2^60 bytes were granted");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::out_of_memory);
    CHECK(std::string(e.what()).find("1152921504606846976 bytes") != std::string::npos);
  }
  CHECK(memory.reserve(100) != nullptr);
}
#endif

TEST_SUITE_END();
