// Removes half of the reading of `maxas_64`: 256 threads make a tile of 128 x 128, which takes half the bytes a
// multiply-add (maxas.cuh).
#pragma once

#include "gpu/kernels/maxas.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class Tiling, int width, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    maxas_256(gemm_operands<typename Tiling::element> g, texture_operand a, texture_operand b) {
  static_assert(Tiling::threads == 256, "as its name says");
  maxas<Tiling, width, trans_a, trans_b>(g, a, b);
}

template <class Tiling, class Texel>
void launch_maxas_256_of(problem const& p, CUstream_st* stream) {
  constexpr int width = sizeof(Texel) / sizeof(typename Tiling::element);
  launch_maxas<Tiling, Texel>(p, stream, maxas_256<Tiling, width, false, false>, maxas_256<Tiling, width, false, true>,
                              maxas_256<Tiling, width, true, false>, maxas_256<Tiling, width, true, true>);
}

template <class Tiling>
void launch_maxas_256(problem const& p, CUstream_st* stream) {
  using T = typename Tiling::element;
  if constexpr (sizeof(T) == sizeof(float))
    if (are_float4(p)) return launch_maxas_256_of<Tiling, float4>(p, stream);
  launch_maxas_256_of<Tiling, T>(p, stream);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
