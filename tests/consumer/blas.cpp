// Multiplies through the installed BLAS library, of either integer size.
#include <tandem/blas.h>

#include <cstdio>

int main() {
  double const a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  double c[4] = {};
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  std::printf("%zu-byte integers: %g %g %g %g\n", sizeof(tandem_blas_int), c[0], c[1], c[2], c[3]);
  return c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50 ? 0 : 1;
}
