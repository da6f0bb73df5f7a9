// y = alpha x + y, one fused multiply-add an element. Bound by memory: neighbouring threads take neighbouring elements,
// some at a time, whose loads are on the way together, and a grid of bounded size steps over vectors of any length.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T>
__global__ void __launch_bounds__(256)
    axpy(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y) {
  constexpr int at_once = 16 / sizeof(T);  // as many bytes of each thread as memory's latency asks for
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += at_once * step) {
    T of_x[at_once], of_y[at_once];
#pragma unroll
    for (int e = 0; e < at_once; ++e)
      if (i + e * step < n) of_x[e] = x[(i + e * step) * stride_x], of_y[e] = y[(i + e * step) * stride_y];
#pragma unroll
    for (int e = 0; e < at_once; ++e)
      if (i + e * step < n) y[(i + e * step) * stride_y] = fma(alpha, of_x[e], of_y[e]);
  }
}

template <class T>
void launch_axpy(axpy_problem const& p, CUstream_st* stream) {
  constexpr int threads = 256;
  constexpr std::int64_t max_blocks = 4096;  // several blocks for each multiprocessor of any GPU
  std::int64_t const blocks = tiles(p.n, threads);
  launch(axpy<T>, dim3(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks)), dim3(threads), 0, stream, p.n,
         static_cast<T>(p.alpha), static_cast<T const*>(p.x), p.stride_x, static_cast<T*>(p.y), p.stride_y);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
