// CUDA's words for the host, so that a kernel file compiles as it stands. Everything here belongs to the namespace of
// one compilation, TANDEM_KERNEL_NAMESPACE: the linker must never merge what two compilations make of it.
#pragma once

#include <cstddef>

#include <tandem/types.hpp>

#include "gpu/simt/executor.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static  // one block runs at a time, and as a plain object it is guarded by AddressSanitizer

namespace TANDEM_KERNEL_NAMESPACE {

static constexpr simt::index3 const& threadIdx = simt::thread_index;
static constexpr simt::index3 const& blockIdx = simt::block_index;
static constexpr simt::index3 const& blockDim = simt::block_size;
static constexpr simt::index3 const& gridDim = simt::grid_size;

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned size_x, unsigned size_y = 1, unsigned size_z = 1) : x(size_x), y(size_y), z(size_z) {}
};

__forceinline__ void __syncthreads() { simt::wait_for_block(); }

__forceinline__ float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_arena());
}

template <class T>
struct same {
  using type = T;
};

/// Runs a kernel; finished on return. The stream orders nothing here.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st*,
            typename same<P>::type... arguments) {
  auto const thread = [&] { kernel(arguments...); };
  simt::run_grid([](void const* body) { (*static_cast<decltype(thread)*>(body))(); }, &thread, {grid.x, grid.y, grid.z},
                 {block.x, block.y, block.z}, dynamic_bytes);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
