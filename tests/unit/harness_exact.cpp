// L2: covering arrays, the address code, and kernels that are wrong in one corner only.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tandem/harness/judge.hpp>

#include "harness/address.hpp"
#include "harness/covering.hpp"
#include "harness/fill.hpp"
#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "harness/rungs/exact_problems.hpp"
#include "tests/unit/harness_kernels.hpp"

using namespace tandem::harness;
using harness_test::round_to;
using tandem::problem;
template <class T>
using call = harness_test::element_access<T>;

namespace {

/// Combinations of any `strength` factors' levels that no row has.
std::int64_t missing_combinations(std::vector<int> const& levels, int strength, std::vector<covering_row> const& rows) {
  std::vector<bool> chosen(levels.size(), false);
  std::fill_n(chosen.begin(), strength, true);
  std::int64_t missing = 0;
  do {
    std::int64_t all = 1;
    std::set<std::vector<int>> had;
    for (std::size_t f = 0; f < levels.size(); ++f)
      if (chosen[f]) all *= levels[f];
    for (auto const& row : rows) {
      std::vector<int> part;
      for (std::size_t f = 0; f < levels.size(); ++f)
        if (chosen[f]) part.push_back(row[f]);
      had.insert(part);
    }
    missing += all - std::ssize(had);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return missing;
}

rung_report climb(candidate const& kernel, level how_much, std::uint64_t seed, bool stop = true) {
  judge_options options;
  options.only = {rung::exact};
  options.level = how_much;
  options.seed = seed;
  options.stop_at_failure = stop;
  options.diagnose = false;
  auto const j = judge(kernel, options);
  for (auto const& r : j.rungs)
    if (r.rung == rung::exact) return r;
  return {};
}

rung_report climb(tandem::kernel const& row, level how_much, std::uint64_t seed, bool stop = true) {
  return climb(candidate_of(row), how_much, seed, stop);
}

/// A kernel that is right, but spoils C afterwards where `when` says so.
template <class T, class When, class What>
tandem::kernel spoiled(When when, What what) {
  return harness_test::make_kernel<T>("test.spoiled", [when, what](call<T> const& x) {
    harness_test::multiply(x);
    if (when(x.p)) what(x);
  });
}

template <class T, class When>
tandem::kernel wrong_where(When when) {
  return spoiled<T>(when, [](call<T> const& x) { x.c(x.p.m - 1, x.p.n - 1) += 1; });
}

struct planted {
  std::string name;
  tandem::kernel kernel;
};

/// Wrong by where or for what they are asked.
std::vector<planted> corners() {
  using p = problem const&;
  using x = call<float> const&;
  auto const at = [](auto when) { return wrong_where<float>(when); };
  std::vector<planted> out;
  out.push_back({"m = 61 mod 64", at([](p q) { return q.m % 64 == 61; })});
  out.push_back({"n = 64 i + 1 above 64", at([](p q) { return q.n > 64 && q.n % 64 == 1; })});
  out.push_back({"k = 37 mod 64, k > 64", at([](p q) { return q.k > 64 && q.k % 64 == 37; })});
  out.push_back({"n = 2^p, at least 512", at([](p q) { return q.n >= 512 && (q.n & (q.n - 1)) == 0; })});
  out.push_back({"alpha = -1 with trans_b", at([](p q) { return q.alpha == -1 && q.trans_b; })});
  out.push_back({"lda above 2 k", at([](p q) { return !q.trans_a && q.lda > 2 * q.k && q.k > 8; })});
  out.push_back({"lda = ldb", at([](p q) { return q.lda == q.ldb && q.k > 8 && q.n > 8; })});
  out.push_back({"tt, beta = -1", at([](p q) { return q.trans_a && q.trans_b && q.beta == -1; })});
  out.push_back({"tn, odd m, alpha = 2, beta = 2",
                 at([](p q) { return q.trans_a && !q.trans_b && q.m % 2 == 1 && q.alpha == 2 && q.beta == 2; })});
  out.push_back({"unaligned B, n a multiple of 4", at([](p q) {
                   return reinterpret_cast<std::uintptr_t>(q.b) % 16 != 0 && q.n % 4 == 0 && !q.trans_b;
                 })});
  out.push_back({"m above 1000, n above 1000", at([](p q) { return q.m > 1000 && q.n > 1000; })});
  out.push_back({"k above 4096", at([](p q) { return q.k > 4096; })});
  out.push_back({"the last k is dropped where k is odd", harness_test::make_kernel<float>("test.odd_k", [](x y) {
                   for (std::int64_t i = 0; i < y.p.m; ++i)
                     for (std::int64_t j = 0; j < y.p.n; ++j)
                       y.store(i, j, y.dot(i, j, y.p.k > 20 && y.p.k % 2 == 1 ? y.p.k - 1 : y.p.k));
                 })});
  out.push_back({"three last rows of four are left", harness_test::make_kernel<float>("test.tail", [](x y) {
                   for (std::int64_t i = 0; i < (y.p.m % 4 == 3 ? y.p.m - 3 : y.p.m); ++i)
                     for (std::int64_t j = 0; j < y.p.n; ++j) y.store(i, j, y.dot(i, j, y.p.k));
                 })});
  out.push_back({"two columns change places in tile (1, 1)",
                 spoiled<float>([](p q) { return q.m > 64 && q.n > 66; },
                                [](x y) { std::swap(y.c(y.p.m - 1, 64), y.c(y.p.m - 1, 65)); })});
  out.push_back({"ldb for lda", harness_test::make_kernel<float>("test.ldb", [](x y) {
                   auto q = y.p;
                   // Stays within the operand.
                   if (!q.trans_a && q.ldb < q.lda) q.lda = q.ldb;
                   harness_test::multiply(call<float>{q});
                 })});
  out.push_back({"beta is ignored in the last tile of rows", harness_test::make_kernel<float>("test.beta", [](x y) {
                   for (std::int64_t i = 0; i < y.p.m; ++i)
                     for (std::int64_t j = 0; j < y.p.n; ++j) {
                       auto q = y.p;
                       if (q.m > 32 && i >= q.m / 32 * 32) q.beta = 0;
                       call<float>{q}.store(i, j, y.dot(i, j, q.k));
                     }
                 })});
  out.push_back({"gives up where the first row of A is 0", harness_test::make_kernel<float>("test.zero", [](x y) {
                   bool zero = y.p.k > 4;
                   for (std::int64_t q = 0; q < y.p.k; ++q) zero = zero && y.a(0, q) == 0;
                   for (std::int64_t i = 0; i < y.p.m; ++i)
                     for (std::int64_t j = 0; j < y.p.n; ++j) y.store(i, j, zero ? 0 : y.dot(i, j, y.p.k));
                 })});
  return out;
}

/// Wrong by what they keep of earlier calls. What they capture is copied into the child and lives as long as it does.
std::vector<planted> keepers() {
  using x = call<float> const&;
  std::vector<planted> out;
  struct memory {
    void const *a = nullptr, *b = nullptr;
    std::array<std::int64_t, 3> sizes{};
    float sign = 0;
    double alpha = 0;
    std::vector<float> values;
    std::size_t calls = 0;
  };
  auto const copy_c = [](x y, std::vector<float>& to) {
    to.clear();
    for (std::int64_t i = 0; i < y.p.m; ++i)
      for (std::int64_t j = 0; j < y.p.n; ++j) to.push_back(y.c(i, j));
  };
  auto const cached = [copy_c](auto same) {
    auto const kept = std::make_shared<memory>();
    return harness_test::make_kernel<float>("test.cached", [=](x y) {
      std::array const sizes{y.p.m, y.p.n, y.p.k};
      if (kept->sizes == sizes && same(*kept, y)) {
        for (std::int64_t i = 0; i < y.p.m; ++i)
          for (std::int64_t j = 0; j < y.p.n; ++j) y.c(i, j) = kept->values[static_cast<std::size_t>(i * y.p.n + j)];
        return;
      }
      harness_test::multiply(y);
      kept->a = y.p.a, kept->b = y.p.b, kept->sizes = sizes, kept->sign = y.a(0, 0), kept->alpha = y.p.alpha;
      copy_c(y, kept->values);
    });
  };
  out.push_back({"C is kept by the operands' addresses",
                 cached([](memory const& k, x y) { return k.a == y.p.a && k.b == y.p.b; })});
  out.push_back({"C is kept by the addresses and A(0, 0)",
                 cached([](memory const& k, x y) { return k.a == y.p.a && k.b == y.p.b && k.sign == y.a(0, 0); })});

  auto const packed = [](auto same) {
    auto const kept = std::make_shared<memory>();
    return harness_test::make_kernel<float>("test.packed", [=](x y) {
      if (!same(*kept, y)) {
        kept->values.clear();
        for (std::int64_t q = 0; q < y.p.k; ++q)
          for (std::int64_t j = 0; j < y.p.n; ++j) kept->values.push_back(y.b(q, j));
      }
      kept->b = y.p.b, kept->sizes = {0, y.p.n, y.p.k}, kept->sign = y.b(0, 0);
      for (std::int64_t i = 0; i < y.p.m; ++i)
        for (std::int64_t j = 0; j < y.p.n; ++j) {
          float sum = 0;
          for (std::int64_t q = 0; q < y.p.k; ++q)
            sum += y.a(i, q) * kept->values[static_cast<std::size_t>(q * y.p.n + j)];
          y.store(i, j, sum);
        }
    });
  };
  out.push_back({"packed B is used again", packed([](memory const& k, x y) {
                   return k.b == y.p.b && k.sizes == std::array<std::int64_t, 3>{0, y.p.n, y.p.k};
                 })});
  out.push_back(
      {"packed B is used again, if its first element is the same", packed([](memory const& k, x y) {
         return k.b == y.p.b && k.sizes == std::array<std::int64_t, 3>{0, y.p.n, y.p.k} && k.sign == y.b(0, 0);
       })});

  auto const first_alpha = std::make_shared<memory>();
  out.push_back({"alpha of the first call", harness_test::make_kernel<float>("test.alpha", [first_alpha](x y) {
                   if (first_alpha->calls++ == 0) first_alpha->alpha = y.p.alpha;
                   auto q = y.p;
                   q.alpha = first_alpha->alpha;
                   harness_test::multiply(call<float>{q});
                 })});
  auto const first_size = std::make_shared<memory>();
  out.push_back(
      {"workspace of the first call's size", harness_test::make_kernel<float>("test.first", [first_size](x y) {
         if (first_size->calls++ == 0) first_size->sizes[2] = std::max<std::int64_t>(y.p.k, 64);
         for (std::int64_t i = 0; i < y.p.m; ++i)
           for (std::int64_t j = 0; j < y.p.n; ++j) y.store(i, j, y.dot(i, j, std::min(y.p.k, first_size->sizes[2])));
       })});

  // k is padded to a multiple of 8: with zeros in B's panel, with what lay there before in A's.
  auto const panel = std::make_shared<memory>();
  out.push_back({"padding is not cleared", harness_test::make_kernel<float>("test.padding", [panel](x y) {
                   auto const depth = (y.p.k + 7) / 8 * 8;
                   if (panel->values.size() < static_cast<std::size_t>(depth)) panel->values.resize(depth);
                   for (std::int64_t i = 0; i < y.p.m; ++i) {
                     for (std::int64_t q = 0; q < y.p.k; ++q) panel->values[static_cast<std::size_t>(q)] = y.a(i, q);
                     for (std::int64_t j = 0; j < y.p.n; ++j) {
                       float sum = 0;
                       for (std::int64_t q = 0; q < depth; ++q)
                         sum += panel->values[static_cast<std::size_t>(q)] * (q < y.p.k ? y.b(q, j) : 0.0F);
                       y.store(i, j, sum);
                     }
                   }
                 })});
  return out;
}

/// A kernel that shares rows among threads, one after the other here.
template <class Share>
tandem::kernel shared_rows(Share share) {
  tandem::kernel row = harness_test::naive<float>();
  row.threaded = true;
  row.run = [share](problem const& p, tandem::execution const& e) {
    call<float> const x{p};
    std::int64_t const threads = e.threads > 0 ? e.threads : 1;
    for (std::int64_t t = 0; t < threads; ++t) {
      auto const [first, last] = share(p.m, threads, t);
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t j = 0; j < p.n; ++j) x.store(i, j, x.dot(i, j, p.k));
    }
  };
  return row;
}

std::vector<planted> sharers() {
  std::vector<planted> out;
  out.push_back(
      {"rows left over from an even share", shared_rows([](std::int64_t m, std::int64_t threads, std::int64_t t) {
         return std::pair(m / threads * t, m / threads * (t + 1));
       })});
  out.push_back({"ranges overlap where there is no even share",
                 shared_rows([](std::int64_t m, std::int64_t threads, std::int64_t t) {
                   auto const each = (m + threads - 1) / threads;
                   auto const first = std::min(m, each * t);
                   return std::pair(t > 0 && m % threads == 1 ? std::max<std::int64_t>(0, first - 1) : first,
                                    std::min(m, each * (t + 1)));
                 })});
  out.push_back({"fewer rows than threads", shared_rows([](std::int64_t m, std::int64_t threads, std::int64_t t) {
                   if (m < threads) return std::pair<std::int64_t, std::int64_t>(t, t < m - 1 ? t + 1 : t);
                   return std::pair(m * t / threads, m * (t + 1) / threads);
                 })});
  return out;
}

/// Right, each in its own way.
template <class T>
std::vector<planted> right_ones() {
  using x = call<T> const&;
  auto const each = [](auto element) {
    return harness_test::make_kernel<T>("test.right", [element](x y) {
      for (std::int64_t i = 0; i < y.p.m; ++i)
        for (std::int64_t j = 0; j < y.p.n; ++j) element(y, i, j);
    });
  };
  std::vector<planted> out;
  out.push_back({"reversed", harness_test::reversed<T>()});
  out.push_back({"wide sums", harness_test::wide_sum<T>()});
  out.push_back({"beta first, alpha in A", each([](x y, std::int64_t i, std::int64_t j) {
                   T sum = y.p.beta == 0 ? T{0} : y.beta() * y.c(i, j);
                   for (std::int64_t q = 0; q < y.p.k; ++q) sum += y.alpha() * y.a(i, q) * y.b(q, j);
                   y.c(i, j) = sum;
                 })});
  out.push_back({"C over alpha first, alpha last", each([](x y, std::int64_t i, std::int64_t j) {
                   T sum = y.p.beta == 0 ? T{0} : y.beta() / y.alpha() * y.c(i, j);
                   for (std::int64_t q = 0; q < y.p.k; ++q) sum = std::fma(y.a(i, q), y.b(q, j), sum);
                   y.c(i, j) = y.alpha() * sum;
                 })});
  out.push_back({"C in memory per panel", each([](x y, std::int64_t i, std::int64_t j) {
                   for (std::int64_t first = 0; first < y.p.k; first += 16) {
                     T sum = 0;
                     for (std::int64_t q = first; q < std::min(first + 16, y.p.k); ++q) sum += y.a(i, q) * y.b(q, j);
                     if (first == 0)
                       y.store(i, j, sum);
                     else
                       y.c(i, j) += y.alpha() * sum;
                   }
                 })});
  out.push_back({"Kahan", each([](x y, std::int64_t i, std::int64_t j) {
                   T volatile sum = 0, rest = 0;
                   for (std::int64_t q = 0; q < y.p.k; ++q) {
                     T const term = y.a(i, q) * y.b(q, j) - rest;
                     T volatile const next = sum + term;
                     T volatile const grown = next - sum;
                     rest = grown - term;
                     sum = next;
                   }
                   y.store(i, j, sum);
                 })});
  auto const kept = std::make_shared<std::vector<T>>();
  out.push_back({"a packed B that is compared before it is used again",
                 harness_test::make_kernel<T>("test.compared", [kept](x y) {
                   std::vector<T> now;
                   for (std::int64_t q = 0; q < y.p.k; ++q)
                     for (std::int64_t j = 0; j < y.p.n; ++j) now.push_back(y.b(q, j));
                   if (now != *kept) *kept = now;
                   for (std::int64_t i = 0; i < y.p.m; ++i)
                     for (std::int64_t j = 0; j < y.p.n; ++j) {
                       T sum = 0;
                       for (std::int64_t q = 0; q < y.p.k; ++q)
                         sum += y.a(i, q) * (*kept)[static_cast<std::size_t>(q * y.p.n + j)];
                       y.store(i, j, sum);
                     }
                 })});
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("harness: exact");

TEST_CASE("every combination of t factors' levels occurs in a covering array of strength t") {
  std::vector<std::vector<int>> const shapes{
      {2, 2, 2, 2, 2, 2, 2, 2}, {8, 2, 5, 3, 4, 1, 2}, {3, 3, 3, 3}, {7}, {2, 9}};
  for (auto const& levels : shapes)
    for (int strength = 1; strength <= std::min<int>(4, static_cast<int>(levels.size())); ++strength)
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(strength);
        auto const rows = covering_array(levels, strength, seed);
        CHECK(missing_combinations(levels, strength, rows) == 0);
        for (auto const& row : rows)
          for (std::size_t f = 0; f < levels.size(); ++f) CHECK((row[f] >= 0 && row[f] < levels[f]));
      }
  // Without its last row an array of the fewest rows that there can be lacks something.
  auto rows = covering_array(std::vector{3, 3}, 2, 1);
  CHECK(rows.size() == 9);
  rows.pop_back();
  CHECK(missing_combinations({3, 3}, 2, rows) == 1);
}

TEST_CASE("a covering array is small, the same for a seed, and another for another") {
  std::vector const levels{2, 2, 2, 2, 2, 6, 6, 6, 4, 4, 4, 2, 2, 2, 4, 5, 8, 8, 8};
  auto const pairs = covering_array(levels, 2, 5);
  CHECK(pairs.size() < 100);  // 8 x 8 at least
  CHECK(covering_array(levels, 3, 5).size() < 750);
  CHECK(missing_combinations(levels, 3, covering_array(levels, 3, 5)) == 0);
  CHECK(pairs == covering_array(levels, 2, 5));
  CHECK(pairs != covering_array(levels, 2, 6));
}

TEST_CASE("a factor without a level is an error, and strength 0 asks for nothing") {
  CHECK_THROWS_AS(covering_array(std::vector{2, 0}, 1, 1), std::invalid_argument);
  CHECK(covering_array(std::vector{2, 3}, 0, 1).empty());
  CHECK(covering_array(std::vector{2, 3}, 9, 1).size() == 6);
}

TEST_CASE_TEMPLATE("a seed's bytes change one operand of an integer problem at a time", T, float, double) {
  test_case t;
  t.dtype = tandem::dtype_of<T>;
  t.m = 12, t.n = 11, t.k = 10, t.lda = 10, t.ldb = 11, t.ldc = 11, t.beta = 1;
  t.seed = 0x123456789abc;
  auto const before = draw<T>(t);
  auto const differing = [](std::vector<T> const& x, std::vector<T> const& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0, std::plus(), std::not_equal_to());
  };
  for (unsigned operand = 0; operand < 3; ++operand)
    for (std::uint64_t const change : {0x80, 0x15}) {
      auto other = t;
      other.seed ^= change << (40 + 8 * operand);
      auto const after = draw<T>(other);
      std::array const counts{differing(before.a, after.a), differing(before.b, after.b), differing(before.c, after.c)};
      for (unsigned i = 0; i < 3; ++i) {
        if (i != operand) CHECK(counts[i] == 0);
        if (i == operand) CHECK((change == 0x80 ? counts[i] == 1 : counts[i] > 50));
        CHECK(lies_at_end(other.seed, i) == lies_at_end(t.seed, i));
      }
    }
}

