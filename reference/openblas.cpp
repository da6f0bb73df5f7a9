// The OpenBLAS adapter: CBLAS from its shared object, loaded when first asked for with RTLD_LOCAL, so that its symbols
// cannot mix with another BLAS in the process.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <mutex>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "reference/descriptors.hpp"
#include "reference/rows.hpp"

namespace tandem::reference {
namespace {

// CBLAS's enumerators and signatures, from the reference CBLAS; int is 32 bits wide in Debian's build.
enum cblas_order : int { row_major = 101 };
enum cblas_transpose : int { no_trans = 111, trans = 112 };
template <class T>
using gemm_function = void (*)(cblas_order, cblas_transpose, cblas_transpose, int m, int n, int k, T alpha, T const* a,
                               int lda, T const* b, int ldb, T beta, T* c, int ldc);
template <class T>
using axpy_function = void (*)(int n, T alpha, T const* x, int incx, T* y, int incy);

struct library {
  gemm_function<float> sgemm = nullptr;
  gemm_function<double> dgemm = nullptr;
  axpy_function<float> saxpy = nullptr;
  axpy_function<double> daxpy = nullptr;
  char* (*config)() = nullptr;
  char* (*core_name)() = nullptr;
  int (*threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  int default_threads = 1;
  std::string missing;  // why it cannot be used; empty when it can
};

template <class F>
void resolve(void* handle, library& lib, F& function, char const* symbol) {
  function = reinterpret_cast<F>(dlsym(handle, symbol));
  if (function == nullptr) lib.missing = fmt::format("libopenblas.so.0 has no {}", symbol);
}

library load() {
  library lib;
  void* const handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    lib.missing = fmt::format("OpenBLAS not found: {}", dlerror());
    return lib;
  }
  resolve(handle, lib, lib.sgemm, "cblas_sgemm");
  resolve(handle, lib, lib.dgemm, "cblas_dgemm");
  resolve(handle, lib, lib.saxpy, "cblas_saxpy");
  resolve(handle, lib, lib.daxpy, "cblas_daxpy");
  resolve(handle, lib, lib.config, "openblas_get_config");
  resolve(handle, lib, lib.core_name, "openblas_get_corename");
  resolve(handle, lib, lib.threads, "openblas_get_num_threads");
  resolve(handle, lib, lib.set_threads, "openblas_set_num_threads");
  if (lib.missing.empty()) lib.default_threads = lib.threads();
  return lib;
}

library const& openblas_library() {
  static auto const& lib = *new library(load());
  return lib;
}

// The thread count is one for the whole process, so a call with its own count holds it until it is done.
class thread_count {
 public:
  explicit thread_count(int threads) : lock_(mutex()) {
    openblas_library().set_threads(threads > 0 ? threads : openblas_library().default_threads);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
};

template <class T>
void run(problem const& p, execution const& how) {
  auto const& lib = openblas_library();
  auto const gemm = [&] {
    if constexpr (std::same_as<T, float>)
      return lib.sgemm;
    else
      return lib.dgemm;
  }();
  thread_count const threads(how.threads);
  gemm(row_major, p.trans_a ? trans : no_trans, p.trans_b ? trans : no_trans, static_cast<int>(p.m),
       static_cast<int>(p.n), static_cast<int>(p.k), static_cast<T>(p.alpha), static_cast<T const*>(p.a),
       static_cast<int>(p.lda), static_cast<T const*>(p.b), static_cast<int>(p.ldb), static_cast<T>(p.beta),
       static_cast<T*>(p.c), static_cast<int>(p.ldc));
}

// CBLAS counts a negative increment from the other end of the vector, and takes 32-bit sizes: long vectors go in parts.
template <class T>
void run_axpy(axpy_problem const& p, execution const& how) {
  auto const& lib = openblas_library();
  auto const axpy = [&] {
    if constexpr (std::same_as<T, float>)
      return lib.saxpy;
    else
      return lib.daxpy;
  }();
  if (auto reason = too_large({p.stride_x, p.stride_y}); !reason.empty()) throw error(errc::unsupported, reason);
  thread_count const threads(how.threads);
  constexpr std::int64_t part = 1 << 30;
  for (std::int64_t first = 0; first < p.n; first += part) {
    auto const count = std::min(part, p.n - first);
    auto const base = [&](auto* data, std::int64_t stride) {
      return data + (stride < 0 ? (first + count - 1) * stride : first * stride);
    };
    axpy(static_cast<int>(count), static_cast<T>(p.alpha), base(static_cast<T const*>(p.x), p.stride_x),
         static_cast<int>(p.stride_x), base(static_cast<T*>(p.y), p.stride_y), static_cast<int>(p.stride_y));
  }
}

std::string version() {
  auto const& lib = openblas_library();
  std::string config = lib.config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH … SkylakeX MAX_THREADS=128"
  auto const end = config.find(' ', config.find(' ') + 1);
  return fmt::format("{}, core {}, {} threads", config.substr(0, end), lib.core_name(), lib.default_threads);
}

}  // namespace

backend_descriptor const& openblas() {
  static auto const& d = *new backend_descriptor{
      .backend = backend::openblas,
      .unavailable = [] { return openblas_library().missing; },
      .version = version,
      .scale = {},
      .kernels = {with_int_sizes(gemm_row(backend::openblas, dtype::f32, 2e10, true, run<float>)),
                  with_int_sizes(gemm_row(backend::openblas, dtype::f64, 2e10, true, run<double>)),
                  axpy_row(backend::openblas, dtype::f32, true, run_axpy<float>),
                  axpy_row(backend::openblas, dtype::f64, true, run_axpy<double>)}};
  return d;
}

}  // namespace tandem::reference
