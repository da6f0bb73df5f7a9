// What the GEMM kernels share: their operands, the grid, and how an element of C is written. The file that includes
// the kernels sets TANDEM_KERNEL_NAMESPACE and brings CUDA's words, `launch` and `dynamic_shared`, before them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tandem/kernel.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

template <class T>
struct gemm_operands {
  std::int64_t m, n, k;
  T alpha;
  T const* a;
  std::int64_t lda;
  T const* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
};

template <class T>
gemm_operands<T> operands_of(problem const& p) {
  return {p.m,
          p.n,
          p.k,
          static_cast<T>(p.alpha),
          static_cast<T const*>(p.a),
          p.lda,
          static_cast<T const*>(p.b),
          p.ldb,
          static_cast<T>(p.beta),
          static_cast<T*>(p.c),
          p.ldc};
}

/// By which work is dealt out, on any device: so the bits of a result depend on the problem alone. An H100's and
/// H200's.
inline constexpr std::int64_t dealt_multiprocessors = 132;

/// How many tiles cover an extent.
__host__ __device__ constexpr std::int64_t tiles(std::int64_t extent, int tile) { return (extent + tile - 1) / tile; }

/// The tiles of C, n on x and m on y. Hardware takes 65535 blocks in y; the kernels step over the tiles beyond them.
inline dim3 tile_grid(std::int64_t m, std::int64_t n, int bm, int bn) {
  constexpr std::int64_t max_grid_y = 65535;
  std::int64_t const tiles_m = tiles(m, bm);
  return dim3(static_cast<unsigned>(tiles(n, bn)), static_cast<unsigned>(tiles_m < max_grid_y ? tiles_m : max_grid_y));
}

/// 1, which the compiler does not know. Stored four at a time as they are, accumulators would stand in registers side
/// by side all along; times this, they need not.
template <class T>
__device__ __forceinline__ T times_one(gemm_operands<T> const& g) {
  return g.k > 0 ? T{1} : T{0};
}

/// c = alpha acc + beta c in the project's one way to round it.
template <class T>
__device__ __forceinline__ void write_result(T& c, T alpha, T acc, T beta) {
  T const scaled = alpha * acc;
  c = beta == T{0} ? scaled : fma(alpha, acc, beta * c);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
