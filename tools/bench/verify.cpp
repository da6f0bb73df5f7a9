// Two cheap checks: O(mk + kn + mn).
#include "tools/bench/verify.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>
#include <tandem/harness/bound.hpp>

namespace tandem::bench {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// body(T{}) for the element type T.
template <class Body>
auto typed(dtype type, Body const& body) {
  return type == dtype::f32 ? body(float{}) : body(double{});
}

class host_loops final : public check_space {
 public:
  line_sums along(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const override {
    return passes(
        x, w, s, x.lines, [](std::int64_t line, std::int64_t) { return line; },
        [](std::int64_t, std::int64_t place) { return place; });
  }

  line_sums across(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s) const override {
    return passes(
        x, w, s, x.length, [](std::int64_t, std::int64_t place) { return place; },
        [](std::int64_t line, std::int64_t) { return line; });
  }

  std::int64_t first_apart(comparison const& x) const override {
    return typed(x.c.dtype, [&]<class T>(T) -> std::int64_t {
      auto const* const c = static_cast<T const*>(x.c.data);
      auto const* const first = static_cast<T const*>(x.first);
      auto const* const before = static_cast<T const*>(x.before);
      for (std::int64_t i = 0; i < x.c.lines; ++i)
        for (std::int64_t j = 0; j < x.c.length; ++j) {
          auto const at = i * x.c.ld + j;
          double const old = before == nullptr ? 0 : std::abs(x.beta * static_cast<double>(before[at]));
          double const bound = x.factor * (x.rows[index(i)] * x.columns[index(j)] + old);
          if (!(std::abs(static_cast<double>(c[at]) - static_cast<double>(first[at])) <= bound)) return at;
        }
      return -1;
    });
  }

  std::int64_t first_wrong(axpy_problem const& p, void const* y) const override {
    return typed(p.dtype, [&]<class T>(T) -> std::int64_t {
      auto const* const x = static_cast<T const*>(p.x);
      auto const* const old = static_cast<T const*>(p.y);
      auto const* const got = static_cast<T const*>(y);
      double const u = harness::unit_roundoff(p.dtype);
      for (std::int64_t i = 0; i < p.n; ++i) {
        double const product = p.alpha * static_cast<double>(x[i]), before = static_cast<double>(old[i]);
        double const bound = 2 * u * (std::abs(product) + std::abs(before));
        if (!(std::abs(static_cast<double>(got[i]) - (product + before)) <= bound)) return i;
      }
      return -1;
    });
  }

  double element(void const* data, dtype type, std::int64_t at) const override {
    return typed(type, [&]<class T>(T) { return static_cast<double>(static_cast<T const*>(data)[at]); });
  }

  std::shared_ptr<void const> keep(void const* data, std::size_t bytes) const override {
    std::shared_ptr<char[]> copy(new char[bytes]);
    std::memcpy(copy.get(), data, bytes);
    return copy;
  }

 private:
  template <class Out, class Weight>
  static line_sums passes(stored_lines const& x, std::vector<double> const& w, std::vector<double> const& s,
                          std::int64_t outputs, Out const& out_of, Weight const& weight_of) {
    line_sums out;
    for (auto* sums : {&out.sum, &out.size, &out.squares}) sums->assign(index(outputs), 0);
    typed(x.dtype, [&]<class T>(T) {
      auto const* const data = static_cast<T const*>(x.data);
      for (std::int64_t line = 0; line < x.lines; ++line)
        for (std::int64_t place = 0; place < x.length; ++place) {
          double const v = data[line * x.ld + place];
          auto const at = index(out_of(line, place)), by = index(weight_of(line, place));
          out.sum[at] += v * w[by];
          out.size[at] += std::abs(v) * s[by];
          out.squares[at] += v * v;
        }
      return 0;
    });
    return out;
  }
};

}  // namespace

check_space const& host_space() {
  static host_loops const loops;
  return loops;
}

stored_lines product_check::lines_of_c(void const* c) const { return {c, p_.dtype, p_.m, p_.n, p_.ldc}; }

product_check::product_check(problem const& p, check_space const& where) : p_(p), where_(where) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> weight(0.5, 1.5);
  for (std::int64_t j = 0; j < p_.n; ++j) x_.push_back(random() % 2 != 0 ? weight(random) : -weight(random));
  for (auto const x : x_) sizes_.push_back(std::abs(x));

