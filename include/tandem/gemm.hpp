// C = alpha A B + beta C on views.
#pragma once

#include <string_view>

#include <tandem/matrix_view.hpp>
#include <tandem/types.hpp>

namespace tandem {

struct gemm_options {  // the order of the members is part of the interface
  double alpha = 1;    ///< rounded to the element type
  double beta = 0;     ///< rounded to the element type; 0: C is written without being read
  tandem::backend backend = tandem::backend::automatic;
  std::string_view kernel = {};   ///< a full name or a technique of `kernels()`; read only during the call
  CUstream_st* stream = nullptr;  ///< for device views; null: the default stream
  /// The same bits for any number of the host's threads; else they may sum over k in an order of their own.
  bool reproducible = true;
};

/// C (m x n) = alpha A (m x k) B (k x n) + beta C. A transpose is a transposed view.
///
/// Host views: finished on return, on every backend. Device views: asynchronous on `options.stream`.
/// beta = 0 never reads C; alpha = 0 or k = 0 never reads A or B; zeros inside A or B are not skipped.
/// Throws `tandem::error`, with C untouched, when an argument is wrong or the backend or kernel is not there.
void gemm(matrix_view<float const> const& a, matrix_view<float const> const& b, matrix_view<float> const& c,
          gemm_options const& options = {});
void gemm(matrix_view<double const> const& a, matrix_view<double const> const& b, matrix_view<double> const& c,
          gemm_options const& options = {});

}  // namespace tandem
