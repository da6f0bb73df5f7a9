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

/// c += a b in double by all lanes of the warp, 16 rows, 8 columns and k = 8 steps at once, each sum a chain of fused
/// multiply-adds in the order of k. Lane l has, with g = l / 4 and t = l % 4: of c all (8 i + g, 8 j + 2 t) and the
/// element after it, as c[i][2 j] and c[i][2 j + 1]; of 16 rows of a (g, t), (g + 8, t), (g, t + 4) and (g + 8, t + 4);
/// of 8 columns of b (t, g) and (t + 4, g), as the PTX manual has it for mma.m16n8k8. Only in code for compute
/// capability 9.0 on.
template <int k, int tm, int tn>
__device__ __forceinline__ void add_product_of_warp(double (&c)[tm][tn], double const (&a)[tm * 2],
                                                    double const (&b)[tn]) {
  static_assert(k == 8 && tm % 2 == 0 && tn % 2 == 0);
#if __CUDA_ARCH__ >= 900
#pragma unroll
  for (int i = 0; i < tm; i += 2)
#pragma unroll
    for (int x = 0; x < tn; x += 2) {
      int const j = i / 2 % 2 == 0 ? x : tn - 2 - x;  // along a row of products and back along the next
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+d"(c[i][j]), "+d"(c[i][j + 1]), "+d"(c[i + 1][j]), "+d"(c[i + 1][j + 1])
          : "d"(a[2 * i]), "d"(a[2 * i + 1]), "d"(a[2 * i + 2]), "d"(a[2 * i + 3]), "d"(b[j]), "d"(b[j + 1]));
    }
#else
  __trap();
#endif
}

}  // namespace TANDEM_KERNEL_NAMESPACE
