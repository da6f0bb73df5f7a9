// Draws NaN, infinities and overflow, and reads them in a wrong C.
#include "harness/fills/special.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "harness/guard.hpp"
#include "harness/random.hpp"

namespace tandem::harness {
namespace {

/// A row, column or inner index: the first, the last, one beside a multiple of 8 to 128, where tiles meet, or any.
std::size_t place(std::size_t count, random& r) {
  switch (r.below(6)) {
    case 0: return 0;
    case 1:
    case 2: return count - 1;
    case 3: {
      std::size_t const edge = std::size_t{8} << r.below(5);
      std::size_t const at = edge * (1 + r.below(std::max<std::size_t>(1, count / edge))) - r.below(2);
      return std::min(at, count - 1);
    }
    default: return r.below(count);
  }
}

std::set<std::size_t> places(std::size_t count, random& r) {
  std::set<std::size_t> out;
  for (auto wanted = 1 + r.below(3); wanted > 0; --wanted) out.insert(place(count, r));
  return out;
}

/// A factor in [1, 1.25).
template <class T>
T about_one(random& r) {
  return static_cast<T>(1 + r.uniform() / 4);
}

/// A matrix and its shape, packed.
template <class T>
struct matrix {
  std::vector<T>& values;
  std::size_t rows, cols;
  T& operator()(std::size_t i, std::size_t j) const { return values[i * cols + j]; }
};

/// The usual NaN, or all ones, as GPUs give it: rounded to fewer bits by an addition that is a zero.
template <class T>
T any_nan(random r) {
  using word = typename nan_bits<T>::word;
  return r.below(2) == 0 ? std::numeric_limits<T>::quiet_NaN() : std::bit_cast<T>(~word{0} >> 1);
}

template <class T>
void put_special(matrix<T> x, T value, random& r) {
  if (x.values.empty()) return;
  for (auto wanted = 1 + r.below(3); wanted > 0; --wanted)
    x(place(x.rows, r), place(x.cols, r)) = r.below(2) == 0 ? value : -value;
}

/// Zeros that must hide nothing: in one place of four, and in two seeds of three also in whole rows and columns, where
/// a tile of them may be skipped, or everywhere.
template <class T>
void put_zeros(matrix<T> x, random& r) {
  auto const kind = r.below(3);
  std::vector<bool> rows(x.rows), cols(x.cols);
  for (std::size_t i = 0; i < x.rows; ++i) rows[i] = kind == 2 || (kind == 1 && r.below(4) == 0);
  for (std::size_t j = 0; j < x.cols; ++j) cols[j] = kind == 1 && r.below(4) == 0;
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t j = 0; j < x.cols; ++j)
      if (rows[i] || cols[j] || r.below(4) == 0) x(i, j) = 0;
}

template <class T>
void put_overflow(matrix<T> a, matrix<T> b, random& r) {
  constexpr int most = std::numeric_limits<T>::max_exponent;  // 2^most is the first that is too large
  std::size_t const k = a.cols;
  if (a.values.empty() || b.values.empty()) return;
  auto const rows = places(a.rows, r), cols = places(b.cols, r);
  bool const at_once = k < 4 || r.below(2) == 0;
  std::set<std::size_t> inner;
  auto const terms = at_once ? 1 : 4 + r.below(std::min<std::size_t>(k, 8) - 3);
  while (inner.size() < terms) inner.insert(place(k, r));
  // At once: a product of 2^(most + 12). Together: at least four of 2^(most - 1), each below 1.6 times that.
  T const in_a = std::ldexp(T{1}, at_once ? most / 2 + 6 : most / 2 - 1);
  T const in_b = std::ldexp(T{1}, at_once ? most / 2 + 6 : most / 2);
  for (auto const i : rows) {
    T const sign = r.below(2) == 0 ? T{1} : T{-1};
    for (auto const p : inner) a(i, p) = sign * in_a * about_one<T>(r);
  }
  for (auto const j : cols) {
    T const sign = r.below(2) == 0 ? T{1} : T{-1};
    for (auto const p : inner) b(p, j) = sign * in_b * about_one<T>(r);
  }
}

template <class T>
std::vector<T> normals(std::size_t count, random r) {
  std::vector<T> values(count);
  for (auto& v : values) v = static_cast<T>(r.normal());
  return values;
}

/// "A(5, 12) is NaN"
std::string tell(char operand, std::size_t row, std::size_t col, double value) {
  if (std::isnan(value)) return fmt::format("{}({}, {}) is NaN", operand, row, col);
  return fmt::format("{}({}, {}) is {}", operand, row, col, value);
}

/// The operand's element that is not finite and lies nearest to a row (of A) or column (of B).
template <class T>
std::string nearest(char operand, std::vector<T> const& values, std::size_t cols, std::size_t line) {
  std::size_t best = values.size(), distance = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (std::isfinite(values[at])) continue;
    auto const here = operand == 'A' ? at / cols : at % cols;
    auto const away = here > line ? here - line : line - here;
    if (best < values.size() && away >= distance) continue;
    best = at, distance = away;
  }
  return best == values.size() ? std::string()
                               : tell(operand, best / cols, best % cols, static_cast<double>(values[best]));
}

}  // namespace

