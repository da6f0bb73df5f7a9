// Products of host views on the GPU: in one tile and in many, with k cut, pinned and pageable, from several threads,
// and when something goes wrong on the way.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <tandem/error.hpp>
#include <tandem/gemm.hpp>

#include "gpu/descriptor.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/host_tiles.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/workspace.hpp"
#include "tests/support.hpp"
#include "tests/unit/gpu_problems.hpp"

using namespace gpu_problems;
namespace gpu = tandem::gpu;

namespace {

tandem::kernel const& find(std::string_view name) {
  for (auto const& row : gpu::descriptor().kernels)
    if (row.name == name) return row;
  throw std::runtime_error(std::string(name));
}

// TANDEM_GPU_MEMORY while it lives; 0: none.
class memory_limit {
 public:
  explicit memory_limit(std::int64_t bytes) : memory_limit(bytes == 0 ? "" : std::to_string(bytes)) {}
  explicit memory_limit(std::string const& text) {
    if (!text.empty()) setenv("TANDEM_GPU_MEMORY", text.c_str(), 1);
  }
  ~memory_limit() { unsetenv("TANDEM_GPU_MEMORY"); }
  memory_limit(memory_limit const&) = delete;
  memory_limit& operator=(memory_limit const&) = delete;
};

// Registers a vector's memory, so that the device may copy it itself.
template <class T>
class pinned {
 public:
  explicit pinned(std::vector<T>& memory) : data_(memory.data()) {
    REQUIRE(cudaHostRegister(data_, memory.size() * sizeof(T), cudaHostRegisterDefault) == cudaSuccess);
  }
  ~pinned() { cudaHostUnregister(data_); }
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;

 private:
  T* data_;
};

template <class T>
gpu::device_buffer on_device(std::vector<T> const& host) {
  gpu::device_buffer buffer(host.size() * sizeof(T));
  gpu::copy_to_device(buffer.data(), host.data(), buffer.size());
  return buffer;
}

// C of the same product on device views, gaps and all.
template <class T>
std::vector<T> on_device_views(tandem::kernel const& row, host_problem<T> problem) {
  auto const a = on_device(problem.a), b = on_device(problem.b), c = on_device(problem.c);
  auto p = problem.canonical();
  p.memory = tandem::memory::device;
  p.a = a.data(), p.b = b.data(), p.c = c.data();
  row.run(p, {});
  gpu::copy_to_host(problem.c.data(), c.data(), c.size());
  return problem.c;
}

template <class T>
std::int64_t differences(std::vector<T> const& x, std::vector<T> const& y) {
  std::int64_t different = x.size() == y.size() ? 0 : 1;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) different += !same(x[i], y[i]);
  return different;
}

struct step_counts {
  std::int64_t steps = 0;
  bool cuts_k = false;
};

step_counts count_steps(tandem::problem const& p, std::int64_t memory) {
  auto const tiles = gpu::cut_host_product(p, memory);
  gpu::host_walk walk(tiles, p);
  step_counts counted{0, tiles.k < p.k};
  while (walk.next()) ++counted.steps;
  return counted;
}

// One row on one shape under limits that force one, several and many tiles, and cuts of k.
template <class T>
void check_under_limits(char const* name, shape const& s) {
  auto const& row = find(name);
  CAPTURE(name);
  CAPTURE(describe(s));
  host_problem<T> const before(s);
  auto whole = before;
  row.run(whole.canonical(), {});
  // persistent and peeled divide some tiles' k among blocks, whatever the plan of the whole says.
  bool const one_chain =
      is_one_chain(row, whole.canonical()) && row.technique() != "persistent" && row.technique() != "peeled";
  CHECK(wrong_elements(before, whole.c, one_chain) == 0);
  for (std::int64_t const memory : {1'100'000, 850'000, 700'000, 500'000}) {
    auto const bytes = memory * static_cast<std::int64_t>(sizeof(T)) / 4;
    CAPTURE(bytes);
    memory_limit const limit(bytes);
    auto tiled = before;
    row.run(tiled.canonical(), {});
    if (one_chain && !count_steps(tiled.canonical(), bytes).cuts_k)
      CHECK(differences(whole.c, tiled.c) == 0);
    else
      CHECK(wrong_elements(before, tiled.c, false) == 0);
  }
}

// A row whose elements are chains over all of k gives the device views' bits, however C is cut.
template <class T>
void check_against_device_views(char const* name, shape const& s, bool pin_inputs, bool pin_c) {
  auto const& row = find(name);
  CAPTURE(name);
  CAPTURE(describe(s));
  CAPTURE(pin_inputs);
  CAPTURE(pin_c);
  host_problem<T> problem(s);
  auto const wanted = on_device_views(row, problem);
  std::optional<pinned<T>> a, b, c;
  if (pin_inputs) a.emplace(problem.a), b.emplace(problem.b);
  if (pin_c) c.emplace(problem.c);
  row.run(problem.canonical(), {});
  CHECK(differences(problem.c, wanted) == 0);
}

constexpr char const* one_chain_row = "gpu.coalesced.f32.8x32";

tandem::errc code_of(auto const& call) {
  try {
    call();
  } catch (tandem::error const& e) {
    MESSAGE(e.what());
    return e.code();
  }
  FAIL("no error");
  return {};
}

}  // namespace

