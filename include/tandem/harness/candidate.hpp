// A kernel under test, whatever its interface: how the harness calls it, and what its author says about it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <tandem/harness/problem.hpp>
#include <tandem/kernel.hpp>
#include <tandem/types.hpp>

namespace tandem::harness {

/// One product as the kernel under test receives it: sizes, storage and scalars of `test`, and where the operands lie.
/// alpha and beta are values of the element type.
struct gemm_call {
  test_case test;
  void const* a = nullptr;
  void const* b = nullptr;
  void* c = nullptr;
  tandem::memory memory = tandem::memory::host;
  CUstream_st* stream = nullptr;
  int threads = 0;          ///< 0: as many as the kernel likes
  bool conjugated = false;  ///< transposes are said to be conjugate ones, which are the same for real elements
};

/// What a kernel computes in, as its author says. `element`: the element type or better, operands unrounded. The
/// others take f32 operands, round them to that format (tf32: 11 significant bits, f16: 11, bf16: 8) and sum in f32, as
/// tensor cores do.
enum class precision { element, tf32, f16, bf16 };

std::string_view to_string(precision) noexcept;
/// Throws std::invalid_argument for any other word.
precision parse_precision(std::string_view word);

/// Which problems a kernel takes. The harness makes its problems within them, and calls what is outside `unsupported`.
struct limits {
  bool nn = true, nt = true, tn = true, tt = true;  ///< of the canonical problem: C row-major
  bool row_major = true, col_major = true;          ///< of C
  std::int64_t multiple_m = 1, multiple_n = 1, multiple_k = 1;
  std::int64_t alignment = 1;  ///< bytes: of each operand's first element and of its leading dimension
  bool tight = false;          ///< only leading dimensions without gaps
  bool alpha_one = false;      ///< only alpha = 1
  bool beta_zero = false;      ///< only beta = 0
  bool no_empty = false;       ///< not m, n or k = 0
};

/// The limits that a list such as "nn,multiple_of=8,align=16,beta=0" names. Words: nn nt tn tt (those named are all
/// there are), row_major, col_major, multiple_of=N, m_multiple_of=N, n_multiple_of=N, k_multiple_of=N, align=BYTES,
/// tight, alpha=1, beta=0, nonempty. Throws std::invalid_argument with the word that is none.
limits parse_limits(std::string_view text);

/// Why these limits leave t out; empty when they do not.
std::string outside(limits const& l, test_case const& t);

/// The problem nearest to t that the limits allow: sizes rounded up, storage and scalars replaced. Where B is A, the
/// sizes that have to be the same are first cut to the smallest of them, and ldb and B's offset follow A's.
test_case within(limits const& l, test_case t);

/// A kernel under test. It runs in a child process, so what `open` and `run` capture is copied by fork, and what they
/// write is lost with the child.
struct candidate {
  std::string name;
  /// How a replay line names it, all that follows "kernel="; empty: the name.
  std::string spec = {};
  tandem::dtype dtype = tandem::dtype::f32;
  tandem::memory memory = tandem::memory::host;  ///< where it takes its operands
  harness::precision precision = precision::element;
  harness::limits limits = {};
  double flop_budget = 1e9;  ///< the largest problem, in flop, that it gets
  bool spans_far = true;     ///< whether it gets operands that span 2^31 elements and more, most of them gaps
  /// Whether the ladder raises the budget to what the kernel does in 4 seconds, 2e10 flop at most: of functions whose
  /// speed nobody knows before.
  bool budget_follows_speed = false;
  bool threaded = true;  ///< whether `gemm_call::threads` may change anything
  /// Whether it promises that several threads may call it at once, each with a C of its own and, on a device, a stream
  /// of its own. Where it does not, what becomes of such calls is told and not judged.
  bool concurrent = false;

  /// Loads it, in the child, before its first call. Returns why it is not there; empty when it is. Throws
  /// std::exception for what makes no sense, such as a symbol that its library has not got.
  std::function<std::string()> open = {};
  /// Computes the product, finished on return. Returns 0, or the interface's own error code; may throw.
  std::function<int(gemm_call const&)> run = {};
  /// Whether its interface has a conjugate transpose beside the plain one, as CBLAS has.
  bool has_conjugate_transpose = false;
  /// Whether `run` reports a wrong argument (a negative size, a leading dimension too small) by its return value or an
  /// exception, before it writes anything. Where an interface promises nothing of the kind, what becomes of wrong
  /// arguments is told and not judged.
  bool reports_errors = false;
  /// Why it does not take this problem, beyond the limits; unset or empty: it does.
  std::function<std::string(test_case const&)> refuses = {};
  /// Its tiling of a canonical problem. Unset: it does not say.
  std::function<tandem::plan(problem const&)> plan = {};
};

/// A row of the table or of one's own, called through Tandem's dispatch with views of `where`.
candidate candidate_of(kernel const& row, tandem::memory where = tandem::memory::host);

/// Functions with CBLAS's signature. The two integers are CBLAS_LAYOUT and CBLAS_TRANSPOSE.
using cblas_sgemm_function = void(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha,
                                  float const* a, int lda, float const* b, int ldb, float beta, float* c, int ldc);
using cblas_dgemm_function = void(int layout, int trans_a, int trans_b, int m, int n, int k, double alpha,
                                  double const* a, int lda, double const* b, int ldb, double beta, double* c, int ldc);
candidate cblas_candidate(std::string name, std::function<cblas_sgemm_function> f);
candidate cblas_candidate(std::string name, std::function<cblas_dgemm_function> f);

/// Functions on device pointers and a stream: row-major, no transposes, 0 for success.
using cuda_sgemm_function = int(int m, int n, int k, float alpha, float const* a, int lda, float const* b, int ldb,
                                float beta, float* c, int ldc, void* stream);
using cuda_dgemm_function = int(int m, int n, int k, double alpha, double const* a, int lda, double const* b, int ldb,
                                double beta, double* c, int ldc, void* stream);
candidate cuda_candidate(std::string name, std::function<cuda_sgemm_function> f);
candidate cuda_candidate(std::string name, std::function<cuda_dgemm_function> f);

enum class abi { cblas, cuda };

/// A function in a shared object, loaded in the child.
struct library_function {
  std::string path;  ///< as dlopen takes it
  std::string symbol;
  harness::abi abi = abi::cblas;
  tandem::dtype dtype = tandem::dtype::f32;
};

/// The function of "LIB.so:SYMBOL". Its element type is `type`, or what the symbol says ("sgemm", "dgemm"). Throws
/// std::invalid_argument when the text has no symbol, or when neither says the type.
library_function parse_library_function(std::string_view text, harness::abi abi, std::string_view type = {});
candidate library_candidate(library_function const& f);

/// One level, "block", with the edges of "128x128x8". Throws std::invalid_argument for text that is no tile.
std::function<tandem::plan(problem const&)> parse_tile(std::string_view text);

}  // namespace tandem::harness
