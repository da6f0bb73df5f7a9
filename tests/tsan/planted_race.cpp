// Two threads write one variable. With the argument "ordered" a barrier lies between the writes. Before that a kernel
// runs in a session: its instrumentation, which is ThreadSanitizer's, must not take the real one's place.
// ThreadSanitizer must report the first and not the second, or the tsan preset proves nothing.
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <tandem/simt/kernels.hpp>

namespace {

void run_kernel_in_a_session() {
  if (!tandem::simt::checked_unavailable().empty()) return;
  std::vector<float> const a(20 * 20, 1), b(20 * 20, 2);
  std::vector<float> c(20 * 20);
  tandem::problem p;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 20;
  p.a = a.data(), p.b = b.data(), p.c = c.data();
  auto const& rows = tandem::simt::checked_kernels();
  std::ranges::find(rows, "simt.smem_tile.f32.16x16x16", &tandem::kernel::name)->run(p, {});
  std::printf("a kernel ran: %g\n", c[0]);
}

}  // namespace

int main(int argc, char** argv) {
  bool const ordered = argc > 1 && std::string_view(argv[1]) == "ordered";
  run_kernel_in_a_session();
  int shared = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) shared = 1;
    if (ordered) {
#pragma omp barrier
    }
    if (omp_get_thread_num() == 1) shared = 2;
  }
  std::printf("%d\n", shared);
}
