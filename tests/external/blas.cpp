// A BLAS of somebody's: sgemm_ is right, cblas_sgemm has one element wrong, and nothing sets their threads.
extern "C" {

void sgemm_(char const* trans_a, char const* trans_b, int const* m, int const* n, int const* k, float const* alpha,
            float const* a, int const* lda, float const* b, int const* ldb, float const* beta, float* c,
            int const* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int p = 0; p < *k; ++p)
        sum += static_cast<double>(*trans_a == 'N' ? a[i + p * *lda] : a[p + i * *lda]) *
               static_cast<double>(*trans_b == 'N' ? b[p + j * *ldb] : b[j + p * *ldb]);
      float& out = c[i + j * *ldc];
      out = static_cast<float>(*alpha * sum + (*beta == 0 ? 0.0 : static_cast<double>(*beta * out)));
    }
}

void cblas_sgemm(int, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                 float const* b, int ldb, float beta, float* c, int ldc) {
  char const ta = trans_a == 112 ? 'T' : 'N', tb = trans_b == 112 ? 'T' : 'N';
  sgemm_(&tb, &ta, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
  c[(m - 1) * ldc + n - 1] += 1;
}

}  // extern "C"
