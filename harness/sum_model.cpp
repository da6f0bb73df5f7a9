// Replays trees. Built with -ffp-contract=off: which operations are fused is what it is about.
#include "harness/sum_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

namespace tandem::harness {
namespace {

template <class T>
using wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Keeps all but the last `dropped` bits of a float's mantissa.
float shorten(float x, int dropped, operand_rounding how) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const half = 1u << (dropped - 1), mask = ~((half << 1) - 1);
  switch (how) {
    case operand_rounding::tf32_to_zero:
    case operand_rounding::bf16_to_zero: return std::bit_cast<float>(bits & mask);
    case operand_rounding::tf32_away: return std::bit_cast<float>((bits + half) & mask);
    default: return std::bit_cast<float>((bits + half - 1 + ((bits >> dropped) & 1)) & mask);
  }
}

float rounded_operand(float x, operand_rounding how) {
  switch (how) {
    case operand_rounding::none: return x;
    case operand_rounding::tf32_to_even:
    case operand_rounding::tf32_away:
    case operand_rounding::tf32_to_zero: return shorten(x, 13, how);
    case operand_rounding::bf16_to_even:
    case operand_rounding::bf16_to_zero: return shorten(x, 16, how);
    case operand_rounding::f16_to_even: {
      // Below 2^-14 the distance of f16 numbers stays 2^-24.
      constexpr float smallest = 0x1p-14f, large = 0x1.8p-1f;  // 0.75 + x rounds x to multiples of 2^-24
      return std::abs(x) < smallest ? (x + large) - large : shorten(x, 13, operand_rounding::tf32_to_even);
    }
  }
  return x;
}

double rounded_operand(double x, operand_rounding) { return x; }

/// The sum of products and an accumulator, each cut off below the largest; see fused_step.
float add_aligned(std::vector<std::pair<float, float>> const& products, float accumulator, fused_step const& how) {
  int largest = -10000;
  auto const exponent = [&](float x, float y) {
    return how.field_exponents ? std::ilogb(x) + std::ilogb(y)
                               : std::ilogb(static_cast<double>(x) * static_cast<double>(y));
  };
  for (auto const& [x, y] : products)
    if (x != 0 && y != 0) largest = std::max(largest, exponent(x, y));
  if (accumulator != 0) largest = std::max(largest, std::ilogb(accumulator));
  if (largest == -10000) return 0;
  double const unit = std::ldexp(1.0, largest - 23 - how.extra_bits);
  double sum = std::trunc(static_cast<double>(accumulator) / unit);
  for (auto const& [x, y] : products) sum += std::trunc(static_cast<double>(x) * static_cast<double>(y) / unit);
  sum *= unit;
  auto const nearest = static_cast<float>(sum);
  if (how.to_nearest || std::abs(static_cast<double>(nearest)) <= std::abs(sum)) return nearest;
  return std::nextafter(nearest, 0.0f);
}

/// A double's digits twice: hi + lo.
struct two {
  double hi = 0, lo = 0;
  /// Adds a product.
  void add(double x, double y) {
    double const product = x * y, sum = hi + product, part = sum - hi;
    lo += ((hi - (sum - part)) + (product - part)) + std::fma(x, y, -product);
    hi = sum;
  }
};

}  // namespace

std::string_view to_string(operand_rounding r) noexcept {
  switch (r) {
    case operand_rounding::none: return "unrounded";
    case operand_rounding::tf32_to_even: return "rounded to tf32, ties to even";
    case operand_rounding::tf32_away: return "rounded to tf32, ties away";
    case operand_rounding::tf32_to_zero: return "truncated to tf32";
    case operand_rounding::bf16_to_even: return "rounded to bf16";
    case operand_rounding::bf16_to_zero: return "truncated to bf16";
    case operand_rounding::f16_to_even: return "rounded to f16";
  }
  return "unrounded";
}

