// Every row of the SIMT backend on odd shapes: that is the GPU's kernel files, their boundary logic first.
#include <doctest/doctest.h>

#include <barrier>
#include <thread>

#include "gpu/describe.hpp"
#include "gpu/simt/descriptor.hpp"
#include "gpu/simt/rows.hpp"
#include "tests/unit/gpu_problems.hpp"

using namespace gpu_problems;
using tandem::dtype;

namespace {

template <class T>
std::int64_t run_and_compare(tandem::kernel const& row, shape const& s) {
  host_problem<T> const before(s);
  auto after = before;
  row.run(after.canonical(), {});
  return wrong_elements(before, after.c, is_one_chain(row, after.canonical()));
}

std::int64_t run_and_compare(tandem::kernel const& row, shape const& s) {
  return row.dtype == dtype::f32 ? run_and_compare<float>(row, s) : run_and_compare<double>(row, s);
}

tandem::kernel const& find(std::string_view name) {
  for (auto const& row : tandem::simt::descriptor().kernels)
    if (row.name == name) return row;
  throw std::runtime_error(std::string(name));
}

// Checks every row on its shapes of a kind, whose plans begin with the level if one is named, and returns how many
// there were.
int check_rows_on(std::vector<shape> (*shapes_of)(tandem::kernel const&), std::string_view level = {}) {
  int checked = 0;
  for (auto const& row : tandem::simt::descriptor().kernels)
    for (auto const& s : row.run ? shapes_of(row) : std::vector<shape>()) {
      CAPTURE(row.name);
      CAPTURE(describe(s));
      tandem::problem p;
      p.m = s.m, p.n = s.n, p.k = s.k, p.dtype = row.dtype, p.trans_a = s.trans_a, p.trans_b = s.trans_b;
      if (!level.empty()) CHECK(row.plan(p).levels.front().name == level);
      CHECK(run_and_compare(row, s) == 0);
      ++checked;
    }
  return checked;
}

template <class T>
bool axpy_is_right(tandem::kernel const& row, std::int64_t n, std::int64_t stride_x, std::int64_t stride_y) {
  auto const span = [&](std::int64_t stride) { return static_cast<std::size_t>((n - 1) * std::abs(stride) + 1); };
  std::vector<T> x(span(stride_x)), y(span(stride_y));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(i % 17) / 3;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = T(i % 13) / 7;
  auto const first = [&](std::vector<T>& v, std::int64_t stride) { return &v[stride < 0 ? v.size() - 1 : 0]; };
  auto expected = y;
  auto const alpha = T(0.3);
  for (std::int64_t i = 0; i < n; ++i) {
    T& e = first(expected, stride_y)[i * stride_y];
    e = std::fma(alpha, first(x, stride_x)[i * stride_x], e);
  }
  tandem::axpy_problem p;
  p.dtype = tandem::dtype_of<T>;
  p.n = n, p.alpha = alpha;
  p.x = first(x, stride_x), p.stride_x = stride_x;
  p.y = first(y, stride_y), p.stride_y = stride_y;
  row.run_axpy(p, {});
  return y == expected;
}

}  // namespace

TEST_SUITE_BEGIN("simt");

TEST_CASE("every row computes its chains of fused multiply-adds, and writes nothing else") {
  for (auto const& row : tandem::simt::descriptor().kernels)
    if (row.run)
      for (auto const& s : odd_shapes(row)) {
        CAPTURE(row.name);
        CAPTURE(describe(s));
        CHECK(run_and_compare(row, s) == 0);
      }
}

TEST_CASE("k is cut into slices of whole chunks where C has few tiles, and nowhere else") {
  int cut = 0;
  for (auto const& row : tandem::simt::descriptor().kernels) {
    if (row.technique() != "split_k" && row.technique() != "skinny") continue;
    CAPTURE(row.name);
    tandem::problem p;
    p.dtype = row.dtype;
    p.m = 1, p.n = 1, p.k = 1;
    auto const block = row.plan(p).levels.front();
    CHECK(block.name == "block");
    p.k = 1000 * block.k + 1;
    auto const slice = row.plan(p).levels.front();
    CHECK(slice.name == "slice");
    CHECK_FALSE(slice.keeps_c);
    CHECK(slice.k % block.k == 0);
    auto const slices = (p.k + slice.k - 1) / slice.k;
    CHECK(slices > 200);
    CHECK(slices <= 132 * 4);  // a round of blocks, of which a multiprocessor holds two to four
    p.m = p.n = 8192;
    CHECK(row.plan(p).levels.front().name == "block");
    ++cut;
  }
  CHECK(cut == 10);
}

