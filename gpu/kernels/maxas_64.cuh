// Removes the barriers of many warps: 64 threads, two warps, make a tile of 64 x 64, one fetching A and one B, so that
// a multiprocessor has many blocks that wait for little; operands come through textures, which need no checks of edges
// and take the loads off the path to global memory (maxas.cuh).
#pragma once

#include "gpu/kernels/maxas.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class Tiling, int width, bool trans_a, bool trans_b>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    maxas_64(gemm_operands<typename Tiling::element> g, texture_operand a, texture_operand b) {
  static_assert(Tiling::threads == 64, "as its name says");
  maxas<Tiling, width, trans_a, trans_b>(g, a, b);
}

template <class Tiling, class Texel>
void launch_maxas_64_of(problem const& p, CUstream_st* stream) {
  constexpr int width = sizeof(Texel) / sizeof(typename Tiling::element);
  launch_maxas<Tiling, Texel>(p, stream, maxas_64<Tiling, width, false, false>, maxas_64<Tiling, width, false, true>,
                              maxas_64<Tiling, width, true, false>, maxas_64<Tiling, width, true, true>);
}

template <class Tiling>
void launch_maxas_64(problem const& p, CUstream_st* stream) {
  using T = typename Tiling::element;
  if constexpr (sizeof(T) == sizeof(float))
    if (are_float4(p)) return launch_maxas_64_of<Tiling, float4>(p, stream);
  launch_maxas_64_of<Tiling, T>(p, stream);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
