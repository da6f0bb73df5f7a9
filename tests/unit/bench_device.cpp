// The benchmark's own kernels, under the SIMT executor and on the device, against the same passes as plain loops.
#define TANDEM_KERNEL_NAMESPACE bench_on_host

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include <tandem/harness/bound.hpp>
#include <tandem/simt/words.hpp>

#include "gpu/runtime/device.hpp"
#include "tests/support.hpp"
#include "tools/bench/device.hpp"
#include "tools/bench/device_kernels.cuh"
#include "tools/bench/operands.hpp"
#include "tools/bench/verify.hpp"

using namespace tandem;

namespace {

// The kernels, on host memory.
class executed_passes final : public bench::check_space {
 public:
  bench::line_sums along(bench::stored_lines const& x, std::vector<double> const& w,
                         std::vector<double> const& s) const override {
    return passes(x, w, s, x.lines, bench_on_host::launch_along<float>, bench_on_host::launch_along<double>);
  }
  bench::line_sums across(bench::stored_lines const& x, std::vector<double> const& w,
                          std::vector<double> const& s) const override {
    return passes(x, w, s, x.length, bench_on_host::launch_across<float>, bench_on_host::launch_across<double>);
  }
  std::int64_t first_apart(bench::comparison const& x) const override {
    unsigned long long found = ~0ull;
    (x.c.dtype == dtype::f32 ? bench_on_host::launch_find_apart<float>
                             : bench_on_host::launch_find_apart<double>)(x.c.data, x.first, x.before, x.c.lines,
                                                                         x.c.length, x.c.ld, x.factor, x.beta,
                                                                         x.rows.data(), x.columns.data(), &found);
    return static_cast<std::int64_t>(found);
  }
  std::int64_t first_wrong(axpy_problem const& p, void const* y) const override {
    unsigned long long found = ~0ull;
    (p.dtype == dtype::f32 ? bench_on_host::launch_find_wrong<float>
                           : bench_on_host::launch_find_wrong<double>)(p, harness::unit_roundoff(p.dtype), y, &found);
    return static_cast<std::int64_t>(found);
  }
  double element(void const* data, dtype type, std::int64_t index) const override {
    return bench::host_space().element(data, type, index);
  }
  std::shared_ptr<void const> keep(void const* data, std::size_t bytes) const override {
    return bench::host_space().keep(data, bytes);
  }

 private:
  template <class Launch>
  static bench::line_sums passes(bench::stored_lines const& x, std::vector<double> const& w,
                                 std::vector<double> const& s, std::int64_t outputs, Launch* single, Launch* wide) {
    std::vector<double> sums(static_cast<std::size_t>(3 * outputs), 0);
    (x.dtype == dtype::f32 ? single : wide)(x.data, x.lines, x.length, x.ld, w.data(), s.data(), sums.data());
    auto const part = [&](int i) {
      auto const from = sums.begin() + i * outputs;
      return std::vector<double>(from, from + outputs);
    };
    return {.sum = part(0), .size = part(1), .squares = part(2)};
  }
};

// What a space can reach of host values.
using placed = std::function<std::shared_ptr<void const>(void const* data, std::size_t bytes)>;

std::shared_ptr<void const> on_host(void const* data, std::size_t bytes) {
  return bench::host_space().keep(data, bytes);
}

std::shared_ptr<void const> on_device(void const* data, std::size_t bytes) {
  auto const copy = std::make_shared<gpu::device_buffer>(bytes);
  gpu::copy_to_device(copy->data(), data, bytes);
  return {copy, copy->data()};
}

bool close(std::vector<double> const& a, std::vector<double> const& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) <= 1e-9 * (1 + std::abs(y)); });
}

template <class T>
void hold_passes_against_loops(bench::check_space const& space, placed const& place) {
  std::mt19937_64 random(5);
  std::normal_distribution<T> normal;
  for (auto const& size : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 700}, {300, 2}, {65, 257}}) {
    auto const lines = size.first, length = size.second, ld = length + 3;
    std::vector<T> x(static_cast<std::size_t>(lines * ld), std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t i = 0; i < lines; ++i)
      std::generate_n(x.begin() + i * ld, length, [&] { return normal(random); });
    std::vector<double> w(static_cast<std::size_t>(std::max(lines, length))), s = w;
    for (auto& v : w) v = normal(random);
    for (auto& v : s) v = std::abs(normal(random));
    auto const there = place(x.data(), x.size() * sizeof(T));
    bench::stored_lines const here{x.data(), dtype_of<T>, lines, length, ld};
    auto moved = here;
    moved.data = there.get();
    CAPTURE(lines);
    auto const along = space.along(moved, w, s), wanted = bench::host_space().along(here, w, s);
    CHECK(close(along.sum, wanted.sum));
    CHECK(close(along.size, wanted.size));
    CHECK(close(along.squares, wanted.squares));
    auto const across = space.across(moved, w, s), wanted_across = bench::host_space().across(here, w, s);
    CHECK(close(across.sum, wanted_across.sum));
    CHECK(close(across.size, wanted_across.size));
    CHECK(close(across.squares, wanted_across.squares));
  }
}

