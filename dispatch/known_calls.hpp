// Calls of gemm that came before. Beside a tiny product its checks and the choice of a kernel would be felt: so each
// thread keeps what was prepared for the calls that it repeats, and asks only whether their operands are at fit places.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <tandem/gemm.hpp>
#include <tandem/kernel.hpp>
#include <tandem/matrix_view.hpp>

#include "dispatch/select.hpp"

namespace tandem::dispatch {

/// A call on the host, of right arguments that leave the kernel open, but for where the operands lie.
template <class T>
class known_call {
 public:
  known_call(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
             gemm_options const& o, prepared_gemm prepared)
      : m_(c.rows()),
        n_(c.cols()),
        k_(a.cols()),
        lda_(a.ld()),
        ldb_(b.ld()),
        ldc_(c.ld()),
        alpha_(bits(o.alpha)),
        beta_(bits(o.beta)),
        layouts_{a.layout(), b.layout(), c.layout()},
        bytes_c_(bytes(c)),
        apart_from_a_(0 - bytes(a) - bytes_c_),
        apart_from_b_(0 - bytes(b) - bytes_c_),
        prepared_(std::move(prepared)) {}

  /// Whether that call is this one. alpha and beta are compared bit by bit: what is only equal is another call. Each
  /// comparison by itself: all in one would wait for each other.
  bool is(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
          gemm_options const& o) const {
    return c.rows() == m_ && a.rows() == m_ && c.cols() == n_ && b.cols() == n_ && a.cols() == k_ && b.rows() == k_ &&
           a.ld() == lda_ && b.ld() == ldb_ && c.ld() == ldc_ && bits(o.alpha) == alpha_ && bits(o.beta) == beta_ &&
           a.memory() == memory::host && b.memory() == memory::host && c.memory() == memory::host &&
           a.layout() == layouts_[0] && b.layout() == layouts_[1] && c.layout() == layouts_[2] && is_open(o);
  }

  /// Whether operands may be there: not at null, each element at a multiple of its size, C apart from A and B.
  bool takes(T const* a, T const* b, T const* c) const {
    // A remainder comes to the highest bits, and so does what is below zero.
    auto const elements = std::rotr((address(a) - sizeof(T)) | (address(b) - sizeof(T)) | (address(c) - sizeof(T)),
                                    std::countr_zero(sizeof(T)));
    constexpr std::uintptr_t most = std::uintptr_t{1} << 60;
    auto const behind_c = address(c) + bytes_c_;
    return elements < most && address(a) - behind_c <= apart_from_a_ && address(b) - behind_c <= apart_from_b_;
  }

  /// The product on such operands. Throws `tandem::error` where there is no memory.
  void multiply(T const* a, T const* b, T* c) const {
    if (layouts_[2] == layout::col_major) std::swap(a, b);  // C's transpose
    prepared_.call(prepared_.state.get(), a, b, c);
  }

 private:
  static std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
  static std::uintptr_t address(T const* x) { return reinterpret_cast<std::uintptr_t>(x); }
  template <class U>
  static std::uintptr_t bytes(matrix_view<U> const& x) {
    bool const by_rows = x.layout() == layout::row_major;
    std::int64_t const lines = by_rows ? x.rows() : x.cols(), width = by_rows ? x.cols() : x.rows();
    return static_cast<std::uintptr_t>((lines - 1) * x.ld() + width) * sizeof(T);
  }

  std::int64_t m_, n_, k_, lda_, ldb_, ldc_;
  std::uint64_t alpha_, beta_;
  std::array<layout, 3> layouts_;
  // An operand of p bytes begins d bytes behind C, of q, modulo 2^64; they are apart if q <= d <= 2^64 - p.
  std::uintptr_t bytes_c_, apart_from_a_, apart_from_b_;
  prepared_gemm prepared_;
};

/// A thread's; calls that meet in one place push each other out.
template <class T>
class known_calls {
 public:
  /// nullptr: it is not known.
  known_call<T> const* find(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                            gemm_options const& o) const {
    auto const* const call = places_[index(a, b, c, o)].get();
    return call != nullptr && call->is(a, b, c, o) ? call : nullptr;
  }

  /// Whether to remember this call, which is not known: one of so many, since those that do not come again would each
  /// take longer.
  bool is_worth_knowing() { return ++unknown_ % 16 == 0; }

  void remember(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                gemm_options const& o, prepared_gemm prepared) {
    places_[index(a, b, c, o)] = std::make_unique<known_call<T>>(a, b, c, o, std::move(prepared));
  }

 private:
  static constexpr int bits = 10;

  /// Of different calls mostly different.
  static std::size_t index(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                           gemm_options const& o) {
    auto const u = [](auto x) { return static_cast<std::uint32_t>(x); };
    // The highest bits of a sum of multiples modulo 2^32, by odd numbers drawn at random.
    auto const of_c = (u(c.rows()) + 8 * u(c.cols())) * 0x2c1b3c6d;
    auto const of_a = (u(a.cols()) + 8 * u(a.ld())) * 0x165667b1;
    auto const apart = (u(b.ld()) + 8 * u(c.ld())) * 0x5bd1e995;
    auto const rest =
        (u(a.layout()) + 2 * u(b.layout()) + 4 * u(std::bit_cast<std::uint64_t>(o.beta) >> 52)) * 0x7feb352d;
    return ((of_c + of_a) + (apart + rest)) >> (32 - bits);
  }

  std::array<std::unique_ptr<known_call<T>>, std::size_t{1} << bits> places_ = {};
  unsigned unknown_ = 0;
};

}  // namespace tandem::dispatch
