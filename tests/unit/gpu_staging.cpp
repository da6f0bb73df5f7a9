// How host views are staged, on a fake of CUDA that does work as late and as disordered as streams allow: results,
// memory, threads, and what is left after each possible failure.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/host_copy.hpp"
#include "gpu/runtime/host_tiles.hpp"
#include "gpu/runtime/operands.hpp"
#include "gpu/runtime/staging.hpp"
#include "tests/unit/fake_cuda.hpp"
#include "tests/unit/gpu_problems.hpp"

using namespace gpu_problems;
namespace gpu = tandem::gpu;

namespace {

// Each element in one chain of fused multiply-adds, as gpu_problems expects it of a row.
void compute(tandem::problem const& p) {
  auto const *a = static_cast<float const*>(p.a), *b = static_cast<float const*>(p.b);
  auto* const c = static_cast<float*>(p.c);
  auto const alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  auto const add = adding_multiples<float>();
  std::vector<float> row_of_b(p.n), sums(p.m * p.n);  // (m, n)
  for (std::int64_t q = 0; q < p.k; ++q) {
    for (std::int64_t j = 0; j < p.n; ++j) row_of_b[j] = b[p.trans_b ? j * p.ldb + q : q * p.ldb + j];
    for (std::int64_t i = 0; i < p.m; ++i)
      add(a[p.trans_a ? q * p.lda + i : i * p.lda + q], row_of_b.data(), sums.data() + i * p.n, p.n);
  }
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      auto& to = c[i * p.ldc + j];
      to = p.beta == 0 ? alpha * sums[i * p.n + j] : std::fma(alpha, sums[i * p.n + j], beta * to);
    }
}

void launch(tandem::problem const& p, CUstream_st* stream) {
  CHECK(p.memory == tandem::memory::device);
  fake_cuda::enqueue(stream, [p] { compute(p); });
}

class memory_limit {
 public:
  explicit memory_limit(std::int64_t bytes) { setenv("TANDEM_GPU_MEMORY", std::to_string(bytes).c_str(), 1); }
  ~memory_limit() { unsetenv("TANDEM_GPU_MEMORY"); }
  memory_limit(memory_limit const&) = delete;
  memory_limit& operator=(memory_limit const&) = delete;
};

class pinned {
 public:
  explicit pinned(std::vector<float> const& x) : data_(x.data()) {
    fake_cuda::know(data_, x.size() * sizeof(float), fake_cuda::kind::pinned);
  }
  ~pinned() { fake_cuda::forget(data_); }
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;

 private:
  void const* data_;
};

// In one tile, in 4, in 8; and with k cut in 4 steps, 2 for each tile, and in 18.
struct limited {
  shape s;
  std::int64_t bytes;
  std::int64_t steps;
};
constexpr shape wide{300, 520, 60, false, false, 0.75, 0, 3}, deep{150, 260, 300, false, false, 0.75, 0, 3};
constexpr limited cuts[] = {
    {wide, 10'000'000, 1}, {wide, 600'000, 4}, {wide, 330'000, 8}, {deep, 520'000, 4}, {deep, 400'000, 18}};

bool cuts_k(limited const& one) { return one.s.k == deep.k; }

std::vector<float> product(host_problem<float> problem, bool pin_inputs, bool pin_c) {
  std::optional<pinned> a, b, c;
  if (pin_inputs) a.emplace(problem.a), b.emplace(problem.b);
  if (pin_c) c.emplace(problem.c);
  gpu::run_staged(problem.canonical(), nullptr, launch);
  return problem.c;
}

std::int64_t mistakes(shape const& s, bool one_chain, bool pin_inputs, bool pin_c) {
  host_problem<float> const before(s);
  return wrong_elements(before, product(before, pin_inputs, pin_c), one_chain);
}

std::int64_t differences(std::vector<float> const& x, std::vector<float> const& y) {
  std::int64_t different = x.size() == y.size() ? 0 : 1;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) different += !same(x[i], y[i]);
  return different;
}

}  // namespace

