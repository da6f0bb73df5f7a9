// The address code: what it selects, and what a wrong element says.
#include "harness/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "harness/fill.hpp"
#include "harness/random.hpp"

namespace tandem::harness {

std::string to_string(element_address const& e) { return fmt::format("{}({}, {})", e.operand, e.row, e.col); }

address_code::address_code(test_case const& t, harness::precision p)
    : alpha_(t.alpha), beta_(t.beta), a_selects_(derive(shared_seed(t.seed), 12) % 2 == 0) {
  // A sum of one term, whatever k is.
  auto const limits = limits_of(t.dtype, 1, t.alpha, t.beta);
  double const exact = t.dtype == dtype::f64 ? 0x1p53 : 0x1p24;
  double const room = (exact - std::abs(t.beta) * static_cast<double>(limits.c)) / std::max(1.0, std::abs(t.alpha));
  largest_ = std::min(static_cast<std::int64_t>(room), widest_integer(t.dtype, p));
  if (limits.ab == 0 || largest_ < 1)
    throw std::invalid_argument(fmt::format("no address code with alpha = {}, beta = {}", t.alpha, t.beta));
  rows_ = a_selects_ ? t.k : t.m;
  columns_ = a_selects_ ? t.n : t.k;

  auto const selecting = operand_seed(t.seed, a_selects_ ? 1 : 2), coded = operand_seed(t.seed, a_selects_ ? 2 : 1);
  first_ = static_cast<std::int64_t>(derive(coded, 3) % static_cast<std::uint64_t>(largest_));
  sign_seed_ = derive(selecting, 1);
  random r(derive(selecting, 2));
  auto const lines = static_cast<std::size_t>(t.k == 0 ? 0 : a_selects_ ? t.m : t.n);
  std::vector<std::int64_t> round(static_cast<std::size_t>(t.k));
  std::iota(round.begin(), round.end(), 0);
  while (selected_.size() < lines) {
    for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[r.below(i)]);
    auto const count = std::min(round.size(), lines - selected_.size());
    selected_.insert(selected_.end(), round.begin(), round.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

std::int64_t address_code::sign(std::int64_t line) const noexcept {
  return derive(sign_seed_, static_cast<std::uint64_t>(line)) % 2 == 0 ? 1 : -1;
}

element_address address_code::wanted(std::int64_t i, std::int64_t j) const {
  return a_selects_ ? element_address{'B', selected(i), j} : element_address{'A', i, selected(j)};
}

std::optional<std::int64_t> address_code::term(double got, double c_before) const noexcept {
  double const value = (beta_ == 0 ? got : got - beta_ * c_before) / alpha_;
  if (!(std::abs(value) <= 0x1p53) || value != std::trunc(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<element_address> address_code::decode(std::int64_t i, std::int64_t j, double got, double c_before) const {
  auto const value = term(got, c_before);
  if (!value || *value == 0 || std::abs(*value) > largest_ || selected_.empty()) return std::nullopt;
  auto const right = wanted(i, j);
  auto const distance = [&right](element_address const& e) {
    auto const rows = std::abs(e.row - right.row), columns = std::abs(e.col - right.col);
    return std::tuple(rows != 0 && columns != 0, rows + columns, rows);
  };
  std::optional<element_address> nearest;
  auto const begin = (std::abs(*value) - 1 - first_ + largest_) % largest_;
  for (auto at = begin; at < rows_ * columns_; at += largest_) {
    element_address const e{right.operand, at / columns_, at % columns_};
    if (!nearest || distance(e) < distance(*nearest)) nearest = e;
  }
  return nearest;
}

std::string address_code::explain(std::int64_t i, std::int64_t j, double got, double c_before) const {
  auto const value = term(got, c_before);
  if (!value || selected_.empty()) return {};
  auto const right = wanted(i, j);
  auto const right_sign = sign(line(i, j));
  auto const right_value = right_sign * code(right.row, right.col);
  if (*value == right_value) return {};
  if (*value == 0) return fmt::format("C({}, {}) holds nothing where {} belongs", i, j, to_string(right));

  auto const read = decode(i, j, got, c_before);
  bool const in_line = read && (read->row == right.row || read->col == right.col);
  if (*value == 2 * right_value && !in_line) return fmt::format("C({}, {}) holds {} twice", i, j, to_string(right));
  if (!read) return {};
  std::int64_t const read_sign = *value < 0 ? -1 : 1;
  if (*read == right) return fmt::format("C({}, {}) holds {} with the wrong sign", i, j, to_string(right));

  auto text = fmt::format("C({}, {}) holds {} where {} belongs", i, j, to_string(*read), to_string(right));
  // The inner index read is another line's, or the sign says so: then that line may have been read in this one's place.
  auto const inner = a_selects_ ? read->row : read->col;
  auto const owner = std::ranges::find(selected_, inner);
  auto const other = std::distance(selected_.begin(), owner);
  if (owner != selected_.end() && other != line(i, j) && sign(other) == read_sign)
    text += fmt::format(", which {} {} of {} selects", a_selects_ ? "row" : "column", other, a_selects_ ? 'A' : 'B');
  return text;
}

template <element T>
operands<T> draw_address(test_case const& t, precision p) {
  address_code const code(t, p);
  auto const coded = [&code](std::int64_t rows, std::int64_t cols) {
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) values.push_back(static_cast<T>(code.code(i, j)));
    return values;
  };
  operands<T> out;
  out.a.assign(static_cast<std::size_t>(t.m * t.k), 0);
  out.b.assign(static_cast<std::size_t>(t.k * t.n), 0);
  if (code.a_selects()) {
    out.b = coded(t.k, t.n);
    for (std::int64_t i = 0; i < t.m && t.k > 0; ++i)
      out.a[static_cast<std::size_t>(i * t.k + code.selected(i))] = static_cast<T>(code.sign(i));
  } else {
    out.a = coded(t.m, t.k);
    for (std::int64_t j = 0; j < t.n && t.k > 0; ++j)
      out.b[static_cast<std::size_t>(code.selected(j) * t.n + j)] = static_cast<T>(code.sign(j));
  }
  auto const limit = limits_of(t.dtype, 1, t.alpha, t.beta).c;
  out.c = draw_integers<T>(t, 3, t.beta != 0 ? t.m : 0, t.n, limit);
  return out;
}

template operands<float> draw_address<float>(test_case const&, precision);
template operands<double> draw_address<double>(test_case const&, precision);

}  // namespace tandem::harness
