/* Error handlers of a program's own, which return. */
#include <stddef.h>
#include <stdio.h>
#include <tandem/blas.h>

void xerbla_(char const* name, tandem_blas_int const* argument, size_t length);
void cblas_xerbla(tandem_blas_int argument, char const* routine, char const* format, ...);

void xerbla_(char const* name, tandem_blas_int const* argument, size_t length) {
  printf("xerbla_ %.*s %d\n", (int)length, name, (int)*argument);
}

void cblas_xerbla(tandem_blas_int argument, char const* routine, char const* format, ...) {
  (void)format;
  printf("cblas_xerbla %s %d\n", routine, (int)argument);
}
