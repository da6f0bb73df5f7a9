// gemm: check, canonicalise, settle the degenerate cases, choose a row, run it.
#include <tandem/gemm.hpp>
#include <tandem/gemm_plan.hpp>

#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <tandem/error.hpp>
#include <tandem/kernel.hpp>
#include <tandem/thread_own.hpp>

#include "dispatch/check.hpp"
#include "dispatch/known_calls.hpp"
#include "dispatch/select.hpp"
#include "dispatch/table.hpp"

namespace tandem {
namespace {

template <class T>
dispatch::matrix_operand erase(matrix_view<T> const& v) {
  return {v.data(), v.rows(), v.cols(), v.ld(), v.layout(), v.memory()};
}

// alpha or beta as a value of the element type. It goes through memory, because g++ 12.2 at -O2 drops the rounding
// where it vectorises two of them: double -> float -> double becomes nothing.
template <class T>
double rounded(double x) {
  if (x == 0 || x == 1) return x;  // what nearly every call says
  T volatile const value = static_cast<T>(x);
  return static_cast<double>(value);
}

// Row-major C; where C is column-major, C^T = B^T A^T is the same product with a row-major result.
template <class T>
problem canonical(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                  gemm_options const& options) {
  if (c.layout() == layout::col_major) return canonical<T>(b.transposed(), a.transposed(), c.transposed(), options);
  auto const beta = rounded<T>(options.beta);
  return {.dtype = dtype_of<T>,
          .memory = c.memory(),
          .m = c.rows(),
          .n = c.cols(),
          .k = a.cols(),
          .alpha = rounded<T>(options.alpha),
          .a = a.data(),
          .lda = a.ld(),
          .trans_a = a.layout() == layout::col_major,
          .b = b.data(),
          .ldb = b.ld(),
          .trans_b = b.layout() == layout::col_major,
          // cuBLAS 13.1 reads C where beta is -0.
          .beta = beta == 0 ? 0 : beta,
          .c = c.data(),
          .ldc = c.ld()};
}

// True when no product is left to compute; C = beta C is done here.
bool settle_degenerate(problem const& p, execution const& how) {
  if (!dispatch::is_degenerate(p)) return false;
  if (p.m != 0 && p.n != 0 && p.beta != 1)
    dispatch::find_backend(p.memory == memory::host ? backend::cpu : backend::gpu).scale(p, how);
  return true;
}

/// The bytes of a matrix with elements.
struct extent {
  static constexpr std::uint64_t most = std::uint64_t{1} << 29;  // so that their product is far below 2^64
  extent(void const* data, std::int64_t lines, std::int64_t width, std::int64_t ld, std::size_t size)
      : begin(reinterpret_cast<std::uintptr_t>(data)) {
    auto const n = static_cast<std::uint64_t>(lines), w = static_cast<std::uint64_t>(width);
    auto const apart = static_cast<std::uint64_t>(ld);
    sizes = (n - 1) | (w - 1) | (apart - w);  // what is below zero is beyond everything, too
    end = begin + ((n - 1) * apart + w) * size;
  }
  bool is_apart_from(extent const& other) const { return end <= other.begin || other.end <= begin; }
  std::uint64_t sizes;  // no less than any of three
  std::uintptr_t begin, end;
};

template <class T>
extent extent_of(matrix_view<T> const& x) {
  bool const by_rows = x.layout() == layout::row_major;
  return {x.data(), by_rows ? x.rows() : x.cols(), by_rows ? x.cols() : x.rows(), x.ld(), sizeof(T)};
}

/// Whether the operands have elements, of a number that is not large, and lie apart.
bool are_plain(extent const& a, extent const& b, extent const& c, std::size_t size) {
  return (a.sizes | b.sizes | c.sizes) < extent::most && (a.begin | b.begin | c.begin) % size == 0 && a.begin != 0 &&
         a.begin < a.end && b.begin != 0 && b.begin < b.end && c.begin != 0 && c.begin < c.end && c.is_apart_from(a) &&
         c.is_apart_from(b);
}

// What nearly every call is, said quickly: beside a small product the checks that have messages would be felt.
template <class T>
bool is_plainly_right(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c) {
  return ((a.cols() ^ b.rows()) | (c.rows() ^ a.rows()) | (c.cols() ^ b.cols())) == 0 && a.memory() == b.memory() &&
         a.memory() == c.memory() && are_plain(extent_of(a), extent_of(b), extent_of(c), sizeof(T));
}

/// A matrix of one line, whose leading dimension is nobody's and may be so large that it times an element's size is no
/// number of 64 bits, as if the next one followed.
template <class T>
matrix_view<T> with_near_lines(matrix_view<T> const& x) {
  bool const by_rows = x.layout() == layout::row_major;
  if ((by_rows ? x.rows() : x.cols()) != 1) return x;
  return {x.data(), x.rows(), x.cols(), by_rows ? x.cols() : x.rows(), x.layout(), x.memory()};
}

template <class T>
problem checked(bool is_plain, matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                gemm_options const& options) {
  if (is_plain) return canonical<T>(a, b, c, options);
  dispatch::check_gemm(erase(a), erase(b), erase(c), dtype_of<T>);
  return canonical<T>(with_near_lines(a), with_near_lines(b), with_near_lines(c), options);
}

template <class T>
problem checked(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                gemm_options const& options) {
  return checked<T>(is_plainly_right<T>(a, b, c), a, b, c, options);
}

execution execution_of(gemm_options const& options, int threads = 0) {
  return {.stream = options.stream, .threads = threads, .reproducible = options.reproducible};
}

// Memory that is not there is an error like any other. Where there is none for what it says either, it says nothing.
[[noreturn]] void throw_no_memory(std::string_view who, problem const& p) {
  try {
    throw error(errc::out_of_memory, fmt::format("{}: no memory for {} x {} x {}", who, p.m, p.n, p.k));
  } catch (std::bad_alloc const&) {
    throw error(errc::out_of_memory, "");
  }
}

void run(kernel const& row, problem const& p, execution const& how) {
  try {
    if (!settle_degenerate(p, how)) row.run(p, how);
  } catch (std::bad_alloc const&) {
    throw_no_memory(row.name, p);
  }
}

kernel const& chosen(problem const& p, gemm_options const& options) {
  try {
    return *select_kernel(p, options);
  } catch (std::bad_alloc const&) {
    throw_no_memory("choosing a kernel", p);
  }
}

/// Perhaps the call that was just computed is known from now on. Not where there is no memory for that.
template <class T>
void remember(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
              gemm_options const& options, problem const& p, kernel const& row) {
  if (!row.prepare || dispatch::is_degenerate(p)) return;
  try {
    auto* const calls = thread_own<dispatch::known_calls<T>>();
    if (calls == nullptr || !calls->is_worth_knowing()) return;
    auto prepared = row.prepare(p);
    if (prepared.call) calls->remember(a, b, c, options, std::move(prepared));
  } catch (std::bad_alloc const&) {
  }
}

template <class T>
[[gnu::noinline]] void multiply_any(matrix_view<T const> const& a, matrix_view<T const> const& b,
                                    matrix_view<T> const& c, gemm_options const& options) {
  bool const is_right = is_plainly_right<T>(a, b, c);
  problem const p = checked<T>(is_right, a, b, c, options);
  auto const& row = chosen(p, options);
  run(row, p, execution_of(options));
  if (is_right && c.memory() == memory::host && dispatch::is_open(options)) remember<T>(a, b, c, options, p, row);
}

template <class T>
void multiply(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
              gemm_options const& options) {
  if (auto const* const calls = made_thread_own<dispatch::known_calls<T>>()) {
    auto const* const known = calls->find(a, b, c, options);
    if (known != nullptr && known->takes(a.data(), b.data(), c.data()))
      return known->multiply(a.data(), b.data(), c.data());
  }
  multiply_any<T>(a, b, c, options);
}

template <class T>
void multiply_with(kernel const& row, matrix_view<T const> a, matrix_view<T const> b, matrix_view<T> c,
                   gemm_options const& options, int threads) {
  problem const p = checked<T>(a, b, c, options);
  dispatch::check_row(row, operation::gemm, dtype_of<T>, p.memory);
  bool const may_refuse = row.refuses && !dispatch::is_degenerate(p);
  if (auto reason = may_refuse ? row.refuses(p) : std::string(); !reason.empty())
    throw error(errc::unsupported, fmt::format("{}: {}", row.name, reason));
  run(row, p, execution_of(options, threads));
}

/// Where no row prepares more: the canonical problem and its row.
struct settled {
  problem p;
  kernel const* row;
  execution how;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<settled const*>(state);
    auto p = s.p;
    p.a = a, p.b = b, p.c = c;
    run(*s.row, p, s.how);
  }
};

/// The view on memory that is never read, so that the checks find it whole and apart from the others: each in a quarter
/// of the address space of its own.
template <class T>
matrix_view<T> placed(matrix_view<T> const& x, std::uintptr_t quarter) {
  auto* const data = reinterpret_cast<T*>((quarter << 62) + 4096);
  return {data, x.rows(), x.cols(), x.ld(), x.layout(), x.memory()};
}

}  // namespace