std::string describe_sums(sum_arithmetic const& x, dtype type, bool has_steps) {
  auto const name = to_string(type);
  std::string_view const wide = type == dtype::f32 ? "f64" : "long double";
  std::string out;
  switch (x.addition) {
    case addition::fused: out = fmt::format("products fused into {} sums (fma)", name); break;
    case addition::rounded: out = fmt::format("products rounded, then added in {}", name); break;
    case addition::wide: out = fmt::format("products and sums in {}", wide); break;
    case addition::wide_of_rounded: out = fmt::format("products rounded to {}, sums in {}", name, wide); break;
    case addition::kahan: out = fmt::format("Kahan's compensated sum of rounded {} products", name); break;
    case addition::kahan_fused: out = fmt::format("Kahan's compensated sum in {}, products fused", name); break;
  }
  if (has_steps)
    out = fmt::format("fused steps cut off {} bits below the largest {}, then rounded {}", 24 + x.step.extra_bits,
                      x.step.field_exponents ? "sum of exponents" : "term",
                      x.step.to_nearest ? "to nearest" : "toward zero");
  if (x.rounds_lone_terms) out += "; a term that is a block by itself rounded first";
  if (x.operands != operand_rounding::none) out += fmt::format("; operands {}", to_string(x.operands));
  return out;
}

std::string describe_epilogue(sum_arithmetic const& x, std::int64_t panels, std::int64_t terms) {
  bool const each_term = panels == terms && terms > 1;
  std::string_view const sum = each_term ? "term" : panels > 1 ? "panel" : "sum";
  std::string out;
  if (x.alpha != alpha_place::sum) {
    out = fmt::format("alpha folded into {}; {} + beta c", x.alpha == alpha_place::a ? "A" : "B", sum);
  } else {
    switch (x.epilogue) {
      case epilogue::fused_alpha: out = fmt::format("fma(alpha, {}, beta c)", sum); break;
      case epilogue::fused_beta: out = fmt::format("fma(beta, c, alpha {})", sum); break;
      case epilogue::rounded: out = fmt::format("alpha {} + beta c, both rounded", sum); break;
    }
  }
  if (panels > 1) out += fmt::format(", beta c first, then {} by {}", sum, sum);
  return out;
}

template <element T>
sum_model<T>::sum_model(sum_tree tree, std::int64_t k) : tree_(std::move(tree)), k_(k) {
  std::vector<bool> meets_c(tree_.nodes().size(), false);
  int sum = -1;  // what C is added to, if that is one node
  for (int i = 0; i <= tree_.root(); ++i) {
    auto const& x = tree_.at(i);
    auto const leaf = [&](std::size_t c) { return static_cast<int>(tree_.at(x.children[c]).leaf); };
    if (x.leaf >= 0) {
      meets_c[static_cast<std::size_t>(i)] = x.leaf == k_;
      continue;
    }
    bool const joins = std::ranges::any_of(x.children, [&](int c) { return meets_c[static_cast<std::size_t>(c)]; });
    if (joins) {
      meets_c[static_cast<std::size_t>(i)] = true;
      ++panels_;
      bool const c_first = meets_c[static_cast<std::size_t>(x.children[0])];
      sum = x.children[c_first ? 1 : 0];
      operations_.push_back({operation::join, i, x.children[c_first ? 0 : 1], sum});
      if (x.children.size() > 2 && !x.exact) has_steps_ = true;
    } else if (x.exact) {
      operations_.push_back({operation::exact, i, 0, 0});
    } else if (x.children.size() > 2) {
      has_steps_ = true;
      operations_.push_back({operation::several, i, 0, 0});
    } else if (leaf(0) >= 0 && leaf(1) >= 0) {
      operations_.push_back({operation::pair, i, leaf(0), leaf(1)});
    } else if (leaf(0) >= 0 || leaf(1) >= 0) {
      bool const first = leaf(0) >= 0;
      int const inner = x.children[first ? 1 : 0], term = leaf(first ? 0 : 1);
      // A pair below terms that fall was begun with its last one.
      if (!operations_.empty() && operations_.back().what == operation::pair && operations_.back().to == inner &&
          term < operations_.back().x)
        std::swap(operations_.back().x, operations_.back().y);
      operations_.push_back({operation::term, i, inner, term});
    } else {
      operations_.push_back({operation::sums, i, x.children[0], x.children[1]});
    }
  }
  if (panels_ == 1 && !has_steps_)
    if (auto const c = chain_at(tree_, sum)) chain_ = c->order;
  find_lone_terms(sum);
}