TEST_CASE("integers survive the format that a kernel declares") {
  test_case t;
  t.m = t.n = 40, t.k = 3, t.lda = 3, t.ldb = t.ldc = 40, t.seed = 9;
  for (auto const p : {precision::tf32, precision::f16, precision::bf16})
    for (auto const f : {fill::integer, fill::address}) {
      t.fill = f;
      auto const data = draw<float>(t, p);
      int const bits = p == precision::bf16 ? 8 : 11;
      auto const survives = [bits](float v) { return round_to(bits, v) == v; };
      CHECK(std::ranges::all_of(data.a, survives));
      CHECK(std::ranges::all_of(data.b, survives));
      CHECK(!std::ranges::all_of(draw<float>(t).b, survives));
    }
}

TEST_CASE_TEMPLATE("an element of the address code's product says which element it is", T, float, double) {
  int selecting_a = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test_case t;
    t.dtype = tandem::dtype_of<T>;
    t.m = 30, t.n = 23, t.k = 17, t.lda = 17, t.ldb = t.ldc = 23, t.alpha = -2, t.beta = 2, t.seed = seed;
    t.fill = fill::address;
    auto const data = draw<T>(t);
    address_code const code(t);
    selecting_a += code.a_selects();
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < t.k; ++q)
          sum += static_cast<double>(data.a[static_cast<std::size_t>(i * t.k + q)]) *
                 static_cast<double>(data.b[static_cast<std::size_t>(q * t.n + j)]);
        auto const old = static_cast<double>(data.c[static_cast<std::size_t>(i * t.n + j)]);
        double const value = t.alpha * sum + t.beta * old;
        CHECK(code.decode(i, j, value, old) == code.wanted(i, j));
        CHECK(code.explain(i, j, value, old).empty());
      }
  }
  CHECK(selecting_a > 2);
  CHECK(selecting_a < 18);
}

