// libxsmm: code generated at run time for small products, one thread. Debian has it as a static library only, from
// which the build makes a shared object of our own (plugins/libxsmm.cpp).
#include <fmt/format.h>

#include <stdexcept>

#include "tools/bench/blas.hpp"
#include "tools/bench/named_peers.hpp"
#include "tools/bench/plugin.hpp"
#include "tools/bench/shared_object.hpp"

namespace tandem::bench {
namespace {

template <class T>
using gemm_function = void(char const*, char const*, int const* m, int const* n, int const* k, T const* alpha,
                           T const* a, int const* lda, T const* b, int const* ldb, T const* beta, T* c, int const* ldc);
template <class T>
using kernel_function = void(T const* a, T const* b, T* c);
template <class T>
using dispatch_function = kernel_function<T>*(int m, int n, int k, int const* lda, int const* ldb, int const* ldc,
                                              T const* alpha, T const* beta, int const* flags, int const* prefetch);

// libxsmm's header: above it its call hands the product to another BLAS (LIBXSMM_MAX_MNK).
constexpr std::int64_t largest_call = 64 * 64 * 64;
// Its generated functions do not pack, and above some size nobody would ask for one.
constexpr std::int64_t largest_kernel = 160 * 160 * 160;

// Column-major as libxsmm is: C^T = B^T A^T. nullptr where it generates no code, as for some transposes and scalars.
template <class T>
kernel_function<T>* generate(dispatch_function<T>* dispatch, problem const& p) {
  auto const lda = static_cast<int>(p.ldb), ldb = static_cast<int>(p.lda), ldc = static_cast<int>(p.ldc);
  auto const alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  int const trans_a = 1, trans_b = 2, flags = (p.trans_b ? trans_a : 0) | (p.trans_a ? trans_b : 0), no_prefetch = 0;
  return dispatch(static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &lda, &ldb, &ldc, &alpha, &beta,
                  &flags, &no_prefetch);
}

template <class T>
gemm_call bind_call(gemm_function<T>* gemm, problem const& p) {
  return [gemm, ta = p.trans_a ? 'T' : 'N', tb = p.trans_b ? 'T' : 'N', m = static_cast<int>(p.m),
          n = static_cast<int>(p.n), k = static_cast<int>(p.k), lda = static_cast<int>(p.lda),
          ldb = static_cast<int>(p.ldb), ldc = static_cast<int>(p.ldc), alpha = static_cast<T>(p.alpha),
          beta = static_cast<T>(p.beta)](void const* a, void const* b, void* c) {
    gemm(&tb, &ta, &n, &m, &k, &alpha, static_cast<T const*>(b), &ldb, static_cast<T const*>(a), &lda, &beta,
         static_cast<T*>(c), &ldc);
  };
}

template <class T>
gemm_call bind_kernel(kernel_function<T>* f) {
  return [f](void const* a, void const* b, void* c) {
    f(static_cast<T const*>(b), static_cast<T const*>(a), static_cast<T*>(c));
  };
}

template <class F>
F* function(shared_object const& library, std::string const& name) {
  auto* const f = library.get<void*(char const*)>("tandem_plugin_function")(name.c_str());
  if (f == nullptr) throw std::logic_error(library.name() + " hands out no " + name);
  return reinterpret_cast<F*>(f);
}

template <class T>
void fill(subject& out, shared_object const& library, libxsmm_interface interface) {
  char const letter = std::same_as<T, float> ? 's' : 'd';
  auto* const dispatch = function<dispatch_function<T>>(library, fmt::format("libxsmm_{}mmdispatch", letter));
  bool const is_call = interface == libxsmm_interface::call;
  out.refuses = [=](problem const& p) -> std::string {
    if (auto why = beyond_int(p); !why.empty()) return why;
    double const volume = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    if (volume > static_cast<double>(is_call ? largest_call : largest_kernel))
      return is_call ? "above m n k = 64^3 its call hands the product to another BLAS" : "m n k is above 160^3";
    return generate<T>(dispatch, p) == nullptr ? "it generates no code for this product" : "";
  };
  if (is_call)
    out.bind = [f = function<gemm_function<T>>(library, fmt::format("libxsmm_{}gemm", letter))](problem const& p, int) {
      return bind_call<T>(f, p);
    };
  else
    out.bind = [=](problem const& p, int) { return bind_kernel<T>(generate<T>(dispatch, p)); };
}

}  // namespace

subject libxsmm_peer(dtype type, libxsmm_interface interface) {
  subject out;
  auto const library = load_plugin("libxsmm");
  if (!library.loaded()) {
    out.missing = library.error() + "; built where Debian's package libxsmm-dev is";
    return out;
  }
  out.handle = interface == libxsmm_interface::kernel;
  out.threaded = false;
  function<void()>(library, "libxsmm_init")();
  out.about = fmt::format("{}, {}{}", library.get<char const*()>("tandem_plugin_about")(),
                          function<char const*()>(library, "libxsmm_get_target_arch")(),
                          out.handle ? ", function generated beforehand" : "");
  type == dtype::f32 ? fill<float>(out, library, interface) : fill<double>(out, library, interface);
  return out;
}

}  // namespace tandem::bench
