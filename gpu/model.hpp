// What dispatch believes about a row's speed: a few numbers a row, fitted to measurements by `tandem tune`, and the
// estimate made of them (docs/gpu-ladder.md, "Which kernel a call takes").
#pragma once

#include <array>
#include <span>
#include <string_view>

#include <tandem/kernel.hpp>

#include "gpu/row.hpp"

namespace tandem::gpu {

/// Times in microseconds. "Its blocks" are those that a multiprocessor holds at once.
struct row_model {
  double rate = 0.5;       ///< of a multiprocessor with all its blocks, as a share of `peak_rate`
  double alone = 0.5;      ///< the part of that which it reaches with one block
  double blocks = 2;       ///< that a multiprocessor holds at once; a whole number
  double tail = 1;         ///< how much of a block counts that a last round lacks: 1 all of it, 0 nothing
  double call = 3;         ///< of a call, whatever it computes
  double second = 3;       ///< more where a second kernel adds up
  double copy = 3;         ///< more where operands are copied first
  double strip = 3;        ///< more for each strip of C that has a kernel of its own
  double round = 1;        ///< of a round of blocks besides its multiply-adds
  double chunk = 0;        ///< likewise of each of its chunks of k, whose operands come from afar
  double along_k_a = 1;    ///< factor on the time of multiplying and moving where A is contiguous in k
  double along_k_b = 1;    ///< likewise B
  double unaligned_a = 1;  ///< where 16-byte copies cannot read A
  double unaligned_b = 1;  ///< likewise B
  double both_a = 1;       ///< one more where both hold for A
  double both_b = 1;       ///< likewise B
  double write = 0;        ///< of C's bytes at `far_rate`, how much is not hidden behind the rest
  double unaligned_c = 1;  ///< the same where 16-byte stores cannot write C
  double near = 1;         ///< rate of what a call leaves in the L2 cache for itself, as a share of `near_rate`
  double far = 1;          ///< rate of operands, as a share of `far_rate`
  double padding = 0;      ///< how much of a chunk of k counts that k does not fill
};

/// The units of a row_model's rates, an H200's: multiply-adds of a multiprocessor in a microsecond, and bytes of all.
constexpr double peak_rate(dtype type) { return type == dtype::f64 ? 127e3 : 253e3; }
inline constexpr double near_rate = 6e6, far_rate = 4e6;

/// A row_model's numbers by name, with the range that a fit looks at. In the order of the members.
struct parameter {
  char const* name;
  double row_model::*member;
  double least, most;
};
std::span<parameter const> parameters();

/// Whether all numbers are finite and lie in their ranges.
bool is_valid(row_model const& m);

/// A row_model made ready for a row and a device.
class estimator {
 public:
  estimator(gemm_row const& row, row_model const& m);
  /// Microseconds, about, on a device with so many multiprocessors. Reads no operand; of their addresses it looks at
  /// the alignment.
  double operator()(problem const& p, int multiprocessors) const;
  /// By which dispatch compares rows: the estimate, but of a C of one line with a k of 64 or more the row that is made
  /// for lines goes first. It was within a tenth of the best on all of 106 such shapes measured, closer than estimates
  /// are.
  double cost(problem const& p, int multiprocessors) const {
    constexpr double last = 2;
    return (gives_way(p) ? last : 1) * (*this)(p, multiprocessors);
  }
  /// Whether the problem is left to the row that is made for lines.
  bool gives_way(problem const& p) const {
    constexpr std::int64_t long_k = 64;
    return (p.m == 1 || p.n == 1) && p.k >= long_k && !row_->one_line;
  }

 private:
  gemm_row const* row_;
  row_model m_;
  double per_bm_, per_bn_, bk_, per_bk_;
  double per_strip_step_;        ///< of a row's step of k in a strip, on one multiprocessor
  double per_step_;              ///< of a tile's step of k on a multiprocessor with all its blocks
  std::array<double, 4> a_, b_;  ///< factors by 2 along_k + unaligned
  double per_near_byte_, per_far_byte_;
};

/// The numbers measured on an H200; nullptr: none, and dispatch takes the row only when it is named. `row` is a
/// kernel's name without its backend: "persistent.f32.128x256x8".
row_model const* built_in_model(std::string_view row);
/// What they were measured on.
std::string_view built_in_device();

}  // namespace tandem::gpu