TEST_CASE("a wrong element is told in words") {
  test_case t;
  t.m = t.n = t.k = 40, t.lda = t.ldb = t.ldc = 40;
  t.fill = fill::address;
  while (!address_code(t).a_selects()) ++t.seed;
  address_code const code(t);
  auto const p = code.selected(5);
  auto const right = static_cast<double>(code.sign(5) * code.code(p, 7));
  auto const b = [](std::int64_t row, std::int64_t col) { return to_string(element_address{'B', row, col}); };
  CHECK(code.explain(5, 7, right, 0).empty());
  CHECK(code.explain(5, 7, static_cast<double>(code.sign(5) * code.code(p, 3)), 0) ==
        "C(5, 7) holds " + b(p, 3) + " where " + b(p, 7) + " belongs");
  CHECK(code.explain(5, 7, static_cast<double>(code.sign(9) * code.code(code.selected(9), 7)), 0) ==
        "C(5, 7) holds " + b(code.selected(9), 7) + " where " + b(p, 7) + " belongs, which row 9 of A selects");
  CHECK(code.explain(5, 7, 0, 0) == "C(5, 7) holds nothing where " + b(p, 7) + " belongs");
  CHECK(code.explain(5, 7, -right, 0) == "C(5, 7) holds " + b(p, 7) + " with the wrong sign");
  CHECK(code.explain(5, 7, 0.5, 0).empty());
  CHECK(code.explain(5, 7, std::nan(""), 0).empty());

  // With more elements than codes, the nearest of those that it may be.
  t.m = 3000, t.k = t.lda = 3000, t.n = 30000, t.ldb = t.ldc = 30000;
  while (!address_code(t).a_selects()) ++t.seed;
  address_code const many(t);
  auto const q = many.selected(5);
  CHECK(many.explain(5, 7, static_cast<double>(many.sign(5) * many.code(q, 8)), 0) ==
        "C(5, 7) holds " + b(q, 8) + " where " + b(q, 7) + " belongs");
}

