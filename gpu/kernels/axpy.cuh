// y = alpha x + y, one fused multiply-add an element. Bound by memory: a block takes neighbouring elements, each thread
// some, whose loads are on the way together.
#pragma once

#include "gpu/kernels/operands.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

inline constexpr int axpy_threads = 256;
template <class T>
inline constexpr int axpy_at_once = 16 / sizeof(T);  // as many bytes of each thread as memory's latency asks for

template <class T>
__global__ void __launch_bounds__(axpy_threads)
    axpy(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y) {
  constexpr int at_once = axpy_at_once<T>, threads = axpy_threads;
  std::int64_t const step = std::int64_t{gridDim.x} * threads * at_once;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads * at_once + threadIdx.x; i < n; i += step) {
    T of_x[at_once], of_y[at_once];
#pragma unroll
    for (int e = 0; e < at_once; ++e)
      if (i + e * threads < n) of_x[e] = x[(i + e * threads) * stride_x], of_y[e] = y[(i + e * threads) * stride_y];
#pragma unroll
    for (int e = 0; e < at_once; ++e)
      if (i + e * threads < n) y[(i + e * threads) * stride_y] = fma(alpha, of_x[e], of_y[e]);
  }
}

template <class T>
void launch_axpy(axpy_problem const& p, CUstream_st* stream) {
  constexpr std::int64_t most_blocks = 2147483647;  // that a grid may have; where they are too few, they go on
  std::int64_t const blocks = tiles(p.n, axpy_threads * axpy_at_once<T>);
  launch(axpy<T>, dim3(static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks)), dim3(axpy_threads), 0,
         stream, p.n, static_cast<T>(p.alpha), static_cast<T const*>(p.x), p.stride_x, static_cast<T*>(p.y),
         p.stride_y);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