template <class T>
gemm_plan<T>::gemm_plan(matrix_view<T const> a, matrix_view<T const> b, matrix_view<T> c, gemm_options const& options)
    : swapped_(c.layout() == layout::col_major) {
  problem const p = checked<T>(placed(a, 0), placed(b, 1), placed(c, 2), options);
  auto const& row = chosen(p, options);
  try {
    prepared_gemm prepared = row.prepare && !dispatch::is_degenerate(p) ? row.prepare(p) : prepared_gemm();
    if (!prepared.call)
      prepared = {settled::call, std::make_shared<settled const>(settled{p, &row, execution_of(options)})};
    call_ = prepared.call;
    state_ = std::move(prepared.state);
  } catch (std::bad_alloc const&) {
    throw_no_memory("a plan", p);
  }
}

template class gemm_plan<float>;
template class gemm_plan<double>;

void gemm(matrix_view<float const> const& a, matrix_view<float const> const& b, matrix_view<float> const& c,
          gemm_options const& options) {
  multiply<float>(a, b, c, options);
}

void gemm(matrix_view<double const> const& a, matrix_view<double const> const& b, matrix_view<double> const& c,
          gemm_options const& options) {
  multiply<double>(a, b, c, options);
}

void gemm_with(kernel const& row, matrix_view<float const> a, matrix_view<float const> b, matrix_view<float> c,
               gemm_options const& options, int threads) {
  multiply_with<float>(row, a, b, c, options, threads);
}

void gemm_with(kernel const& row, matrix_view<double const> a, matrix_view<double const> b, matrix_view<double> c,
               gemm_options const& options, int threads) {
  multiply_with<double>(row, a, b, c, options, threads);
}

}  // namespace tandem