TEST_CASE("the problems are within a kernel's limits, and the same for a seed") {
  auto kernel = candidate_of(harness_test::naive<float>());
  kernel.limits = parse_limits("nn,multiple_of=8,align=16,alpha=1,beta=0,tight,nonempty");
  kernel.flop_budget = 1e5;
  kernel.plan = parse_tile("128x128x64");  // whose first cuts alone are larger
  auto const problems = make_exact_problems(kernel, level::standard, 7, {});
  auto const again = make_exact_problems(kernel, level::standard, 7, {});
  REQUIRE(problems.sequences.size() == again.sequences.size());
  CHECK(problems.sequences.size() > 500);
  for (std::size_t s = 0; s < problems.sequences.size(); ++s)
    for (std::size_t i = 0; i < problems.sequences[s].tests.size(); ++i) {
      auto const& t = problems.sequences[s].tests[i];
      CHECK(to_string(t) == to_string(again.sequences[s].tests[i]));
      CHECK(outside(kernel.limits, t).empty());
      CHECK(flops(t) <= kernel.flop_budget);
      CHECK(to_string(parse_case(to_string(t))) == to_string(t));
    }
}

TEST_CASE("every size to 70 occurs in each dimension at quick, to 272 at standard") {
  auto const kernel = candidate_of(harness_test::naive<double>());
  for (auto const& [how_much, most] : {std::pair(level::quick, 70), std::pair(level::standard, 272)}) {
    std::array<std::set<std::int64_t>, 3> had;
    for (auto const& s : make_exact_problems(kernel, how_much, 3, {}).sequences)
      for (auto const& t : s.tests) {
        auto const p = canonical(t);
        had[0].insert(p.m), had[1].insert(p.n), had[2].insert(p.k);
      }
    for (auto const& sizes : had)
      for (std::int64_t size = 0; size <= most; ++size) CHECK(sizes.contains(size));
    for (auto const& sizes : had)
      for (std::int64_t const size : {511, 512, 513, 1021, 2047, 4095, 4096, 4097}) CHECK(sizes.contains(size));
  }
}

