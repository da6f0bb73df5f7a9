// The cuBLAS adapter: loaded with RTLD_LOCAL when first asked for, declared here, so that it builds without CUDA.
#include <dlfcn.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"
#include "reference/descriptors.hpp"
#include "reference/rows.hpp"

namespace tandem::reference {
namespace {

// Enumerators and signatures of cublas_api.h, the same in CUDA 12 and 13.
struct cublas_context;
using handle = cublas_context*;
enum class status : int { success = 0, alloc_failed = 3 };
enum class op : int { none = 0, transposed = 1 };
enum class math_mode : int { standard = 0 };  // CUBLAS_DEFAULT_MATH: f32 is computed in f32, never in TF32
enum class property : int { major = 0, minor = 1, patch = 2 };
template <class T>
using gemm_function = status (*)(handle, op, op, int m, int n, int k, T const* alpha, T const* a, int lda, T const* b,
                                 int ldb, T const* beta, T* c, int ldc);
template <class T>
using axpy_function = status (*)(handle, int n, T const* alpha, T const* x, int incx, T* y, int incy);

struct library {
  status (*create)(handle*) = nullptr;
  status (*set_stream)(handle, CUstream_st*) = nullptr;
  status (*set_math_mode)(handle, math_mode) = nullptr;
  status (*get_property)(property, int*) = nullptr;
  gemm_function<float> sgemm = nullptr;
  gemm_function<double> dgemm = nullptr;
  axpy_function<float> saxpy = nullptr;
  axpy_function<double> daxpy = nullptr;
  std::string missing;  // why it cannot be used; empty when it can
};

template <class F>
void resolve(void* shared_object, library& lib, F& function, char const* symbol) {
  function = reinterpret_cast<F>(dlsym(shared_object, symbol));
  if (function == nullptr && lib.missing.empty()) lib.missing = fmt::format("cuBLAS has no {}", symbol);
}

// The loader's path first, then where toolkits put it.
std::vector<std::string> folders() {
  std::vector<std::string> all = {""};
  if (char const* const home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    all.push_back(std::string(home) + "/lib64/");
  all.push_back("/usr/local/cuda/lib64/");
#ifdef TANDEM_CUDA_LIBRARY_DIR
  all.push_back(TANDEM_CUDA_LIBRARY_DIR "/");
#endif
  return all;
}

library load() {
  library lib;
  void* shared_object = nullptr;
  std::string first_failure;
  for (char const* const name : {"libcublas.so.13", "libcublas.so.12"})
    for (auto const& folder : folders())
      if (shared_object == nullptr) {
        shared_object = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (char const* const failure = dlerror(); shared_object == nullptr && first_failure.empty())
          first_failure = failure != nullptr ? failure : name;
      }
  if (shared_object == nullptr) {
    lib.missing = "cuBLAS not found: " + first_failure;
    return lib;
  }
  resolve(shared_object, lib, lib.create, "cublasCreate_v2");
  resolve(shared_object, lib, lib.set_stream, "cublasSetStream_v2");
  resolve(shared_object, lib, lib.set_math_mode, "cublasSetMathMode");
  resolve(shared_object, lib, lib.get_property, "cublasGetProperty");
  resolve(shared_object, lib, lib.sgemm, "cublasSgemm_v2");
  resolve(shared_object, lib, lib.dgemm, "cublasDgemm_v2");
  resolve(shared_object, lib, lib.saxpy, "cublasSaxpy_v2");
  resolve(shared_object, lib, lib.daxpy, "cublasDaxpy_v2");
  return lib;
}

library const& cublas_library() {
  static auto const& lib = *new library(load());
  return lib;
}

std::string unavailable() {
  auto const reason = gpu::unavailable();
  return reason.empty() ? cublas_library().missing : reason;
}

void check(status s, std::string const& call) {
  if (s == status::success) return;
  throw error(s == status::alloc_failed ? errc::out_of_memory : errc::device,
              fmt::format("{}: cuBLAS status {}", call, static_cast<int>(s)));
}

// One handle for the process, held by one call at a time while it enqueues. It is never destroyed: at the program's
// end the driver may be gone before it.
class session {
 public:
  explicit session(CUstream_st* stream) : lock_(mutex()) {
    static auto const one = [] {
      handle created = nullptr;
      check(cublas_library().create(&created), "cublasCreate");
      check(cublas_library().set_math_mode(created, math_mode::standard), "cublasSetMathMode");
      return created;
    }();
    handle_ = one;
    check(cublas_library().set_stream(handle_, stream), "cublasSetStream");
  }
  handle get() const { return handle_; }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  handle handle_ = nullptr;
};

// cuBLAS is column-major and reads a row-major matrix as its transpose: C^T = op(B)^T op(A)^T.
template <class T>
void enqueue(problem const& p, CUstream_st* stream) {
  auto const gemm = [] {
    if constexpr (std::same_as<T, float>)
      return cublas_library().sgemm;
    else
      return cublas_library().dgemm;
  }();
  auto const alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  session const s(stream);
  check(
      gemm(s.get(), p.trans_b ? op::transposed : op::none, p.trans_a ? op::transposed : op::none, static_cast<int>(p.n),
           static_cast<int>(p.m), static_cast<int>(p.k), &alpha, static_cast<T const*>(p.b), static_cast<int>(p.ldb),
           static_cast<T const*>(p.a), static_cast<int>(p.lda), &beta, static_cast<T*>(p.c), static_cast<int>(p.ldc)),
      fmt::format("cublas gemm of m {}, n {}, k {}", p.m, p.n, p.k));
}

// cuBLAS counts a negative increment from the other end of the vector, and takes 32-bit sizes: long vectors go in
// parts.
template <class T>
void enqueue_axpy(axpy_problem const& p, CUstream_st* stream) {
  auto const axpy = [] {
    if constexpr (std::same_as<T, float>)
      return cublas_library().saxpy;
    else
      return cublas_library().daxpy;
  }();
  if (auto reason = too_large({p.stride_x, p.stride_y}); !reason.empty()) throw error(errc::unsupported, reason);
  auto const alpha = static_cast<T>(p.alpha);
  session const s(stream);
  constexpr std::int64_t part = 1 << 30;
  for (std::int64_t first = 0; first < p.n; first += part) {
    auto const count = std::min(part, p.n - first);
    auto const base = [&](auto* data, std::int64_t stride) {
      return data + (stride < 0 ? (first + count - 1) * stride : first * stride);
    };
    check(axpy(s.get(), static_cast<int>(count), &alpha, base(static_cast<T const*>(p.x), p.stride_x),
               static_cast<int>(p.stride_x), base(static_cast<T*>(p.y), p.stride_y), static_cast<int>(p.stride_y)),
          fmt::format("cublas axpy of n {}", count));
  }
}

template <class T>
kernel gemm_kernel() {
  auto row = gemm_row(backend::cublas, dtype_of<T>, 1e12, false, [](problem const& p, execution const& how) {
    if (p.memory == memory::device)
      enqueue<T>(p, how.stream);
    else
      gpu::run_staged(p, how.stream, enqueue<T>);
  });
  row.device = true;
  return with_int_sizes(std::move(row));
}

template <class T>
kernel axpy_kernel() {
  auto row = axpy_row(backend::cublas, dtype_of<T>, false, [](axpy_problem const& p, execution const& how) {
    if (p.memory == memory::device)
      enqueue_axpy<T>(p, how.stream);
    else
      gpu::run_staged(p, how.stream, enqueue_axpy<T>);
  });
  row.device = true;
  return row;
}

std::string version() {
  int major = 0, minor = 0, patch = 0;
  auto const get_property = cublas_library().get_property;
  check(get_property(property::major, &major), "cublasGetProperty");
  check(get_property(property::minor, &minor), "cublasGetProperty");
  check(get_property(property::patch, &patch), "cublasGetProperty");
  return fmt::format("cuBLAS {}.{}.{}", major, minor, patch);
}

}  // namespace

backend_descriptor const& cublas() {
  static auto const& d = *new backend_descriptor{
      .backend = backend::cublas,
      .unavailable = unavailable,
      .version = version,
      .scale = {},
      .kernels = {gemm_kernel<float>(), gemm_kernel<double>(), axpy_kernel<float>(), axpy_kernel<double>()}};
  return d;
}

}  // namespace tandem::reference
