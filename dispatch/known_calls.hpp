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

  /// Whether that call is this one. alpha and beta are compared bit by bit: what is only equal is another call.
  bool is(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
          gemm_options const& o) const {
    auto const sizes =
        (c.rows() ^ m_) | (a.rows() ^ m_) | (c.cols() ^ n_) | (b.cols() ^ n_) | (a.cols() ^ k_) | (b.rows() ^ k_);
    auto const apart = (a.ld() ^ lda_) | (b.ld() ^ ldb_) | (c.ld() ^ ldc_);
    auto const factors = (bits(o.alpha) ^ alpha_) | (bits(o.beta) ^ beta_);
    auto const memories = static_cast<unsigned>(a.memory()) | static_cast<unsigned>(b.memory()) |
                          static_cast<unsigned>(c.memory());  // none but the host's
    return (sizes | apart) == 0 && factors == 0 && memories == 0 && a.layout() == layouts_[0] &&
           b.layout() == layouts_[1] && c.layout() == layouts_[2] && is_open(o);
  }

  /// Whether operands may be there: not at null, each element at a multiple of its size, C apart from A and B.
  bool takes(T const* a, T const* b, T const* c) const {
    constexpr std::uintptr_t highest = std::uintptr_t{1} << 62;
    auto const of_a = address(a), of_b = address(b), of_c = address(c);
    return ((of_a - 1) | (of_b - 1) | (of_c - 1)) < highest && (of_a | of_b | of_c) % sizeof(T) == 0 &&
           of_a - of_c - bytes_c_ <= apart_from_a_ && of_b - of_c - bytes_c_ <= apart_from_b_;
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
    auto const mark = mark_of(a, b, c, o);
    auto const& place = places_[index(mark)];
    return place.mark == mark && place.call->is(a, b, c, o) ? place.call.get() : nullptr;
  }

  /// Whether to remember this call, which is not known: one of so many, since those that do not come again would each
  /// take longer.
  bool is_worth_knowing() { return ++unknown_ % 16 == 0; }

  void remember(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                gemm_options const& o, prepared_gemm prepared) {
    auto const mark = mark_of(a, b, c, o);
    auto& place = places_[index(mark)];
    place.call = std::make_unique<known_call<T>>(a, b, c, o, std::move(prepared));
    place.mark = mark;
  }

 private:
  static constexpr int bits = 10;
  static std::size_t index(std::uint64_t mark) { return mark >> (64 - bits); }

  /// Of different calls mostly different, and never 0.
  static std::uint64_t mark_of(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c,
                               gemm_options const& o) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    auto const u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    auto const sizes = u(c.rows()) + (u(c.cols()) << 10) + (u(a.cols()) << 20);
    auto const apart = (u(a.ld()) << 30) + (u(b.ld()) << 40) + (u(c.ld()) << 50);
    auto const rest = static_cast<unsigned>(a.layout()) + 2 * static_cast<unsigned>(b.layout()) +
                      (std::bit_cast<std::uint64_t>(o.beta) >> 52);
    return ((sizes + apart + rest) * spread) | 1;
  }

  struct kept {
    std::uint64_t mark = 0;  // of its call; 0: there is none
    std::unique_ptr<known_call<T>> call = {};
  };
  std::array<kept, std::size_t{1} << bits> places_ = {};
  unsigned unknown_ = 0;
};

}  // namespace tandem::dispatch