// A whole check of right and wrong products, every storage, with and without beta.
void hold_check(bench::check_space const& space, placed const& place) {
  for (int form = 0; form < 8; ++form) {
    problem p{.dtype = dtype::f32, .m = 33, .n = 41, .k = 29};
    p.trans_a = form & 1, p.trans_b = form & 2, p.alpha = -0.5, p.beta = form & 4 ? 2 : 0;
    p.lda = (p.trans_a ? p.m : p.k) + 1, p.ldb = (p.trans_b ? p.k : p.n) + 2, p.ldc = p.n + 3;
    std::mt19937_64 random(9);
    std::normal_distribution<float> normal;
    auto const values = [&](std::int64_t count) {
      std::vector<float> all(static_cast<std::size_t>(count));
      for (auto& v : all) v = normal(random);
      return all;
    };
    auto const a = values((p.trans_a ? p.k : p.m) * p.lda), b = values((p.trans_b ? p.n : p.k) * p.ldb);
    auto const before = values(p.m * p.ldc);
    auto right = before;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum += static_cast<double>(a[static_cast<std::size_t>(p.trans_a ? l * p.lda + i : i * p.lda + l)]) *
                 b[static_cast<std::size_t>(p.trans_b ? j * p.ldb + l : l * p.ldb + j)];
        auto& out = right[static_cast<std::size_t>(i * p.ldc + j)];
        out = static_cast<float>(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * static_cast<double>(out)));
      }
    auto const there = [&](std::vector<float> const& all) { return place(all.data(), all.size() * sizeof(float)); };
    auto const kept_a = there(a), kept_b = there(b), kept_c = there(before);
    p.a = kept_a.get(), p.b = kept_b.get(), p.c = const_cast<void*>(kept_c.get());
    bench::product_check check(p, space);
    auto const said = [&](std::size_t at, float value) {
      auto c = right;
      c[at] = value;
      return check.wrong(there(c).get(), "x");
    };
    auto const last = static_cast<std::size_t>((p.m - 1) * p.ldc + p.n - 1),
               first = static_cast<std::size_t>(20 * p.ldc + 3);
    CAPTURE(form);
    CHECK(said(last, right[last] + 0.01F).starts_with("row 32 of C is wrong"));
    CHECK(said(last, right[last]) == "");
    CHECK(said(first, right[first] + 0.0005F).starts_with("C(20, 3) is "));
    CHECK(said(first, std::numeric_limits<float>::quiet_NaN()).starts_with("row 20 of C is wrong"));
    CHECK(said(first, right[first]) == "");
  }
}

// Each element a percent below its own bound, and one of them a percent above.
void hold_comparison(bench::check_space const& space, placed const& place) {
  constexpr std::int64_t m = 5, n = 7, ld = 9;
  std::vector<double> const rows{1, 2, 4, 3, 7}, columns{5, 1, 3, 2, 8, 6, 4};
  for (double const beta : {0.0, -3.0}) {
    std::vector<double> first(m * ld, 0), before(m * ld, 0), bounds(m * ld, 0);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        auto const at = static_cast<std::size_t>(i * ld + j);
        first[at] = static_cast<double>(i - j), before[at] = static_cast<double>(j - 2 * i);
        bounds[at] = 1e-6 * (rows[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)] +
                             std::abs(beta * before[at]));
      }
    auto const there = [&](std::vector<double> const& all) { return place(all.data(), all.size() * sizeof(double)); };
    auto const kept_first = there(first), kept_before = there(before);
    for (std::int64_t wrong = -1; wrong < m * ld; ++wrong) {
      if (wrong >= 0 && wrong % ld >= n) continue;
      auto c = first;
      for (std::size_t at = 0; at < c.size(); ++at)
        c[at] -= bounds[at] * (static_cast<std::int64_t>(at) == wrong ? 1.01 : 0.99);
      auto const kept = there(c);
      CHECK(space.first_apart({.c = {kept.get(), dtype::f64, m, n, ld},
                               .first = kept_first.get(),
                               .before = beta == 0 ? nullptr : kept_before.get(),
                               .factor = 1e-6,
                               .beta = beta,
                               .rows = rows,
                               .columns = columns}) == wrong);
    }
  }
}

