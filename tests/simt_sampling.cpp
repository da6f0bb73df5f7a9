// Counts from one block of each class against counts from every block: all kernels, every field.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>
#include <tandem/simt/kernels.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

// Sizes, what is added to each leading dimension, and how many elements past a sector's start each base lies.
struct sampled_case {
  std::int64_t m, n, k;
  std::int64_t pad_a = 0, pad_b = 0, pad_c = 0;
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0;
  double beta = 0;
};

constexpr sampled_case cases[] = {
    {256, 256, 16},                       // nothing but whole tiles of every kernel
    {257, 255, 17, 5, 3, 7, 0, 0, 0, 2},  // an edge in every dimension, rows at all places in a sector
    {300, 190, 9, 0, 0, 1, 1, 2, 3},      // bases inside a sector
    {190, 300, 9, 1, 1, 0, 7, 5, 6, 1},
    {1, 513, 33, 2, 0, 3},
    {513, 1, 33, 0, 3, 2, 0, 0, 1},
    {129, 65, 1, 0, 1, 5, 3, 3, 3, 1},
    {7, 5, 3},  // one block, partly outside
};

// Their blocks are not one for each tile of C, so that all are run in any case.
bool is_never_sampled(kernel const& row) {
  auto const technique = row.technique();
  return technique == "split_k" || technique == "stream_k" || technique == "skinny" || technique == "gemv" ||
         technique == "persistent" || technique == "peeled" || technique == "tensor_core";
}

class operand_memory {
 public:
  operand_memory(std::int64_t elements, std::int64_t offset, std::size_t size)
      : bytes_((static_cast<std::size_t>(elements + offset)) * size + 32) {
    auto const begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
    data_ = bytes_.data() + (32 - begin % 32) % 32 + static_cast<std::size_t>(offset) * size;
  }
  void* data() { return data_; }

 private:
  std::vector<std::byte> bytes_;
  std::byte* data_;
};

std::string text(simt::access_counts const& c) {
  return fmt::format("{} requests {} lanes {} bytes {} sectors {} wavefronts {} conflicts\n", c.requests, c.lanes,
                     c.bytes, c.sectors, c.wavefronts, c.conflicts);
}

// All that both ways of counting must agree on.
std::string text(simt::counts const& c) {
  auto all = fmt::format("{} blocks {} barriers {} ffma {} dfma, sectors {} {} loaded {} {} stored\n", c.blocks,
                         c.barriers, c.ffma, c.dfma, c.block_sectors_loaded, c.grid_sectors_loaded,
                         c.block_sectors_stored, c.grid_sectors_stored);
  for (std::size_t k = 0; k < simt::access_kinds; ++k)
    all += fmt::format("{}: {}", to_string(static_cast<simt::access_kind>(k)), text(c.total[k]));
  for (auto const& s : c.sites)
    all += fmt::format("{}:{} {} {}: {}", s.where.file, s.where.line, to_string(s.kind), s.bytes, text(s.counts));
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("sampling by classes");

TEST_CASE("only GEMM rows of the gpu and simt backends are counted") {
  for (auto const* name : {"gpu", "", ".", "gpu.none", "gpu.axpy.f32.256", "cpu.scalar.f32", "oracle.gemm.f32"}) {
    CAPTURE(name);
    try {
      simt::count_accesses(name, {});
      FAIL("no error");
    } catch (error const& e) {
      CHECK(e.code() == errc::unknown_kernel);
    }
  }
}

TEST_CASE("one block of each class counts for all of them") {
  if (auto const why = simt::checked_unavailable(); !why.empty()) return tests::skip(why);
  std::uint64_t blocks = 0, blocks_run = 0;
  int trans = 0;
  for (auto const& row : simt::checked_kernels()) {
    if (row.operation() != operation::gemm || is_never_sampled(row)) continue;
    // Every row meets every pair of transposes twice, and another one in each case than the row before it.
    ++trans;
    for (auto const& c : cases) {
      trans = (trans + 1) % 4;
      problem p;
      p.dtype = row.dtype;
      p.m = c.m, p.n = c.n, p.k = c.k, p.beta = c.beta;
      p.trans_a = (trans & 1) != 0, p.trans_b = (trans & 2) != 0;
      p.lda = (p.trans_a ? p.m : p.k) + c.pad_a;
      p.ldb = (p.trans_b ? p.k : p.n) + c.pad_b;
      p.ldc = p.n + c.pad_c;
      auto const size = size_of(p.dtype);
      operand_memory a((p.trans_a ? p.k : p.m) * p.lda, c.offset_a, size);
      operand_memory b((p.trans_b ? p.n : p.k) * p.ldb, c.offset_b, size);
      operand_memory out(p.m * p.ldc, c.offset_c, size);
      p.a = a.data(), p.b = b.data(), p.c = out.data();
      auto const sampled = simt::count_accesses(row.name, p, simt::sampling::classes);
      auto const all = simt::count_accesses(row.name, p, simt::sampling::all);
      CAPTURE(row.name);
      CAPTURE(fmt::format("{}x{}x{} {}{}", p.m, p.n, p.k, p.trans_a ? 't' : 'n', p.trans_b ? 't' : 'n'));
      CHECK(all.blocks_run == all.blocks);
      CHECK(text(sampled) == text(all));
      blocks += sampled.blocks;
      blocks_run += sampled.blocks_run;
    }
  }
  CHECK(blocks_run * 10 < blocks);
}

TEST_SUITE_END();
