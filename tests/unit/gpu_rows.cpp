// Every GPU row against its twin on the SIMT executor, bit for bit, with host operands and with device operands.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include <tandem/error.hpp>

#include "gpu/descriptor.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/simt/descriptor.hpp"
#include "reference/descriptors.hpp"
#include "tests/support.hpp"
#include "tests/unit/gpu_problems.hpp"

using namespace gpu_problems;
namespace gpu = tandem::gpu;

namespace {

tandem::kernel const& twin(tandem::kernel const& row) {
  auto const name = "simt" + row.name.substr(row.name.find('.'));
  for (auto const& other : tandem::simt::descriptor().kernels)
    if (other.name == name) return other;
  throw std::runtime_error(name);
}

template <class T>
gpu::device_buffer on_device(std::vector<T> const& host, CUstream_st* stream) {
  gpu::device_buffer buffer(host.size() * sizeof(T));
  gpu::copy_to_device(buffer.data(), host.data(), buffer.size(), stream);
  return buffer;
}

// The same problem, gaps and all, in device memory.
template <class T>
void run_on_device(tandem::kernel const& row, host_problem<T>& problem) {
  gpu::stream const stream;
  auto const a = on_device(problem.a, stream.get()), b = on_device(problem.b, stream.get());
  auto const c = on_device(problem.c, stream.get());
  auto p = problem.canonical();
  p.memory = tandem::memory::device;
  p.a = a.data(), p.b = b.data(), p.c = c.data();
  row.run(p, {.stream = stream.get()});
  gpu::copy_to_host(problem.c.data(), c.data(), c.size(), stream.get());
}

template <class T>
std::int64_t differences(std::vector<T> const& x, std::vector<T> const& y) {
  std::int64_t different = x.size() == y.size() ? 0 : 1;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) different += !same(x[i], y[i]);
  return different;
}

template <class T>
void compare_with_twin(tandem::kernel const& row, shape const& s) {
  CAPTURE(row.name);
  CAPTURE(describe(s));
  host_problem<T> simt(s), staged(s), device(s);
  twin(row).run(simt.canonical(), {});
  row.run(staged.canonical(), {});
  CHECK(differences(simt.c, staged.c) == 0);
  run_on_device(row, device);
  CHECK(differences(simt.c, device.c) == 0);
}

/// A 4 x 4 product whose rows lie more than 2^30 elements apart, in buffers that hold them; true if C is right, or the
/// row refuses the operands.
template <class T>
bool wide_product_is_right(tandem::kernel const& row, void* a, void* b, void* c, bool trans_a, bool trans_b) {
  constexpr std::int64_t size = 4, ld = (std::int64_t{1} << 30) + 64;  // the last row lies beyond 2^31 elements
  T stored_a[size][size], stored_b[size][size], got[size][size];
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) stored_a[i][j] = T(i * 5 + j + 1), stored_b[i][j] = T(j * 7 - i * 2 - 3);
  for (int i = 0; i < size; ++i) {
    gpu::copy_to_device(static_cast<T*>(a) + i * ld, stored_a[i], sizeof stored_a[i]);
    gpu::copy_to_device(static_cast<T*>(b) + i * ld, stored_b[i], sizeof stored_b[i]);
  }
  tandem::problem p;
  p.dtype = row.dtype, p.memory = tandem::memory::device;
  p.m = p.n = p.k = size, p.lda = p.ldb = p.ldc = ld;
  p.a = a, p.b = b, p.c = c, p.trans_a = trans_a, p.trans_b = trans_b;
  if (auto const why = row.refuses(p); !why.empty()) {
    CHECK((row.technique().starts_with("maxas_") || row.technique() == "gemv"));  // no texture is so large; two lines
    return true;
  }
  row.run(p, {});
  gpu::synchronize();
  bool right = true;
  for (int i = 0; i < size; ++i) {
    gpu::copy_to_host(got[i], static_cast<T*>(c) + i * ld, sizeof got[i]);
    for (int j = 0; j < size; ++j) {
      T wanted = 0;
      for (int q = 0; q < size; ++q)
        wanted += (trans_a ? stored_a[q][i] : stored_a[i][q]) * (trans_b ? stored_b[j][q] : stored_b[q][j]);
      right = right && got[i][j] == wanted;
    }
  }
  return right;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("every GPU row has a twin on the executor") {
  for (auto const& row : gpu::descriptor().kernels) {
    CHECK(twin(row).operation() == row.operation());
    CHECK(row.host);
    CHECK(row.device);
    CHECK_FALSE(twin(row).device);
  }
}

TEST_CASE("every GPU row gives its twin's bits") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (auto const& row : gpu::descriptor().kernels) {
    if (!row.run) continue;
    for (auto const& shapes : {odd_shapes(row), wide_shapes(row), deep_shapes(row), shared_shapes(row),
                               sliced_shapes(row), copied_shapes(row), peeled_shapes(row), lying_shapes(row),
                               lying_sliced_shapes(row), lying_shared_shapes(row)})
      for (auto const& s : shapes)
        row.dtype == tandem::dtype::f32 ? compare_with_twin<float>(row, s) : compare_with_twin<double>(row, s);
  }
}

