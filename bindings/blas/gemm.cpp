// cblas_sgemm, cblas_dgemm, sgemm_ and dgemm_: the reference's argument checks and quick returns, then tandem::gemm.
#include <algorithm>
#include <utility>

#include <tandem/blas.h>
#include <tandem/gemm.hpp>

#include "bindings/blas/call.hpp"
#include "bindings/blas/errors.hpp"

namespace tandem::blas {
namespace {

template <class T>
struct product {
  tandem::layout layout;
  bool trans_a, trans_b;
  tandem_blas_int m, n, k;
  T alpha;
  T const* a;
  tandem_blas_int lda;
  T const* b;
  tandem_blas_int ldb;
  T beta;
  T* c;
  tandem_blas_int ldc;
};

// The same product of the transposed matrices, as the reference CBLAS hands a row-major call to Fortran.
template <class T>
product<T> column_major(product<T> p) {
  if (p.layout == layout::col_major) return p;
  std::swap(p.trans_a, p.trans_b);
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.lda, p.ldb);
  return p;
}

// The first wrong argument's number in Fortran's list, of a column-major product; 0 where none is.
template <class T>
tandem_blas_int wrong_argument(product<T> const& p) {
  if (p.m < 0) return 3;
  if (p.n < 0) return 4;
  if (p.k < 0) return 5;
  if (p.lda < std::max<tandem_blas_int>(1, p.trans_a ? p.k : p.m)) return 8;
  if (p.ldb < std::max<tandem_blas_int>(1, p.trans_b ? p.n : p.k)) return 10;
  if (p.ldc < std::max<tandem_blas_int>(1, p.m)) return 13;
  return 0;
}

// op(X), which has these sizes, as a view of X.
template <class T>
matrix_view<T const> operand(T const* data, tandem_blas_int rows, tandem_blas_int cols, tandem_blas_int ld,
                             tandem::layout layout, bool transposed) {
  return transposed ? matrix_view<T const>(data, cols, rows, ld, layout).transposed()
                    : matrix_view<T const>(data, rows, cols, ld, layout);
}

// In line as its callers are: a tiny product would feel a `product` that is written to memory.
template <class T>
[[gnu::always_inline]] inline void multiply(routine which, tandem::backend backend, product<T> const& p) {
  tandem_blas_int const k = p.alpha == 0 ? 0 : p.k;  // nothing of A or B is looked at
  if (p.m == 0 || p.n == 0 || (k == 0 && p.beta == 1)) return;
  guard(which, [&] {
    gemm(operand(p.a, p.m, k, p.lda, p.layout, p.trans_a), operand(p.b, k, p.n, p.ldb, p.layout, p.trans_b),
         matrix_view<T>(p.c, p.m, p.n, p.ldc, p.layout), {.alpha = p.alpha, .beta = p.beta, .backend = backend});
  });
}

bool is_letter(char option, char upper) { return option == upper || option == upper + ('a' - 'A'); }
bool is_transpose(char option) { return is_letter(option, 'T') || is_letter(option, 'C'); }

template <class T>
[[gnu::always_inline]] inline void from_fortran(routine which, char const* name, char trans_a, char trans_b,
                                                product<T> const& p) {
  auto const backend = enter(which);
  tandem_blas_int const wrong = !is_letter(trans_a, 'N') && !is_transpose(trans_a)   ? 1
                                : !is_letter(trans_b, 'N') && !is_transpose(trans_b) ? 2
                                                                                     : wrong_argument(p);
  if (wrong != 0) return report(interface::fortran, name, wrong);
  multiply(which, backend, p);
}

bool is_option(CBLAS_TRANSPOSE option) {
  return option == CblasNoTrans || option == CblasTrans || option == CblasConjTrans;
}

template <class T>
[[gnu::always_inline]] inline void from_c(routine which, char const* name, char const* fortran_name,
                                          CBLAS_LAYOUT layout, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b,
                                          product<T> const& p) {
  auto const backend = enter(which);
  if (layout != CblasRowMajor && layout != CblasColMajor)
    return report_option(interface::c_col_major, name, 1, "Illegal layout setting, %d\n", layout);
  auto const caller = layout == CblasRowMajor ? interface::c_row_major : interface::c_col_major;
  if (!is_option(trans_a)) return report_option(caller, name, 2, "Illegal TransA setting, %d\n", trans_a);
  if (!is_option(trans_b)) return report_option(caller, name, 3, "Illegal TransB setting, %d\n", trans_b);
  if (auto const wrong = wrong_argument(column_major(p)); wrong != 0) return report(caller, fortran_name, wrong);
  multiply(which, backend, p);
}

tandem::layout layout_of(CBLAS_LAYOUT layout) {
  return layout == CblasRowMajor ? layout::row_major : layout::col_major;
}

}  // namespace
}  // namespace tandem::blas

