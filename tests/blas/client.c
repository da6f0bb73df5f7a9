/* A C99 program on the BLAS library, with no error handler of its own: multiplies and compares with loops, or makes the
   one mistake that its argument names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tandem/blas.h>

enum { m = 7, n = 5, k = 9 };

static int wrong = 0;

static void expect(char const* what, double got, double expected) {
  if (got == expected) return;
  printf("%s: %g instead of %g\n", what, got, expected);
  wrong = 1;
}

/* Column-major A (m x k) and B (k x n); C = 2 A B - C, twice, from small integers: sums are exact. */
static void multiply(void) {
  float a[m * k], b[k * n], c[m * n], c_start[m * n];
  double da[m * k], db[k * n], dc[m * n];
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  double dx[3] = {1, 2, 3}, dy[3] = {0, 0, 0};
  tandem_blas_int const rows = m, cols = n, depth = k, three = 3, back = -1, one_step = 1;
  float const two = 2, minus = -1;
  double const dtwo = 2, dminus = -1;
  int i, j, q;
  for (i = 0; i < m * k; ++i) da[i] = a[i] = (float)(i % 5 - 2);
  for (i = 0; i < k * n; ++i) db[i] = b[i] = (float)(i % 7 - 3);
  for (i = 0; i < m * n; ++i) dc[i] = c[i] = c_start[i] = (float)(i % 3);
  sgemm_("N", "n", &rows, &cols, &depth, &two, a, &rows, b, &depth, &minus, c, &rows);
  dgemm_("N", "n", &rows, &cols, &depth, &dtwo, da, &rows, db, &depth, &dminus, dc, &rows);
  /* The same matrices, read by rows, are the transposes: C^T = B^T A^T. */
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, m, k, 2, b, k, a, m, -1, c, m);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, m, k, 2, db, k, da, m, -1, dc, m);
  for (i = 0; i < m; ++i)
    for (j = 0; j < n; ++j) {
      float sum = 0;
      for (q = 0; q < k; ++q) sum += a[q * m + i] * b[j * k + q];
      expect("float C", c[j * m + i], 2 * sum - (2 * sum - c_start[j * m + i]));
      expect("double C", dc[j * m + i], 2 * sum - (2 * sum - c_start[j * m + i]));
    }
  cblas_saxpy(3, 2, x, -1, y, 1);
  saxpy_(&three, &two, x, &one_step, y, &back);
  cblas_daxpy(3, 2, dx, -1, dy, 1);
  daxpy_(&three, &dtwo, dx, &one_step, dy, &back);
  for (i = 0; i < 3; ++i) {
    expect("float y", y[i], 4 * (3 - i));
    expect("double y", dy[i], 4 * (3 - i));
  }
  if (!wrong) printf("right\n");
}

static int is(char const* argument, char const* name) { return strcmp(argument, name) == 0; }

int main(int argc, char** argv) {
  float c[4] = {0, 0, 0, 0};
  float const one = 1;
  tandem_blas_int const two = 2, below = -1;
  char const* const what = argc > 1 ? argv[1] : "multiply";
  if (is(what, "multiply")) {
    multiply();
    return wrong;
  }
  if (is(what, "fortran_size"))
    sgemm_("N", "N", &two, &below, &two, &one, c, &two, c, &two, &one, c, &two);
  else if (is(what, "row_major_m"))
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, 2, 2, 1, c, 2, c, 2, 1, c, 2);
  else if (is(what, "row_major_lda"))
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, c, 1, c, 2, 1, c, 2);
  else if (is(what, "layout"))
    cblas_sgemm((CBLAS_LAYOUT)7, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, c, 2, c, 2, 1, c, 2);
  else if (is(what, "overlap"))
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, c, 2, c, 2, 1, c, 2);
  else if (is(what, "null"))
    cblas_saxpy(3, 1, NULL, 1, c, 1);
  else
    printf("no mistake is called %s\n", what);
  printf("returned\n");
  return 0;
}
