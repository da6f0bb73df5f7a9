// Freivalds' check.
#include "harness/freivalds.hpp"

#include <cmath>

#include "harness/random.hpp"

namespace tandem::harness {
namespace {

__extension__ using wide = unsigned __int128;

constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

// x < 2^64 to the range [0, prime]; one more step makes it canonical where that matters.
std::uint64_t reduce(std::uint64_t x) { return (x & prime) + (x >> 61); }
std::uint64_t multiply(std::uint64_t x, std::uint64_t y) {
  wide const product = static_cast<wide>(x) * y;
  return reduce(static_cast<std::uint64_t>(product & prime) + static_cast<std::uint64_t>(product >> 61));
}
std::uint64_t canonical(std::uint64_t x) {
  x = reduce(x);
  return x >= prime ? x - prime : x;
}

// An integer |v| <= 2^53 as a residue.
std::uint64_t residue(double v) {
  return v < 0 ? prime - static_cast<std::uint64_t>(-v) : static_cast<std::uint64_t>(v);
}

template <class T>
std::uint64_t dot(T const* row, std::vector<std::uint64_t> const& x) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum = reduce(sum + multiply(residue(static_cast<double>(row[j])), x[j]));
  return canonical(sum);
}

}  // namespace

template <element T>
freivalds_check::freivalds_check(test_case const& t, operands<T> const& data, int vectors) : m_(t.m), n_(t.n) {
  random r(derive(t.seed, 4));
  auto const n = static_cast<std::size_t>(t.n);
  auto const k = static_cast<std::size_t>(t.k);
  for (int v = 0; v < vectors; ++v) {
    std::vector<std::uint64_t> x(n);
    for (auto& value : x) value = r.below(prime);
    std::vector<std::uint64_t> bx(k);
    for (std::size_t p = 0; p < k; ++p) bx[p] = dot(data.b.data() + p * n, x);
    std::vector<std::uint64_t> rhs(static_cast<std::size_t>(t.m));
    for (std::size_t i = 0; i < rhs.size(); ++i) {
      rhs[i] = multiply(residue(t.alpha), dot(data.a.data() + i * k, bx));
      if (t.beta != 0) rhs[i] = reduce(rhs[i] + multiply(residue(t.beta), dot(data.c.data() + i * n, x)));
      rhs[i] = canonical(rhs[i]);
    }
    x_.push_back(std::move(x));
    rhs_.push_back(std::move(rhs));
  }
}

template <element T>
std::vector<std::int64_t> freivalds_check::wrong_rows(std::span<T const> got) const {
  std::vector<std::int64_t> wrong;
  auto const n = static_cast<std::size_t>(n_);
  for (std::int64_t i = 0; i < m_; ++i) {
    T const* const row = got.data() + static_cast<std::size_t>(i) * n;
    bool right = true;
    for (std::size_t j = 0; j < n && right; ++j)
      right = std::abs(static_cast<double>(row[j])) <= 0x1p53 && row[j] == std::trunc(row[j]);
    for (std::size_t v = 0; v < x_.size() && right; ++v)
      right = dot(row, x_[v]) == rhs_[v][static_cast<std::size_t>(i)];
    if (!right) wrong.push_back(i);
  }
  return wrong;
}

template freivalds_check::freivalds_check(test_case const&, operands<float> const&, int);
template freivalds_check::freivalds_check(test_case const&, operands<double> const&, int);
template std::vector<std::int64_t> freivalds_check::wrong_rows(std::span<float const>) const;
template std::vector<std::int64_t> freivalds_check::wrong_rows(std::span<double const>) const;

}  // namespace tandem::harness
