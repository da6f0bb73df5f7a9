// Tries arithmetics until one gives every bit.
#include "harness/model_search.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace tandem::harness {
namespace {

template <class T>
bool same_bits(T x, T y) {
  using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  return std::bit_cast<bits>(x) == std::bit_cast<bits>(y);
}

/// A sum that meets C when it is complete.
sum_tree with_c_last(sum_tree const& tree, std::int64_t k) {
  auto out = tree;
  int const sum = out.root();
  int const c = out.add_leaf(k);
  out.add_node({sum, c});
  return out;
}

std::vector<operand_rounding> roundings(precision declared) {
  using enum operand_rounding;
  std::vector<operand_rounding> out{none,         tf32_to_even, tf32_away,  tf32_to_zero,
                                    bf16_to_even, bf16_to_zero, f16_to_even};
  auto const first = [&](operand_rounding r) {
    std::stable_partition(out.begin(), out.end(), [r](auto x) { return x == r; });
  };
  switch (declared) {
    case precision::element: break;
    case precision::tf32: first(tf32_to_even); break;
    case precision::f16: first(f16_to_even); break;
    case precision::bf16: first(bf16_to_even); break;
  }
  return out;
}

}  // namespace

template <element T>
fitted_model<T>::fitted_model(sum_tree const& plain, std::optional<sum_tree> const& with_c, std::int64_t n,
                              std::int64_t k)
    : n_(n), k_(k) {
  // Where C meets several sums, so that alpha may be applied to each, is seen in the second tree only.
  bool const same = with_c && with_c->restricted_to([k](std::int64_t t) { return t < k; }) == plain;
  models_.emplace_back(same ? *with_c : with_c_last(plain, k), k);
  if (with_c && !same) models_.emplace_back(*with_c, k);
}

template <element T>
T fitted_model<T>::predict(sum_arithmetic const& x, probe<T> const& p, std::int64_t element) const {
  auto const row = element / n_, col = element % n_;
  auto const& model = p.beta != 0 ? models_.back() : models_.front();
  auto const c = p.beta != 0 ? p.data.c[static_cast<std::size_t>(element)] : T{0};
  return model(x, p.data.a.data() + row * k_, 1, p.data.b.data() + col, n_, p.alpha, p.beta, c);
}

template <element T>
std::vector<sum_arithmetic> fitted_model<T>::candidates(precision declared) const {
  std::vector<sum_arithmetic> out;
  auto const& model = models_.front();
  auto const operands = std::is_same_v<T, float> ? roundings(declared) : std::vector{operand_rounding::none};
  for (auto const rounding : operands) {
    sum_arithmetic x;
    x.operands = rounding;
    if (model.has_steps()) {
      for (int const extra : {2, 1, 0, 3})
        for (bool const fields : {true, false})
          for (bool const nearest : {false, true}) {
            x.step = {extra, fields, nearest};
            out.push_back(x);
          }
      continue;
    }
    // Rounded before pairs of rounded products with fused ones after them, of which a tree may have none.
    out.push_back(x);
    x.pairing = pairing::last_first;
    out.push_back(x);
    x.addition = addition::rounded;
    out.push_back(x);
    x.addition = addition::fused, x.pairing = pairing::both;
    out.push_back(x);
    if (model.has_lone_terms()) {
      x.rounds_lone_terms = true;
      for (auto const first : {pairing::first_first, pairing::last_first}) {
        x.pairing = first;
        out.push_back(x);
      }
      x.rounds_lone_terms = false;
    }
    x.pairing = pairing::first_first;
    for (bool const narrow : {true, false})
      for (auto const addition : {addition::wide, addition::wide_of_rounded}) {
        x.addition = addition, x.narrow_sums = narrow;
        out.push_back(x);
      }
    x.narrow_sums = false;
    if (!model.is_chain()) continue;
    for (auto const addition : {addition::kahan, addition::kahan_fused}) {
      x.addition = addition;
      out.push_back(x);
    }
  }
  return out;
}

template <element T>
void fitted_model<T>::fit(std::span<answered<T> const> calls, std::span<std::int64_t const> elements,
                          precision declared) {
  auto const agreeing = [&](sum_arithmetic const& x, answered<T> const& call) {
    std::size_t count = 0;
    for (auto const e : elements)
      if (same_bits(predict(x, call.asked, e), call.c[static_cast<std::size_t>(e)])) ++count;
    return count;
  };
  auto const fits = [&](sum_arithmetic const& x, answered<T> const& call) {
    return std::ranges::all_of(elements, [&](std::int64_t e) {
      return same_bits(predict(x, call.asked, e), call.c[static_cast<std::size_t>(e)]);
    });
  };
  for (auto const& x : candidates(declared)) {
    auto const count = agreeing(x, calls.front());
    if (count > agreeing_ && !fits_sums_) arithmetic_ = x, agreeing_ = count;
    if (count < elements.size()) continue;
    fits_sums_ = true;
    for (auto const place : {alpha_place::sum, alpha_place::a, alpha_place::b})
      for (auto const epilogue : {epilogue::fused_alpha, epilogue::rounded, epilogue::fused_beta}) {
        auto y = x;
        y.alpha = place, y.epilogue = epilogue;
        if (!std::ranges::all_of(calls.subspan(1), [&](auto const& call) { return fits(y, call); })) continue;
        arithmetic_ = y;
        fits_others_ = true;
        return;
      }
  }
}

template <element T>
std::string fitted_model<T>::describe_sums() const {
  return harness::describe_sums(arithmetic_, dtype_of<T>, models_.front().has_steps());
}

template <element T>
std::string fitted_model<T>::describe_epilogue() const {
  return harness::describe_epilogue(arithmetic_, models_.back().panels(), k_);
}

template class fitted_model<float>;
template class fitted_model<double>;

}  // namespace tandem::harness