TEST_CASE("any three of storage and scalars meet in the problems of the covering array at standard, any two at quick") {
  auto const kernel = candidate_of(harness_test::naive<float>());
  std::vector<int> const levels{2, 2, 2, 2, 2, 4, 4, 4, 2, 2, 2, 4, 5};
  for (auto const& [how_much, strength] : {std::pair(level::quick, 2), std::pair(level::standard, 3)}) {
    std::vector<covering_row> rows;
    for (auto const& s : make_exact_problems(kernel, how_much, 5, {}).sequences)
      for (auto const& t : s.tests) {
        if (t.source != "covering array") continue;
        auto const is_col = [](tandem::layout l) { return l == tandem::layout::col_major ? 1 : 0; };
        auto const offset = [](std::int64_t o) { return static_cast<int>(o); };
        auto const scalar = [](double x) { return x == 0 ? 4 : x == 1 ? 0 : x == -1 ? 1 : x == 2 ? 2 : 3; };
        rows.push_back({t.trans_a, t.trans_b, is_col(t.layout_a), is_col(t.layout_b), is_col(t.layout_c),
                        offset(t.offset_a), offset(t.offset_b), offset(t.offset_c), lies_at_end(t.seed, 0),
                        lies_at_end(t.seed, 1), lies_at_end(t.seed, 2), scalar(t.alpha), scalar(t.beta)});
      }
    CHECK(missing_combinations(levels, strength, rows) == 0);
    CHECK(rows.size() < 800);
  }
}

