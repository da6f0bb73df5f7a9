// What an instruction set offers the GEMM driver: its register tile, and the routines that pack for it and run it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tandem::cpu {

/// Copies a width x depth slice into panels of W = mr or nr: out[panel][d][w], `W` elements a step of depth, zeros
/// behind the last of the width. Element (w, d) is src[w * stride_w + d * stride_d]; one of the strides is 1.
template <class T>
using pack_function = void (*)(T const* src, std::int64_t stride_w, std::int64_t stride_d, std::int64_t width,
                               std::int64_t depth, T* out);

/// One element type's microkernel.
template <class T>
struct microkernel {
  std::int64_t mr = 0, nr = 0;
  pack_function<T> pack_a = nullptr;  ///< width: rows of op(A); depth: its columns
  pack_function<T> pack_b = nullptr;  ///< width: columns of op(B); depth: its rows
  /// C (rows x cols, at most mr x nr) = alpha a b + beta C for one packed panel of each, kc deep. Each element is
  /// fma(alpha, sum, beta * c), or alpha * sum if beta = 0, which does not read C; sum runs through kc in order.
  void (*multiply)(std::int64_t kc, T const* a, T const* b, T alpha, T beta, T* c, std::int64_t ldc, std::int64_t rows,
                   std::int64_t cols) = nullptr;
};

/// y[i * stride_y] = fma(alpha, x[i * stride_x], y[i * stride_y]) for 0 <= i < n.
template <class T>
using axpy_function = void (*)(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y);

/// One instruction set: a row of the table for each element type.
struct instruction_set {
  std::string_view technique;     ///< the second part of its rows' names
  int vector_bytes = 0;           ///< the width of its registers; wider is preferred
  bool (*supported)() = nullptr;  ///< by this processor and operating system
  std::string_view missing;       ///< the reason where it is not
  microkernel<float> f32;
  microkernel<double> f64;
  axpy_function<float> axpy_f32 = nullptr;  ///< null where there is no fused multiply-add
  axpy_function<double> axpy_f64 = nullptr;
};

/// This architecture's instruction sets, best first.
std::span<instruction_set const* const> instruction_sets();

}  // namespace tandem::cpu
