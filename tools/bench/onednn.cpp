// oneDNN's dnnl_sgemm: row-major, float, 64-bit sizes, OpenMP's threads. It generates its code at run time.
#include <fmt/format.h>

#include <cstdint>

#include "tools/bench/named_peers.hpp"
#include "tools/bench/shared_object.hpp"

namespace tandem::bench {
namespace {

using sgemm = int(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                  float const* a, std::int64_t lda, float const* b, std::int64_t ldb, float beta, float* c,
                  std::int64_t ldc);

struct dnnl_version {
  int major, minor, patch;
};

std::string about(shared_object const& library) {
  auto const& v = *library.get<dnnl_version const*()>("dnnl_version")();
  auto const isa = library.get<int()>("dnnl_get_effective_cpu_isa")();
  return fmt::format("oneDNN {}.{}.{} (dnnl_sgemm), {}", v.major, v.minor, v.patch,
                     library.get<char const*(int)>("dnnl_cpu_isa2str")(isa));
}

}  // namespace

subject onednn_peer(dtype type) {
  subject out;
  if (type != dtype::f32) {
    out.missing = "it multiplies in float only";
    return out;
  }
  shared_object const library({"libdnnl.so.3", "libdnnl.so.2"});
  if (!library.loaded()) {
    out.missing = library.error() + "; Debian's package libdnnl2 brings it";
    return out;
  }
  out.about = about(library);
  out.set_threads = thread_control(library);
  out.bind = [f = library.get<sgemm>("dnnl_sgemm")](problem const& p, int) -> gemm_call {
    return [=, ta = p.trans_a ? 'T' : 'N', tb = p.trans_b ? 'T' : 'N', alpha = static_cast<float>(p.alpha),
            beta = static_cast<float>(p.beta), m = p.m, n = p.n, k = p.k, lda = p.lda, ldb = p.ldb,
            ldc = p.ldc](void const* a, void const* b, void* c) {
      f(ta, tb, m, n, k, alpha, static_cast<float const*>(a), lda, static_cast<float const*>(b), ldb, beta,
        static_cast<float*>(c), ldc);
    };
  };
  return out;
}

}  // namespace tandem::bench