TEST_CASE("axpy on the GPU gives its twin's bits, and leaves the gaps alone") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (auto const& row : gpu::descriptor().kernels) {
    if (!row.run_axpy || row.dtype != tandem::dtype::f32) continue;
    for (std::int64_t const n : {1, 255, 1 << 20, (1 << 20) + 7}) {
      std::vector<float> x(n), y(2 * n);
      for (std::int64_t i = 0; i < n; ++i) x[i] = float(i % 1013) / 7, y[2 * i] = float(i % 511) / 3;
      auto expected = y;
      tandem::axpy_problem p;
      p.n = n, p.alpha = 0.625;
      p.x = x.data(), p.stride_x = 1;
      p.y = expected.data(), p.stride_y = 2;
      twin(row).run_axpy(p, {});
      p.y = y.data();
      row.run_axpy(p, {});
      CHECK(differences(y, expected) == 0);
    }
  }
}

TEST_CASE("more tiles in y than a grid takes, on the GPU") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (auto const& row : gpu::descriptor().kernels) {
    if (!row.run || row.dtype != tandem::dtype::f32) continue;
    shape s;
    s.m = 65536 * row.plan({}).levels.front().m + 3;
    s.padding = 0;
    s = taken_by(row, s);
    host_problem<float> const before(s);
    auto after = before;
    row.run(after.canonical(), {});
    CAPTURE(row.name);
    CHECK(wrong_elements(before, after.c, is_one_chain(row, after.canonical())) == 0);
  }
}

TEST_CASE("scaling a device matrix: beta = 0 does not read it, the gaps stay") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (double const beta : {0.0, -0.5}) {
    host_problem<double> const before({37, 45, 1, false, false, 1, beta, 3});
    auto after = before;
    auto const c = on_device(before.c, nullptr);
    auto p = after.canonical();
    p.memory = tandem::memory::device;
    p.c = c.data();
    gpu::descriptor().scale(p, {});
    gpu::copy_to_host(after.c.data(), c.data(), c.size());
    auto expected = before.c;
    for (std::int64_t i = 0; i < 37; ++i)
      for (std::int64_t j = 0; j < 45; ++j)
        expected[i * before.ldc + j] = beta == 0 ? 0 : beta * before.c[i * before.ldc + j];
    CHECK(differences(after.c, expected) == 0);
  }
}

TEST_CASE("cuBLAS says why it is not there, and is right where it is") {
  auto const& cublas = tandem::reference::cublas();
  if (auto const why = cublas.unavailable(); !why.empty()) {
    if (auto const device = gpu::unavailable(); !device.empty()) CHECK(why == device);
    MESSAGE("skipped: ", why);
    return;
  }
  CHECK(cublas.version().starts_with("cuBLAS "));
  auto const naive = std::ranges::find(gpu::descriptor().kernels, "gpu.naive.f64.32x8", &tandem::kernel::name);
  REQUIRE(naive != gpu::descriptor().kernels.end());
  for (auto const& row : cublas.kernels) {
    if (!row.run || row.dtype != tandem::dtype::f64) continue;
    tandem::problem huge;
    huge.m = std::int64_t{1} << 31;
    CHECK_FALSE(row.refuses(huge).empty());
    for (int trans = 0; trans < 4; ++trans)
      for (double const beta : {0.0, 1.5}) {
        shape const s{33, 21, 17, (trans & 1) != 0, (trans & 2) != 0, 2, beta, 3};
        host_problem<double> const before(s);
        auto staged = before, device = before, simt = before;
        row.run(staged.canonical(), {});
        run_on_device(row, device);
        twin(*naive).run(simt.canonical(), {});
        CHECK(differences(staged.c, device.c) == 0);
        double largest = 0;
        for (std::int64_t i = 0; i < s.m; ++i)
          for (std::int64_t j = 0; j < s.n; ++j)
            largest = std::max(largest, std::abs(staged.c[i * before.ldc + j] - simt.c[i * before.ldc + j]));
        CHECK(largest < 1e-13);
      }
  }
}

TEST_CASE("offsets beyond 2^31 elements") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  auto const bytes = (3 * ((std::size_t{1} << 30) + 64) + 4) * sizeof(double);
  gpu::device_buffer a, b, c;
  try {
    a = gpu::device_buffer(bytes), b = gpu::device_buffer(bytes), c = gpu::device_buffer(bytes);
  } catch (tandem::error const& e) {
    REQUIRE(e.code() == tandem::errc::out_of_memory);
    MESSAGE("skipped: ", e.what());  // a smaller device
    return;
  }
  for (auto const& row : gpu::descriptor().kernels) {
    if (!row.run) continue;
    for (int trans = 0; trans < 4; ++trans) {
      CAPTURE(row.name);
      CAPTURE(trans);
      bool const trans_a = (trans & 1) != 0, trans_b = (trans & 2) != 0;
      auto const is_right =
          row.dtype == tandem::dtype::f32 ? wide_product_is_right<float> : wide_product_is_right<double>;
      CHECK(is_right(row, a.data(), b.data(), c.data(), trans_a, trans_b));
    }
  }
}

TEST_SUITE_END();
