// CBLAS and Fortran BLAS, whose signatures are the reference BLAS's.
#include "tools/bench/blas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <thread>

namespace tandem::bench {
namespace {

enum cblas_order : int { row_major = 101 };
enum cblas_transpose : int { no_trans = 111, trans = 112 };
template <class T>
using cblas_gemm = void(cblas_order, cblas_transpose, cblas_transpose, int m, int n, int k, T alpha, T const* a,
                        int lda, T const* b, int ldb, T beta, T* c, int ldc);
template <class T>
using cblas_axpy = void(int n, T alpha, T const* x, int incx, T* y, int incy);
// The lengths of the two characters follow, as Fortran compilers pass them.
template <class T>
using fortran_gemm = void(char const*, char const*, int const* m, int const* n, int const* k, T const* alpha,
                          T const* a, int const* lda, T const* b, int const* ldb, T const* beta, T* c, int const* ldc,
                          std::size_t, std::size_t);

struct int_sizes {
  int m, n, k, lda, ldb, ldc;
  explicit int_sizes(problem const& p)
      : m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        k(static_cast<int>(p.k)),
        lda(static_cast<int>(p.lda)),
        ldb(static_cast<int>(p.ldb)),
        ldc(static_cast<int>(p.ldc)) {}
};

template <class T>
gemm_call bind_cblas(cblas_gemm<T>* gemm, problem const& p) {
  auto const ta = p.trans_a ? trans : no_trans, tb = p.trans_b ? trans : no_trans;
  auto const alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  return [=, s = int_sizes(p)](void const* a, void const* b, void* c) {
    gemm(row_major, ta, tb, s.m, s.n, s.k, alpha, static_cast<T const*>(a), s.lda, static_cast<T const*>(b), s.ldb,
         beta, static_cast<T*>(c), s.ldc);
  };
}

// A row-major C is a column-major C^T = B^T A^T over the same memory.
template <class T>
gemm_call bind_fortran(fortran_gemm<T>* gemm, problem const& p) {
  char const ta = p.trans_a ? 'T' : 'N', tb = p.trans_b ? 'T' : 'N';
  auto const alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  return [=, s = int_sizes(p)](void const* a, void const* b, void* c) {
    gemm(&tb, &ta, &s.n, &s.m, &s.k, &alpha, static_cast<T const*>(b), &s.ldb, static_cast<T const*>(a), &s.lda, &beta,
         static_cast<T*>(c), &s.ldc, 1, 1);
  };
}

template <class T>
axpy_call bind_axpy(cblas_axpy<T>* axpy, axpy_problem const& p) {
  return [axpy, n = static_cast<int>(p.n), alpha = static_cast<T>(p.alpha), incx = static_cast<int>(p.stride_x),
          incy = static_cast<int>(p.stride_y)](void const* x, void* y) {
    axpy(n, alpha, static_cast<T const*>(x), incx, static_cast<T*>(y), incy);
  };
}

// What the library's own functions say it is.
std::string about(shared_object const& library) {
  auto* const config = library.find<char*()>("openblas_get_config");
  auto* const core = library.find<char*()>("openblas_get_corename");
  if (config != nullptr && core != nullptr) {
    std::string const text = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
    return fmt::format("{}, core {}", text.substr(0, text.find(' ', text.find(' ') + 1)), core());
  }
  auto* const blis = library.find<char const*()>("bli_info_get_version_str");
  auto* const arch = library.find<int()>("bli_arch_query_id");
  auto* const arch_name = library.find<char const*(int)>("bli_arch_string");
  if (blis != nullptr && arch != nullptr && arch_name != nullptr)
    return fmt::format("BLIS {}, kernels for {}", blis(), arch_name(arch()));
  if (auto* const mkl = library.find<void(char*, int)>("MKL_Get_Version_String"); mkl != nullptr) {
    char text[256] = {};
    mkl(text, sizeof text - 1);
    return text;
  }
  if (auto* const ours = library.find<char const*()>("tandem_plugin_about"); ours != nullptr) return ours();
  return library.name();
}

template <class T>
void fill(subject& out, shared_object const& library, std::string const& symbol) {
  char const letter = std::same_as<T, float> ? 's' : 'd';
  auto const cblas = fmt::format("cblas_{}gemm", letter), fortran = fmt::format("{}gemm_", letter);
  std::string chosen = symbol;
  if (chosen.empty()) chosen = library.find<void()>(cblas.c_str()) != nullptr ? cblas : fortran;
  if (chosen.starts_with("cblas_"))
    out.bind = [f = library.get<cblas_gemm<T>>(chosen)](problem const& p, int) { return bind_cblas<T>(f, p); };
  else
    out.bind = [f = library.get<fortran_gemm<T>>(chosen)](problem const& p, int) { return bind_fortran<T>(f, p); };
  if (auto* const f = library.find<cblas_axpy<T>>(fmt::format("cblas_{}axpy", letter).c_str()); f != nullptr)
    out.bind_axpy = [f](axpy_problem const& p, int) { return bind_axpy<T>(f, p); };
}

}  // namespace

std::string beyond_int(problem const& p) {
  for (auto const size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc})
    if (size > std::numeric_limits<int>::max()) return fmt::format("it takes 32-bit sizes, not {}", size);
  return {};
}

subject blas_subject(std::string name, shared_object const& library, dtype type, std::string symbol) {
  subject out;
  out.name = std::move(name);
  out.about = about(library);
  out.refuses = beyond_int;
  out.set_threads = thread_control(library);
  if (!out.set_threads) out.only_threads = static_cast<int>(std::thread::hardware_concurrency());
  type == dtype::f32 ? fill<float>(out, library, symbol) : fill<double>(out, library, symbol);
  return out;
}

}  // namespace tandem::bench
