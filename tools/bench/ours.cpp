// The plain calls and the rows, bound to a problem.
#include "tools/bench/ours.hpp"

#include <omp.h>

#include <algorithm>

#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"

namespace tandem::bench {
namespace {

template <class T>
matrix_view<T> view(T* data, std::int64_t height, std::int64_t width, std::int64_t ld, bool trans, memory where) {
  return trans ? matrix_view<T>(data, width, height, ld, layout::row_major, where).transposed()
               : matrix_view<T>(data, height, width, ld, layout::row_major, where);
}

template <class T, class Multiply>
gemm_call on_views(problem const& p, memory where, Multiply const& multiply) {
  gemm_options const options{.alpha = p.alpha, .beta = p.beta};
  return [=](void const* a, void const* b, void* c) {
    multiply(view(static_cast<T const*>(a), p.m, p.k, p.lda, p.trans_a, where),
             view(static_cast<T const*>(b), p.k, p.n, p.ldb, p.trans_b, where),
             view(static_cast<T*>(c), p.m, p.n, p.ldc, false, where), options);
  };
}

template <class Multiply>
gemm_call on_views(problem const& p, memory where, Multiply const& multiply) {
  return p.dtype == dtype::f32 ? on_views<float>(p, where, multiply) : on_views<double>(p, where, multiply);
}

template <class T, class Add>
axpy_call on_vectors(axpy_problem const& p, memory where, Add const& add) {
  return [=](void const* x, void* y) {
    add(p.alpha, vector_view<T const>(static_cast<T const*>(x), p.n, p.stride_x, where),
        vector_view<T>(static_cast<T*>(y), p.n, p.stride_y, where));
  };
}

template <class Add>
axpy_call on_vectors(axpy_problem const& p, memory where, Add const& add) {
  return p.dtype == dtype::f32 ? on_vectors<float>(p, where, add) : on_vectors<double>(p, where, add);
}

}  // namespace

subject plain_call(memory where) {
  subject s;
  bool const on_host = where == memory::host;
  s.name = on_host ? "tandem" : "tandem_gpu";
  s.ours = true;
  s.device = !on_host;
  s.threaded = on_host;
  s.about = "Tandem " + std::string(version());
  if (!on_host) s.missing = gpu::unavailable();
  // The public call has no number of threads: it takes what OpenMP offers to its caller.
  if (on_host) s.set_threads = [](int threads) { omp_set_num_threads(threads); };
  s.bind = [where](problem const& p, int) {
    return on_views(p, where,
                    [](auto const& a, auto const& b, auto const& c, gemm_options const& o) { gemm(a, b, c, o); });
  };
  s.bind_axpy = [where](axpy_problem const& p, int) {
    return on_vectors(p, where, [](double alpha, auto x, auto y) { axpy(alpha, x, y); });
  };
  return s;
}

namespace {

template <class T>
gemm_call planned(problem const& p) {
  auto const at = memory::host;
  gemm_plan<T> const plan(view(static_cast<T const*>(nullptr), p.m, p.k, p.lda, p.trans_a, at),
                          view(static_cast<T const*>(nullptr), p.k, p.n, p.ldb, p.trans_b, at),
                          view(static_cast<T*>(nullptr), p.m, p.n, p.ldc, false, at),
                          {.alpha = p.alpha, .beta = p.beta});
  return [plan](void const* a, void const* b, void* c) {
    plan(static_cast<T const*>(a), static_cast<T const*>(b), static_cast<T*>(c));
  };
}

}  // namespace

subject plan_handle() {
  auto s = plain_call();
  s.name = "tandem_plan";
  s.handle = true;
  s.bind = [](problem const& p, int) { return p.dtype == dtype::f32 ? planned<float>(p) : planned<double>(p); };
  s.bind_axpy = {};
  return s;
}

subject row_subject(kernel const& row) {
  subject s;
  s.name = row.name;
  s.ours = row.backend == backend::cpu || row.backend == backend::gpu || row.backend == backend::simt;
  s.device = row.device;
  s.threaded = row.threaded;
  auto const infos = kernels();
  s.missing = std::ranges::find(infos, row.name, &kernel_info::name)->reason;
  s.refuses = row.refuses;
  auto const where = row.device ? memory::device : memory::host;
  if (row.operation() == operation::gemm)
    s.bind = [&row, where](problem const& p, int threads) {
      return on_views(p, where, [&row, threads](auto a, auto b, auto c, gemm_options const& o) {
        gemm_with(row, a, b, c, o, threads);
      });
    };
  else
    s.bind_axpy = [&row, where](axpy_problem const& p, int threads) {
      return on_vectors(p, where,
                        [&row, threads](double alpha, auto x, auto y) { axpy_with(row, alpha, x, y, {}, threads); });
    };
  return s;
}

}  // namespace tandem::bench
