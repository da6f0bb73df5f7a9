// y = alpha x + y on views.
#pragma once

#include <string_view>

#include <tandem/types.hpp>
#include <tandem/vector_view.hpp>

namespace tandem {

struct axpy_options {  // the order of the members is part of the interface
  tandem::backend backend = tandem::backend::automatic;
  std::string_view kernel = {};   ///< a full name or a technique of `kernels()`; read only during the call
  CUstream_st* stream = nullptr;  ///< for device views; null: the default stream
};

/// y = alpha x + y, element by element, each one fused multiply-add; alpha is rounded to the element type.
///
/// x and y have the same size; x may have stride 0 (one element, added everywhere), y may not.
/// Host views: finished on return. Device views: asynchronous on `options.stream`. alpha = 0 never reads x.
/// Throws `tandem::error`, with y untouched, when an argument is wrong or the backend or kernel is not there.
void axpy(double alpha, vector_view<float const> const& x, vector_view<float> const& y,
          axpy_options const& options = {});
void axpy(double alpha, vector_view<double const> const& x, vector_view<double> const& y,
          axpy_options const& options = {});

}  // namespace tandem