TEST_CASE("some calls follow one from which they differ in one element only") {
  auto const kernel = candidate_of(harness_test::naive<float>());
  std::array<int, 3> in_operand{};
  for (auto const& s : make_exact_problems(kernel, level::quick, 5, {}).sequences)
    for (std::size_t i = 1; i < s.tests.size(); ++i)
      for (unsigned operand = 0; operand < 3; ++operand) {
        auto same = s.tests[i - 1];
        same.seed ^= std::uint64_t{0x80} << (40 + 8 * operand);
        in_operand[operand] += to_string(same) == to_string(s.tests[i]);
      }
  for (int const count : in_operand) CHECK(count >= 5);
}

TEST_CASE("the K-blocks that L7 found are among the sizes") {
  auto const kernel = candidate_of(harness_test::naive<float>());
  std::array<std::int64_t, 1> const blocks{333};
  std::set<std::int64_t> had;
  for (auto const& s : make_exact_problems(kernel, level::quick, 3, blocks).sequences)
    for (auto const& t : s.tests) had.insert(t.k);
  for (std::int64_t const k : {332, 333, 334, 665, 666, 667, 998, 999, 1000}) CHECK(had.contains(k));
}

TEST_CASE("a kernel that is wrong in one corner only is caught at standard") {
  for (auto const& p : corners())
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(p.name);
      CAPTURE(seed);
      auto const r = climb(p.kernel, level::standard, seed);
      CHECK(r.verdict == rung_verdict::fail);
      REQUIRE(r.witness.has_value());
      CHECK(r.witness->after.empty());
    }
}

