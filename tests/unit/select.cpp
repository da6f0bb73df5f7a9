// Which row a call gets.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

problem square(std::int64_t size, dtype type) {
  problem p;
  p.dtype = type;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = size;
  return p;
}

}  // namespace

TEST_SUITE_BEGIN("select");

TEST_CASE("automatic takes a CPU kernel for host views") {
  for (auto const type : {dtype::f32, dtype::f64}) {
    auto const* const row = select_kernel(square(64, type));
    CHECK(row->backend == backend::cpu);
    CHECK(row->dtype == type);
  }
}

TEST_CASE("a full name takes that row, whatever its backend") {
  CHECK(select_kernel(square(64, dtype::f32), {.kernel = "oracle.gemm.f32"})->name == "oracle.gemm.f32");
  CHECK(select_kernel(square(64, dtype::f32), {.backend = backend::oracle, .kernel = "oracle.gemm.f32"})->name ==
        "oracle.gemm.f32");
}

TEST_CASE("a technique takes one of its tiles, of the element type of the views") {
  for (auto const type : {dtype::f32, dtype::f64}) {
    auto const* const row = select_kernel(square(512, type), {.backend = backend::simt, .kernel = "thread_tile"});
    CHECK(row->backend == backend::simt);
    CHECK(row->technique() == "thread_tile");
    CHECK(row->dtype == type);
  }
}

TEST_CASE("the last choices are kept, and each problem still gets its own") {
  auto const choose = [](problem const& p) { return select_kernel(p, {.backend = backend::simt}); };
  auto const alone = [](problem const& p) {  // the cheapest, without what is kept
    kernel const* best = nullptr;
    for (auto const& row : kernel_table())
      if (row.backend == backend::simt && row.operation() == operation::gemm && row.dtype == p.dtype && row.cost &&
          row.refuses(p).empty() && (best == nullptr || row.cost(p) < best->cost(p)))
        best = &row;
    return best;
  };
  std::set<std::string> chosen;
  for (int round = 0; round < 2; ++round)
    for (auto const type : {dtype::f32, dtype::f64})
      for (std::int64_t const m : {1, 3, 64, 1000, 4096})
        for (std::int64_t const n : {1, 64, 1000})
          for (std::int64_t const k : {1, 8, 500, 100'000})
            for (int trans = 0; trans < 4; ++trans) {
              auto p = square(0, type);
              p.m = m, p.n = n, p.k = k, p.ldc = n;
              p.trans_a = trans / 2 == 1, p.trans_b = trans % 2 == 1;
              p.lda = p.trans_a ? m : k, p.ldb = p.trans_b ? k : n;
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              CAPTURE(trans);
              auto const& name = choose(p)->name;
              CHECK(name == alone(p)->name);
              chosen.insert(name);
            }
  CHECK(chosen.size() > 4);
}

TEST_CASE("every row's name starts with its backend, names its element type, and is unique") {
  for (auto const& row : kernel_table()) {
    CAPTURE(row.name);
    CHECK(row.name.starts_with(std::string(to_string(row.backend)) + "."));
    CHECK(row.name.find("." + std::string(to_string(row.dtype))) != std::string::npos);
    CHECK(find_kernel(row.name) == &row);
  }
}

TEST_CASE("every SIMT row is a GPU row run on the CPU") {
  for (auto const& row : kernel_table())
    if (row.backend == backend::simt) {
      CAPTURE(row.name);
      CHECK(find_kernel("gpu" + row.name.substr(row.name.find('.'))) != nullptr);
    }
}

TEST_SUITE_END();
