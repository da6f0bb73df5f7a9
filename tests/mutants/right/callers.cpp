// Right kernels whose workspace lasts: what they promise to several callers at once, they keep.
#include <memory>
#include <mutex>
#include <utility>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// The product by way of a copy of op(A).
template <class T>
void multiply_with(std::vector<T>& a, operands<T> const& x) {
  index const k = x.p.k;
  a.resize(static_cast<std::size_t>(x.p.m * k));
  for (index i = 0; i < x.p.m; ++i)
    for (index q = 0; q < k; ++q) a[i * k + q] = x.a(i, q);
  auto const b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(a.data() + i * k, b.data() + j * k, k));
}

template <class T>
void for_one_caller(operands<T> const& x) {
  static std::vector<T> workspace;
  multiply_with(workspace, x);
}

template <class T>
void behind_a_mutex(operands<T> const& x) {
  static std::vector<T> workspace;
  static std::mutex mutex;
  std::scoped_lock const lock(mutex);
  multiply_with(workspace, x);
}

/// A workspace that nobody uses is taken, and put back.
template <class T>
void from_a_pool(operands<T> const& x) {
  static std::vector<std::unique_ptr<std::vector<T>>> pool;
  static std::mutex mutex;
  auto const take = [] {
    std::scoped_lock const lock(mutex);
    if (pool.empty()) return std::make_unique<std::vector<T>>();
    auto mine = std::move(pool.back());
    pool.pop_back();
    return mine;
  };
  auto workspace = take();
  multiply_with(*workspace, x);
  std::scoped_lock const lock(mutex);
  pool.push_back(std::move(workspace));
}

template <class T>
void of_each_thread(operands<T> const& x) {
  thread_local std::vector<T> workspace;
  multiply_with(workspace, x);
}

}  // namespace

collection contents() {
  collection all;
  all.right_for_both("workspace_behind_a_mutex", "has one workspace for all callers, one after the other",
                     [](auto const& x) { behind_a_mutex(x); });
  all.right_for_both("workspace_from_a_pool", "takes a workspace that nobody uses, and puts it back",
                     [](auto const& x) { from_a_pool(x); });
  all.right_for_both("workspace_of_each_thread", "has a workspace for each thread that calls",
                     [](auto const& x) { of_each_thread(x); });
  for (auto& row : all.rows) row.concurrent = true;
  all.right_for_both("workspace_for_one_caller", "has one workspace, and promises nothing to several callers",
                     [](auto const& x) { for_one_caller(x); });
  return all;
}

}  // namespace tandem::mutants
