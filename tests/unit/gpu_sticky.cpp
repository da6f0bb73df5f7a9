// After a kernel's failure CUDA refuses all work of the process: every later call says so. An executable of its own.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <tandem/error.hpp>
#include <tandem/gemm.hpp>

#include "gpu/row.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/window.hpp"
#include "tests/support.hpp"

namespace gpu = tandem::gpu;

TEST_CASE("an error left by somebody's earlier work is called that, of device and of host views") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  constexpr std::int64_t size = 64;
  gpu::device_buffer const x(size * size * sizeof(float)), y(x.size()), z(x.size());

  // A kernel that strays, past the checks: from addresses where nothing is.
  gpu::device_window const window(1);
  tandem::problem stray;
  stray.memory = tandem::memory::device;
  stray.m = stray.n = stray.k = stray.lda = stray.ldb = stray.ldc = size;
  stray.a = static_cast<char const*>(window.data()) + window.size();
  stray.b = y.data(), stray.c = z.data();
  gpu::device_rows().gemm[0].launch(stray, nullptr);

  auto const check_says_so = [](auto const& call) {
    try {
      call();
      FAIL("no error");
    } catch (tandem::error const& e) {
      MESSAGE(e.what());
      CHECK(e.code() == tandem::errc::device);
      CHECK(std::strstr(e.what(), "an earlier asynchronous error came out of") != nullptr);
      CHECK(std::strstr(e.what(), "cudaErrorIllegalAddress") != nullptr);
    }
  };
  auto const view = [](void* data, tandem::memory where) {
    return tandem::matrix_view<float>(static_cast<float*>(data), size, size, size, tandem::layout::row_major, where);
  };
  std::vector<float> a(size * size), b(size * size), c(size * size, 5);
  auto const of_host_views = [&] {
    constexpr auto host = tandem::memory::host;
    tandem::gemm(view(a.data(), host), view(b.data(), host), view(c.data(), host), {.backend = tandem::backend::gpu});
  };
  // Known once somebody has waited for it: host views run on streams that do not.
  CHECK_THROWS_AS(gpu::synchronize(), tandem::error);
  check_says_so(of_host_views);
  check_says_so([&] {
    constexpr auto device = tandem::memory::device;
    tandem::gemm(view(x.data(), device), view(y.data(), device), view(z.data(), device));
  });
  check_says_so(of_host_views);
  CHECK(c == std::vector<float>(size * size, 5));
}
