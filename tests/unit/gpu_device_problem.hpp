// A problem of gpu_problems.hpp in device memory, with contents that can be exchanged for others.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <tandem/kernel.hpp>

#include "dispatch/select.hpp"
#include "gpu/runtime/device.hpp"
#include "tests/unit/gpu_problems.hpp"

namespace gpu_problems {

/// Equal bits, NaNs and gaps too.
template <class T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Copies take place on the stream that is named, and are finished on return.
template <class T>
class device_problem {
 public:
  explicit device_problem(shape const& s)
      : k_(s.k), host_(stored(s)), a_(allocate(host_.a)), b_(allocate(host_.b)), c_(allocate(host_.c)) {
    load(0);
  }

  tandem::problem canonical() {
    auto p = host_.canonical();
    p.k = k_;
    p.memory = tandem::memory::device;
    p.a = a_.data(), p.b = b_.data(), p.c = c_.data();
    return p;
  }

  /// Whether `run` is within what the row says that it takes. Rows never see a degenerate problem, so none refuses it.
  bool taken_by(tandem::kernel const& row) {
    auto const p = canonical();
    if (row.operation() != tandem::operation::gemm || !row.refuses) return true;
    return tandem::dispatch::is_degenerate(p) || row.refuses(p).empty();
  }

  /// The product by a row of gemm, or y = alpha x + y by a row of axpy, on the elements of A and C as they lie.
  void run(tandem::kernel const& row, CUstream_st* stream) {
    auto const& s = host_.s;
    auto const where = tandem::memory::device;
    auto const rows = tandem::layout::row_major;
    auto* const a = static_cast<T const*>(a_.data());
    auto* const b = static_cast<T const*>(b_.data());
    auto* const c = static_cast<T*>(c_.data());
    if (row.operation() == tandem::operation::axpy) {
      auto const n = static_cast<std::int64_t>(std::min(host_.a.size(), host_.c.size()));
      tandem::vector_view<T const> const x(a, n, 1, where);
      return axpy_with(row, s.alpha, x, tandem::vector_view<T>(c, n, 1, where), {.stream = stream});
    }
    tandem::matrix_view<T const> a_view(a, s.trans_a ? k_ : s.m, s.trans_a ? s.m : k_, host_.lda, rows, where);
    tandem::matrix_view<T const> b_view(b, s.trans_b ? s.n : k_, s.trans_b ? k_ : s.n, host_.ldb, rows, where);
    if (s.trans_a) a_view = a_view.transposed();
    if (s.trans_b) b_view = b_view.transposed();
    gemm_with(row, a_view, b_view, tandem::matrix_view<T>(c, s.m, s.n, host_.ldc, rows, where),
              {.alpha = s.alpha, .beta = s.beta, .stream = stream});
  }

  /// Operands with contents of a number, in the same memory.
  void load(int contents, CUstream_st* stream = nullptr) {
    copy(a_, host_.a, stream, contents);
    copy(b_, host_.b, stream, contents);
    copy(c_, host_.c, stream, contents);
  }
  /// C as it was first.
  void reset(CUstream_st* stream = nullptr) { copy(c_, host_.c, stream); }

  std::vector<T> result(CUstream_st* stream = nullptr) const {
    std::vector<T> c(host_.c.size());
    tandem::gpu::copy_to_host(c.data(), c_.data(), c_.size(), stream);
    return c;
  }
  std::vector<T> const& before() const { return host_.c; }
  shape const& of() const { return host_.s; }

 private:
  using buffer = tandem::gpu::device_buffer;

  static shape stored(shape s) {
    s.k = std::max<std::int64_t>(s.k, 1);
    return s;
  }
  static buffer allocate(std::vector<T> const& host) { return buffer(host.size() * sizeof(T)); }
  static void copy(buffer const& to, std::vector<T> const& from, CUstream_st* stream, int contents = 0) {
    if (contents == 0) return tandem::gpu::copy_to_device(to.data(), from.data(), to.size(), stream);
    auto values = from;
    for (auto& x : values) x = x * T(contents + 1) - T(contents) / 4;
    tandem::gpu::copy_to_device(to.data(), values.data(), to.size(), stream);
  }

  std::int64_t k_;
  host_problem<T> host_;  // with one step of k at least
  buffer a_, b_, c_;
};

}  // namespace gpu_problems