TEST_SUITE_BEGIN("gpu staging");

TEST_CASE("the limits cut as they are meant to") {
  for (auto const& one : cuts) {
    host_problem<float> problem(one.s);
    auto const p = problem.canonical();
    gpu::host_walk walk(gpu::cut_host_product(p, one.bytes), p);
    std::int64_t steps = 0;
    while (walk.next()) ++steps;
    CHECK(steps == one.steps);
    CHECK((gpu::cut_host_product(p, one.bytes).k < one.s.k) == cuts_k(one));
  }
}

TEST_CASE("whatever order the streams allow, C is right and its gaps are left alone") {
  unsigned order = 0;
  for (auto const& one : cuts)
    for (int trans = 0; trans < 4; ++trans)
      for (double const beta : {0.0, -0.5}) {
        auto s = one.s;
        s.trans_a = (trans & 1) != 0, s.trans_b = (trans & 2) != 0, s.beta = beta;
        CAPTURE(describe(s));
        CAPTURE(one.bytes);
        memory_limit const limit(one.bytes);
        host_problem<float> const before(s);
        std::vector<float> first;
        for (int pins = 0; pins < 4; ++pins) {
          CAPTURE(pins);
          fake_cuda::seed(++order);
          auto const got = product(before, (pins & 1) != 0, (pins & 2) != 0);
          if (pins == 0)
            CHECK(wrong_elements(before, first = got, !cuts_k(one)) == 0);
          else
            CHECK(differences(first, got) == 0);
          CHECK(fake_cuda::pending() == 0);
          CHECK(fake_cuda::misuses() == 0);
        }
      }
}