TEST_SUITE_BEGIN("gpu host views");

TEST_CASE("the limits below force one tile, several, many, and cuts of k") {
  host_problem<float> problem({290, 300, 270, false, true, 1, 0, 3});
  auto const p = problem.canonical();
  CHECK(count_steps(p, 1'100'000).steps == 1);
  CHECK(count_steps(p, 850'000).steps == 4);
  CHECK(count_steps(p, 700'000).steps == 9);
  CHECK_FALSE(count_steps(p, 700'000).cuts_k);
  CHECK(count_steps(p, 500'000).cuts_k);
}

TEST_CASE("a product is right under every limit of memory, with all transposes, and beta = 0 does not read C") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (int trans = 0; trans < 4; ++trans) {
    bool const trans_a = (trans & 1) != 0, trans_b = (trans & 2) != 0;
    for (double const beta : {0.0, -0.5}) {
      shape const s{290, 300, 270, trans_a, trans_b, 0.75, beta, 3};
      for (char const* name : {one_chain_row, "gpu.persistent.f32.64x128x16", "gpu.split_k.f32.64x64x64",
                               "gpu.stream_k.f32.128x128x16", "gpu.maxas_64.f32.64x64x8"})
        check_under_limits<float>(name, s);
      check_under_limits<double>("gpu.z_order.f64.128x64x8", s);
    }
    check_under_limits<float>("gpu.split_k.f32.32x32x128", {17, 3, 20'001, trans_a, trans_b, 1, 1, 1});
    check_under_limits<float>(one_chain_row, {20'003, 7, 5, trans_a, trans_b, 2, 1, 0});
    check_under_limits<double>("gpu.skinny.f64.16x64x32", {5, 9'001, 77, trans_a, trans_b, 1, 0, 2});
  }
}

TEST_CASE("large products come in tiles with the bits of device views, pinned and pageable, the gaps left alone") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  shape const large{3001, 3777, 2999, false, true, 0.5, -1, 5};
  host_problem<float> sized(large);
  CHECK(count_steps(sized.canonical(), std::int64_t{4} << 30).steps > 3);
  for (bool const pin_inputs : {false, true})
    for (bool const pin_c : {false, true}) {
      check_against_device_views<float>(one_chain_row, large, pin_inputs, pin_c);
      check_against_device_views<float>(one_chain_row, {300'003, 133, 77, true, false, 1, 0, 1}, pin_inputs, pin_c);
      // Lines of 6 MB, each more than a chunk.
      check_against_device_views<float>(one_chain_row, {3, 5, 1'500'001, false, true, 1, 1, 1}, pin_inputs, pin_c);
      check_against_device_views<double>("gpu.coalesced.f64.8x32", {3, 1'500'001, 2, false, false, 1, 0, 1}, pin_inputs,
                                         pin_c);
    }
}

TEST_CASE("the limit holds for large products: their panels pass by") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  memory_limit const limit(40'000'000);
  for (bool const pin : {false, true}) {
    check_against_device_views<float>(one_chain_row, {3001, 3777, 1999, true, false, 0.5, -1, 5}, pin, pin);
    check_against_device_views<float>(one_chain_row, {3777, 3001, 1999, false, false, 0.5, 0, 5}, pin, pin);
  }
}

TEST_CASE("more host threads than staging areas get their bits, each under a limit") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  constexpr int threads = 7, calls = 8;
  for (std::int64_t const bytes : {0, 1'000'000}) {
    memory_limit const limit(bytes);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        auto const& row = find(t % 2 == 0 ? one_chain_row : "gpu.persistent.f32.64x128x16");
        host_problem<float> const before({200 + 50 * t, 311, 270, t % 3 == 0, t % 2 == 0, 1, 0.5, 3});
        auto first = before;
        row.run(first.canonical(), {});
        gpu::stream const own;
        for (int i = 0; i < calls; ++i) {
          auto again = before;
          row.run(again.canonical(), {.stream = i % 2 == 0 ? own.get() : nullptr});
          if (differences(first.c, again.c) != 0) ++wrong;
        }
        if (t == 0 && wrong_elements(before, first.c, true) != 0) ++wrong;
      });
    for (auto& thread : running) thread.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("a limit that no tile fits, or that is no number, is an error, and C is as it was") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  host_problem<float> const before({200, 200, 200, false, false, 1, 0, 3});
  auto after = before;
  auto const& row = find(one_chain_row);
  {
    memory_limit const limit(1000);
    CHECK(code_of([&] { row.run(after.canonical(), {}); }) == tandem::errc::out_of_memory);
  }
  {
    memory_limit const limit("2G");
    CHECK(code_of([&] { row.run(after.canonical(), {}); }) == tandem::errc::unsupported);
  }
  CHECK(differences(before.c, after.c) == 0);
  row.run(after.canonical(), {});
  CHECK(wrong_elements(before, after.c) == 0);
}

TEST_CASE("on a full device the error is out_of_memory, C is as it was, and afterwards all is well") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  host_problem<float> const before({200, 200, 200, false, false, 1, 0, 3});
  auto after = before;
  auto const& row = find(one_chain_row);
  row.run(after.canonical(), {});  // so that pinned memory and streams are there
  after = before;
  gpu::trim_workspaces();
  std::vector<gpu::device_buffer> all;  // of the device's memory, in ever smaller pieces
  for (std::size_t bytes = std::size_t{1} << 36; bytes >= 4096; bytes /= 2) try {
      for (;;) all.emplace_back(bytes);
    } catch (tandem::error const& e) {
      REQUIRE(e.code() == tandem::errc::out_of_memory);
    }
  CHECK(code_of([&] { row.run(after.canonical(), {}); }) == tandem::errc::out_of_memory);
  CHECK(differences(before.c, after.c) == 0);
  all.clear();
  row.run(after.canonical(), {});
  CHECK(wrong_elements(before, after.c) == 0);
}

TEST_CASE("a launch that throws leaves no work behind: at once C is untouched, later only finished tiles are written") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  memory_limit const limit(700'000);
  auto const& row = find(one_chain_row);
  for (int const failing : {0, 1, 4}) {
    CAPTURE(failing);
    host_problem<float> const before({290, 300, 270, false, false, 1, 0, 3});
    auto right = before, after = before;
    row.run(right.canonical(), {});
    int launches = 0;
    auto const p = after.canonical();
    CHECK_THROWS_AS(gpu::run_staged(p, nullptr,
                                    [&](tandem::problem const& one, CUstream_st* stream) {
                                      if (launches++ == failing) throw std::runtime_error("planted");
                                      row.run(one, {.stream = stream});
                                    }),
                    std::runtime_error);
    CHECK(launches == failing + 1);
    std::int64_t written = 0, wrong = 0;
    for (std::size_t i = 0; i < after.c.size(); ++i) {
      bool const is_as_before = same(after.c[i], before.c[i]);
      written += !is_as_before;
      wrong += !is_as_before && !same(after.c[i], right.c[i]);
    }
    CHECK(wrong == 0);
    CHECK((written == 0) == (failing <= 1));  // the tile before it was not copied out yet
    row.run(after.canonical(), {});
    CHECK(differences(after.c, right.c) == 0);
  }
}

TEST_CASE("the current device stays; a stream under capture is refused and stays valid, beside it all goes on") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  int device = -1, after_device = -2;
  REQUIRE(cudaGetDevice(&device) == cudaSuccess);
  host_problem<float> const before({290, 300, 270, false, false, 1, 0, 3});
  auto after = before;
  auto const& row = find(one_chain_row);

  gpu::stream const captured;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(code_of([&] { row.run(after.canonical(), {.stream = captured.get()}); }) == tandem::errc::unsupported);
  CHECK(differences(before.c, after.c) == 0);
  row.run(after.canonical(), {});
  CHECK(wrong_elements(before, after.c) == 0);
  CHECK(cudaStreamEndCapture(captured.get(), &graph) == cudaSuccess);
  cudaGraphDestroy(graph);

  REQUIRE(cudaGetDevice(&after_device) == cudaSuccess);
  CHECK(after_device == device);
}

TEST_CASE("by gemm itself: a column-major C in tiles") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  constexpr std::int64_t m = 301, n = 277, k = 290;
  std::vector<float> a(m * k), b(k * n), c(m * n, -1);
  for (std::int64_t i = 0; i < m * k; ++i) a[i] = float(i % 7 - 3);
  for (std::int64_t i = 0; i < k * n; ++i) b[i] = float(i % 5 - 2);
  memory_limit const limit(700'000);
  tandem::matrix_view<float const> const va(a.data(), m, k, k), vb(b.data(), k, n, n);
  tandem::matrix_view<float> const vc(c.data(), m, n, m, tandem::layout::col_major);
  tandem::gemm(va, vb, vc, {.backend = tandem::backend::gpu});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      wrong += c[j * m + i] != sum;
    }
  CHECK(wrong == 0);
}

TEST_SUITE_END();