void hold_axpy(bench::check_space const& space, placed const& place) {
  std::vector<double> const x{1, 2, 3}, y{4, 5, 6};
  std::vector<double> got{4.5, 6, 7.5};
  auto const there = [&](std::vector<double> const& all) { return place(all.data(), all.size() * sizeof(double)); };
  auto const kept_x = there(x), kept_y = there(y);
  axpy_problem const p{
      .dtype = dtype::f64, .n = 3, .alpha = 0.5, .x = kept_x.get(), .y = const_cast<void*>(kept_y.get())};
  CHECK(bench::wrong_axpy(p, there(got).get(), space).empty());
  got[1] = std::nextafter(6.0, 7.0) + 1e-14;
  CHECK(bench::wrong_axpy(p, there(got).get(), space).starts_with("y(1) is 6"));
  got[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK(bench::wrong_axpy(p, there(got).get(), space).starts_with("y(1) is nan"));
}

template <class T>
void expect_normal(std::vector<T> const& x) {
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const v = x[i];
    sum += v, squares += v * v, fourth += v * v * v * v;
    if (i > 0) neighbours += v * x[i - 1];
  }
  auto const n = static_cast<double>(x.size());
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96 / n));
  CHECK(std::abs(neighbours / n) < 5 / std::sqrt(n));
}

}  // namespace

TEST_SUITE_BEGIN("bench: device");

TEST_CASE("the kernels of the check, under the executor, find what plain loops find") {
  executed_passes const space;
  hold_passes_against_loops<float>(space, on_host);
  hold_passes_against_loops<double>(space, on_host);
  hold_check(space, on_host);
  hold_comparison(space, on_host);
  hold_axpy(space, on_host);
}

TEST_CASE("plain loops find what is wrong in every storage") {
  hold_check(bench::host_space(), on_host);
  hold_comparison(bench::host_space(), on_host);
}

TEST_CASE("operands filled by the kernel are normally distributed, and others for another seed") {
  std::vector<float> x(100'000), y(x.size());
  bench_on_host::launch_fill<float>(x.data(), static_cast<std::int64_t>(x.size()), 0);
  bench_on_host::launch_fill<float>(y.data(), static_cast<std::int64_t>(y.size()), std::uint64_t{1} << 48);
  expect_normal(x);
  expect_normal(y);
  double product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) product += x[i] * y[i];
  CHECK(std::abs(product) < 5 * std::sqrt(static_cast<double>(x.size())));
}

TEST_CASE("on the device, too") {
  if (!tests::has_backend(backend::gpu)) return;
  hold_passes_against_loops<float>(bench::device_space(), on_device);
  hold_passes_against_loops<double>(bench::device_space(), on_device);
  hold_check(bench::device_space(), on_device);
  hold_comparison(bench::device_space(), on_device);
  hold_axpy(bench::device_space(), on_device);
  bench::operand_ring const ring({1'000'001, 1000}, dtype::f32, memory::device,
                                 [](std::size_t) { return std::size_t{3}; });
  std::vector<float> first(1'000'001), last(first.size());
  gpu::copy_to_host(first.data(), ring.data(0, 0), first.size() * sizeof(float));
  gpu::copy_to_host(last.data(), ring.data(2, 0), last.size() * sizeof(float));
  expect_normal(first);
  CHECK(first == last);
}

TEST_CASE("the device's rates are those of a GPU, and double is no faster than float") {
  if (!tests::has_backend(backend::gpu)) return;
  double const single = bench::device_fma_peak(dtype::f32), wide = bench::device_fma_peak(dtype::f64);
  CHECK(single > 1e12);
  CHECK(single < 1e15);
  CHECK(wide < 1.01 * single);
  for (auto const bytes : {std::size_t{1}, std::size_t{1} << 30}) {
    auto const& rates = bench::device_bytes(bytes);
    for (double const rate : {rates.read, rates.store, rates.update}) {
      CHECK(rate > 1e11);
      CHECK(rate < 1e14);
    }
  }
}

TEST_CASE("copies on the device copy everything") {
  if (!tests::has_backend(backend::gpu)) return;
  for (auto const& copy : {bench::device_copy(), bench::device_copy_kernel()})
    for (std::int64_t const n : {1, 3, 4, 5, 100'003}) {
      std::vector<float> x(static_cast<std::size_t>(n)), y(x.size(), -1);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
      auto const from = on_device(x.data(), x.size() * sizeof(float)),
                 to = on_device(y.data(), y.size() * sizeof(float));
      copy.bind_axpy({.dtype = dtype::f32, .n = n}, 1)(from.get(), const_cast<void*>(to.get()));
      gpu::copy_to_host(y.data(), to.get(), y.size() * sizeof(float));
      CHECK(x == y);
    }
}

TEST_SUITE_END();
