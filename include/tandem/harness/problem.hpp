// One problem of the harness: sizes, storage of the three operands, scalars, and what its data are drawn from.
#pragma once

#include <cstdint>
#include <string>

#include <tandem/kernel.hpp>
#include <tandem/types.hpp>

namespace tandem::harness {

/// What A, B and C hold, and with that how C is judged.
enum class fill {
  // Equal as numbers.
  integer,        ///< integers whose sums are exact in any order
  address,        ///< A selects rows of B, and each element of B says where it lies: a wrong C says what was read
  permutation_a,  ///< each row of op(A) is 0 but for one 1, B has every bit of its mantissas: C must have B's bits
  permutation_b,  ///< each column of op(B) is 0 but for one 1, likewise with A
  // Against the componentwise bound.
  normal,
  uniform,        ///< in [0, 1): no sign cancels, so that errors add up
  cancellation,   ///< A = [A1, A1], B = [B1; D - B1]: the product is A1 D, far smaller than its terms
  graded,         ///< rows of A, columns of B and the inner index each scaled over many binades
  absorption,     ///< one large term and k - 1 small ones of one size, which low bits too few lose altogether
  complementary,  ///< some rows of A and columns of B share no index, so that their product is 0 but for Strassen
  exponent_span,  ///< A = X D, B = inv(D) X' with D over half the exponents there are: too many for fixed point
  subnormal,      ///< products and sums in the subnormal range, where the bound has an absolute part
  micro,          ///< each row of op(A) is 0 but for at most nine elements: the bound is that of k = 9 at any size
  // NaN and infinity must be where the oracle has them, and nowhere else; the bound elsewhere.
  nan_all,     ///< NaN in every element of A, B and C
  nan_a,       ///< a few NaN in A
  nan_b,       ///< a few NaN in B
  infinity_a,  ///< a few infinities in A
  infinity_b,  ///< a few infinities in B
  overflow     ///< some sums overflow in any order, all others stay far below
};

/// C (m x n) = alpha op(A) op(B) + beta C. An operand with its `trans` flag is stored transposed (A as k x m, B as
/// n x k) in its layout and passed as `.transposed()`, so layouts and leading dimensions are the stored matrix's.
struct test_case {
  tandem::dtype dtype = tandem::dtype::f32;
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  tandem::layout layout_a = tandem::layout::row_major;
  tandem::layout layout_b = tandem::layout::row_major;
  tandem::layout layout_c = tandem::layout::row_major;
  std::int64_t lda = 0, ldb = 0, ldc = 0;                 ///< elements
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0;  ///< elements past a 16-byte boundary
  double alpha = 1, beta = 0;
  bool b_is_a = false;  ///< B is stored where A is, as in A A and A A^T; shares_storage(t) has to hold
  int threads = 0;      ///< that a threaded kernel is to use; 0: as many as it likes
  int callers = 0;      ///< threads, 1 or several at once, that then call the kernel again and again, each with data of
                        ///< its own (harness/callers.hpp)
  harness::fill fill = harness::fill::integer;
  std::uint64_t seed = 0;   ///< of its data and of where its guards lie
  std::string source = {};  ///< where the problem comes from: a shape file's row, a tile edge, …
};

std::string_view to_string(fill) noexcept;
/// The fill of this name; "int" is integer. Throws std::invalid_argument for any other word.
fill parse_fill(std::string_view word);

/// One line that names the problem completely, but for its source:
/// f32:nt:rrc:129x127x33:lda=146:ldb=33:ldc=129:offsets=0,1,3:alpha=1:beta=0.5:fill=normal:seed=42
/// and behind it, where they apply, ":threads=5", ":callers=4" and ":b=a".
std::string to_string(test_case const& t);

/// The problem that such a line names. What follows the sizes may stand in any order or be left out: row-major, tight,
/// offsets and beta 0, alpha 1, integers, seed 0. With b=a, ldb is lda unless it says otherwise; callers have integers,
/// beta = 0 and a B that is not A. Throws std::invalid_argument with the part that cannot be read.
test_case parse_case(std::string_view line);

/// 2 m n k
double flops(test_case const& t) noexcept;

/// Whether A and B are read at all: alpha and k are not 0.
bool reads_operands(test_case const& t) noexcept;

/// The smallest leading dimension of each stored operand; at least 1.
std::int64_t tight_lda(test_case const& t) noexcept;
std::int64_t tight_ldb(test_case const& t) noexcept;
std::int64_t tight_ldc(test_case const& t) noexcept;

/// Whether op(A) and op(B) have their rows, or their columns, contiguous alike: then only a square A can be B as well
/// (A A), otherwise any A whose m is n (A A^T, A^T A).
bool contiguous_alike(test_case const& t) noexcept;

/// Whether A and B, by their sizes, storage, leading dimensions and offsets, can be one stored matrix.
bool shares_storage(test_case const& t) noexcept;

/// The sizes and scalars of the canonical problem that a kernel is handed for t, without pointers: a column-major C is
/// computed as its transpose, so m and n change places. This is what `plan` and `refuses` are asked about.
problem canonical(test_case const& t) noexcept;

}  // namespace tandem::harness
