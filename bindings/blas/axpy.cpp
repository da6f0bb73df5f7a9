// cblas_saxpy, cblas_daxpy, saxpy_ and daxpy_: tandem::axpy, and the reference's order of additions where it matters.
#include <cmath>
#include <cstdint>

#include <tandem/blas.h>
#include <tandem/axpy.hpp>
#include <tandem/error.hpp>

#include "bindings/blas/call.hpp"

namespace tandem::blas {
namespace {

// What the reference does where an addition reads what an earlier one wrote: element by element, in order.
template <class T>
void add_in_order(std::int64_t n, T alpha, T const* x, std::int64_t incx, T* y, std::int64_t incy) {
  for (std::int64_t i = 0; i < n; ++i) y[i * incy] = std::fma(alpha, x[i * incx], y[i * incy]);
}

template <class T>
void add_views(tandem::backend backend, std::int64_t n, T alpha, T const* x, std::int64_t incx, T* y,
               std::int64_t incy) {
  if (incy == 0) return add_in_order(n, alpha, x, incx, y, incy);
  try {
    tandem::axpy(alpha, vector_view<T const>(x, n, incx), vector_view<T>(y, n, incy), {.backend = backend});
  } catch (error const& e) {
    if (e.code() != errc::overlap) throw;
    add_in_order(n, alpha, x, incx, y, incy);  // nothing has been written
  }
}

// A vector of increment below zero begins at its last element.
template <class T>
T* first_element(T* data, std::int64_t n, std::int64_t increment) {
  return increment < 0 ? data + (1 - n) * increment : data;
}

template <class T>
void add(routine which, std::int64_t n, T alpha, T const* x, std::int64_t incx, T* y, std::int64_t incy) {
  auto const backend = enter(which);
  if (n <= 0 || alpha == 0) return;
  guard(which, [&] { add_views(backend, n, alpha, first_element(x, n, incx), incx, first_element(y, n, incy), incy); });
}

}  // namespace
}  // namespace tandem::blas

using namespace tandem::blas;

extern "C" {

void cblas_saxpy(tandem_blas_int n, float alpha, float const* x, tandem_blas_int incx, float* y, tandem_blas_int incy) {
  add(routine::cblas_saxpy, n, alpha, x, incx, y, incy);
}

void cblas_daxpy(tandem_blas_int n, double alpha, double const* x, tandem_blas_int incx, double* y,
                 tandem_blas_int incy) {
  add(routine::cblas_daxpy, n, alpha, x, incx, y, incy);
}

void saxpy_(tandem_blas_int const* n, float const* alpha, float const* x, tandem_blas_int const* incx, float* y,
            tandem_blas_int const* incy) {
  add(routine::saxpy, *n, *alpha, x, *incx, y, *incy);
}

void daxpy_(tandem_blas_int const* n, double const* alpha, double const* x, tandem_blas_int const* incx, double* y,
            tandem_blas_int const* incy) {
  add(routine::daxpy, *n, *alpha, x, *incx, y, *incy);
}

// docs/blas.md: whose suffixes these are.
#ifdef TANDEM_BLAS_INT64
decltype(cblas_saxpy) cblas_saxpy_64 [[gnu::alias("cblas_saxpy")]];
decltype(cblas_saxpy) cblas_saxpy64_ [[gnu::alias("cblas_saxpy")]];
decltype(cblas_daxpy) cblas_daxpy_64 [[gnu::alias("cblas_daxpy")]];
decltype(cblas_daxpy) cblas_daxpy64_ [[gnu::alias("cblas_daxpy")]];
decltype(saxpy_) saxpy_64_ [[gnu::alias("saxpy_")]];
decltype(daxpy_) daxpy_64_ [[gnu::alias("daxpy_")]];
#endif

}  // extern "C"
