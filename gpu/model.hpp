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
  double rate = 0.5;        ///< of a multiprocessor with all its blocks, as a share of `peak_rate`
  double alone = 0.5;       ///< the part of that which it reaches with one block
  double blocks = 2;        ///< that a multiprocessor holds at once; a whole number
  double tail = 1;          ///< how much of a block counts that a last round lacks: 1 all of it, 0 nothing
  double call = 3;          ///< of a call, whatever it computes
  double second = 3;        ///< more where a second kernel adds up
  double copy = 3;          ///< more where operands are copied first
  double strip = 3;         ///< more for each strip of C that has a kernel of its own
  double line = 3;          ///< the same where the strip is one row or column, or computed beside the tiles
  double round = 1;         ///< of a round of blocks besides its multiply-adds
  double chunk = 0;         ///< likewise of each of its chunks of k, whose operands come from afar
  double along_k_a = 1;     ///< factor on the time of multiplying and moving where A is contiguous in k
  double along_k_b = 1;     ///< likewise B
  double both_along_k = 1;  ///< one more where both are, neither of them a copy
  double unaligned_a = 1;   ///< where A is brought element by element
  double unaligned_b = 1;   ///< likewise B
  double sector_a = 1;  ///< where it is not, but its lines do not begin at multiples of 32 bytes, the cache's sectors
  double sector_b = 1;  ///< likewise B
  double both_a = 1;    ///< one more where A is contiguous in k and brought element by element
  double both_b = 1;    ///< likewise B
  double write = 0;     ///< of C's bytes at `far_rate`, how much is not hidden behind the rest
  double unaligned_c = 1;  ///< the same where 16-byte stores cannot write C, or C lies on its side
  double near = 1;         ///< rate of what a call leaves in the L2 cache for itself, as a share of `near_rate`
  double far = 1;          ///< rate of operands, as a share of `far_rate`
  double padding = 0;      ///< how much of a chunk of k counts that k does not fill
  double overhang = 1;     ///< factor where tiles hang over an edge of an operand that is not a copy
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

/// What a row does with a problem, whatever its numbers: all that the estimate asks of the kernel's own functions.
struct row_work {
  double size = 0;               ///< bytes of an element
  double m = 0, n = 0, k = 0;    ///< of the problem, with C on its side where the kernel has it so
  double tiles = 0, slices = 1;  ///< of C, without its strips, and of k
  double tiles_down = 1;         ///< below each other, that a block computes in place of each of `tiles`
  double tile_share = 1;         ///< of a tile that its block computes
  bool is_cut = false;           ///< elements of C are put together from several blocks' sums
  bool is_even = false;          ///< of shares of one size
  /// Of blocks that stay on their multiprocessor, 0 if none do: how many there are; of the one with most to do, chunks
  /// of k and tiles, parts counting as tiles; and the bytes of all parts.
  double blocks = 0, chunks = 0, stretches = 0, parts = 0;
  double copied = 0;                  ///< bytes of operands that are copied first
  int form_a = 0, form_b = 0;         ///< places in the estimator's factors, of what the kernel takes for A and B
  double filled_a = 1, filled_b = 1;  ///< of the tiles' rows, and of their columns, how many are C's
  bool both_along_k = false, overhang = false, unaligned_c = false;
  struct strip {
    double width = 0, length = 0;  ///< of C
    bool beside = false;           ///< computed while the tiles are
  };
  std::array<strip, 2> strips = {};
};
row_work work_of(gemm_row const& row, problem const& p);

/// A row_model made ready for a row and a device.
class estimator {
 public:
  estimator(gemm_row const& row, row_model const& m);
  /// Microseconds, about, on a device with so many multiprocessors. Reads no operand; of their addresses it looks at
  /// the alignment.
  double operator()(problem const& p, int multiprocessors) const { return (*this)(work_of(*row_, p), multiprocessors); }
  double operator()(row_work const& work, int multiprocessors) const;
  /// By which dispatch compares rows: the estimate, but of a C of one line with a k of 64 or more the row that is made
  /// for lines goes first. It was within a tenth of the best on all of 106 such shapes measured, closer than estimates
  /// are.
  double cost(problem const& p, int multiprocessors) const { return handicap(p) * (*this)(p, multiprocessors); }
  double handicap(problem const& p) const { return gives_way(p) ? 1e3 : 1; }
  /// Whether the problem is left to the row that is made for lines, and whether this is that row.
  bool gives_way(problem const& p) const { return is_long_line(p) && !row_->one_line; }
  bool goes_first(problem const& p) const { return is_long_line(p) && row_->one_line; }

 private:
  static bool is_long_line(problem const& p) {
    constexpr std::int64_t long_k = 64;
    return (p.m == 1 || p.n == 1) && p.k >= long_k;
  }

  gemm_row const* row_;
  row_model m_;
  double bk_, per_bk_;
  double per_strip_step_;        ///< of a row's step of k in a strip, on one multiprocessor
  double per_step_;              ///< of a tile's step of k on a multiprocessor with all its blocks
  std::array<double, 6> a_, b_;  ///< factors by 3 along_k + where the lines begin, below
  double per_near_byte_, per_far_byte_;
};

/// The numbers measured on built_in_device(); nullptr: none, and dispatch takes the row only when it is named. `row` is
/// a kernel's name without its backend: "persistent.f32.128x256x8".
row_model const* built_in_model(std::string_view row);
/// What they were measured on.
std::string_view built_in_device();

}  // namespace tandem::gpu
