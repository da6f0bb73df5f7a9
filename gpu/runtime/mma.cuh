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
/// order of k: 8. Lane l has of c rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next; of a the same rows (of a
/// row first, then k + 4) at l % 4; of b column l / 4 at l % 4 and l % 4 + 4. Only in code for compute capability 9.0
/// on.
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
