// Which row a call gets.
#include <doctest/doctest.h>

#include <cstdlib>

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
