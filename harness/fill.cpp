// Draws a problem's data.
#include "harness/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "harness/address.hpp"
#include "harness/fills/micro.hpp"
#include "harness/fills/permutation.hpp"
#include "harness/fills/real.hpp"
#include "harness/fills/special.hpp"
#include "harness/fills/subnormal.hpp"
#include "harness/random.hpp"

namespace tandem::harness {
namespace {

/// Largest magnitude of an element of C in an integer fill; more would take range from A and B.
constexpr std::int64_t widest_c = 99;

template <class T>
std::vector<T> integers(std::size_t count, std::int64_t limit, random r) {
  std::vector<T> values(count);
  auto const span = static_cast<std::uint64_t>(limit);
  for (auto& v : values) {
    std::uint64_t const bits = r.next();
    if (bits % 8 == 0) continue;
    auto const magnitude = static_cast<T>(1 + (bits >> 4) % span);
    v = bits & 8 ? -magnitude : magnitude;
  }
  return values;
}

template <class T>
std::vector<T> normals(std::size_t count, random r) {
  std::vector<T> values(count);
  for (auto& v : values) v = static_cast<T>(r.normal());
  return values;
}

/// Sets a quarter of the rows (of A) or columns (of B) to 0.
template <class T>
void blank_lines(std::vector<T>& values, unsigned operand, std::int64_t rows, std::int64_t cols, random r) {
  std::vector<bool> blank(static_cast<std::size_t>(operand == 1 ? rows : cols));
  for (std::size_t i = 0; i < blank.size(); ++i) blank[i] = r.below(4) == 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    auto const width = static_cast<std::size_t>(cols);
    if (blank[operand == 1 ? at / width : at % width]) values[at] = 0;
  }
}

}  // namespace

integer_limits limits_of(dtype type, std::int64_t k, double alpha, double beta) noexcept {
  if (alpha != std::floor(alpha) || beta != std::floor(beta)) return {};
  double const exact = type == dtype::f64 ? 0x1p53 : 0x1p24;
  double const terms = std::max(1.0, std::abs(alpha) * static_cast<double>(k));
  double const c =
      std::min<double>(widest_c, std::max(1.0, std::floor((exact - terms) / std::max(1.0, std::abs(beta)))));
  double ab = std::floor(std::sqrt(std::max(0.0, exact - std::abs(beta) * c) / terms));
  // The square root of a rounded quotient can be one too large.
  while (ab >= 1 && terms * ab * ab + std::abs(beta) * c > exact) --ab;
  if (ab < 1) return {};
  return {static_cast<std::int64_t>(ab), static_cast<std::int64_t>(c)};
}

bool is_exact(fill f) noexcept {
  return f == fill::integer || f == fill::address || f == fill::permutation_a || f == fill::permutation_b;
}

std::int64_t widest_integer(dtype type, precision p) noexcept {
  switch (p) {
    case precision::element: return type == dtype::f64 ? std::int64_t{1} << 53 : std::int64_t{1} << 24;
    case precision::tf32:
    case precision::f16: return std::int64_t{1} << 11;
    case precision::bf16: return std::int64_t{1} << 8;
  }
  return 1;
}

template <element T>
std::vector<T> draw_integers(test_case const& t, unsigned operand, std::int64_t rows, std::int64_t cols,
                             std::int64_t limit) {
  auto const seed = operand_seed(t.seed, operand);
  auto values = integers<T>(static_cast<std::size_t>(rows * cols), limit, random(seed));
  if (operand < 3 && derive(seed, 1) % 8 == 0) blank_lines(values, operand, rows, cols, random(derive(seed, 2)));
  if (changes_one(t.seed, operand) && !values.empty()) {
    auto& v = values[derive(seed, 3) % values.size()];
    v = v < static_cast<T>(limit) ? v + 1 : -v;
  }
  return values;
}

namespace {

/// Fills that draw B as they draw A, so that one can be the other.
bool draws_alike(fill f) { return f == fill::integer || f == fill::normal || f == fill::uniform || f == fill::nan_all; }

/// What op(B) is when it is stored where op(A) (m x k) is.
template <class T>
std::vector<T> read_as_b(test_case const& t, std::vector<T> const& a) {
  if (contiguous_alike(t)) return a;
  std::vector<T> b(a.size());
  for (std::int64_t i = 0; i < t.m; ++i)
    for (std::int64_t q = 0; q < t.k; ++q)
      b[static_cast<std::size_t>(q * t.n + i)] = a[static_cast<std::size_t>(i * t.k + q)];
  return b;
}

template <element T>
operands<T> draw_apart(test_case const& t, precision p) {
  auto const count = [](std::int64_t rows, std::int64_t cols) { return static_cast<std::size_t>(rows * cols); };
  if (t.fill == fill::address) return draw_address<T>(t, p);
  if (t.fill == fill::nan_all) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    return {std::vector<T>(count(t.m, t.k), nan), std::vector<T>(count(t.k, t.n), nan),
            std::vector<T>(t.beta != 0 ? count(t.m, t.n) : 0, nan)};
  }
  if (t.fill == fill::normal) {
    random const for_a(derive(t.seed, 1)), for_b(derive(t.seed, 2)), for_c(derive(t.seed, 3));
    return {normals<T>(count(t.m, t.k), for_a), normals<T>(count(t.k, t.n), for_b),
            normals<T>(t.beta != 0 ? count(t.m, t.n) : 0, for_c)};
  }

  if (t.fill == fill::uniform) return draw_uniform<T>(t);
  if (t.fill == fill::cancellation) return draw_cancellation<T>(t);
  if (t.fill == fill::graded) return draw_graded<T>(t);
  if (t.fill == fill::absorption) return draw_absorption<T>(t);
  if (t.fill == fill::complementary) return draw_complementary<T>(t);
  if (t.fill == fill::exponent_span) return draw_exponent_span<T>(t);
  if (t.fill == fill::permutation_a || t.fill == fill::permutation_b) return draw_permutation<T>(t, p);
  if (t.fill == fill::micro) return draw_micro<T>(t);
  if (t.fill == fill::subnormal) return draw_subnormal<T>(t);
  if (is_special(t.fill)) return draw_special<T>(t);

  auto limits = limits_of(t.dtype, t.k, t.alpha, t.beta);
  if (limits.ab == 0)
    throw std::invalid_argument(fmt::format("no exact integers for {} with k = {}, alpha = {}, beta = {}",
                                            to_string(t.dtype), t.k, t.alpha, t.beta));
  limits.ab = std::min(limits.ab, widest_integer(t.dtype, p));
  return {draw_integers<T>(t, 1, t.m, t.k, limits.ab), draw_integers<T>(t, 2, t.k, t.n, limits.ab),
          draw_integers<T>(t, 3, t.beta != 0 ? t.m : 0, t.n, limits.c)};
}

}  // namespace

template <element T>
operands<T> draw(test_case const& t, precision p) {
  if (!t.b_is_a) return draw_apart<T>(t, p);
  if (!draws_alike(t.fill))
    throw std::invalid_argument(fmt::format("b=a: with the fill {}, B is drawn otherwise than A", to_string(t.fill)));
  auto data = draw_apart<T>(t, p);
  data.b = read_as_b(t, data.a);
  return data;
}

template std::vector<float> draw_integers<float>(test_case const&, unsigned, std::int64_t, std::int64_t, std::int64_t);
template std::vector<double> draw_integers<double>(test_case const&, unsigned, std::int64_t, std::int64_t,
                                                   std::int64_t);
template operands<float> draw<float>(test_case const&, precision);
template operands<double> draw<double>(test_case const&, precision);

}  // namespace tandem::harness
