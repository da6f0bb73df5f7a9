// Rows that need a workspace on the device: in graphs, from several threads and streams, without memory; and that in
// steady state no memory is allocated.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <tandem/error.hpp>

#include "gpu/descriptor.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/workspace.hpp"
#include "tests/support.hpp"
#include "tests/unit/gpu_device_problem.hpp"
#include "tests/unit/gpu_taken_memory.hpp"

using gpu_problems::same_bits;
using gpu_problems::shape;
namespace gpu = tandem::gpu;

namespace {

constexpr char const* rows_with_workspaces[] = {"gpu.split_k.f32.32x32x128", "gpu.skinny.f32.16x128x64"};
constexpr shape deep{17, 33, 5000, false, true, 0.75, -0.5, 1};

tandem::kernel const& find(std::string_view name) {
  for (auto const& row : gpu::descriptor().kernels)
    if (row.name == name) return row;
  throw std::runtime_error(std::string(name));
}

using device_problem = gpu_problems::device_problem<float>;

std::vector<float> eager(tandem::kernel const& row, device_problem& problem) {
  problem.reset();
  row.run(problem.canonical(), {});
  gpu::synchronize();
  return problem.result();
}

}  // namespace

TEST_SUITE_BEGIN("gpu workspaces");

TEST_CASE("a captured call gives its bits in every replay, with eager calls between") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (auto const* name : rows_with_workspaces) {
    CAPTURE(name);
    auto const& row = find(name);
    device_problem problem(deep), other(deep);
    auto const wanted = eager(row, problem);

    gpu::stream const stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
    row.run(problem.canonical(), {.stream = stream.get()});
    REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
    for (int i = 0; i < 3; ++i) {
      problem.reset();
      REQUIRE(cudaGraphLaunch(replay, stream.get()) == cudaSuccess);
      gpu::stream const beside;
      row.run(other.canonical(), {.stream = beside.get()});
      gpu::synchronize(beside.get());
      gpu::synchronize(stream.get());
      CHECK(same_bits(problem.result(), wanted));
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
}

TEST_CASE("host threads on streams of their own, and on one stream together, get the same bits") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  for (auto const* name : rows_with_workspaces)
    for (bool const together : {false, true}) {
      CAPTURE(name);
      CAPTURE(together);
      auto const& row = find(name);
      device_problem one(deep);
      auto const wanted = eager(row, one);
      constexpr int threads = 8, calls = 50;
      gpu::stream const shared;
      std::atomic<int> wrong = 0;
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t)
        running.emplace_back([&] {
          gpu::stream const own;
          auto* const stream = together ? shared.get() : own.get();
          device_problem mine(deep);
          for (int i = 0; i < calls; ++i) {
            mine.reset();
            row.run(mine.canonical(), {.stream = stream});
            gpu::synchronize(stream);
            if (!same_bits(mine.result(), wanted)) ++wrong;
          }
        });
      for (auto& thread : running) thread.join();
      CHECK(wrong == 0);
    }
}

TEST_CASE("in steady state calls take no memory from the device, and trimming gives it back") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  auto const& row = find(rows_with_workspaces[0]);
  device_problem problem(deep);
  eager(row, problem);
  CHECK(gpu_problems::take_no_memory(100, nullptr, [&](int) { eager(row, problem); }));
  CHECK(gpu::bytes_of_workspaces() > 0);
  gpu::trim_workspaces();
  CHECK(gpu::bytes_of_workspaces() == 0);
}

TEST_CASE("without memory for the workspace the error has its size, and C is as it was") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  auto const& row = find(rows_with_workspaces[0]);
  device_problem problem(deep);
  auto const wanted = eager(row, problem);
  problem.reset();
  gpu::trim_workspaces();
  std::vector<gpu::device_buffer> all;  // of the device's memory, in ever smaller pieces
  for (std::size_t bytes = std::size_t{1} << 36; bytes >= 4096; bytes /= 2) try {
      for (;;) all.emplace_back(bytes);
    } catch (tandem::error const& e) {
      REQUIRE(e.code() == tandem::errc::out_of_memory);
    }
  try {
    row.run(problem.canonical(), {});
    FAIL("a workspace without memory");
  } catch (tandem::error const& e) {
    CHECK(e.code() == tandem::errc::out_of_memory);
    CHECK(std::strstr(e.what(), "workspace of ") != nullptr);
  }
  gpu::synchronize();
  CHECK(same_bits(problem.result(), problem.before()));
  all.clear();
  CHECK(same_bits(eager(row, problem), wanted));
}

TEST_SUITE_END();
