// The Eigen adapter: matrix products through Eigen::Map.
#include <Eigen/Core>
#include <mutex>

#include "reference/descriptors.hpp"
#include "reference/rows.hpp"

namespace tandem::reference {
namespace {

template <class T, int Order>
using matrix_map =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T, int Order>
using const_matrix_map =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order> const, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T, class A, class B>
void multiply(problem const& p, A const& a, B const& b) {
  matrix_map<T, Eigen::RowMajor> c(static_cast<T*>(p.c), p.m, p.n, Eigen::OuterStride<>(p.ldc));
  auto const alpha = static_cast<T>(p.alpha);
  if (p.beta == 0) {
    c.noalias() = alpha * a * b;
  } else {
    c *= static_cast<T>(p.beta);
    c.noalias() += alpha * a * b;
  }
}

// A transposed operand is the same memory seen column-major.
template <class T, class A>
void with_b(problem const& p, A const& a) {
  auto const* const data = static_cast<T const*>(p.b);
  if (p.trans_b)
    multiply<T>(p, a, const_matrix_map<T, Eigen::ColMajor>(data, p.k, p.n, Eigen::OuterStride<>(p.ldb)));
  else
    multiply<T>(p, a, const_matrix_map<T, Eigen::RowMajor>(data, p.k, p.n, Eigen::OuterStride<>(p.ldb)));
}

// Eigen's number of threads is one for the whole process, so a call holds it until it is done.
std::mutex thread_count_mutex;

template <class T>
void run(problem const& p, execution const& how) {
  std::lock_guard const lock(thread_count_mutex);
  Eigen::setNbThreads(how.threads);  // 0: as many as OpenMP offers
  auto const* const data = static_cast<T const*>(p.a);
  if (p.trans_a)
    with_b<T>(p, const_matrix_map<T, Eigen::ColMajor>(data, p.m, p.k, Eigen::OuterStride<>(p.lda)));
  else
    with_b<T>(p, const_matrix_map<T, Eigen::RowMajor>(data, p.m, p.k, Eigen::OuterStride<>(p.lda)));
}

// Eigen takes no negative stride: a vector that runs downwards is the reverse of one that runs upwards.
template <class T, class Call>
void with_vector(T* data, std::int64_t n, std::int64_t stride, Call const& call) {
  using vector = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>;
  using map =
      Eigen::Map<std::conditional_t<std::is_const_v<T>, vector const, vector>, Eigen::Unaligned, Eigen::InnerStride<>>;
  if (stride < 0) {
    map upwards(data + (n - 1) * stride, n, Eigen::InnerStride<>(-stride));
    call(upwards.reverse());
  } else {
    call(map(data, n, Eigen::InnerStride<>(stride)));
  }
}

template <class T>
void run_axpy(axpy_problem const& p, execution const&) {
  with_vector(static_cast<T const*>(p.x), p.n, p.stride_x, [&p](auto const& x) {
    with_vector(static_cast<T*>(p.y), p.n, p.stride_y, [&](auto&& y) { y += static_cast<T>(p.alpha) * x; });
  });
}

std::string version() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION) + " built for " + Eigen::SimdInstructionSetsInUse();
}

}  // namespace

backend_descriptor const& eigen() {
  static auto const& d =
      *new backend_descriptor{.backend = backend::eigen,
                              .unavailable = {},
                              .version = version,
                              .scale = {},
                              .kernels = {gemm_row(backend::eigen, dtype::f32, 5e9, true, run<float>),
                                          gemm_row(backend::eigen, dtype::f64, 5e9, true, run<double>),
                                          axpy_row(backend::eigen, dtype::f32, false, run_axpy<float>),
                                          axpy_row(backend::eigen, dtype::f64, false, run_axpy<double>)}};
  return d;
}

}  // namespace tandem::reference
