// Every GPU rung against the SIMT executor's run of the same source: C must be equal bit for bit.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <tandem/harness/harness.hpp>
#include <tandem/tandem.hpp>

#include "tests/support.hpp"

using namespace tandem;

namespace {

// Small enough for a CPU to run 200 of them a rung in seconds.
constexpr double largest_flops = 2e6;

// Real data, so that another order of operations shows in the last bit.
template <class T>
std::vector<T> normal_data(std::int64_t count, std::mt19937_64& random) {
  std::normal_distribution<T> normal;
  std::vector<T> data(static_cast<std::size_t>(count));
  for (auto& x : data) x = normal(random);
  return data;
}

template <class T>
bool equal_bits(kernel const& gpu, kernel const& simt, harness::test_case const& t) {
  std::mt19937_64 random(t.seed);
  auto const a = normal_data<T>(t.m * t.k, random), b = normal_data<T>(t.k * t.n, random);
  auto const start = normal_data<T>(t.m * t.n, random);
  auto const view = [](std::vector<T> const& data, std::int64_t rows, std::int64_t cols, bool trans) {
    return trans ? matrix_view<T const>(data.data(), cols, rows, rows).transposed()
                 : matrix_view<T const>(data.data(), rows, cols, cols);
  };
  auto const multiply = [&](kernel const& row) {
    auto c = start;
    gemm_with(row, view(a, t.m, t.k, t.trans_a), view(b, t.k, t.n, t.trans_b), matrix_view<T>(c.data(), t.m, t.n, t.n),
              {.alpha = t.alpha, .beta = t.beta});
    return c;
  };
  auto const on_gpu = multiply(gpu), on_cpu = multiply(simt);
  return std::memcmp(on_gpu.data(), on_cpu.data(), on_gpu.size() * sizeof(T)) == 0;
}

// Makes of a problem that the row does not take one that it does: of fewer steps of k, one row or one column.
void narrow(harness::test_case& t, kernel const& row) {
  auto const takes = [&] {
    problem p;
    p.dtype = t.dtype, p.m = t.m, p.n = t.n, p.k = t.k, p.trans_a = t.trans_a, p.trans_b = t.trans_b;
    p.lda = t.trans_a ? t.m : t.k, p.ldb = t.trans_b ? t.k : t.n, p.ldc = t.n;
    return row.refuses(p).empty();
  };
  if (takes()) return;
  auto const k = t.k;
  for (int const most : {16, 8}) {
    t.k = k % most + 1;
    if (takes()) return;
  }
  t.k = k;
  (t.m < t.n ? t.m : t.n) = 1;
  REQUIRE(takes());
}

}  // namespace

TEST_SUITE_BEGIN("GPU equals SIMT");

TEST_CASE("each rung's result on the GPU is its SIMT run's, bit for bit, on at least 200 odd problems") {
  if (!tests::has_backend(backend::gpu)) return;
  // A part of the rows' names: several processes can share the rows out.
  char const* const part = std::getenv("TANDEM_TEST_ROWS");
  int rows = 0;
  for (auto const& simt : kernel_table()) {
    if (simt.backend != backend::simt || simt.operation() != operation::gemm) continue;
    if (part != nullptr && simt.name.find(part) == std::string::npos) continue;
    ++rows;
    CAPTURE(simt.name);
    auto const* const gpu = find_kernel("gpu" + simt.name.substr(simt.name.find('.')));
    REQUIRE(gpu != nullptr);
    int problems = 0;
    for (auto t : harness::make_cases({}, {&simt, 1})) {
      narrow(t, simt);
      if (t.m == 0 || t.n == 0 || harness::flops(t) > largest_flops) continue;
      ++problems;
      bool const equal = t.dtype == dtype::f32 ? equal_bits<float>(*gpu, simt, t) : equal_bits<double>(*gpu, simt, t);
      if (!equal) FAIL_CHECK(simt.name, " differs from the GPU on ", harness::to_string(t));
    }
    MESSAGE(simt.name, ": ", problems, " problems");
    CHECK(problems >= 200);
  }
  CHECK(rows > 0);
}

TEST_SUITE_END();
