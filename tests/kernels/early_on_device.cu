#define TANDEM_KERNEL_NAMESPACE tandem::tests::on_device

#include "tests/kernels/early.hpp"

#include <algorithm>
#include <map>

#include "gpu/runtime/launch.cuh"

namespace tandem::tests {
namespace on_device {
namespace {

__global__ void write_place(unsigned* places) {
  let_next_kernel_start();
  wait_for_kernel_before();
  unsigned place = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
  if (threadIdx.x == 0) places[blockIdx.x] = place;
  for (auto const begin = clock64(); clock64() - begin < 200000;) {
  }  // about 100 us
}

template <class T>
__global__ void multiply_early(T const* a, T const* b, T* c, int m, int n, int k, bool waits) {
  let_next_kernel_start();
  if (waits) wait_for_kernel_before();
  int const at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= m * n) return;
  T sum = 0;
  for (int p = 0; p < k; ++p) sum += a[at / n * k + p] * b[p * n + at % n];
  c[at] = sum;
}

template <class T>
void run_early(problem const& p, execution const& e, bool waits) {
  int const m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  launch_after(multiply_early<T>, dim3(static_cast<unsigned>((m * n + 127) / 128)), dim3(128), 0, e.stream,
               static_cast<T const*>(p.a), static_cast<T const*>(p.b), static_cast<T*>(p.c), m, n, k, waits);
}

}  // namespace
}  // namespace on_device

kernel early_row(dtype of, bool waits) {
  auto const run = of == dtype::f32 ? on_device::run_early<float> : on_device::run_early<double>;
  kernel row;
  row.name = waits ? "early" : "hasty";
  row.backend = backend::gpu;
  row.dtype = of;
  row.host = false, row.device = true;
  row.run = [=](problem const& p, execution const& e) { run(p, e, waits); };
  return row;
}

std::vector<int> most_blocks_together(int launches, int blocks, int threads, int dynamic_bytes) {
  auto const count = static_cast<std::size_t>(blocks);
  std::vector<unsigned> places(static_cast<std::size_t>(launches) * count);
  gpu::device_buffer const memory(places.size() * sizeof(unsigned));
  auto* const on_device = static_cast<unsigned*>(memory.data());
  for (int i = 0; i < launches; ++i)
    on_device::launch_after(on_device::write_place, dim3(static_cast<unsigned>(blocks)),
                            dim3(static_cast<unsigned>(threads)), static_cast<std::size_t>(dynamic_bytes), nullptr,
                            on_device + i * blocks);
  gpu::copy_to_host(places.data(), on_device, memory.size());
  std::vector<int> most;
  for (int i = 0; i < launches; ++i) {
    std::map<unsigned, int> blocks_of;
    int of_one = 0;
    for (std::size_t b = 0; b < count; ++b)
      of_one = std::max(of_one, ++blocks_of[places[static_cast<std::size_t>(i) * count + b]]);
    most.push_back(of_one);
  }
  return most;
}

}  // namespace tandem::tests