TEST_CASE("what a kernel keeps of earlier calls is caught, with the call that has to come before") {
  for (auto const& p : keepers())
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(p.name);
      CAPTURE(seed);
      auto const r = climb(p.kernel, level::standard, seed);
      CHECK(r.verdict == rung_verdict::fail);
      REQUIRE(r.witness.has_value());
      CAPTURE(r.witness->reason);
      CHECK(!r.witness->after.empty());
    }
}

TEST_CASE("B in A's memory: who tells the two apart by their address is caught, in the one call") {
  using x = call<float> const&;
  // Op(A)'s panel, whose rows lie one after the other, is found again under the address that op(B) has, too.
  auto const packs_once = harness_test::make_kernel<float>("test.packs_once", [](x y) {
    if (y.p.a != y.p.b) return harness_test::multiply(y);
    std::vector<float> panel;
    for (std::int64_t i = 0; i < y.p.m; ++i)
      for (std::int64_t q = 0; q < y.p.k; ++q) panel.push_back(y.a(i, q));
    for (std::int64_t i = 0; i < y.p.m; ++i)
      for (std::int64_t j = 0; j < y.p.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < y.p.k; ++q)
          sum += panel[static_cast<std::size_t>(i * y.p.k + q)] * panel[static_cast<std::size_t>(j * y.p.k + q)];
        y.store(i, j, sum);
      }
  });
  // A symmetric product, of which half is computed: but beta C is not symmetric.
  auto const mirrors = harness_test::make_kernel<float>("test.mirrors", [](x y) {
    harness_test::multiply(y);
    if (y.p.a != y.p.b || y.p.trans_a == y.p.trans_b) return;
    for (std::int64_t i = 0; i < y.p.m; ++i)
      for (std::int64_t j = i + 1; j < y.p.n; ++j) y.c(i, j) = y.c(j, i);
  });
  for (auto const& kernel : {packs_once, mirrors})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(kernel.name);
      auto const r = climb(kernel, level::quick, seed);
      CHECK(r.verdict == rung_verdict::fail);
      REQUIRE(r.witness.has_value());
      CHECK(r.witness->test.b_is_a);
      CHECK(r.witness->after.empty());
      CHECK(replay(candidate_of(kernel), parse_case(to_string(r.witness->test))).has_value());
    }
}

