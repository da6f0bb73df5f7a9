/* The drop-in BLAS: the reference's C and Fortran entries of gemm and axpy, on Tandem. Plain C99, a stand-in for
   cblas.h. docs/blas.md says how errors end, what the environment chooses, and what is not there. */
#ifndef TANDEM_BLAS_H
#define TANDEM_BLAS_H

#include <stdint.h>

/* libtandem_blas64.so is called with TANDEM_BLAS_INT64 defined; its CMake target and pkg-config file define it. */
#ifdef TANDEM_BLAS_INT64
typedef int64_t tandem_blas_int;
#else
typedef int32_t tandem_blas_int;
#endif

#ifdef __cplusplus
/* Of a fixed type, so that a wrong value arrives as it was given and can be named in the error. */
enum CBLAS_LAYOUT : int { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE : int { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 };
extern "C" {
#else
typedef enum CBLAS_LAYOUT { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_LAYOUT;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 } CBLAS_TRANSPOSE;
#endif
typedef CBLAS_LAYOUT CBLAS_ORDER;

/* C (m x n) = alpha op(A) (m x k) op(B) (k x n) + beta C; op(X) is X or its transpose, ConjTrans the same as Trans.
   beta = 0 never reads C; alpha = 0 or k = 0 never reads A or B. C must not share an element with A or B. */
void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, tandem_blas_int m,
                 tandem_blas_int n, tandem_blas_int k, float alpha, float const* a, tandem_blas_int lda, float const* b,
                 tandem_blas_int ldb, float beta, float* c, tandem_blas_int ldc);
void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, tandem_blas_int m,
                 tandem_blas_int n, tandem_blas_int k, double alpha, double const* a, tandem_blas_int lda,
                 double const* b, tandem_blas_int ldb, double beta, double* c, tandem_blas_int ldc);

/* y (n) = alpha x (n) + y. An increment below zero runs through its vector from the end; 0 stays on one element. */
void cblas_saxpy(tandem_blas_int n, float alpha, float const* x, tandem_blas_int incx, float* y, tandem_blas_int incy);
void cblas_daxpy(tandem_blas_int n, double alpha, double const* x, tandem_blas_int incx, double* y,
                 tandem_blas_int incy);

/* The same for Fortran: column-major, every argument by reference, option letters N, T or C of either case. The lengths
   of the letters that a Fortran compiler passes behind the arguments are not looked at and may be left out. */
void sgemm_(char const* transa, char const* transb, tandem_blas_int const* m, tandem_blas_int const* n,
            tandem_blas_int const* k, float const* alpha, float const* a, tandem_blas_int const* lda, float const* b,
            tandem_blas_int const* ldb, float const* beta, float* c, tandem_blas_int const* ldc);
void dgemm_(char const* transa, char const* transb, tandem_blas_int const* m, tandem_blas_int const* n,
            tandem_blas_int const* k, double const* alpha, double const* a, tandem_blas_int const* lda, double const* b,
            tandem_blas_int const* ldb, double const* beta, double* c, tandem_blas_int const* ldc);
void saxpy_(tandem_blas_int const* n, float const* alpha, float const* x, tandem_blas_int const* incx, float* y,
            tandem_blas_int const* incy);
void daxpy_(tandem_blas_int const* n, double const* alpha, double const* x, tandem_blas_int const* incx, double* y,
            tandem_blas_int const* incy);

#ifdef __cplusplus
}
#endif

#endif