TEST_CASE("shares of the chunks begin and end anywhere in tiles") { CHECK(check_rows_on(wide_shapes) == 4); }
TEST_CASE("a tile of which many blocks have parts is right") { CHECK(check_rows_on(deep_shapes) >= 2); }
TEST_CASE("tiles cut into the same slices of k are right") { CHECK(check_rows_on(sliced_shapes, "slice") == 16); }
TEST_CASE("tiles shared chunk by chunk are right") { CHECK(check_rows_on(shared_shapes, "share") == 2); }
TEST_CASE("tiles that lie on their side are right") {
  CHECK(check_rows_on(lying_shapes, "block") == 5 * 4);
  CHECK(check_rows_on(lying_sliced_shapes, "slice") == 5 * 3);
  CHECK(check_rows_on(lying_shared_shapes, "share") == 1);
}

TEST_CASE("a block that stays writes each of its tiles beside the next one's first chunks") {
  auto const& table = tandem::simt::plain_rows();
  int checked = 0;
  for (int i = 0; i < table.gemm_count; ++i) {
    auto const& row = table.gemm[i];
    auto const& [bm, bn, bk, wm, wn, tm, tn, groups] = row.tiling;
    if (std::string_view(row.technique) != "tensor_core" || groups > 1) continue;
    bool const vectors = checked % 2 == 0;  // of C; they are large: each row gets one of the two
    // So many columns of tiles that a block has two whole ones.
    shape s{.m = 22 * bm + 5, .k = bk + 3, .trans_a = vectors, .alpha = -0.75, .beta = 1, .padding = vectors ? 4 : 3};
    tandem::problem p;
    p.dtype = row.dtype, p.m = s.m, p.k = s.k, p.trans_a = s.trans_a, p.lda = vectors ? s.m : s.k;
    tandem::gpu::k_cut cut;
    std::int64_t across = 5;
    do {
      s.n = across * bn + (vectors ? 2 : 3);
      p.n = s.n, p.ldb = p.ldc = s.n + s.padding;
      cut = row.cut_k(p);
      ++across;
    } while (23 * across - cut.shared_tiles <= cut.blocks);
    CAPTURE(describe(s));
    CHECK(run_and_compare(find("simt." + tandem::gpu::row_name(row)), s) == 0);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("operands that come by elements, or transposed, are copied first where the product is large enough") {
  auto const& table = tandem::simt::plain_rows();
  for (int i = 0; i < table.gemm_count; ++i) {
    auto const& row = table.gemm[i];
    std::string_view const technique = row.technique;
    bool const by_warps = row.least_code != 0;  // which takes operands in either order
    CHECK((row.paths != nullptr) == (technique == "persistent" || technique == "tensor_core" || row.inside != nullptr));
    if (row.paths == nullptr) continue;
    alignas(16) static char const operand[16] = {};
    auto const copies = [&](shape const& s) {
      tandem::problem p;
      p.dtype = row.dtype, p.a = p.b = operand;
      p.m = s.m, p.n = s.n, p.k = s.k, p.trans_a = s.trans_a, p.trans_b = s.trans_b;
      p.lda = (s.trans_a ? s.m : s.k) + s.padding, p.ldb = (s.trans_b ? s.k : s.n) + s.padding, p.ldc = s.n;
      auto const which = row.paths(p).copied;
      return std::string(which.a ? "A" : "") + (which.b ? "B" : "");
    };
    bool const f64 = row.dtype == tandem::dtype::f64;
    CAPTURE(row.tiling.bm);
    CAPTURE(row.tiling.bn);
    CHECK(copies({3003, 3001, 601, false, false, 1, 0, 0}) == "AB");
    CHECK(copies({4096, 4096, 4096, true, false, 1, 0, 0}) == "");
    CHECK(copies({4096, 4096, 4096, true, false, 1, 0, 1}) == "AB");
    CHECK(copies({4096, 4096, 4096, false, false, 1, 0, 0}) == (by_warps ? "" : "A"));
    CHECK(copies({4096, 4096, 4096, true, true, 1, 0, 0}) == (by_warps ? "" : "B"));
    if (by_warps) {
      CHECK(copies({4096, 4096, 4096, false, true, 1, 0, 1}) == "AB");
      CHECK(copies({4096, 4096, 4097, false, false, 1, 0, 1}) ==
            "AB");  // lines of whole vectors, the last of them not full
    }
    CHECK(copies({4096, 64, 4096, false, false, 1, 0, 0}) == "");  // A is read once
    CHECK(copies({300, 300, 300}) == "");
    if (!f64) {
      CHECK(copies({1000, 4096, 1001, false, false, 1, 0, 0}) == "A");
      CHECK(copies({1000, 256, 1001, false, false, 1, 0, 0}) == "");   // is used too seldom
      CHECK(copies({20003, 301, 600, false, false, 1, 0, 0}) == "B");  // A, along k, consists of vectors
    }
  }
}

TEST_CASE("peeled leaves what its tiles would hang over with to thin kernels, where that takes less time") {
  auto const& table = tandem::simt::plain_rows();
  for (int i = 0; i < table.gemm_count; ++i) {
    auto const& row = table.gemm[i];
    CHECK((row.inside != nullptr) == (std::string_view(row.technique) == "peeled"));
    if (row.inside == nullptr) continue;
    CAPTURE(row.tiling.bn);
    CAPTURE(row.tiling.bk);
    auto const inside = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      tandem::problem p;
      p.dtype = row.dtype, p.m = m, p.n = n, p.k = k, p.lda = k, p.ldb = p.ldc = n;
      auto const extent = row.inside(p);
      return std::pair(extent.m, extent.n);
    };
    CHECK(inside(4097, 4097, 4097) == std::pair<std::int64_t, std::int64_t>(4096, 4096));
    CHECK(inside(4100, 4098, 4096) == std::pair<std::int64_t, std::int64_t>(4096, 4096));
    CHECK(inside(4096, 4104, 4096) == std::pair<std::int64_t, std::int64_t>(4096, 4096));
    CHECK(inside(2112, 4096, 4096).second == 4096);
    CHECK(inside(4096, 4096, 4096) == std::pair<std::int64_t, std::int64_t>(4096, 4096));
    CHECK(inside(4095, 4192, 4096) == std::pair<std::int64_t, std::int64_t>(4095, 4192));
    CHECK(inside(129, 257, 100) == std::pair<std::int64_t, std::int64_t>(129, 257));
    CHECK(inside(5, 3, 100000) == std::pair<std::int64_t, std::int64_t>(5, 3));
    CHECK(inside(0, 257, 0) == std::pair<std::int64_t, std::int64_t>(0, 257));
    // Up to four lines while the tiles are computed, in float.
    tandem::problem p;
    p.dtype = row.dtype, p.m = 4100, p.n = 4101, p.k = p.lda = 4096, p.ldb = p.ldc = p.n;
    CHECK(row.inside(p).rows_beside == (row.dtype == tandem::dtype::f32));
    CHECK_FALSE(row.inside(p).columns_beside);
  }
}

TEST_CASE("peeled is right where it leaves strips to other kernels") {
  std::size_t rows = 0;  // they are large: each row gets one of them
  for (auto const& row : tandem::simt::descriptor().kernels) {
    if (!row.run || row.technique() != "peeled") continue;
    auto const shapes = peeled_shapes(row);
    auto const& s = shapes[rows++ % shapes.size()];
    CAPTURE(row.name);
    CAPTURE(describe(s));
    tandem::problem p;
    p.dtype = row.dtype, p.m = s.m, p.n = s.n, p.k = s.k, p.lda = s.k, p.ldb = p.ldc = s.n;
    CHECK(row.plan(p).levels.front().name == "strip");
    CHECK(run_and_compare(row, s) == 0);
  }
  CHECK(rows == 6);
}

TEST_CASE("operands that no texture takes are refused, with their sizes") {
  auto const& row = find("simt.maxas_64.f32.64x64x8");
  constexpr std::int64_t most = (std::int64_t{1} << 27) - 128;
  tandem::problem p;
  p.m = 4, p.n = 4, p.k = 4;
  p.lda = (most - 4) / 3, p.ldb = 4, p.ldc = 4;
  CHECK(row.refuses(p).empty());
  ++p.lda;
  CHECK(row.refuses(p) == "A spans 4 lines of 4 elements, ld 44739199: more than the 134217600 that a texture takes");
  p.lda = 4, p.ldb = std::int64_t{1} << 62, p.trans_b = true;
  CHECK(row.refuses(p).starts_with("B spans 4 lines of 4 elements, ld 4611686018427387904: "));
  p.n = 1;  // one line, whatever is between lines
  CHECK(row.refuses(p).empty());
  p.k = most + 1;
  CHECK_FALSE(row.refuses(p).empty());
  CHECK(find("simt.stream_k.f32.128x128x16").refuses(p).empty());
}

TEST_CASE("where n is the smaller, the tiles of skinny lie on their side") {
  auto const& row = find("simt.skinny.f32.16x128x64");
  tandem::problem p;
  p.m = 16, p.n = 300, p.k = 10;
  CHECK(row.plan(p).levels.front().m == 16);
  CHECK(row.plan(p).levels.front().n == 128);
  std::swap(p.m, p.n);
  CHECK(row.plan(p).levels.front().m == 128);
  CHECK(row.plan(p).levels.front().n == 16);
}

TEST_CASE("where C is one row of thin tiles on its side, those of persistent lie so") {
  auto const& row = find("simt.persistent.f32.24x64x64");
  tandem::problem p;
  p.m = 300, p.n = 24, p.k = 10;
  CHECK(row.plan(p).levels.front().m == 64);
  CHECK(row.plan(p).levels.front().n == 24);
  p.n = 25;
  CHECK(row.plan(p).levels.front().m == 24);
  p.m = 24, p.n = 24;
  CHECK(row.plan(p).levels.front().m == 24);
}

TEST_CASE("more tiles in y than a grid takes") {
  shape s;
  s.m = 65536 * 8 + 3;
  s.padding = 0;
  CHECK(run_and_compare(find("simt.coalesced.f32.8x32"), s) == 0);
}

TEST_CASE("axpy takes any stride") {
  struct strides {
    std::int64_t n, x, y;
  };
  for (auto const& s : {strides{1, 1, 1}, {257, 1, 1}, {1000, 3, 2}, {255, -1, 1}, {513, 0, -2}}) {
    CAPTURE(s.n);
    CHECK(axpy_is_right<float>(find("simt.axpy.f32"), s.n, s.x, s.y));
    CHECK(axpy_is_right<double>(find("simt.axpy.f64"), s.n, s.x, s.y));
  }
}

TEST_CASE("hardware fma and the C library's give the same bits") {
  auto const* const fma = tandem::simt::plain_fma_rows();
  if (fma == nullptr) {
    MESSAGE("skipped: this processor has no FMA, or is no x86");
    return;
  }
  auto const& plain = tandem::simt::plain_rows();
  REQUIRE(fma->gemm_count == plain.gemm_count);
  for (int r = 0; r < plain.gemm_count; ++r) {
    if (plain.gemm[r].dtype != dtype::f32) continue;
    CHECK((fma->gemm[r].launch != plain.gemm[r].launch));
    shape s{67, 45, 33, true, false, 0.3, -1.7, 1};
    host_problem<float> x(s), y(s);
    plain.gemm[r].launch(x.canonical(), nullptr);
    fma->gemm[r].launch(y.canonical(), nullptr);
    std::int64_t different = 0;
    for (std::size_t i = 0; i < x.c.size(); ++i) different += !same(x.c[i], y.c[i]);
    CHECK(different == 0);
  }
}

TEST_CASE("two threads may call at once, and one after another has ended") {
  std::barrier together(2);
  auto const work = [&]<class T>(T, std::string_view name, std::int64_t& wrong) {
    host_problem<T> const before({70, 65, 20, false, true, 1, 0, 2});
    auto after = before;
    together.arrive_and_wait();
    for (int i = 0; i < 100; ++i) {
      after.c = before.c;
      find(name).run(after.canonical(), {});
      wrong += i % 20 == 0 ? wrong_elements(before, after.c) : 0;
    }
  };
  for (int round = 0; round < 2; ++round) {
    std::int64_t wrong[2] = {};
    std::thread first([&] { work(float{}, "simt.thread_tile.f32.64x64x8", wrong[0]); });
    std::thread second([&] { work(double{}, "simt.smem_tile.f64.16x16x16", wrong[1]); });
    first.join();
    second.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
  }
}

TEST_CASE("a plan names a row's tiles, and a large tile is dear where it computes little") {
  auto const& large = find("simt.thread_tile.f32.128x128x8");
  auto const& small = find("simt.thread_tile.f32.64x64x8");
  auto const levels = large.plan({}).levels;
  REQUIRE(levels.size() == 3);
  CHECK(levels[0].name == "block");
  CHECK(levels[0].m == 128);
  CHECK(levels[0].k == 8);
  CHECK(levels[1].name == "warp");
  CHECK(levels[1].m * levels[1].n == 32 * levels[2].m * levels[2].n);
  tandem::problem p;
  p.k = 100;
  p.m = p.n = 1024;
  CHECK(large.cost(p) < small.cost(p));
  p.m = p.n = 60;
  CHECK(large.cost(p) > small.cost(p));
}

TEST_SUITE_END();
