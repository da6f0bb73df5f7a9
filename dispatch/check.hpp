// The argument checks: everything that makes a call wrong before any kernel sees it.
#pragma once

#include <cstdint>

#include <tandem/types.hpp>

namespace tandem::dispatch {

/// A matrix view without its element type.
struct matrix_operand {
  void const* data;
  std::int64_t rows, cols, ld;
  tandem::layout layout;
  tandem::memory memory;
};

/// A vector view without its element type.
struct vector_operand {
  void const* data;
  std::int64_t size, stride;
  tandem::memory memory;
};

/// Throws tandem::error unless C (m x n) = A (m x k) B (k x n) can be computed on these views.
void check_gemm(matrix_operand const& a, matrix_operand const& b, matrix_operand const& c, dtype type);

/// Throws tandem::error unless y = alpha x + y can be computed on these views.
void check_axpy(vector_operand const& x, vector_operand const& y, dtype type);

}  // namespace tandem::dispatch