TEST_CASE("B in A's memory: all four transposes, any scalars, within the limits") {
  for (auto const* list :
       {"", "nn", "nt,row_major", "tt", "tn,col_major", "m_multiple_of=6,n_multiple_of=4,k_multiple_of=9",
        "nn,multiple_of=8,align=16,alpha=1,beta=0,tight,nonempty"}) {
    CAPTURE(list);
    auto kernel = candidate_of(harness_test::naive<float>());
    kernel.limits = parse_limits(list);
    std::set<std::pair<bool, bool>> transposes;
    std::set<double> alphas, betas;
    std::int64_t found = 0;
    for (auto const& s : make_exact_problems(kernel, level::quick, 3, {}).sequences)
      for (auto const& t : s.tests) {
        if (!t.b_is_a) continue;
        ++found;
        CHECK(shares_storage(t));
        CHECK(outside(kernel.limits, t).empty());
        auto const p = canonical(t);
        transposes.emplace(p.trans_a, p.trans_b);
        alphas.insert(t.alpha), betas.insert(t.beta);
      }
    CHECK(found == 48);
    if (std::string_view(list).empty()) {
      CHECK(transposes.size() == 4);
      CHECK(alphas.size() >= 4);
      CHECK(betas.size() == 5);
    }
  }
}

TEST_CASE("rows that threads leave or write twice are caught, with how many threads there were") {
  for (auto const& p : sharers())
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(p.name);
      CAPTURE(seed);
      auto const r = climb(p.kernel, level::quick, seed);
      CHECK(r.verdict == rung_verdict::fail);
      REQUIRE(r.witness.has_value());
      CHECK(r.witness->test.threads > 1);
      CHECK(to_string(r.witness->test).find(":threads=") != std::string::npos);
    }
}

TEST_CASE_TEMPLATE("right kernels pass, whatever their order of operations", T, float, double) {
  std::uint64_t seed = 11;
  for (auto const& p : right_ones<T>()) {
    CAPTURE(p.name);
    auto const r = climb(p.kernel, level::quick, seed++);
    CHECK(r.verdict == rung_verdict::pass);
    CHECK(r.calls > 500);
    CHECK(r.unsupported == 0);
    CAPTURE((r.witness ? to_string(r.witness->test) : ""));
    CHECK(!r.witness.has_value());
  }
  auto const r = climb(harness_test::naive<T>(), level::standard, seed);
  CHECK(r.verdict == rung_verdict::pass);
}

TEST_CASE("a kernel that rounds its operands as it declares passes; one that does not declare it fails") {
  auto const rounding = [](int bits) {
    return harness_test::make_kernel<float>("test.rounding", [bits](call<float> const& x) {
      for (std::int64_t i = 0; i < x.p.m; ++i)
        for (std::int64_t j = 0; j < x.p.n; ++j) {
          float sum = 0;
          for (std::int64_t q = 0; q < x.p.k; ++q) sum += round_to(bits, x.a(i, q)) * round_to(bits, x.b(q, j));
          x.store(i, j, sum);
        }
    });
  };
  for (auto const& [p, bits] : {std::pair(precision::tf32, 11), {precision::f16, 11}, {precision::bf16, 8}}) {
    auto kernel = candidate_of(rounding(bits));
    CHECK(climb(kernel, level::quick, 4).verdict == rung_verdict::fail);
    kernel.precision = p;
    CHECK(climb(kernel, level::quick, 4).verdict == rung_verdict::pass);
  }
}

TEST_CASE("a kernel with limits is asked nothing outside them") {
  auto kernel = candidate_of(harness_test::naive<float>());
  kernel.limits = parse_limits("nn,multiple_of=8,align=16,alpha=1,beta=0,tight,nonempty");
  auto const r = climb(kernel, level::quick, 5);
  CHECK(r.verdict == rung_verdict::pass);
  CHECK(r.unsupported == 0);
  CHECK(r.calls > 300);
}

TEST_SUITE_END();
