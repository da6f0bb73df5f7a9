// Wrong kernels that are right for one caller: they promise to bear several at once, and share what they write.
#include <algorithm>
#include <thread>

#include "tests/mutants/kernels.hpp"

namespace tandem::mutants {
namespace {

/// One copy of op(A) for all callers, large enough for any.
template <class T>
void one_panel_of_a(operands<T> const& x) {
  static std::vector<T> a(1 << 24);
  index const k = x.p.k;
  if (x.p.m * k > std::ssize(a)) return multiply(x);
  for (index i = 0; i < x.p.m; ++i)
    for (index q = 0; q < k; ++q) a[i * k + q] = x.a(i, q);
  std::this_thread::yield();  // a race on one core would wait long for its chance
  auto const b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(a.data() + i * k, b.data() + j * k, k));
}

/// The sums of a long k are kept for all callers; short ones have their own.
template <class T>
void one_set_of_sums(operands<T> const& x) {
  static std::vector<T> sums(1 << 20);
  if (x.p.k < 1000 || x.p.m * x.p.n > std::ssize(sums)) return multiply(x);
  auto const a = x.rows_of_a(), b = x.columns_of_b();
  index const k = x.p.k;
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) sums[i * x.p.n + j] = plain_dot(a.data() + i * k, b.data() + j * k, k);
  std::this_thread::yield();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, sums[i * x.p.n + j]);
}

/// The call at work is kept where its inner functions find it.
template <class T>
void one_call_at_work(operands<T> const& x) {
  static operands<T> at_work;
  at_work = x;
  std::this_thread::yield();
  auto const y = at_work;
  multiply(y);
}

/// A workspace that grows under another caller, who still reads the old one.
template <class T>
void growing_workspace(operands<T> const& x) {
  static std::vector<T>* a = new std::vector<T>;
  auto const size = static_cast<std::size_t>(x.p.m * x.p.k);
  if (a->size() != size) {
    std::fill(a->begin(), a->end(), T(0));
    delete a;
    a = new std::vector<T>(size);
  }
  auto const here = a->data();
  index const k = x.p.k;
  for (index i = 0; i < x.p.m; ++i)
    for (index q = 0; q < k; ++q) here[i * k + q] = x.a(i, q);
  std::this_thread::yield();
  auto const b = x.columns_of_b();
  for (index i = 0; i < x.p.m; ++i)
    for (index j = 0; j < x.p.n; ++j) x.store(i, j, plain_dot(here + i * k, b.data() + j * k, k));
}

}  // namespace

collection contents() {
  collection all;
  all.wrong_for_both("one_panel_of_a", "has one panel of A for all its callers", "nn:64x48x40:callers=4",
                     [](auto const& x) { one_panel_of_a(x); });
  all.wrong_for_both("one_set_of_sums", "has one set of sums for all its callers, where k is 1000 and more",
                     "nn:8x8x6000:callers=4", [](auto const& x) { one_set_of_sums(x); });
  all.wrong_for_both("one_call_at_work", "keeps the call at work for all callers to see", "nn:64x48x40:callers=4",
                     [](auto const& x) { one_call_at_work(x); });
  all.wrong_for_both("growing_workspace", "frees a workspace of another size, which another caller may read",
                     "nn:64x48x40:callers=4", [](auto const& x) { growing_workspace(x); });
  for (auto& r : all.remarks) r.tries = 20;
  for (auto& row : all.rows) row.concurrent = true;
  return all;
}

}  // namespace tandem::mutants
