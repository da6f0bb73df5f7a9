// Right kernels that are unusual in where they compute: recursion, tiles in no order, mapped memory, paths by address.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <thread>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// sums += the product of a part, whose longest side is halved until it is small: no block size fits any cache.
template <class T>
void add_part(T const* a, T const* b, T* sums, index lda, index ldb, index ldc, index m, index n, index k) {
  constexpr index small = 16;
  if (std::max({m, n, k}) <= small) {
    for (index i = 0; i < m; ++i)
      for (index q = 0; q < k; ++q)
        for (index j = 0; j < n; ++j) sums[i * ldc + j] += a[i * lda + q] * b[q * ldb + j];
  } else if (m >= n && m >= k) {
    add_part(a, b, sums, lda, ldb, ldc, m / 2, n, k);
    add_part(a + m / 2 * lda, b, sums + m / 2 * ldc, lda, ldb, ldc, m - m / 2, n, k);
  } else if (n >= k) {
    add_part(a, b, sums, lda, ldb, ldc, m, n / 2, k);
    add_part(a, b + n / 2, sums + n / 2, lda, ldb, ldc, m, n - n / 2, k);
  } else {
    add_part(a, b, sums, lda, ldb, ldc, m, n, k / 2);
    add_part(a + k / 2, b + k / 2 * ldb, sums, lda, ldb, ldc, m, n, k - k / 2);
  }
}

template <class T>
void halving_recursion(operands<T> const& x) {
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  index const m = x.p.m, n = x.p.n, k = x.p.k;
  std::vector<T> rows_of_b(b.size()), sums(static_cast<std::size_t>(m * n));
  for (index j = 0; j < n; ++j)
    for (index q = 0; q < k; ++q) rows_of_b[q * n + j] = b[j * k + q];
  add_part(a.data(), rows_of_b.data(), sums.data(), k, n, n, m, n, k);
  for (index i = 0; i < m; ++i)
    for (index j = 0; j < n; ++j) x.store(i, j, sums[i * n + j]);
}

/// A matrix times its own transpose is symmetric: without a C to add, half of it is computed and mirrored.
template <class T>
void half_of_a_symmetric_product(operands<T> const& x) {
  bool const own_transpose =
      x.p.a == x.p.b && x.p.lda == x.p.ldb && x.p.trans_a != x.p.trans_b && x.p.m == x.p.n && x.p.beta == 0;
  if (!own_transpose) return multiply(x);
  auto const a = x.rows_of_a();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j <= i; ++j) {
      x.store(i, j, plain_dot(a.data() + i * x.p.k, a.data() + j * x.p.k, x.p.k));
      x.c(j, i) = x.c(i, j);
    }
}

/// Tiles of 8 x 8 in an order that is drawn anew in each call, by as many threads as it draws.
template <class T>
void drawn_order(operands<T> const& x) {
  static std::mt19937 source(std::random_device{}());
  constexpr index tile = 8;
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  index const across = (x.p.n + tile - 1) / tile, down = (x.p.m + tile - 1) / tile;
  std::vector<index> order(static_cast<std::size_t>(across * down));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), source);
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    for (auto at = next++; at < order.size(); at = next++)
      for (index i = order[at] / across * tile; i < std::min(x.p.m, (order[at] / across + 1) * tile); ++i)
        for (index j = order[at] % across * tile; j < std::min(x.p.n, (order[at] % across + 1) * tile); ++j)
          x.store(i, j, plain_dot(a.data() + i * x.p.k, b.data() + j * x.p.k, x.p.k));
  };
  std::vector<std::thread> team(source() % 3);
  for (auto& member : team) member = std::thread(work);
  work();
  for (auto& member : team) member.join();
}

/// Copies into a reserved 64 GiB of which it touches what it needs, and gives them back.
template <class T>
void reserved_workspace(operands<T> const& x) {
  constexpr std::size_t room = std::size_t{1} << 36;
  void* const map = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  auto* const copy_a = static_cast<T*>(map);
  auto* const copy_b = copy_a + room / 2 / sizeof(T);
  std::copy(a.begin(), a.end(), copy_a), std::copy(b.begin(), b.end(), copy_b);
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(copy_a + i * x.p.k, copy_b + j * x.p.k, x.p.k));
  munmap(map, room);
}

/// Adds up in another number of lanes for each alignment of A: an element's bits depend on where the operand lies.
template <class T>
void lanes_by_address(operands<T> const& x) {
  auto const lanes = static_cast<index>(1 + reinterpret_cast<std::uintptr_t>(x.p.a) / sizeof(T) % 8);
  multiply(x, [lanes](T const* a, T const* b, index k) {
    T sums[8] = {};
    for (index q = 0; q < k; ++q) sums[q % lanes] += a[q] * b[q];
    return std::accumulate(sums, sums + lanes, T(0));
  });
}

/// An exact sum of products: doubles hold f32's products, and a sum of doubles is kept as doubles that do not overlap
/// (J. Shewchuk, Discrete & Computational Geometry 18, 1997); rounded twice at the end.
float exact_sum(float const* a, float const* b, index k) {
  std::vector<double> parts;
  for (index q = 0; q < k; ++q) {
    double rest = static_cast<double>(a[q]) * static_cast<double>(b[q]);
    if (!std::isfinite(rest)) return plain_dot(a, b, k);
    std::size_t kept = 0;
    for (double part : parts) {
      double const sum = rest + part, high = sum - rest;
      double const low = (rest - (sum - high)) + (part - high);
      if (low != 0) parts[kept++] = low;
      rest = sum;
    }
    parts.resize(kept);
    parts.push_back(rest);
  }
  return static_cast<float>(std::accumulate(parts.begin(), parts.end(), 0.0));
}

}  // namespace

collection contents() {
  collection all;
  all.right_for_both("drawn_order", "computes tiles in an order, and by threads, that it draws in each call",
                     [](auto const& x) { drawn_order(x); });
  for (auto& row : all.rows) row.threaded = true;
  all.right_for_both("halving_recursion", "halves the longest side until all are 16 at most",
                     [](auto const& x) { halving_recursion(x); });
  all.right_for_both("half_of_a_symmetric_product", "computes half of A times its transpose, and mirrors it",
                     [](auto const& x) { half_of_a_symmetric_product(x); });
  all.right_for_both("reserved_workspace", "has its copies in 64 GiB of reserved memory",
                     [](auto const& x) { reserved_workspace(x); });
  all.right_for_both("lanes_by_address", "adds in as many lanes as A's address says",
                     [](auto const& x) { lanes_by_address(x); });
  all.right<float>("exact_sum", "adds up without an error until the end", [](auto const& x) { multiply(x, exact_sum); })
      .flop_budget = 1e7;
  return all;
}

}  // namespace tandem::mutants