/// Terms that no further one follows, where they meet C after other panels, are added to blocks or lanes that have been
/// added up, or are the last of all (below `sum`, the only panel).
template <element T>
void sum_model<T>::find_lone_terms(int sum) {
  std::vector<bool> adds_sums(tree_.nodes().size(), false), goes_on(tree_.nodes().size(), false);
  for (auto const& o : operations_) {
    if (o.what == operation::sums) adds_sums[static_cast<std::size_t>(o.to)] = true;
    if (o.what == operation::term) goes_on[static_cast<std::size_t>(o.x)] = true;
  }
  for (auto& o : operations_) {
    if (o.what == operation::term)
      o.lone = !goes_on[static_cast<std::size_t>(o.to)] &&
               (adds_sums[static_cast<std::size_t>(o.x)] || (panels_ == 1 && o.to == sum));
    else if (o.what == operation::join)
      o.lone = tree_.at(o.y).leaf >= 0 && panels_ < k_;
    has_lone_terms_ = has_lone_terms_ || o.lone;
  }
}

template <element T>
T sum_model<T>::operator()(sum_arithmetic const& x, T const* a, std::int64_t stride_a, T const* b,
                           std::int64_t stride_b, T alpha, T beta, T c) const {
  if (x.addition == addition::wide || x.addition == addition::wide_of_rounded)
    return evaluate<wider<T>>(x, a, stride_a, b, stride_b, alpha, beta, c);
  return evaluate<T>(x, a, stride_a, b, stride_b, alpha, beta, c);
}