  // B x and the norms of B's columns, then A (B x) and the norms of A's rows.
  stored_lines const a{p_.a, p_.dtype, p_.trans_a ? p_.k : p_.m, p_.trans_a ? p_.m : p_.k, p_.lda};
  stored_lines const b{p_.b, p_.dtype, p_.trans_b ? p_.n : p_.k, p_.trans_b ? p_.k : p_.n, p_.ldb};
  std::vector<double> const ones(index(p_.k), 1);
  auto const bx = p_.trans_b ? where_.across(b, x_, sizes_) : where_.along(b, x_, sizes_);
  columns_ = (p_.trans_b ? where_.along(b, ones, ones) : where_.across(b, ones, ones)).squares;
  auto abx = p_.trans_a ? where_.across(a, bx.sum, bx.size) : where_.along(a, bx.sum, bx.size);
  sums_ = std::move(abx.sum), bounds_ = std::move(abx.size), rows_ = std::move(abx.squares);
  for (auto& v : columns_) v = std::sqrt(v);
  for (auto& v : rows_) v = std::abs(p_.alpha) * std::sqrt(v);
  for (auto& v : sums_) v *= p_.alpha;
  for (auto& v : bounds_) v *= std::abs(p_.alpha);
  if (p_.beta == 0) return;
  auto const before = where_.along(lines_of_c(p_.c), x_, sizes_);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += p_.beta * before.sum[i];
    bounds_[i] += std::abs(p_.beta) * before.size[i];
  }
}

std::string product_check::wrong(void const* c, std::string const& name) {
  auto const n = static_cast<double>(p_.n), k = static_cast<double>(p_.k);
  double const factor = harness::gamma(k + 2, p_.dtype);
  double const with_sums = factor + harness::gamma(n + k + 6, dtype::f64);  // the sums here round, too
  auto const got = where_.along(lines_of_c(c), x_, sizes_).sum;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (double const bound = with_sums * bounds_[i]; !(std::abs(got[i] - sums_[i]) <= bound))
      return fmt::format("row {} of C is wrong: its weighted sum is {:.9g}, not {:.9g} +- {:.2g}", i, got[i], sums_[i],
                         bound);
  if (first_ == nullptr) {
    first_ = where_.keep(c, index((p_.m - 1) * p_.ldc + p_.n) * size_of(p_.dtype));
    first_name_ = name;
    return {};
  }
  comparison const both{.c = lines_of_c(c),
                        .first = first_.get(),
                        .before = p_.beta == 0 ? nullptr : p_.c,
                        .factor = 2 * factor,
                        .beta = p_.beta,
                        .rows = rows_,
                        .columns = columns_};
  auto const at = where_.first_apart(both);
  if (at < 0) return {};
  auto const i = at / p_.ldc, j = at % p_.ldc;
  return fmt::format("C({}, {}) is {:.9g}, {}'s is {:.9g}: more than {:.2g} apart", i, j,
                     where_.element(c, p_.dtype, at), first_name_, where_.element(first_.get(), p_.dtype, at),
                     2 * factor * rows_[index(i)] * columns_[index(j)]);
}

std::string wrong_axpy(axpy_problem const& p, void const* y, check_space const& where) {
  auto const i = where.first_wrong(p, y);
  if (i < 0) return {};
  return fmt::format("y({}) is {:.9g}, not {:.9g}", i, where.element(y, p.dtype, i),
                     p.alpha * where.element(p.x, p.dtype, i) + where.element(p.y, p.dtype, i));
}

}  // namespace tandem::bench
