// Products that the lanes of a warp hold together, under the names that tandem/simt/words/mma.hpp gives them on the
// host.
#pragma once

namespace TANDEM_KERNEL_NAMESPACE {

/// The compute capability, as 90, that this is compiled for. On the host no code needs one.
#ifdef __CUDA_ARCH__
inline constexpr int compiled_for = __CUDA_ARCH__ / 10;
#else
inline constexpr int compiled_for = 1000;
#endif

/// c (16, 8) += a (16, k) b (k, 8) in double by all lanes of the warp, each sum a chain of fused multiply-adds in the
/// order of k, which is 8. Lane l has, with g = l / 4 and t = l % 4: of c (g, 2 t), (g, 2 t + 1), (g + 8, 2 t) and
/// (g + 8, 2 t + 1); of a (g, t), (g + 8, t), (g, t + 4) and (g + 8, t + 4); of b (t, g) and (t + 4, g), as the PTX
/// manual has it for mma.m16n8k8. Only in code for compute capability 9.0 on.
template <int k>
__device__ __forceinline__ void add_product_of_warp(double& c00, double& c01, double& c10, double& c11, double const* a,
                                                    double const* b) {
  static_assert(k == 8);
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c00), "+d"(c01), "+d"(c10), "+d"(c11)
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  __trap();
#endif
}

}  // namespace TANDEM_KERNEL_NAMESPACE
