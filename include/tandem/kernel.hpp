// A kernel's descriptor: what every kernel, ours or a user's, says about itself, and how one is called.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tandem/axpy.hpp>
#include <tandem/gemm.hpp>
#include <tandem/types.hpp>

namespace tandem {

/// The canonical problem that every GEMM kernel sees: C (m x n, row-major) = alpha op(A) op(B) + beta C with
/// m, n, k >= 1 and alpha != 0. op(A) is m x k: element (i, p) is a[i * lda + p], or a[p * lda + i] if trans_a;
/// op(B) is k x n: element (p, j) is b[p * ldb + j], or b[j * ldb + p] if trans_b. Leading dimensions in elements.
struct problem {
  tandem::dtype dtype = tandem::dtype::f32;
  tandem::memory memory = tandem::memory::host;  ///< of all three operands
  std::int64_t m = 0, n = 0, k = 0;
  double alpha = 1;  ///< a value of the element type
  void const* a = nullptr;
  std::int64_t lda = 0;
  bool trans_a = false;
  void const* b = nullptr;
  std::int64_t ldb = 0;
  bool trans_b = false;
  double beta = 0;  ///< a value of the element type; 0: C must not be read
  void* c = nullptr;
  std::int64_t ldc = 0;
};

/// y[i * stride_y] = fma(alpha, x[i * stride_x], y[i * stride_y]) for 0 <= i < n, n >= 1, alpha != 0, stride_y != 0.
struct axpy_problem {
  tandem::dtype dtype = tandem::dtype::f32;
  tandem::memory memory = tandem::memory::host;
  std::int64_t n = 0;
  double alpha = 1;
  void const* x = nullptr;
  std::int64_t stride_x = 1;
  void* y = nullptr;
  std::int64_t stride_y = 1;
};

/// An axpy in host memory by the calling thread; the arguments are those of an `axpy_problem`.
template <class T>
using host_axpy = void (*)(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y);

/// How a kernel is to run: on which stream (device memory), on how many threads (host; 0: as many as OpenMP offers),
/// and whether its bits must not depend on their number.
struct execution {
  CUstream_st* stream = nullptr;
  int threads = 0;
  bool reproducible = true;
};

/// What `run` throws when the kernel was watched and did what it must not, such as a race, whatever its numbers are. It
/// has run to its end.
class kernel_defect : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One level of a tiling: the problem's share that one unit of this level works on. An edge of 0 means that the
/// dimension is not cut at this level.
struct tile_level {
  std::string name = {};  ///< "block", "warp", "thread"; "jc", "pc", "ic", "register"
  std::int64_t m = 0, n = 0, k = 0;
  std::string memory = {};  ///< where the tile's operands are kept: "L2", "shared", "registers", …
  bool keeps_c = false;     ///< C's part stays where it is while this level steps through k
};

/// The tiling of one problem, outermost level first; no levels when a kernel does not say.
struct plan {
  std::vector<tile_level> levels = {};
};

/// A problem that a row has prepared: `call(state, a, b, c)` computes it on these operands. Throws `tandem::error`
/// where there is no memory.
struct prepared_gemm {
  void (*call)(void const* state, void const* a, void const* b, void* c) = nullptr;
  std::shared_ptr<void const> state = {};
};

/// One row of the table.
struct kernel {
  std::string name = {};  ///< backend.technique.dtype[.tile]
  tandem::backend backend = tandem::backend::automatic;
  tandem::dtype dtype = tandem::dtype::f32;
  bool host = true;          ///< takes operands in host memory
  bool device = false;       ///< takes operands in device memory
  bool threaded = false;     ///< obeys `execution.threads`; otherwise it runs on one thread of the host
  bool concurrent = false;   ///< several threads may call `run` at once, each with a C of its own
  double flop_budget = 1e9;  ///< the largest problem, in flop, that a default check gives this kernel

  /// Why this machine cannot run it; empty when it can. Unset: it always can.
  std::function<std::string()> unavailable = {};
  /// Why it does not take this problem; empty when it does. Unset: it takes every problem.
  std::function<std::string(problem const&)> refuses = {};
  /// Computes the problem. Host operands: finished on return. Device operands: enqueued on the stream.
  std::function<void(problem const&, execution const&)> run = {};
  /// Its tiling for this problem. Unset: it does not say.
  std::function<tandem::plan(problem const&)> plan = {};
  /// An estimate of its time, comparable within a backend; dispatch takes the cheapest row that is available and
  /// takes the problem. Unset: dispatch takes it only when it is named.
  std::function<double(problem const&)> cost = {};

  /// Prepares the problem for `gemm_plan`, and for calls of `gemm` that come again, its operands' addresses apart;
  /// without a call where `run` does as well.
  /// Unset: it has nothing to prepare.
  std::function<prepared_gemm(problem const&)> prepare = {};

  /// Computes an axpy instead; a row has either `run` or `run_axpy`.
  std::function<void(axpy_problem const&, execution const&)> run_axpy = {};
  /// The same for n up to `most_at_once`: beside a short vector an `axpy_problem` would be felt. Unset: `run_axpy`
  /// does as well.
  std::variant<std::monostate, host_axpy<float>, host_axpy<double>> axpy_at_once = {};
  std::int64_t most_at_once = 0;  ///< elements

  tandem::operation operation() const noexcept { return run_axpy ? operation::axpy : operation::gemm; }
  /// The second part of the name.
  std::string technique() const;
};

/// What a backend says about itself; dispatch sees nothing else of it. Made once and never destroyed, as all that a
/// product needs: destructors of a program's static objects may multiply, too.
struct backend_descriptor {
  tandem::backend backend = tandem::backend::automatic;
  /// Why this machine has not got it; empty when it has.
  std::function<std::string()> unavailable = {};
  /// What stands behind it: a compiler, library or device with its version.
  std::function<std::string()> version = {};
  /// C = beta C, written without being read if beta = 0: what is left of a product when k = 0 or alpha = 0. Only the
  /// problem's c, ldc, m, n, beta, dtype and memory are valid. Set by the one backend that owns each memory.
  std::function<void(problem const&, execution const&)> scale = {};
  std::vector<tandem::kernel> kernels = {};
};

/// Every row of the table, GEMM and axpy, in the order of `kernels()`.
std::vector<kernel> const& kernel_table();

/// The row with this full name; nullptr when there is none.
kernel const* find_kernel(std::string_view name);

/// The row that `gemm` takes for this canonical problem, never null; throws as `gemm` does when there is none.
kernel const* select_kernel(problem const& p, gemm_options const& options = {});

/// `gemm` with this row, which need not be in the table: the same checks, degenerate cases and canonical problem.
/// `options.backend` and `options.kernel` are not read. Throws `errc::unavailable` or `errc::unsupported` as well.
void gemm_with(kernel const& row, matrix_view<float const> a, matrix_view<float const> b, matrix_view<float> c,
               gemm_options const& options = {}, int threads = 0);
void gemm_with(kernel const& row, matrix_view<double const> a, matrix_view<double const> b, matrix_view<double> c,
               gemm_options const& options = {}, int threads = 0);

/// `axpy` with this row.
void axpy_with(kernel const& row, double alpha, vector_view<float const> x, vector_view<float> y,
               axpy_options const& options = {}, int threads = 0);
void axpy_with(kernel const& row, double alpha, vector_view<double const> x, vector_view<double> y,
               axpy_options const& options = {}, int threads = 0);

}  // namespace tandem
