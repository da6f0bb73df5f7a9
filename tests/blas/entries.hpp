// The eight routines of a BLAS as one type, ours and the reference's, so that a test calls both with the same
// arguments.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tandem/blas.h>

namespace tandem::tests {

/// The routines for elements T with integers Int. Fortran's are called as a Fortran compiler does: with the lengths of
/// the option letters behind the arguments.
template <class T, class Int>
struct entries {
  void (*c_gemm)(int, int, int, Int, Int, Int, T, T const*, Int, T const*, Int, T, T*, Int) = nullptr;
  void (*f_gemm)(char const*, char const*, Int const*, Int const*, Int const*, T const*, T const*, Int const*, T const*,
                 Int const*, T const*, T*, Int const*, std::size_t, std::size_t) = nullptr;
  void (*c_axpy)(Int, T, T const*, Int, T*, Int) = nullptr;
  void (*f_axpy)(Int const*, T const*, T const*, Int const*, T*, Int const*) = nullptr;

  void gemm(int layout, int trans_a, int trans_b, Int m, Int n, Int k, T alpha, T const* a, Int lda, T const* b,
            Int ldb, T beta, T* c, Int ldc) const {
    c_gemm(layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  void gemm(char trans_a, char trans_b, Int m, Int n, Int k, T alpha, T const* a, Int lda, T const* b, Int ldb, T beta,
            T* c, Int ldc) const {
    f_gemm(&trans_a, &trans_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
  }
  void axpy(bool fortran, Int n, T alpha, T const* x, Int incx, T* y, Int incy) const {
    if (fortran)
      f_axpy(&n, &alpha, x, &incx, y, &incy);
    else
      c_axpy(n, alpha, x, incx, y, incy);
  }
};

/// Looks the routines up in a library; `missing` says which one is not there.
template <class T, class Int>
entries<T, Int> load(void* library, std::string& missing) {
  char const letter = sizeof(T) == sizeof(float) ? 's' : 'd';
  auto const find = [&](auto& function, std::string const& name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name.c_str()));
    if (function == nullptr) missing = name;
  };
  entries<T, Int> e;
  find(e.c_gemm, std::string("cblas_") + letter + "gemm");
  find(e.f_gemm, std::string() + letter + "gemm_");
  find(e.c_axpy, std::string("cblas_") + letter + "axpy");
  find(e.f_axpy, std::string() + letter + "axpy_");
  return e;
}

}  // namespace tandem::tests
