// A product that is settled once and computed often.
#pragma once

#include <memory>

#include <tandem/gemm.hpp>
#include <tandem/matrix_view.hpp>

namespace tandem {

/// C (m x n) = alpha A (m x k) B (k x n) + beta C for many operands of the same sizes and storage: arguments are
/// checked, the kernel is chosen and the problem is prepared when the plan is made; a call only computes. For products
/// so small that `gemm` would be felt. Copies share what was prepared; several threads may call at once.
template <class T>
class gemm_plan {
 public:
  /// The views say sizes, layouts, leading dimensions and memory; their data is not looked at and may be null. Throws
  /// `tandem::error` as `gemm` does.
  gemm_plan(matrix_view<T const> a, matrix_view<T const> b, matrix_view<T> c, gemm_options const& options = {});

  /// The product on operands stored as the views say. Nothing is checked: they must have that much memory, and C must
  /// not overlap A or B.
  void operator()(T const* a, T const* b, T* c) const {
    // The prepared problem has a row-major C; for a column-major one it is the transposed product.
    if (swapped_)
      call_(state_.get(), b, a, c);
    else
      call_(state_.get(), a, b, c);
  }

 private:
  void (*call_)(void const* state, void const* a, void const* b, void* c) = nullptr;
  std::shared_ptr<void const> state_;
  bool swapped_ = false;
};

extern template class gemm_plan<float>;
extern template class gemm_plan<double>;

}  // namespace tandem
