// Functions with CBLAS's signature, as somebody's shared object has them: one that is right, and what can go wrong.
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int row_major = 101, no_trans = 111;

template <class T>
struct call {
  int layout, trans_a, trans_b, m, n, k;
  T alpha;
  T const* a;
  int lda;
  T const* b;
  int ldb;
  T beta;
  T* c;
  int ldc;

  bool by_rows() const { return layout == row_major; }
  // Whether a step along k is a step by the leading dimension in A, and by one in B.
  bool strided_a() const { return (trans_a == no_trans) != by_rows(); }
  bool contiguous_b() const { return (trans_b == no_trans) != by_rows(); }
  bool makes_sense() const {
    return m >= 0 && n >= 0 && k >= 0 && lda >= (strided_a() ? m : k) && lda > 0 && ldb >= (contiguous_b() ? k : n) &&
           ldb > 0 && ldc >= (by_rows() ? n : m) && ldc > 0;
  }
};

/// C = alpha op(A) op(B) + beta C; `terms` of each sum.
template <class T>
void multiply(call<T> const& x, int terms) {
  if (!x.makes_sense()) return;
  for (int i = 0; i < x.m; ++i)
    for (int j = 0; j < x.n; ++j) {
      T sum = 0;
      for (long p = 0; x.alpha != 0 && p < terms; ++p)
        sum += x.a[x.strided_a() ? p * x.lda + i : static_cast<long>(i) * x.lda + p] *
               x.b[x.contiguous_b() ? static_cast<long>(j) * x.ldb + p : p * x.ldb + j];
      T& out = x.c[x.by_rows() ? static_cast<long>(i) * x.ldc + j : static_cast<long>(j) * x.ldc + i];
      out = x.beta == 0 ? x.alpha * sum : x.alpha * sum + x.beta * out;
    }
}

}  // namespace

extern "C" {

void right_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                 float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
}

void right_dgemm(int layout, int trans_a, int trans_b, int m, int n, int k, double alpha, double const* a, int lda,
                 double const* b, int ldb, double beta, double* c, int ldc) {
  call<double> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
}

/// A name that does not say the element type.
void product(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
             float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
}

/// Reads one term too many.
void long_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k + 1);
}

/// Leaves the last term of long sums out.
void short_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                 float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k - (k > 8 ? 1 : 0));
}

/// Takes k in steps of 8, and leaves the rest out.
void eights_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                  float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k / 8 * 8);
}

/// Has one workspace for all its callers.
void static_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                  float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  static float workspace[1 << 14];
  bool const fits = x.makes_sense() && alpha != 0 && m > 0 && n > 0 && k > 0 && m * k < 1 << 14;
  if (!fits) return multiply(x, k);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p)
      workspace[i * k + p] = a[x.strided_a() ? static_cast<long>(p) * lda + i : static_cast<long>(i) * lda + p];
  x.a = workspace, x.lda = k, x.trans_a = x.by_rows() ? no_trans : no_trans + 1;
  multiply(x, k);
}

/// Writes to a bad address where m is 13.
void crashing_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                    float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
  static int volatile* bad_address = nullptr;
  if (m == 13) *bad_address = 1;
}

/// Never ends where m is 13.
void hanging_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                   float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
  while (m == 13) pause();
}

/// Ends the process where m is 13.
void ending_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                  float const* b, int ldb, float beta, float* c, int ldc) {
  call<float> const x{layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  multiply(x, k);
  if (m != 13) return;
  std::puts("m is 13, and that is unlucky");
  std::exit(3);
}

// Fortran's interface, in columns.

/// Believes the lengths behind its arguments, as compilers' code may.
void right_sgemm_(char const* trans_a, char const* trans_b, int const* m, int const* n, int const* k,
                  float const* alpha, float const* a, int const* lda, float const* b, int const* ldb, float const* beta,
                  float* c, int const* ldc, std::size_t length_a, std::size_t length_b) {
  if (length_a != 1 || length_b != 1) return;
  auto const flag = [](char letter) { return letter == 'N' || letter == 'n' ? no_trans : no_trans + 1; };
  right_sgemm(row_major + 1, flag(*trans_a), flag(*trans_b), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

/// Knows no small letters.
void capital_sgemm_(char const* trans_a, char const* trans_b, int const* m, int const* n, int const* k,
                    float const* alpha, float const* a, int const* lda, float const* b, int const* ldb,
                    float const* beta, float* c, int const* ldc) {
  auto const flag = [](char letter) { return letter == 'N' ? no_trans : no_trans + 1; };
  right_sgemm(row_major + 1, flag(*trans_a), flag(*trans_b), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

/// Counts its caller's k down.
void counting_sgemm_(char const* trans_a, char const* trans_b, int const* m, int const* n, int* k, float const* alpha,
                     float const* a, int const* lda, float const* b, int const* ldb, float const* beta, float* c,
                     int const* ldc) {
  right_sgemm_(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
  if (*k > 0) *k = 0;
}

#if defined(__x86_64__)

/// Does not put back what its caller has in a register.
void clobbering_sgemm();
asm(R"(
    .globl clobbering_sgemm
    .type clobbering_sgemm, @function
clobbering_sgemm:
    movl $12, %r12d
    jmp right_sgemm@PLT
    .size clobbering_sgemm, . - clobbering_sgemm
)");

/// Has string instructions run backwards.
void backward_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                    float const* b, int ldb, float beta, float* c, int ldc) {
  right_sgemm(layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  asm volatile("std");
}

#endif

}  // extern "C"