using namespace tandem::blas;

extern "C" {

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, tandem_blas_int m,
                 tandem_blas_int n, tandem_blas_int k, float alpha, float const* a, tandem_blas_int lda, float const* b,
                 tandem_blas_int ldb, float beta, float* c, tandem_blas_int ldc) {
  from_c<float>(routine::cblas_sgemm, "cblas_sgemm", "SGEMM ", layout, transa, transb,
                {layout_of(layout), transa != CblasNoTrans, transb != CblasNoTrans, m, n, k, alpha, a, lda, b, ldb,
                 beta, c, ldc});
}

void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, tandem_blas_int m,
                 tandem_blas_int n, tandem_blas_int k, double alpha, double const* a, tandem_blas_int lda,
                 double const* b, tandem_blas_int ldb, double beta, double* c, tandem_blas_int ldc) {
  from_c<double>(routine::cblas_dgemm, "cblas_dgemm", "DGEMM ", layout, transa, transb,
                 {layout_of(layout), transa != CblasNoTrans, transb != CblasNoTrans, m, n, k, alpha, a, lda, b, ldb,
                  beta, c, ldc});
}

void sgemm_(char const* transa, char const* transb, tandem_blas_int const* m, tandem_blas_int const* n,
            tandem_blas_int const* k, float const* alpha, float const* a, tandem_blas_int const* lda, float const* b,
            tandem_blas_int const* ldb, float const* beta, float* c, tandem_blas_int const* ldc) {
  from_fortran<float>(routine::sgemm, "SGEMM ", *transa, *transb,
                      {tandem::layout::col_major, is_transpose(*transa), is_transpose(*transb), *m, *n, *k, *alpha, a,
                       *lda, b, *ldb, *beta, c, *ldc});
}

void dgemm_(char const* transa, char const* transb, tandem_blas_int const* m, tandem_blas_int const* n,
            tandem_blas_int const* k, double const* alpha, double const* a, tandem_blas_int const* lda, double const* b,
            tandem_blas_int const* ldb, double const* beta, double* c, tandem_blas_int const* ldc) {
  from_fortran<double>(routine::dgemm, "DGEMM ", *transa, *transb,
                       {tandem::layout::col_major, is_transpose(*transa), is_transpose(*transb), *m, *n, *k, *alpha, a,
                        *lda, b, *ldb, *beta, c, *ldc});
}

// docs/blas.md: whose suffixes these are.
#ifdef TANDEM_BLAS_INT64
decltype(cblas_sgemm) cblas_sgemm_64 [[gnu::alias("cblas_sgemm")]];
decltype(cblas_sgemm) cblas_sgemm64_ [[gnu::alias("cblas_sgemm")]];
decltype(cblas_dgemm) cblas_dgemm_64 [[gnu::alias("cblas_dgemm")]];
decltype(cblas_dgemm) cblas_dgemm64_ [[gnu::alias("cblas_dgemm")]];
decltype(sgemm_) sgemm_64_ [[gnu::alias("sgemm_")]];
decltype(dgemm_) dgemm_64_ [[gnu::alias("dgemm_")]];
#endif

}  // extern "C"
