// A tree of additions computed in software, in one of the arithmetics that kernels use, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tandem/types.hpp>

#include "harness/sum_tree.hpp"

namespace tandem::harness {

/// What a kernel makes of an element of A or B before it multiplies.
enum class operand_rounding { none, tf32_to_even, tf32_away, tf32_to_zero, bf16_to_even, bf16_to_zero, f16_to_even };

/// How a product is added to a sum. `wide`: exact or wide products in a wider sum (f32: double, f64: long double);
/// `wide_of_rounded`: rounded products in it; `kahan`: a compensated chain (W. Kahan, 1965), its products rounded or
/// fused into the correction.
enum class addition { fused, rounded, wide, wide_of_rounded, kahan, kahan_fused };

/// Of two products that are added to each other by fma, which is rounded first; or both are.
enum class pairing { first_first, last_first, both };

/// Where alpha goes: onto a sum before it meets C, or into the elements of one operand.
enum class alpha_place { sum, a, b };

/// What meets C: fma(alpha, sum, beta c), fma(beta, c, alpha sum), or two rounded products.
enum class epilogue { fused_alpha, fused_beta, rounded };

/// How a unit adds several products to its accumulator at once: each is aligned with the largest, cut off (toward zero)
/// at 24 + extra_bits binary digits, and the exact sum of these is rounded once. As found in tensor cores by M. Fasi,
/// N. J. Higham, M. Mikaitis, S. Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 2021.
struct fused_step {
  int extra_bits = 0;
  bool field_exponents = true;  ///< a product's exponent is the sum of its factors', whatever their mantissas give
  bool to_nearest = false;      ///< the sum is rounded to nearest, not toward zero
};

/// All that the bits of an element depend on beside its tree.
struct sum_arithmetic {
  operand_rounding operands = operand_rounding::none;
  harness::addition addition = addition::fused;
  harness::pairing pairing = pairing::first_first;
  /// Of fused sums: a stretch of k that is one term, added to what other stretches gave, is rounded as a sum of its
  /// own. Its tree is that of one more term for the sum before it.
  bool rounds_lone_terms = false;
  fused_step step = {};
  bool narrow_sums = false;  ///< a wide sum is rounded to the element type before alpha and C
  alpha_place alpha = alpha_place::sum;
  harness::epilogue epilogue = epilogue::fused_alpha;
};

std::string_view to_string(operand_rounding) noexcept;
/// "f32 products fused into f32 sums", …
std::string describe_sums(sum_arithmetic const& x, dtype type, bool has_steps);
/// "fma(alpha, sum, beta c)", …; `panels` sums meet C.
std::string describe_epilogue(sum_arithmetic const& x, std::int64_t panels, std::int64_t terms);

/// Computes elements by their tree.
template <element T>
class sum_model {
 public:
  /// `tree` has the terms 0 … k - 1, and C as term k.
  sum_model(sum_tree tree, std::int64_t k);

  /// One element: its row of op(A) at a, a + stride_a, …, its column of op(B) likewise. `c` is read if beta != 0.
  T operator()(sum_arithmetic const& x, T const* a, std::int64_t stride_a, T const* b, std::int64_t stride_b, T alpha,
               T beta, T c) const;

  /// Whether a node adds more than two terms at once.
  bool has_steps() const noexcept { return has_steps_; }
  /// Whether a term may be a stretch of k by itself.
  bool has_lone_terms() const noexcept { return has_lone_terms_; }
  /// Whether the whole sum is one chain, which Kahan's method needs.
  bool is_chain() const noexcept { return !chain_.empty(); }
  /// How many sums meet C, one after the other.
  std::int64_t panels() const noexcept { return panels_; }
  sum_tree const& tree() const noexcept { return tree_; }

 private:
  struct operation {
    enum { pair, term, sums, several, exact, join } what;
    int to, x, y;  // nodes; for a term its number
    bool lone = false;
  };

  void find_lone_terms(int sum);

  template <class S>
  T evaluate(sum_arithmetic const& x, T const* a, std::int64_t stride_a, T const* b, std::int64_t stride_b, T alpha,
             T beta, T c) const;

  sum_tree tree_;
  std::int64_t k_;
  std::vector<operation> operations_;
  std::vector<std::int64_t> chain_;
  std::int64_t panels_ = 0;
  bool has_steps_ = false, has_lone_terms_ = false;
};

extern template class sum_model<float>;
extern template class sum_model<double>;

}  // namespace tandem::harness