TEST_CASE("operands of many chunks, lines longer than one, and columns") {
  for (auto const& s : {shape{3, 2, 2'200'001, false, true, 1, 0, 1}, shape{2, 1'300'001, 3, true, false, 1, 1, 2},
                        shape{1'500'003, 1, 2, false, false, 1, 0, 1}, shape{40'001, 70, 5, true, true, -2, 1, 0}})
    for (int pins = 0; pins < 4; ++pins) {
      CAPTURE(describe(s));
      CHECK(mistakes(s, true, (pins & 1) != 0, (pins & 2) != 0) == 0);
    }
  memory_limit const limit(9'000'000);
  for (int pins = 0; pins < 4; ++pins) {
    CHECK(mistakes({1'500'003, 1, 2, false, false, 1, 1, 1}, true, (pins & 1) != 0, (pins & 2) != 0) == 0);
    CHECK(mistakes({3, 2, 2'200'001, true, false, 1, 0, 1}, false, (pins & 1) != 0, (pins & 2) != 0) == 0);
  }
}

TEST_CASE("with less memory than was thought it runs in smaller tiles, with far too little it is out_of_memory") {
  host_problem<float> const before(wide);
  fake_cuda::set_free_memory(700'000);
  CHECK(mistakes(wide, true, false, false) == 0);
  auto after = before;
  fake_cuda::set_free_memory(100'000);
  try {
    gpu::run_staged(after.canonical(), nullptr, launch);
    FAIL("without memory");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::out_of_memory);
    CHECK(std::string(e.what()).find("m 300, n 520, k 60") != std::string::npos);
  }
  CHECK(fake_cuda::pending() == 0);
  for (std::size_t i = 0; i < after.c.size(); ++i) REQUIRE(same(after.c[i], before.c[i]));
  fake_cuda::set_free_memory(std::size_t{1} << 40);
  CHECK(mistakes(wide, true, false, false) == 0);
}

TEST_CASE("more threads than areas") {
  memory_limit const limit(600'000);
  std::atomic<std::int64_t> wrong = 0;
  std::vector<std::thread> running;
  for (int t = 0; t < 6; ++t)
    running.emplace_back([&, t] {
      for (int i = 0; i < 2; ++i) {
        auto s = wide;
        s.m += t, s.trans_a = t % 2 == 0, s.beta = i;
        wrong += mistakes(s, true, false, false);
      }
    });
  for (auto& thread : running) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE(
    "whichever call fails, C has finished tiles or is as it was, nothing is pending, and the next product is right") {
  for (auto const& one : cuts)
    for (bool const pin : {false, true}) {
      if (one.steps > 8) continue;  // nothing new
      memory_limit const limit(one.bytes);
      CAPTURE(describe(one.s));
      CAPTURE(one.bytes);
      CAPTURE(pin);
      host_problem<float> const before(one.s);
      auto const right = product(before, false, false);
      std::int64_t n = 0;
      for (bool completed = false; !completed; ++n) {
        auto after = before;
        std::optional<pinned> a, b, c;
        if (pin) a.emplace(after.a), b.emplace(after.b), c.emplace(after.c);
        fake_cuda::seed(static_cast<unsigned>(n));
        fake_cuda::fail_call(n);
        bool threw = false;
        try {
          gpu::run_staged(after.canonical(), nullptr, launch);
        } catch (tandem::error const& e) {
          threw = true;
          REQUIRE(e.code() == tandem::errc::device);
        }
        completed = !fake_cuda::has_failed();
        fake_cuda::fail_call(-1);
        std::int64_t wrong = 0, written = 0;
        for (std::size_t i = 0; i < after.c.size(); ++i) {
          bool const is_new = !same(after.c[i], before.c[i]);
          written += is_new;
          wrong += is_new && !same(after.c[i], right[i]);
        }
        REQUIRE(wrong == 0);
        // What fails on the way out, or in a destructor, is dropped there: all has been computed.
        if (!threw) REQUIRE(written == one.s.m * one.s.n);
        REQUIRE(fake_cuda::pending() == 0);
        REQUIRE(fake_cuda::misuses() == 0);
      }
      CHECK(n > 10 + 6 * (one.steps - 1));
      CHECK(differences(product(before, pin, pin), right) == 0);
    }
}

TEST_CASE(
    "whichever kernel or copy fails on the device, the call throws that, and C has finished tiles or is as it was") {
  for (auto const& one : cuts)
    for (bool const pin : {false, true}) {
      if (one.steps > 8) continue;
      memory_limit const limit(one.bytes);
      CAPTURE(describe(one.s));
      CAPTURE(one.bytes);
      CAPTURE(pin);
      host_problem<float> const before(one.s);
      auto const right = product(before, false, false);
      std::int64_t n = 0;
      for (bool completed = false; !completed; ++n) {
        CAPTURE(n);
        auto after = before;
        std::optional<pinned> a, b, c;
        if (pin) a.emplace(after.a), b.emplace(after.b), c.emplace(after.c);
        fake_cuda::seed(static_cast<unsigned>(n));
        fake_cuda::fail_work(n);
        std::string message;
        try {
          gpu::run_staged(after.canonical(), nullptr, launch);
        } catch (tandem::error const& e) {
          message = e.what();
          CHECK(e.code() == tandem::errc::device);
        }
        completed = !fake_cuda::has_failed();
        CHECK(message.empty() == completed);
        if (!completed) CHECK(message.find("an earlier asynchronous error came out of") == 0);
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < after.c.size(); ++i)
          wrong += !same(after.c[i], right[i]) && (completed || !same(after.c[i], before.c[i]));
        CHECK(wrong == 0);
        fake_cuda::fail_work(-1);
        REQUIRE(fake_cuda::pending() == 0);
        REQUIRE(fake_cuda::misuses() == 0);
      }
      CHECK(n > 2 + one.steps);
      CHECK(differences(product(before, pin, pin), right) == 0);
    }
}

TEST_CASE("a stream under capture is refused, and nothing is enqueued or written") {
  host_problem<float> const before(wide);
  auto after = before;
  fake_cuda::capture(true);
  try {
    gpu::run_staged(after.canonical(), nullptr, launch);
    FAIL("in a capture");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::unsupported);
  }
  fake_cuda::capture(false);
  CHECK(fake_cuda::pending() == 0);
  CHECK(differences(after.c, before.c) == 0);
}

TEST_CASE("operands are refused where they do not lie where their views say, with their names and devices") {
  using fake_cuda::kind;
  constexpr std::size_t bytes = 64;
  std::vector<std::byte> memory(10 * bytes);
  auto* const here = &memory[0];
  auto* const there = &memory[2 * bytes];
  auto* const managed = &memory[4 * bytes];
  auto* const in_pinned = &memory[6 * bytes];
  auto* const shared = &memory[7 * bytes];
  auto* const unknown = &memory[8 * bytes];
  fake_cuda::know(here, bytes, kind::device);
  fake_cuda::know(there, bytes, kind::device, 3);
  fake_cuda::know(managed, bytes, kind::managed, 3);
  fake_cuda::know(in_pinned, bytes, kind::pinned, 3);
  fake_cuda::know(shared, bytes, kind::device, -2);
  auto const refusal = [](tandem::memory where, void* a, void* b, void* c, gpu::operands which = gpu::operands::abc) {
    tandem::problem p;
    p.memory = where;
    p.a = a, p.b = b, p.c = c;
    try {
      gpu::check_operands(p, nullptr, which);
    } catch (tandem::error const& e) {
      CHECK(e.code() == tandem::errc::mixed_memory);
      return std::string(e.what());
    }
    return std::string();
  };
  constexpr auto device = tandem::memory::device, host = tandem::memory::host;
  CHECK(refusal(device, here, here + bytes - 4, here) == "");
  CHECK(refusal(device, managed, in_pinned, shared) == "");
  CHECK(refusal(device, there, here, here) ==
        fmt::format("A's data at {} lies in memory of device 3, but the current device is 0", fmt::ptr(there)));
  CHECK(refusal(device, here, there + 8, here).starts_with("B's data at "));
  CHECK(refusal(device, here, here, there).starts_with("C's data at "));
  CHECK(refusal(device, here, unknown, here) ==
        fmt::format("B is a view of device memory, but its data at {} is memory that CUDA does not know; the current "
                    "device is 0",
                    fmt::ptr(unknown)));
  CHECK(refusal(device, unknown, unknown, here, gpu::operands::c) == "");
  CHECK(refusal(device, here, here, unknown, gpu::operands::c).starts_with("C is a view of device memory"));
  fake_cuda::capture(true);
  CHECK(refusal(device, here, unknown, here) == "");  // the graph's own, maybe
  CHECK(refusal(device, here, there, here) != "");
  fake_cuda::capture(false);
  CHECK(refusal(host, unknown, managed, in_pinned) == "");
  CHECK(refusal(host, unknown, unknown, there) ==
        fmt::format("C is a view of host memory, but its data at {} lies in memory of device 3", fmt::ptr(there)));
  tandem::axpy_problem axpy;
  axpy.memory = device;
  axpy.x = here, axpy.y = unknown;
  CHECK_THROWS_AS(gpu::check_operands(axpy, nullptr), tandem::error);
  axpy.y = here;
  CHECK_NOTHROW(gpu::check_operands(axpy, nullptr));
  for (auto const* known : {here, there, managed, in_pinned, shared}) fake_cuda::forget(known);
}

TEST_CASE("copies of rows by several threads, of all pitches") {
  for (std::size_t const rows : {1UL, 7UL, 1000UL, 300'001UL})
    for (std::size_t const row_bytes : {4UL, 60UL, 4096UL})
      for (std::size_t const gap : {0UL, 4UL}) {
        auto const pitch = row_bytes + gap, other = row_bytes + 2 * gap;
        if (rows * pitch > 20'000'000) continue;
        std::vector<std::byte> from(rows * pitch), to(rows * other, std::byte{255});
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 % 251);
        gpu::copy_rows(to.data(), other, from.data(), pitch, rows, row_bytes);
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < row_bytes; ++j) wrong += to[i * other + j] != from[i * pitch + j];
          for (std::size_t j = row_bytes; j < other; ++j) wrong += to[i * other + j] != std::byte{255};
        }
        CHECK(wrong == 0);
      }
}

TEST_SUITE_END();