bool is_special(fill f) noexcept {
  return f == fill::nan_a || f == fill::nan_b || f == fill::infinity_a || f == fill::infinity_b ||
         f == fill::overflow || f == fill::nan_all;
}

bool floods(std::uint64_t seed) noexcept { return derive(seed, 4) % 4 == 0; }

template <element T>
operands<T> draw_special(test_case const& t) {
  random r(derive(t.seed, 5));
  auto const m = static_cast<std::size_t>(t.m), n = static_cast<std::size_t>(t.n), k = static_cast<std::size_t>(t.k);
  operands<T> out{normals<T>(m * k, random(derive(t.seed, 1))), normals<T>(k * n, random(derive(t.seed, 2))),
                  normals<T>(t.beta != 0 ? m * n : 0, random(derive(t.seed, 3)))};
  if (t.fill == fill::overflow) {
    if (!(std::abs(t.alpha) >= 1 && std::abs(t.alpha) <= 4))
      throw std::invalid_argument(fmt::format("overflow in any order needs 1 <= |alpha| <= 4, not {}", t.alpha));
    put_overflow(matrix<T>{out.a, m, k}, matrix<T>{out.b, k, n}, r);
    return out;
  }
  bool const in_a = t.fill == fill::nan_a || t.fill == fill::infinity_a;
  bool const nan = t.fill == fill::nan_a || t.fill == fill::nan_b;
  T const value = nan ? any_nan<T>(random(derive(t.seed, 6))) : std::numeric_limits<T>::infinity();
  matrix<T> const with = in_a ? matrix<T>{out.a, m, k} : matrix<T>{out.b, k, n};
  // A format of less range must not make a zero of a number that meets an infinity.
  constexpr T least = 0x1p-10;
  for (auto* const values : {&out.a, &out.b})
    for (auto& x : *values)
      if (std::abs(x) < least) x = std::copysign(least, x);
  put_zeros(in_a ? matrix<T>{out.b, k, n} : matrix<T>{out.a, m, k}, r);
  if (floods(t.seed))
    for (auto& x : with.values) x = r.below(2) == 0 ? value : -value;
  else
    put_special(with, value, r);
  put_special(matrix<T>{out.c, m, n}, value, r);
  return out;
}

template <element T>
std::string explain_special(test_case const& t, operands<T> const& data, std::int64_t row, std::int64_t col, double got,
                            double wanted) {
  auto const i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(col);
  auto const n = static_cast<std::size_t>(t.n), k = static_cast<std::size_t>(t.k);
  auto const text = [](double x) { return std::isnan(x) ? std::string("NaN") : fmt::format("{}", x); };
  if (!std::isfinite(wanted)) {
    std::string why = "the sum overflows in any order";
    std::string sources;
    auto const add = [&](std::string source) { sources += (sources.empty() ? "" : ", ") + source; };
    for (std::size_t p = 0; p < k && sources.size() < 60; ++p) {
      auto const a = static_cast<double>(data.a[i * k + p]), b = static_cast<double>(data.b[p * n + j]);
      if (std::isfinite(a) && std::isfinite(b)) continue;
      if (!std::isfinite(a)) add(tell('A', i, p, a));
      if (!std::isfinite(b)) add(tell('B', p, j, b));
      if (a == 0) add(tell('A', i, p, a));
      if (b == 0) add(tell('B', p, j, b));
    }
    if (!data.c.empty() && !std::isfinite(data.c[i * n + j]))
      add(tell('C', i, j, static_cast<double>(data.c[i * n + j])) + " before the call");
    return fmt::format("{}, so C({}, {}) must be {}, not {}", sources.empty() ? why : sources, i, j, text(wanted),
                       text(got));
  }
  if (std::isfinite(got)) return {};
  std::string near = nearest('A', data.a, k, i);
  if (near.empty()) near = nearest('B', data.b, n, j);
  return fmt::format("C({}, {}) is {}, though row {} of A, column {} of B and C there are finite and so is their sum{}",
                     i, j, text(got), i, j, near.empty() ? "" : "; " + near);
}

template operands<float> draw_special<float>(test_case const&);
template operands<double> draw_special<double>(test_case const&);
template std::string explain_special<float>(test_case const&, operands<float> const&, std::int64_t, std::int64_t,
                                            double, double);
template std::string explain_special<double>(test_case const&, operands<double> const&, std::int64_t, std::int64_t,
                                             double, double);

}  // namespace tandem::harness
