// Calls of gemm that come again: what is kept of them, and that they are as right, and as strict, as the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tandem/tandem.hpp>
#include <tandem/thread_own.hpp>

#include "dispatch/known_calls.hpp"
#include "tests/unit/sequence.hpp"

namespace {

using namespace tandem;
using dispatch::known_call;
using dispatch::known_calls;

constexpr int times = 64;  // more than a call has to come before it is known

template <class T>
struct call {
  matrix_view<T const> a, b;
  matrix_view<T> c;
  gemm_options options = {};

  void operator()() const { gemm(a, b, c, options); }
  bool is_known() const {
    auto const* const calls = thread_own<known_calls<T>>();
    return calls != nullptr && calls->find(a, b, c, options) != nullptr;
  }
};

template <class T>
matrix_view<T> view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t gap, bool by_columns) {
  return {data, rows, cols, (by_columns ? rows : cols) + gap, by_columns ? layout::col_major : layout::row_major};
}

std::optional<std::string> refusal(call<float> const& wrong) {
  try {
    wrong();
  } catch (error const& e) {
    return e.what();
  }
  return std::nullopt;
}

}  // namespace

TEST_SUITE_BEGIN("known calls");

TEST_CASE_TEMPLATE("a call that comes again gives, on any operands, the bits of the first", T, float, double) {
  tests::sequence numbers;
  int known = 0;
  struct {
    std::int64_t m, n, k;
  } const sizes[] = {{1, 1, 1},   {4, 4, 4},  {5, 1, 9},  {1, 7, 3},    {8, 8, 8},    {17, 33, 5},  {16, 16, 16},
                     {3, 200, 2}, {2, 3, 70}, {40, 2, 3}, {31, 5, 200}, {48, 20, 40}, {300, 300, 3}};
  for (auto const& size : sizes)
    for (int const layouts : {0, 1, 2, 3, 4, 5, 6, 7})
      for (double const beta : {0.0, 1.0, -0.5}) {
        auto const m = size.m, n = size.n, k = size.k;
        std::int64_t const gap = beta == 0 ? 0 : 3;
        INFO(m, "x", n, "x", k, " layouts ", layouts, " beta ", beta);
        bool const a_by_columns = layouts % 2 != 0, b_by_columns = layouts / 2 % 2 != 0, c_by_columns = layouts > 3;
        auto const count = [&](std::int64_t rows, std::int64_t cols) {
          return static_cast<std::size_t>((rows + gap) * (cols + gap) + times);
        };
        std::vector<T> a(count(m, k)), b(count(k, n)), c(count(m, n)), wanted;
        int wrong = 0;
        bool is_known = false;
        for (int i = 0; i < (is_known ? 4 : times); ++i) {
          std::int64_t const shift = i % 5;
          for (auto* x : {&a, &b, &c})
            for (auto& value : *x) value = static_cast<T>(numbers.real());
          wanted = c;
          auto const va = view<T const>(a.data() + shift, m, k, gap, a_by_columns);
          auto const vb = view<T const>(b.data() + shift, k, n, gap, b_by_columns);
          gemm_options const options{.alpha = beta == 0 ? 1 : 1.25, .beta = beta};
          call<T> const again{va, vb, view(c.data() + shift, m, n, gap, c_by_columns), options};
          is_known = again.is_known();
          again();
          auto by_name = options;
          by_name.kernel = select_kernel({.dtype = dtype_of<T>, .m = m, .n = n, .k = k})->name;
          gemm(va, vb, view(wanted.data() + shift, m, n, gap, c_by_columns), by_name);
          wrong += c != wanted;
        }
        CHECK(wrong == 0);
        known += is_known;
        CHECK(is_known == (m < 300));
      }
  CHECK(known == 12 * 8 * 3);
}

TEST_CASE("a known call is only what is the same in all but its operands' places") {
  std::vector<float> x(100), z(100);
  call<float> const same{{x.data(), 4, 3, 5}, {x.data(), 3, 2, 4}, {z.data(), 4, 2, 6}, {.alpha = 2, .beta = 1}};
  known_call<float> const known(same.a, same.b, same.c, same.options, {});
  auto const is = [&](call<float> const& other) { return known.is(other.a, other.b, other.c, other.options); };
  REQUIRE(is(same));
  auto other = same;
  other.a = {z.data(), 4, 3, 5}, other.b = {z.data() + 9, 3, 2, 4}, other.c = {x.data() + 7, 4, 2, 6};
  other.options.reproducible = false;  // one thread sums in one order
  CHECK(is(other));

  auto const with_a = [&](matrix_view<float const> a) { return call<float>{a, same.b, same.c, same.options}; };
  CHECK_FALSE(is(with_a({x.data(), 5, 3, 5})));
  CHECK_FALSE(is(with_a({x.data(), 4, 2, 5})));
  CHECK_FALSE(is(with_a({x.data(), 4, 3, 6})));
  CHECK_FALSE(is(with_a({x.data(), 4, 3, 5, layout::col_major})));
  CHECK_FALSE(is(with_a({x.data(), 4, 3, 5, layout::row_major, memory::device})));
  auto const with_b = [&](matrix_view<float const> b) { return call<float>{same.a, b, same.c, same.options}; };
  CHECK_FALSE(is(with_b({x.data(), 4, 2, 4})));
  CHECK_FALSE(is(with_b({x.data(), 3, 1, 4})));
  CHECK_FALSE(is(with_b({x.data(), 3, 2, 3})));
  CHECK_FALSE(is(with_b({x.data(), 3, 2, 4, layout::col_major})));
  CHECK_FALSE(is(with_b({x.data(), 3, 2, 4, layout::row_major, memory::device})));
  auto const with_c = [&](matrix_view<float> c) { return call<float>{same.a, same.b, c, same.options}; };
  CHECK_FALSE(is(with_c({z.data(), 3, 2, 6})));
  CHECK_FALSE(is(with_c({z.data(), 4, 3, 6})));
  CHECK_FALSE(is(with_c({z.data(), 4, 2, 2})));
  CHECK_FALSE(is(with_c({z.data(), 4, 2, 6, layout::col_major})));
  CHECK_FALSE(is(with_c({z.data(), 4, 2, 6, layout::row_major, memory::device})));
  auto const with = [&](gemm_options const& o) { return call<float>{same.a, same.b, same.c, o}; };
  CHECK_FALSE(is(with({.alpha = 1, .beta = 1})));
  CHECK_FALSE(is(with({.alpha = 2, .beta = 0})));
  CHECK(is(with({.alpha = 2, .beta = 1, .backend = backend::cpu})));
  CHECK_FALSE(is(with({.alpha = 2, .beta = 1, .backend = backend::oracle})));
  CHECK_FALSE(is(with({.alpha = 2, .beta = 1, .kernel = "inner_product"})));
}