template <element T>
template <class S>
T sum_model<T>::evaluate(sum_arithmetic const& x, T const* a, std::int64_t stride_a, T const* b, std::int64_t stride_b,
                         T alpha, T beta, T c) const {
  bool const scaled_sum = x.alpha == alpha_place::sum;
  auto const left = [&](std::int64_t q) {
    T const v = rounded_operand(a[q * stride_a], x.operands);
    return x.alpha == alpha_place::a ? static_cast<T>(alpha * v) : v;
  };
  auto const right = [&](std::int64_t q) {
    T const v = rounded_operand(b[q * stride_b], x.operands);
    return x.alpha == alpha_place::b ? static_cast<T>(alpha * v) : v;
  };
  auto const product = [&](std::int64_t q) -> S {
    if (x.addition == addition::wide_of_rounded) return static_cast<S>(static_cast<T>(left(q) * right(q)));
    return static_cast<S>(left(q)) * static_cast<S>(right(q));
  };
  auto const plus_product = [&](S sum, std::int64_t q) -> S {
    if (x.addition == addition::fused) return std::fma(static_cast<S>(left(q)), static_cast<S>(right(q)), sum);
    return sum + product(q);
  };

  std::vector<S> value(tree_.nodes().size());
  auto const at = [&](int node) -> S& { return value[static_cast<std::size_t>(node)]; };
  auto const value_of = [&](int node) { return tree_.at(node).leaf >= 0 ? product(tree_.at(node).leaf) : at(node); };
  // The terms of one step, and the sums among its children as its accumulator.
  auto const add_several = [&](int node, S accumulator, int without) -> S {
    if constexpr (std::is_same_v<T, float>) {
      std::vector<std::pair<float, float>> products;
      auto sum = static_cast<float>(accumulator);
      for (int const child : tree_.at(node).children) {
        if (child == without) continue;
        auto const q = tree_.at(child).leaf;
        q >= 0 ? products.emplace_back(left(q), right(q)) : products.emplace_back(static_cast<float>(at(child)), 1.0f);
      }
      return static_cast<S>(add_aligned(products, sum, x.step));
    } else {
      S sum = accumulator;
      for (int const child : tree_.at(node).children)
        if (child != without) sum += value_of(child);
      return sum;
    }
  };
  auto const exact_sum = [&](int node) {
    two sum;
    for (int const child : tree_.at(node).children)
      if (auto const q = tree_.at(child).leaf; q != k_)
        sum.add(static_cast<double>(left(q)), static_cast<double>(right(q)));
    return sum;
  };
  auto const kahan_chain = [&] {
    T sum = 0, low = 0;
    for (auto const q : chain_) {
      T const y = x.addition == addition::kahan_fused ? std::fma(left(q), right(q), -low)
                                                      : static_cast<T>(left(q) * right(q)) - low;
      T const next = sum + y;
      low = (next - sum) - y;
      sum = next;
    }
    return sum;
  };
  bool const kahan = x.addition == addition::kahan || x.addition == addition::kahan_fused;

  bool has_c = beta != 0;
  auto const join = [&]<class U>(U sum, U acc, bool is_c) -> U {
    auto const scale = static_cast<U>(scaled_sum ? alpha : T{1});
    if (!has_c) return scale * sum;
    if (is_c && x.epilogue == epilogue::fused_beta)
      return std::fma(static_cast<U>(beta), static_cast<U>(c), static_cast<U>(scale * sum));
    if (is_c) acc = static_cast<U>(beta) * static_cast<U>(c);
    return x.epilogue == epilogue::fused_alpha ? std::fma(scale, sum, acc) : static_cast<U>(scale * sum) + acc;
  };

  for (auto const& o : operations_) {
    if (kahan && o.what != operation::join) continue;
    switch (o.what) {
      case operation::pair:
        at(o.to) = x.pairing == pairing::both          ? product(o.x) + product(o.y)
                   : x.pairing == pairing::first_first ? plus_product(product(o.x), o.y)
                                                       : plus_product(product(o.y), o.x);
        break;
      case operation::term:
        at(o.to) = o.lone && x.rounds_lone_terms ? at(o.x) + product(o.y) : plus_product(at(o.x), o.y);
        break;
      case operation::sums: at(o.to) = at(o.x) + at(o.y); break;
      case operation::several: at(o.to) = add_several(o.to, S{0}, -1); break;
      case operation::exact: {
        auto const sum = exact_sum(o.to);
        at(o.to) = static_cast<S>(sum.hi + sum.lo);
        break;
      }
      case operation::join: {
        bool const is_c = tree_.at(o.x).leaf == k_;
        S const acc = is_c ? static_cast<S>(beta) * static_cast<S>(c) : at(o.x);
        auto const term = tree_.at(o.y).leaf;
        if (tree_.at(o.to).exact) {
          auto const sum = exact_sum(o.to);
          two all;
          all.add(scaled_sum ? static_cast<double>(alpha) : 1.0, sum.hi);
          all.add(scaled_sum ? static_cast<double>(alpha) : 1.0, sum.lo);
          all.add(static_cast<double>(beta), beta != 0 ? static_cast<double>(c) : 0.0);
          at(o.to) = static_cast<S>(all.hi + all.lo);
        } else if (tree_.at(o.to).children.size() > 2) {
          at(o.to) = add_several(o.to, has_c ? acc : S{0}, o.x);
        } else if (term >= 0 && has_c && x.pairing != pairing::both && !(o.lone && x.rounds_lone_terms) &&
                   (!scaled_sum || alpha == 1)) {
          at(o.to) = plus_product(acc, term);
        } else if (x.narrow_sums) {
          auto const sum = static_cast<T>(kahan ? static_cast<S>(kahan_chain()) : value_of(o.y));
          at(o.to) = static_cast<S>(join(sum, static_cast<T>(is_c ? S{0} : acc), is_c));
        } else {
          at(o.to) = join(kahan ? static_cast<S>(kahan_chain()) : value_of(o.y), acc, is_c);
        }
        // Without C the first sum is all there is so far; later ones are added to it.
        if (!has_c) has_c = true;
        break;
      }
    }
  }
  return static_cast<T>(at(tree_.root()));
}

template class sum_model<float>;
template class sum_model<double>;

}  // namespace tandem::harness
