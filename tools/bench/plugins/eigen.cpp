// Eigen's matrix product behind CBLAS's signature, row-major only, compiled for one instruction set with OpenMP: the
// reference's adapter is built for the baseline, which would be no fair peer.
#include <Eigen/Core>
#include <string>

namespace {

template <class T, int Order>
using map =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order> const, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;

template <class T, class A, class B>
void multiply(T alpha, A const& a, B const& b, T beta, result<T> c) {
  if (beta == 0) {
    c.noalias() = alpha * a * b;
  } else {
    if (beta != 1) c *= beta;
    c.noalias() += alpha * a * b;
  }
}

// A transposed operand is the same memory seen column-major.
constexpr int transposed = 112;

template <class T>
void gemm(int trans_a, int trans_b, int m, int n, int k, T alpha, T const* a, int lda, T const* b, int ldb, T beta,
          T* c, int ldc) {
  using Eigen::ColMajor, Eigen::RowMajor, Eigen::OuterStride;
  result<T> const out(c, m, n, OuterStride<>(ldc));
  auto const with_a = [&](auto const& left) {
    if (trans_b == transposed)
      multiply<T>(alpha, left, map<T, ColMajor>(b, k, n, OuterStride<>(ldb)), beta, out);
    else
      multiply<T>(alpha, left, map<T, RowMajor>(b, k, n, OuterStride<>(ldb)), beta, out);
  };
  if (trans_a == transposed)
    with_a(map<T, ColMajor>(a, m, k, OuterStride<>(lda)));
  else
    with_a(map<T, RowMajor>(a, m, k, OuterStride<>(lda)));
}

template <class T>
void axpy(int n, T alpha, T const* x, int incx, T* y, int incy) {
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using stride = Eigen::InnerStride<>;
  Eigen::Map<vector, Eigen::Unaligned, stride>(y, n, stride(incy)) +=
      alpha * Eigen::Map<vector const, Eigen::Unaligned, stride>(x, n, stride(incx));
}

}  // namespace

extern "C" {

void cblas_sgemm(int, int trans_a, int trans_b, int m, int n, int k, float alpha, float const* a, int lda,
                 float const* b, int ldb, float beta, float* c, int ldc) {
  gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_dgemm(int, int trans_a, int trans_b, int m, int n, int k, double alpha, double const* a, int lda,
                 double const* b, int ldb, double beta, double* c, int ldc) {
  gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_saxpy(int n, float alpha, float const* x, int incx, float* y, int incy) { axpy(n, alpha, x, incx, y, incy); }

void cblas_daxpy(int n, double alpha, double const* x, int incx, double* y, int incy) {
  axpy(n, alpha, x, incx, y, incy);
}

char const* tandem_plugin_about() {
  static std::string const text = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                                  std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION) +
                                  ", built for " + Eigen::SimdInstructionSetsInUse();
  return text.c_str();
}

}  // extern "C"