TEST_CASE("a known call takes operands just where C lies apart from A and B") {
  // A by columns, 3 x 2 of ld 4: 7 elements; B 2 x 5 of ld 6: 11; C 3 x 5 of ld 5: 15.
  std::vector<double> memory(100);
  auto* const c = memory.data() + 40;
  known_call<double> const known({c, 3, 2, 4, layout::col_major}, {c, 2, 5, 6}, {c, 3, 5, 5}, {}, {});
  for (std::int64_t of_a = -40; of_a < 50; ++of_a) {
    CAPTURE(of_a);
    CHECK(known.takes(c + of_a, c - 11, c) == (of_a + 7 <= 0 || of_a >= 15));
    CHECK(known.takes(c - 7, c + of_a, c) == (of_a + 11 <= 0 || of_a >= 15));
  }
  CHECK(known.takes(c + 15, c + 15, c));  // A and B may be the same
  CHECK_FALSE(known.takes(nullptr, c + 15, c));
  CHECK_FALSE(known.takes(c + 15, nullptr, c));
  CHECK_FALSE(known.takes(c + 15, c + 15, nullptr));
  for (int const bytes : {1, 2, 4}) {
    auto* const odd = reinterpret_cast<double*>(reinterpret_cast<char*>(c + 20) + bytes);
    CHECK_FALSE(known.takes(odd, c + 15, c));
    CHECK_FALSE(known.takes(c + 15, odd, c));
    CHECK_FALSE(known.takes(c - 20, c - 20, odd));
  }
}

TEST_CASE("a call whose sizes are known is refused as any other is, and writes nothing") {
  std::vector<float> x(64, 1), z(64, 7);
  call<float> const right{{x.data(), 4, 3, 3}, {x.data(), 3, 2, 2}, {z.data(), 4, 2, 2}};
  for (int i = 0; i < times; ++i) right();
  REQUIRE(right.is_known());
  auto const before = z;
  auto const says = [](std::optional<std::string> const& what, std::string const& words) {
    CAPTURE(what.value_or("no error"));
    CHECK(what.value_or("").find(words) != std::string::npos);
  };
  auto const c = right.c;
  says(refusal({{z.data() + 7, 4, 3, 3}, right.b, c}), "overlaps A");
  says(refusal({right.a, {z.data() + 7, 3, 2, 2}, c}), "overlaps B");
  says(refusal({{nullptr, 4, 3, 3}, right.b, c}), "null");
  says(refusal({right.a, right.b, {nullptr, 4, 2, 2}}), "null");
  says(refusal({right.a, right.b, {z.data(), 4, 2, 1}}), "ldc 1 < n 2");
  says(refusal({{x.data(), 4, 4, 4}, right.b, c}), "A has 4 columns, B has 3 rows");
  CHECK(z == before);
}

TEST_CASE("calls that meet in one place, from several threads, get their products") {
  int wrong[3] = {};
  auto const work = [&](int thread) {
    std::vector<double> a(260, 2), b(260, 3), c(260);
    for (std::int64_t i = 0; i < 20000; ++i) {
      std::int64_t const number = i * (2 * thread + 1) % 3000;  // more than there are places
      std::int64_t const m = 1 + number % 13, n = 1 + number / 13 % 15, k = 1 + number / 195;
      gemm(matrix_view<double const>(a.data(), m, k, k), matrix_view<double const>(b.data(), k, n, n),
           matrix_view<double>(c.data(), m, n, n));
      auto const is_wrong = [&](double x) { return x != 6.0 * static_cast<double>(k); };
      wrong[thread] += static_cast<int>(std::count_if(c.begin(), c.begin() + m * n, is_wrong));
    }
  };
  std::thread first([&] { work(0); }), second([&] { work(1); });
  work(2);
  first.join(), second.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
  CHECK(wrong[2] == 0);
}

TEST_SUITE_END();
