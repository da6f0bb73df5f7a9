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

}  // namespace

product_check::product_check(problem const& p) : p_(p) {
  p_.dtype == dtype::f32 ? prepare<float>() : prepare<double>();
}

std::string product_check::wrong(void const* c, std::string const& name) {
  return p_.dtype == dtype::f32 ? judge(static_cast<float const*>(c), name)
                                : judge(static_cast<double const*>(c), name);
}

template <class T>
void product_check::prepare() {
  auto const* const a = static_cast<T const*>(p_.a);
  auto const* const b = static_cast<T const*>(p_.b);
  auto const* const c = static_cast<T const*>(p_.c);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> weight(0.5, 1.5);
  for (std::int64_t j = 0; j < p_.n; ++j) x_.push_back(random() % 2 != 0 ? weight(random) : -weight(random));

  std::vector<double> bx(index(p_.k)), bx_sizes(index(p_.k));
  columns_.assign(index(p_.n), 0);
  rows_.assign(index(p_.m), 0);
  for (std::int64_t o = 0; o < (p_.trans_b ? p_.n : p_.k); ++o)
    for (std::int64_t i = 0; i < (p_.trans_b ? p_.k : p_.n); ++i) {
      auto const k = index(p_.trans_b ? i : o), n = index(p_.trans_b ? o : i);
      double const v = b[o * p_.ldb + i];
      bx[k] += v * x_[n];
      bx_sizes[k] += std::abs(v * x_[n]);
      columns_[n] += v * v;
    }
  sums_.assign(index(p_.m), 0);
  bounds_.assign(index(p_.m), 0);
  for (std::int64_t o = 0; o < (p_.trans_a ? p_.k : p_.m); ++o)
    for (std::int64_t i = 0; i < (p_.trans_a ? p_.m : p_.k); ++i) {
      auto const m = index(p_.trans_a ? i : o), k = index(p_.trans_a ? o : i);
      double const v = p_.alpha * a[o * p_.lda + i];
      sums_[m] += v * bx[k];
      bounds_[m] += std::abs(v) * bx_sizes[k];
      rows_[m] += v * v;
    }
  if (p_.beta != 0)
    for (std::int64_t i = 0; i < p_.m; ++i)
      for (std::int64_t j = 0; j < p_.n; ++j) {
        double const v = p_.beta * c[i * p_.ldc + j] * x_[index(j)];
        sums_[index(i)] += v;
        bounds_[index(i)] += std::abs(v);
      }
  for (auto* norms : {&rows_, &columns_})
    for (auto& v : *norms) v = std::sqrt(v);
}

template <class T>
std::string product_check::judge(T const* c, std::string const& name) {
  auto const n = static_cast<double>(p_.n), k = static_cast<double>(p_.k);
  double const factor = harness::gamma(k + 2, p_.dtype);
  double const with_sums = factor + harness::gamma(n + k + 4, dtype::f64);  // the sums here round, too
  for (std::int64_t i = 0; i < p_.m; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < p_.n; ++j) sum += static_cast<double>(c[i * p_.ldc + j]) * x_[index(j)];
    double const error = std::abs(sum - sums_[index(i)]), bound = with_sums * bounds_[index(i)];
    if (!(error <= bound))
      return fmt::format("row {} of C is wrong: its weighted sum is {:.9g}, not {:.9g} +- {:.2g}", i, sum,
                         sums_[index(i)], bound);
  }
  auto const bytes = index((p_.m - 1) * p_.ldc + p_.n) * sizeof(T);
  if (first_.empty()) {
    first_.resize(bytes);
    std::memcpy(first_.data(), c, bytes);
    first_name_ = name;
    return {};
  }
  auto const* const first = reinterpret_cast<T const*>(first_.data());
  auto const* const old = static_cast<T const*>(p_.c);
  for (std::int64_t i = 0; i < p_.m; ++i)
    for (std::int64_t j = 0; j < p_.n; ++j) {
      auto const at = i * p_.ldc + j;
      double const before = p_.beta == 0 ? 0 : std::abs(p_.beta * static_cast<double>(old[at]));
      double const bound = 2 * factor * (rows_[index(i)] * columns_[index(j)] + before);
      double const error = std::abs(static_cast<double>(c[at]) - static_cast<double>(first[at]));
      if (!(error <= bound))
        return fmt::format("C({}, {}) is {:.9g}, {}'s is {:.9g}: more than {:.2g} apart", i, j, c[at], first_name_,
                           first[at], bound);
    }
  return {};
}

std::string wrong_axpy(axpy_problem const& p, void const* y) {
  auto const judge = [&]<class T>(T const* got) -> std::string {
    auto const* const x = static_cast<T const*>(p.x);
    auto const* const old = static_cast<T const*>(p.y);
    double const u = harness::unit_roundoff(p.dtype);
    for (std::int64_t i = 0; i < p.n; ++i) {
      double const product = p.alpha * static_cast<double>(x[i]), before = static_cast<double>(old[i]);
      double const wanted = product + before, bound = 2 * u * (std::abs(product) + std::abs(before));
      if (!(std::abs(static_cast<double>(got[i]) - wanted) <= bound))
        return fmt::format("y({}) is {:.9g}, not {:.9g}", i, got[i], wanted);
    }
    return {};
  };
  return p.dtype == dtype::f32 ? judge(static_cast<float const*>(y)) : judge(static_cast<double const*>(y));
}

}  // namespace tandem::bench
