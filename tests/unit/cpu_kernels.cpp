// Every row of the CPU backend against plain loops: odd shapes, transposes, alpha and beta, gaps between rows, operands
// between unmapped pages, any number of threads.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cpu/descriptor.hpp"
#include "cpu/gemm.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "tests/unit/awake.hpp"
#include "tests/unit/each_microkernel.hpp"
#include "tests/unit/guarded.hpp"
#include "tests/unit/sequence.hpp"

namespace {

using tandem::dtype;
using tandem::problem;
using tandem::tests::all_along_rows;
using tandem::tests::for_each_microkernel;
using tandem::tests::guarded;
using tandem::tests::sequence;

struct shape {
  std::int64_t m, n, k;
};

struct variant {
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 0;
  std::int64_t gap = 0;
  bool at_end = true;
  bool integers = true;
  bool reproducible = true;
};

// Where long double is software, as on Arm, it is left to where nothing else will do.
template <class T>
using wide_of = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// An element of A B, and of |A| |B|.
template <class T>
struct plain_sum {
  wide_of<T> sum = 0, magnitude = 0;
};

using sums_key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, bool>;

template <class T>
std::map<sums_key, std::vector<plain_sum<T>>>& known_sums() {
  thread_local std::map<sums_key, std::vector<plain_sum<T>>> known;
  return known;
}

/// Plain loops in wider numbers, (m, n), each thread's own. The rows of a test case have the same operands, and adding
/// these up again for each would take most of these tests' time.
template <class T>
std::vector<plain_sum<T>> const& plain_sums(problem const& p, T const* a, T const* b, bool integers) {
  auto const [at, is_new] = known_sums<T>().try_emplace({p.m, p.n, p.k, p.trans_a, p.trans_b, integers});
  auto& sums = at->second;
  if (!is_new) return sums;
  sums.resize(static_cast<std::size_t>(p.m * p.n));
  // Both along k.
  std::vector<T> row_of_a(static_cast<std::size_t>(p.k)), columns_of_b(static_cast<std::size_t>(p.n * p.k));  // (n, k)
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t l = 0; l < p.k; ++l)
      columns_of_b[static_cast<std::size_t>(j * p.k + l)] = p.trans_b ? b[j * p.ldb + l] : b[l * p.ldb + j];
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t l = 0; l < p.k; ++l)
      row_of_a[static_cast<std::size_t>(l)] = p.trans_a ? a[l * p.lda + i] : a[i * p.lda + l];
    for (std::int64_t j = 0; j < p.n; ++j) {
      T const* const column = columns_of_b.data() + j * p.k;
      plain_sum<T> of;
      for (std::size_t l = 0; l < row_of_a.size(); ++l) {
        wide_of<T> const term = static_cast<wide_of<T>>(row_of_a[l]) * column[l];
        of.sum += term;
        of.magnitude += std::abs(term);
      }
      sums[static_cast<std::size_t>(i * p.n + j)] = of;
    }
  }
  return sums;
}

/// Runs what the row prepares for the problem; false: nothing.
bool run_prepared(tandem::kernel const& row, problem const& p) {
  auto const prepared = row.prepare(p);
  if (prepared.call) prepared.call(prepared.state.get(), p.a, p.b, p.c);
  return prepared.call != nullptr;
}

/// Runs a row and returns how many elements of C, gaps included, are not what plain loops in wider numbers give: equal
/// for integers, within gamma(k + 2) (|alpha| |A| |B| + |beta| |C|) otherwise. `result`: C as it is then, gaps
/// included; not `compared`, it is all that is wanted, and 0 errors are returned. With `prepared` what the row prepares
/// runs, and it says whether that was something, without which C must stay as it was. `just_before` either runs.
template <class T>
std::int64_t errors(tandem::kernel const& row, shape const& s, variant const& v, int threads,
                    std::vector<T>* result = nullptr, bool compared = true, bool* prepared = nullptr,
                    std::function<void()> const& just_before = {}) {
  auto const [m, n, k] = s;
  T const nan = std::numeric_limits<T>::quiet_NaN(), sentinel = T(12345);
  std::int64_t const a_rows = v.trans_a ? k : m, a_cols = v.trans_a ? m : k;
  std::int64_t const b_rows = v.trans_b ? n : k, b_cols = v.trans_b ? k : n;
  std::int64_t const lda = a_cols + v.gap, ldb = b_cols + v.gap, ldc = n + v.gap;
  // The last row of a matrix ends at its last element: there is no gap behind it to lean on.
  guarded<T> const a_memory((a_rows - 1) * lda + a_cols, v.at_end), b_memory((b_rows - 1) * ldb + b_cols, v.at_end);
  std::int64_t const c_size = (m - 1) * ldc + n;
  guarded<T> const c_memory(c_size, v.at_end);
  T *const a = a_memory.data(), *const b = b_memory.data(), *const c = c_memory.data();

  sequence numbers(static_cast<std::uint64_t>(m * 31 + n * 7 + k));
  auto const value = [&] { return static_cast<T>(v.integers ? numbers.integer(3) : numbers.real()); };
  auto const fill = [&](T* x, std::int64_t rows, std::int64_t cols, std::int64_t ld, T in_gap) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < (i + 1 < rows ? ld : cols); ++j) x[i * ld + j] = j < cols ? value() : in_gap;
  };
  fill(a, a_rows, a_cols, lda, nan);
  fill(b, b_rows, b_cols, ldb, nan);
  fill(c, m, n, ldc, sentinel);
  std::vector<T> const before(c, c + c_size);
  if (v.beta == 0)
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, nan);

  problem const the_problem{.dtype = tandem::dtype_of<T>,
                            .m = m,
                            .n = n,
                            .k = k,
                            .alpha = v.alpha,
                            .a = a,
                            .lda = lda,
                            .trans_a = v.trans_a,
                            .b = b,
                            .ldb = ldb,
                            .trans_b = v.trans_b,
                            .beta = v.beta,
                            .c = c,
                            .ldc = ldc};
  if (row.refuses && !row.refuses(the_problem).empty()) return 0;  // a path that is not made for this layout
  static std::vector<plain_sum<T>> const not_wanted;
  auto const& sums = compared ? plain_sums(the_problem, a, b, v.integers) : not_wanted;
  if (just_before) just_before();
  if (prepared) {
    std::vector<T> const given(c, c + c_size);
    *prepared = run_prepared(row, the_problem);
    if (!*prepared) return std::memcmp(c, given.data(), given.size() * sizeof(T)) != 0;
  } else {
    row.run(the_problem, {.stream = nullptr, .threads = threads, .reproducible = v.reproducible});
  }
  if (result) result->assign(c, c + c_size);
  if (!compared) return 0;

  using wide = wide_of<T>;
  wide const u = std::numeric_limits<T>::epsilon() / 2, steps = static_cast<wide>(k + 2);
  wide const gamma = v.integers ? 0 : steps * u / (1 - steps * u);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      auto const [sum, magnitude] = sums[static_cast<std::size_t>(i * n + j)];
      wide const old = before[static_cast<std::size_t>(i * ldc + j)];
      wide const want = v.alpha * sum + v.beta * old;
      wide const bound = gamma * (std::abs(v.alpha) * magnitude + std::abs(v.beta * old));
      wrong += !(std::abs(c[i * ldc + j] - want) <= bound);
    }
    if (i + 1 < m)
      for (std::int64_t j = n; j < ldc; ++j) wrong += c[i * ldc + j] != sentinel;
  }
  return wrong;
}

std::int64_t errors(tandem::kernel const& row, shape const& s, variant const& v, int threads = 1) {
  return row.dtype == dtype::f32 ? errors<float>(row, s, v, threads) : errors<double>(row, s, v, threads);
}

template <class F>
void for_each_gemm(F&& f) {
  known_sums<float>().clear(), known_sums<double>().clear();
  for (auto const& row : tandem::cpu::descriptor().kernels) {
    if (row.operation() != tandem::operation::gemm || (row.unavailable && !row.unavailable().empty())) continue;
    CAPTURE(row.name);
    f(row);
  }
}

}  // namespace

TEST_SUITE_BEGIN("cpu_kernels");

TEST_CASE("the table has the rows that were promised") {
  auto const& rows = tandem::cpu::descriptor().kernels;
  for (char const* name :
       {"cpu.blocked.f32.64x64x64", "cpu.blocked.f64.64x64x64", "cpu.outer_product.f32", "cpu.outer_product.f64",
        "cpu.inner_product.f32", "cpu.inner_product.f64", "cpu.axpy.f32", "cpu.axpy.f64",
#ifdef __x86_64__
        "cpu.avx512.f32.14x32", "cpu.avx512.f64.14x16", "cpu.avx2.f32.6x16", "cpu.avx2.f64.6x8", "cpu.baseline.f32.6x8",
        "cpu.baseline.f64.6x4"
#endif
       }) {
    CAPTURE(name);
    CHECK(std::ranges::count(rows, name, &tandem::kernel::name) == 1);
  }
  for (auto const& row : rows) CHECK(row.backend == tandem::backend::cpu);
  CHECK(tandem::cpu::descriptor().version().find("Highway") != std::string::npos);
}

TEST_CASE("integers are exact on every shape around a tile") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t m : {1, 5, 6, 7, 13, 14, 15, 29})
      for (std::int64_t n : {1, 3, 4, 8, 15, 16, 17, 31, 32, 33, 49})
        for (std::int64_t k : {1, 2, 17}) {
          shape const s{m, n, k};
          INFO(m, "x", n, "x", k);
          CHECK(errors(row, s, {}) == 0);
          CHECK(errors(row, s, {.alpha = -1, .beta = 1, .gap = 3}) == 0);
          CHECK(errors(row, s, {.trans_b = true, .beta = -1}) == 0);
          CHECK(errors(row, s, {.trans_b = true, .gap = 2}) == 0);
          CHECK(errors(row, s, {.trans_a = true, .trans_b = true, .alpha = 2, .beta = -2, .gap = 1, .at_end = false}) ==
                0);
        }
  });
}

TEST_CASE("transposes, alpha and beta in all combinations") {
  for_each_gemm([](tandem::kernel const& row) {
    for (bool trans_a : {false, true})
      for (bool trans_b : {false, true})
        for (double alpha : {1.0, -1.0, 2.0, -2.0})
          for (double beta : {0.0, 1.0, -1.0, 2.0, -2.0})
            for (std::int64_t gap : {0, 5}) {
              INFO(trans_a, trans_b, " alpha ", alpha, " beta ", beta, " gap ", gap);
              CHECK(errors(row, {31, 35, 19}, {trans_a, trans_b, alpha, beta, gap}) == 0);
              CHECK(errors(row, {200, 1, 40}, {trans_a, trans_b, alpha, beta, gap}) == 0);
              CHECK(errors(row, {2, 70, 205}, {trans_a, trans_b, alpha, beta, gap}) == 0);
              CHECK(errors(row, {17, 34, 40}, {trans_a, trans_b, alpha, beta, gap}) == 0);
            }
  });
}

TEST_CASE("a few terms, along C's rows and down them, with B as it lies and turned") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t k = 1; k <= 9; ++k)
      for (bool trans_a : {false, true})
        for (bool trans_b : {false, true})
          for (auto const& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{205, 3},
                                           {150, 31},
                                           {60, 11},
                                           {60, 7},
                                           {3, 300},
                                           {1, 203},
                                           {1, 47},
                                           {1, 10},
                                           {1, 3},
                                           {203, 1},
                                           {47, 1},
                                           {70, 61},
                                           {15, 601}}) {
            shape const s{rows, cols, k};
            INFO(s.m, "x", s.n, "x", k, " ", trans_a, trans_b);
            CHECK(errors(row, s, {trans_a, trans_b}) == 0);
            CHECK(errors(row, s, {trans_a, trans_b, 2, 0, 1, false}) == 0);
            CHECK(errors(row, s,
                         {.trans_a = trans_a,
                          .trans_b = trans_b,
                          .alpha = -1.25,
                          .beta = 0.5,
                          .gap = 2,
                          .integers = false}) == 0);
          }
  });
}

TEST_CASE("rows of one term that begin anywhere in a line, as long as some vectors and longer") {
  for_each_gemm([](tandem::kernel const& row) {
    auto const check = [&]<class T>(T) {
      for (std::int64_t const m : {19, 20, 45})
        for (std::int64_t const n : {47, 48, 49, 95, 96, 97, 98, 103, 104, 105, 130, 161})
          for (std::int64_t const gap : {0, 1, 3})
            for (double const alpha : {1.0, -2.0})
              for (double const beta : {0.0, 1.0})
                for (bool const at_end : {false, true}) {
                  INFO(row.name, " ", m, "x", n, " gap ", gap, " alpha ", alpha, " beta ", beta, " ", at_end);
                  variant const v{.alpha = alpha, .beta = beta, .gap = gap, .at_end = at_end};
                  CHECK(errors<T>(row, {m, n, 1}, v, 1) == 0);
                }
    };
    if (row.dtype == dtype::f32)
      check(float());
    else
      check(double());
  });
}

TEST_CASE("one or two columns behind the last whole vector, which are dot products along A") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t n : {9, 18, 33, 66, 257})
      for (auto const& [rows, terms] : {std::pair<std::int64_t, std::int64_t>{16, 1100}, {40, 300}, {401, 129}})
        for (bool trans_b : {false, true}) {
          shape const s{rows, n, terms};
          INFO(s.m, "x", n, "x", s.k, " ", trans_b);
          CHECK(errors(row, s, {false, trans_b}) == 0);
          CHECK(
              errors(row, s,
                     {.trans_b = trans_b, .alpha = -1.25, .beta = 0.5, .gap = 3, .at_end = false, .integers = false}) ==
              0);
        }
  });
}

TEST_CASE("a few rows of long sums, whose steps of k are summed apart") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t m = 1; m <= 5; ++m)
      for (std::int64_t n : {1, 2, 4, 7, 8, 9, 15, 16, 17, 25, 31, 32, 33, 49, 64, 65, 137})
        for (std::int64_t k : {32, 33, 35, 130, 211})
          for (bool trans_a : {false, true}) {
            INFO(m, "x", n, "x", k, " ", trans_a);
            CHECK(errors(row, {m, n, k}, {.trans_a = trans_a, .gap = m % 2}) == 0);
            CHECK(errors(row, {m, n, k},
                         {.trans_a = trans_a, .alpha = -1.25, .beta = 0.5, .gap = 2, .integers = false}) == 0);
          }
  });
}

TEST_CASE("a few columns of few terms, for which a transposed B is turned in registers") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t m : {1, 2, 5, 31, 33, 63})
      for (std::int64_t n = 1; n <= 9; ++n)
        for (std::int64_t k = 1; k <= 9; ++k)
          for (bool trans_a : {false, true})
            for (bool at_end : {false, true}) {
              INFO(m, "x", n, "x", k, " ", trans_a, at_end);
              CHECK(errors(row, {m, n, k}, {.trans_a = trans_a, .trans_b = true, .gap = n % 2, .at_end = at_end}) == 0);
              CHECK(errors(row, {m, n, k},
                           {.trans_a = trans_a,
                            .trans_b = true,
                            .alpha = -1.25,
                            .beta = 0.5,
                            .gap = 2,
                            .at_end = at_end,
                            .integers = false}) == 0);
            }
  });
}

TEST_CASE("a few whole rows of C in registers, in one panel of k or several") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t m = 1; m <= 5; ++m)
      for (std::int64_t n : {17, 20, 24, 33, 40, 47, 49, 64, 65, 80, 95, 97, 111, 128, 130, 192, 193, 300, 384, 385})
        for (std::int64_t k : {9, 50, 1500})
          for (bool trans_a : {false, true}) {
            INFO(m, "x", n, "x", k, " ", trans_a);
            CHECK(errors(row, {m, n, k}, {.trans_a = trans_a, .gap = m % 2}) == 0);
            CHECK(errors(row, {m, n, k},
                         {.trans_a = trans_a, .alpha = -1.25, .beta = 0.5, .gap = 2, .integers = false}) == 0);
          }
  });
}

TEST_CASE("a small column, whose dot products begin at once") {
  for_each_gemm([](tandem::kernel const& row) {
    for (std::int64_t m : {2, 3, 5, 17, 48, 120})
      for (std::int64_t k : {6, 7, 16, 23, 34, 127, 128})
        for (bool trans_b : {false, true})
          for (std::int64_t gap : {0, 2}) {
            INFO(m, "x1x", k, " ", trans_b, gap);
            CHECK(errors(row, {m, 1, k}, {.trans_b = trans_b, .gap = gap}) == 0);
            CHECK(errors(row, {m, 1, k},
                         {.trans_b = trans_b, .alpha = -1.25, .beta = 0.5, .gap = gap, .integers = false}) == 0);
          }
  });
}

TEST_CASE("a small C of many terms beside a transposed A") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{15, 128, 700}, {32, 32, 5000}, {33, 33, 5003}, {64, 20, 1025}, {128, 70, 641}})
      for (std::int64_t gap : {0, 3}) {
        INFO(s.m, "x", s.n, "x", s.k, " ", gap);
        CHECK(errors(row, s, {.trans_a = true, .gap = gap}) == 0);
        CHECK(errors(row, s, {.trans_a = true, .alpha = -1.25, .beta = 0.5, .gap = gap, .integers = false}) == 0);
      }
  });
}

/// As many normal numbers.
template <class T>
std::vector<T> normal_numbers(std::int64_t count) {
  std::mt19937_64 random(static_cast<std::uint64_t>(count));
  std::normal_distribution<T> normal;
  std::vector<T> data(static_cast<std::size_t>(count));
  for (auto& x : data) x = normal(random);
  return data;
}

TEST_CASE("dot products have the same bits where A is asked for ahead") {
  for_each_microkernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    for (std::int64_t const rows : {1, 2, 7, 8, 9, 15, 27})
      for (std::int64_t const cols : {1, 2, 3, 6})
        for (std::int64_t const k : {1, 17, 512, 701}) {
          INFO(rows, "x", cols, "x", k);
          auto const a = normal_numbers<T>(rows * k), b = normal_numbers<T>(cols * k),
                     before = normal_numbers<T>(rows * cols);
          auto const dots = [&](std::int64_t a_ahead) {
            auto c = before;
            tandem::cpu::dot_work<T> w;
            w.k = k, w.alpha = T(-1.25), w.beta = T(0.5);
            w.a = a.data(), w.a_row = k, w.a_ahead = a_ahead;
            w.b = b.data(), w.b_col = k;
            w.c = c.data(), w.c_row = cols, w.c_col = 1;
            kernel.dots(w, rows, cols);
            return c;
          };
          auto const asked = dots(8 * k);
          CHECK(std::memcmp(asked.data(), dots(0).data(), asked.size() * sizeof(T)) == 0);
          CHECK(asked != before);
        }
  });
}

TEST_CASE("a last vector that is half empty is a tile of its own where that pays, with the same bits") {
  for_each_microkernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    if (kernel.rows[0] == 0) return;  // it has no tiles of half a vector
    auto with_halves = kernel, without = kernel;
    with_halves.half_costs_half = true, without.half_costs_half = false;
    std::int64_t const half = kernel.lanes / 2;
    CHECK_FALSE(with_halves.ends_in_half(half));
    CHECK(with_halves.ends_in_half(3 * half));
    CHECK_FALSE(with_halves.ends_in_half(3 * half + 1));
    CHECK_FALSE(without.ends_in_half(3 * half));
    for (std::int64_t const m : {1, 5, 13, 23})
      for (std::int64_t const n : {2 * half + 1, 3 * half, 5 * half - 1, 9 * half, 15 * half})
        for (std::int64_t const k : {1, 9, 40})
          for (bool const trans_b : {false, true}) {
            if (trans_b && k == 40) continue;  // one of both may take dot products
            INFO(m, "x", n, "x", k, " ", trans_b);
            auto const a = normal_numbers<T>(m * k), b = normal_numbers<T>(k * n), before = normal_numbers<T>(m * n);
            auto const multiply = [&](tandem::cpu::microkernel<T> const& by) {
              auto c = before;
              problem p;
              p.m = m, p.n = n, p.k = k, p.alpha = -1.25, p.beta = 0.5;
              p.a = a.data(), p.lda = k, p.b = b.data(), p.ldb = trans_b ? k : n, p.trans_b = trans_b;
              p.c = c.data(), p.ldc = n;
              tandem::cpu::gemm(by, tandem::cpu::path::chosen, p, {.threads = 1});
              return c;
            };
            auto const in_halves = multiply(with_halves);
            CHECK(std::memcmp(in_halves.data(), multiply(without).data(), in_halves.size() * sizeof(T)) == 0);
            CHECK(in_halves != before);
          }
  });
}

TEST_CASE("rows of C have the same bits where B is asked for ahead") {
  for_each_microkernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t k = tandem::cpu::microkernel<T>::most_terms;
    for (std::int64_t const rows : {1, 2, 3})
      for (std::int64_t const n : {1, 31, 130}) {
        INFO(rows, "x", n);
        auto const a = normal_numbers<T>(rows * k), b = normal_numbers<T>(k * n), before = normal_numbers<T>(rows * n);
        auto const update = [&](std::int64_t b_ahead) {
          auto c = before;
          tandem::cpu::far_tile_work<T> w;
          w.alpha = T(-1.25), w.beta = T(0.5);
          w.a = a.data(), w.a_row = k, w.a_col = 1;
          w.b = b.data(), w.b_row = n, w.b_ahead = b_ahead;
          w.c = c.data(), w.ldc = n, w.cols = n;
          kernel.update_along.back()(w, rows, b_ahead != 0);
          return c;
        };
        auto const asked = update(k * n);
        CHECK(std::memcmp(asked.data(), update(0).data(), asked.size() * sizeof(T)) == 0);
        CHECK(asked != before);
      }
  });
}

TEST_CASE("rows of C have the same bits where they lie just behind B, modulo a page") {
  for_each_microkernel([]<class T>(tandem::cpu::microkernel<T> const& kernel) {
    constexpr std::int64_t page = 4096 / sizeof(T), longest = 300, lines = 16, least = 64 / sizeof(T);
    std::vector<T> memory(static_cast<std::size_t>(40 * page));
    void* first = memory.data();
    std::size_t room = memory.size() * sizeof(T);
    REQUIRE(std::align(4096, 30 * 4096, first, room) != nullptr);
    T* const b = static_cast<T*>(first);
    std::int64_t const most_terms = kernel.terms_of_few_rows;
    auto const numbers = normal_numbers<T>(most_terms * longest), a = normal_numbers<T>(3 * most_terms);
    std::ranges::copy(numbers, b);
    for (auto const& along : all_along_rows(kernel))
      for (std::int64_t const rows : {1, 3})
        for (std::int64_t const n :
             std::initializer_list<std::int64_t>{17, 4 * kernel.lanes, 12 * kernel.lanes - 1, longest})
          for (T const beta : {T(0), T(0.5)}) {
            auto const k = along.terms;
            INFO(rows, "x", n, "x", k, ", beta ", beta);
            auto const update = [&](std::int64_t behind) {
              T* const c = b + 10 * page + behind;
              std::fill_n(c - least, rows * n + 2 * least, T(7));
              tandem::cpu::tile_work<T> w;
              w.alpha = T(-1.25), w.beta = beta;
              w.a = a.data(), w.a_row = k, w.a_col = 1;
              w.b = b, w.b_row = n;
              w.c = c, w.ldc = n, w.cols = n;
              along.update(w, rows, false);
              return std::vector<T>(c - least, c + rows * n + least);
            };
            auto const far = update(page / 2);
            for (std::int64_t line = 1; line <= lines; ++line) {
              auto const near = update(line * least);
              CHECK(std::memcmp(near.data(), far.data(), far.size() * sizeof(T)) == 0);
            }
            CHECK(far[static_cast<std::size_t>(least)] != T(7));
            CHECK(far.back() == T(7));
          }
  });
}

TEST_CASE("several blocks of B, the next of which is asked for") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{30, 800, 300}, {29, 140, 2300}, {260, 300, 600}})
      for (bool trans_a : {false, true})
        for (bool trans_b : {false, true}) {
          INFO(s.m, "x", s.n, "x", s.k, " ", trans_a, trans_b);
          CHECK(errors(row, s, {trans_a, trans_b}) == 0);
          CHECK(errors(row, s, {trans_a, trans_b, -1.25, 0.5, 3, false}) == 0);
        }
  });
}

TEST_CASE("operands that are near, of which what a tile reads may be copied before each column of tiles") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{96, 201, 180}, {130, 170, 190}, {200, 128, 250}})
      for (bool trans_a : {false, true}) {
        INFO(s.m, "x", s.n, "x", s.k, " ", trans_a);
        CHECK(errors(row, s, {trans_a, false}) == 0);
        CHECK(errors(row, s, {trans_a, false, -1.25, 0.5, 3, false}) == 0);
      }
  });
}

TEST_CASE("a transposed A that is far, where it lies or copied") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{333, 140, 270}, {1024, 140, 270}, {90, 1600, 260}})
      for (bool trans_b : {false, true}) {
        INFO(s.m, "x", s.n, "x", s.k, " ", trans_b);
        CHECK(errors(row, s, {.trans_a = true, .trans_b = trans_b, .alpha = -1.25, .beta = 0.5}) == 0);
      }
  });
}

TEST_CASE("a few columns or rows beside operands of any length and layout") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{48, 2, 70},
                           {33, 5, 300},
                           {150, 16, 70},
                           {600, 3, 40},
                           {5000, 3, 130},
                           {1100, 11, 90},
                           {900, 24, 50},
                           {70000, 3, 10},  // A passes once, from beyond L2
                           {30000, 5, 25},
                           {20000, 18, 12},
                           {130, 7, 100},
                           {4, 220, 40},
                           {4, 500, 20},
                           {9, 511, 31},
                           {16, 12, 300},
                           {90, 31, 201},
                           {500, 32, 65}})
      for (bool trans_a : {false, true})
        for (bool trans_b : {false, true}) {
          INFO(s.m, "x", s.n, "x", s.k, " ", trans_a, trans_b);
          CHECK(errors(row, s, {trans_a, trans_b}) == 0);
          CHECK(errors(row, s,
                       {.trans_a = trans_a,
                        .trans_b = trans_b,
                        .alpha = -1.25,
                        .beta = 0.5,
                        .gap = 3,
                        .at_end = false,
                        .integers = false}) == 0);
        }
  });
}

TEST_CASE("real data stay within the bound, also where blocks of m, n and k end") {
  for_each_gemm([](tandem::kernel const& row) {
    tandem::tile_level block{.m = 64, .n = 64, .k = 64};
    for (auto const& level : row.plan({.dtype = row.dtype, .m = 3000, .n = 3000, .k = 3000}).levels) {
      if (level.name == "ic") block.m = level.m;
      if (level.name == "jc") block.n = level.n;
      if (level.name == "pc") block.k = level.k;
    }
    for (shape const& s : {shape{3, 5, block.k},
                           {17, 9, block.k + 1},
                           {31, 67, 2 * block.k + 3},
                           {block.m + 1, 3, 9},
                           {block.m + 1, 70, 9},
                           {29, block.n + 1, 9},
                           {65, 129, 63},
                           {1, 1, 3000},
                           {2, 3000, 2},
                           {97, 101, 103}}) {
      INFO(s.m, "x", s.n, "x", s.k);
      CHECK(errors(row, s, {.alpha = 1.25, .beta = -0.75, .gap = 2, .integers = false}) == 0);
      CHECK(errors(row, s, {.trans_a = true, .alpha = -0.3125, .integers = false}) == 0);
    }
  });
}

TEST_CASE("the bits do not depend on the number of threads") {
  for_each_gemm([](tandem::kernel const& row) {
    // Some are too thin to be shared by rows: one panel of A, many of B.
    for (shape const& s : {shape{131, 140, 150},
                           {257, 65, 300},
                           {5, 2000, 400},
                           {20, 1500, 300},
                           {40, 50, 6000},
                           {3, 5, 20000},
                           {20000, 3, 40},
                           {2, 1500, 900},
                           {900, 700, 3},
                           {7, 60000, 2},
                           {30000, 17, 5},
                           {100, 500, 700},
                           {150, 1201, 600},
                           {64, 65, 67},
                           {80, 78, 79},
                           {19, 239, 44},
                           {127, 33, 120},
                           {1, 90, 9000},
                           {3, 70, 9000}}) {
      INFO(s.m, "x", s.n, "x", s.k);
      auto const same = [&]<class T>(T) {
        for (bool trans : {false, true}) {
          variant const v{.trans_a = trans, .trans_b = trans, .alpha = 0.5, .beta = 1.5, .integers = false};
          std::vector<T> one, many;
          CHECK(errors<T>(row, s, v, 1, &one) == 0);
          if (one.empty()) continue;  // refused
          for (int threads : {2, 3, 4, 12}) {
            CAPTURE(threads);
            errors<T>(row, s, v, threads, &many, false);
            CHECK(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)) == 0);
          }
        }
      };
      if (row.dtype == dtype::f32)
        same(float());
      else
        same(double());
    }
  });
}

/// What the row makes of c with A and B that lie together; nothing where the row refuses their layout.
template <class T>
std::vector<T> multiplied(tandem::kernel const& row, shape const& s, variant const& v, std::vector<T> const& a,
                          std::vector<T> const& b, std::vector<T> c, int threads) {
  problem const p{.dtype = row.dtype,
                  .m = s.m,
                  .n = s.n,
                  .k = s.k,
                  .alpha = v.alpha,
                  .a = a.data(),
                  .lda = v.trans_a ? s.m : s.k,
                  .trans_a = v.trans_a,
                  .b = b.data(),
                  .ldb = v.trans_b ? s.k : s.n,
                  .trans_b = v.trans_b,
                  .beta = v.beta,
                  .c = c.data(),
                  .ldc = s.n};
  if (row.refuses && !row.refuses(p).empty()) return {};
  row.run(p, {.stream = nullptr, .threads = threads});
  return c;
}

// A sum that begins with a product is -0 where one that begins with +0 is not.
TEST_CASE("the signs of zeros do not depend on the number of threads") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{400, 2, 6000}, {2, 400, 6000}, {32868, 2, 128}, {1, 3000, 300}, {130, 70, 90}})
      for (int transposes = 0; transposes < 4; ++transposes) {
        INFO(s.m, "x", s.n, "x", s.k, " ", transposes);
        variant const v{.trans_a = transposes % 2 == 1, .trans_b = transposes > 1};
        auto const same = [&]<class T>(T) {
          std::vector<T> const a(static_cast<std::size_t>(s.m * s.k), T(0)),
              b(static_cast<std::size_t>(s.k * s.n), T(-1)), c(static_cast<std::size_t>(s.m * s.n));
          auto const one = multiplied(row, s, v, a, b, c, 1);
          if (one.empty()) return;
          for (int threads : {2, 3, 12})
            CHECK(std::memcmp(one.data(), multiplied(row, s, v, a, b, c, threads).data(), one.size() * sizeof(T)) == 0);
        };
        if (row.dtype == dtype::f32)
          same(float());
        else
          same(double());
      }
  });
}

// Sums that cancel are +0, wherever their terms are added up, and what is then added to -0 has a sign of its own.
TEST_CASE("what is added to C or subtracted has the signs of fma(alpha, sum, beta C): zeros', and a NaN's") {
  for_each_gemm([](tandem::kernel const& row) {
    // Their sums begin with beta C.
    if (row.name.starts_with("cpu.outer_product") || row.name.starts_with("cpu.blocked")) return;
    for (shape const& s : {shape{30, 300, 2},
                           {300, 30, 8},
                           {40, 1, 6},
                           {3, 4, 12},
                           {70, 90, 16},
                           {37, 3, 40},
                           {3, 37, 120},
                           {16, 16, 20000},
                           {2, 256, 6000}})
      for (int transposes = 0; transposes < 4; ++transposes)
        for (double const alpha : {1, -1, 2})
          for (double const beta : {0, 1, -1}) {
            INFO(s.m, "x", s.n, "x", s.k, " ", transposes, ", alpha ", alpha, ", beta ", beta);
            variant const v{.trans_a = transposes % 2 == 1, .trans_b = transposes > 1, .alpha = alpha, .beta = beta};
            auto const as_an_fma = [&]<class T>(T) {
              T const nan = std::numeric_limits<T>::quiet_NaN();
              std::vector<T> const a(static_cast<std::size_t>(s.m * s.k), T(1)),
                  c(static_cast<std::size_t>(s.m * s.n), T(-0.0));
              std::vector<T> b(static_cast<std::size_t>(s.k * s.n)), want = c;
              for (std::int64_t p = 0; p < s.k; ++p)
                for (std::int64_t j = 0; j < s.n; ++j)
                  b[static_cast<std::size_t>(v.trans_b ? j * s.k + p : p * s.n + j)] = p % 2 == 0 ? T(1) : T(-1);
              b[0] = nan;
              for (std::int64_t i = 0; i < s.m; ++i)
                for (std::int64_t j = 0; j < s.n; ++j) {
                  T const sum = j == 0 ? nan : T(0), before = c[0];
                  want[static_cast<std::size_t>(i * s.n + j)] =
                      beta == 0 ? static_cast<T>(alpha) * sum
                                : std::fma(static_cast<T>(alpha), sum, static_cast<T>(beta) * before);
                }
              for (int const threads : {1, 2, 3, 24}) {
                CAPTURE(threads);
                auto const got = multiplied(row, s, v, a, b, c, threads);
                if (!got.empty()) CHECK(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) == 0);
              }
            };
            if (row.dtype == dtype::f32)
              as_an_fma(float());
            else
              as_an_fma(double());
          }
  });
}

// Threads take part in a small product only where they are awake. By rows and by columns, with and without columns that
// are left over, tiles, turned tiles, dot products, turned sums and a few terms.
TEST_CASE("small products have the same bits on any number of threads that are awake") {
  tandem::tests::awake_times awake;
  for_each_gemm([&awake](tandem::kernel const& row) {
    auto const same = [&]<class T>(T) {
      for (shape const& s : {shape{64, 65, 67},
                             {20, 105, 120},
                             {80, 78, 79},
                             {5, 130, 120},
                             {127, 33, 120},
                             {7, 126, 156},
                             {9, 250, 60},
                             {52, 46, 81},
                             {109, 26, 24},
                             {300, 3, 120},
                             {4, 320, 154},
                             {30, 17, 400},
                             {310, 90, 5},
                             {33, 301, 12}})
        for (bool const trans_a : {false, true})
          for (bool const trans_b : {false, true}) {
            INFO(s.m, "x", s.n, "x", s.k, " ", trans_a, trans_b);
            variant const v{.trans_a = trans_a, .trans_b = trans_b, .alpha = 0.5, .beta = 1.5, .integers = false};
            std::vector<T> one, many;
            CHECK(errors<T>(row, s, v, 1, &one) == 0);
            if (one.empty()) continue;  // refused
            for (int const threads : {2, 3, 8}) {
              CAPTURE(threads);
              errors<T>(row, s, v, threads, &many, false, nullptr, [&] { awake.wait(threads); });
              CHECK(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)) == 0);
            }
          }
    };
    if (row.dtype == dtype::f32)
      same(float());
    else
      same(double());
  });
  CHECK(awake.count() > 0);
}

TEST_CASE("what is prepared for a small product gives the same bits, and there is nothing for others") {
  std::vector<shape> shapes = {{4, 4, 128},  {300, 300, 5},  {64, 64, 63}, {90, 60, 80},
                               {33, 33, 33}, {32, 2048, 20}, {3, 1, 5}};
  for (std::int64_t const m : {1, 2, 3, 5, 8, 14, 16, 17, 31})
    for (std::int64_t const n : {1, 2, 7, 8, 9, 16, 17, 24, 33, 48, 65})
      for (std::int64_t const k : {1, 5, 8, 9, 33}) shapes.push_back({m, n, k});
  int rows = 0;
  for_each_gemm([&](tandem::kernel const& row) {
    if (!row.prepare) return;
    ++rows;
    auto const check = [&]<class T>(T) {
      int taken = 0, left = 0;
      for (auto const& s : shapes)
        for (int const transposes : {0, 1, 2, 3})
          for (double const beta : {0.0, 1.0, 1.5}) {
            bool const trans_a = transposes % 2 == 1, trans_b = transposes > 1;
            INFO(row.name, " ", s.m, "x", s.n, "x", s.k, " ", trans_a, trans_b, " ", beta);
            // Dense vectors are read as they lie, and a page from their elements to the next is not dense.
            std::int64_t const gap = beta == 0 ? 0 : beta == 1 ? 3 : 1024;
            variant const v{.trans_a = trans_a,
                            .trans_b = trans_b,
                            .alpha = beta == 1 ? 1 : 0.75,
                            .beta = beta,
                            .gap = gap,
                            .integers = false};
            std::vector<T> wanted, c;
            bool is_prepared = false;
            CHECK(errors<T>(row, s, v, 1, &c, false, &is_prepared) == 0);
            (is_prepared ? taken : left) += 1;
            if (s.m == 5 && s.n == 2 && !trans_b) CHECK(is_prepared);  // a tile of every instruction set
            if (!is_prepared) continue;
            errors<T>(row, s, v, 1, &wanted, false);
            CHECK(std::memcmp(c.data(), wanted.data(), c.size() * sizeof(T)) == 0);
          }
      CHECK(taken > 500);
      CHECK(left > 0);
    };
    if (row.dtype == dtype::f32)
      check(float());
    else
      check(double());
  });
  CHECK(rows >= 2);
}

TEST_CASE("what is prepared for a small product gives the same bits by threads that are awake") {
  constexpr int threads = 3;
  int const offered = omp_get_max_threads();
  omp_set_num_threads(threads);
  int taken = 0;
  tandem::tests::awake_times awake;
  for_each_gemm([&](tandem::kernel const& row) {
    if (!row.prepare) return;
    auto const same = [&]<class T>(T) {
      for (shape const& s : {shape{64, 64, 63}, {7, 126, 156}, {4, 320, 154}, {300, 3, 120}, {310, 90, 5}})
        for (int const transposes : {0, 1, 2, 3}) {
          INFO(row.name, " ", s.m, "x", s.n, "x", s.k, " ", transposes);
          variant const v{
              .trans_a = transposes % 2 == 1, .trans_b = transposes > 1, .alpha = 0.5, .beta = 1.5, .integers = false};
          std::vector<T> one, many;
          bool is_prepared = false;
          errors<T>(row, s, v, 1, &one, false);
          CHECK(errors<T>(row, s, v, 0, &many, true, &is_prepared, [&] { awake.wait(threads); }) == 0);
          if (!is_prepared) continue;
          ++taken;
          CHECK(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)) == 0);
        }
    };
    if (row.dtype == dtype::f32)
      same(float());
    else
      same(double());
  });
  omp_set_num_threads(offered);
  CHECK(taken > 10);
  CHECK(awake.count() > 0);
}

TEST_CASE("threads that may sum in an order of their own are as accurate, and do") {
  int sums = 0, other_bits = 0;
  for_each_gemm([&](tandem::kernel const& row) {
    for (shape const& s : {shape{40, 50, 6000}, {3, 5, 20000}, {16, 16, 4097}, {131, 140, 150}}) {
      auto const check = [&]<class T>(T) {
        for (int threads : {1, 2, 3, 4, 7}) {
          INFO(s.m, "x", s.n, "x", s.k, " threads ", threads);
          variant v{.alpha = 0.5, .beta = 1.5, .gap = 1, .integers = false};
          std::vector<T> ordered, free;
          errors<T>(row, s, v, threads, &ordered, false);
          v.reproducible = false;
          CHECK(errors<T>(row, s, v, threads, &free) == 0);
          bool const equal = std::memcmp(ordered.data(), free.data(), free.size() * sizeof(T)) == 0;
          if (threads == 1) CHECK(equal);
          ++sums, other_bits += !equal;
        }
      };
      if (row.dtype == dtype::f32)
        check(float());
      else
        check(double());
    }
  });
  CAPTURE(sums);
  CHECK(other_bits > 0);
}

TEST_CASE("two callers at once") {
  for_each_gemm([](tandem::kernel const& row) {
    std::int64_t wrong[2] = {-1, -1};
    std::thread other([&] { wrong[1] = errors(row, {140, 150, 160}, {.beta = 1}, 2); });
    wrong[0] = errors(row, {133, 120, 170}, {.trans_b = true}, 2);
    other.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
  });
}

TEST_CASE("zeros are not skipped: 0 * Inf is NaN, and only where it belongs") {
  for_each_gemm([](tandem::kernel const& row) {
    auto const check = [&]<class T>(T) {
      std::vector<T> a(20 * 3, T(1)), b(3 * 20, T(1)), c(20 * 20, T(0));
      a[4 * 3 + 1] = 0;
      b[1 * 20 + 7] = std::numeric_limits<T>::infinity();
      row.run({.dtype = row.dtype,
               .m = 20,
               .n = 20,
               .k = 3,
               .a = a.data(),
               .lda = 3,
               .b = b.data(),
               .ldb = 20,
               .c = c.data(),
               .ldc = 20},
              {});
      CHECK(std::isnan(c[4 * 20 + 7]));
      CHECK(std::isinf(c[5 * 20 + 7]));
      CHECK(std::ranges::count_if(c, [](T x) { return std::isfinite(x); }) == 20 * 19);
    };
    if (row.dtype == dtype::f32)
      check(float());
    else
      check(double());
  });
}

namespace {

/// Leaves signalling NaNs where later calls have their stack.
template <class T>
[[gnu::noinline]] void leave_nans() {
  using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  word volatile stack[(256 << 10) / sizeof(T)];
  for (auto& w : stack) w = sizeof(T) == 4 ? word{0x7fa00001} : static_cast<word>(0x7ff4000000000001);
}

}  // namespace

TEST_CASE("finite operands raise no invalid operation, whatever lies in memory beside them") {
  for_each_gemm([](tandem::kernel const& row) {
    for (shape const& s : {shape{166, 2, 8}, {70, 26, 20}, {300, 3, 40}, {37, 5, 3}, {50, 50, 50}, {2000, 4, 300}})
      for (bool trans_b : {false, true})
        for (double beta : {0.0, 0.5}) {
          INFO(s.m, "x", s.n, "x", s.k, " ", trans_b, ", beta ", beta);
          auto const raised = [&]<class T>(T) {
            std::vector<T> const a(static_cast<std::size_t>(s.m * s.k), 1), b(static_cast<std::size_t>(s.k * s.n), 1);
            std::vector<T> c(static_cast<std::size_t>(s.m * s.n), 1);
            problem const p{.dtype = row.dtype,
                            .m = s.m,
                            .n = s.n,
                            .k = s.k,
                            .alpha = 0.75,
                            .a = a.data(),
                            .lda = s.m,
                            .trans_a = true,
                            .b = b.data(),
                            .ldb = trans_b ? s.k : s.n,
                            .trans_b = trans_b,
                            .beta = beta,
                            .c = c.data(),
                            .ldc = s.n};
            if (row.refuses && !row.refuses(p).empty()) return 0;
            leave_nans<T>();
            std::feclearexcept(FE_ALL_EXCEPT);
            row.run(p, {.stream = nullptr, .threads = 1});
            return std::fetestexcept(FE_INVALID);
          };
          CHECK((row.dtype == dtype::f32 ? raised(float()) : raised(double())) == 0);
        }
  });
}

TEST_CASE("the plan names its levels from the outside in") {
  for_each_gemm([](tandem::kernel const& row) {
    REQUIRE(row.plan);
    auto const levels = row.plan({.dtype = row.dtype, .m = 1100, .n = 1000, .k = 800}).levels;
    REQUIRE(!levels.empty());
    for (auto const& level : levels) CHECK(!level.memory.empty());
    if (levels.size() == 1) return;
    std::vector<std::string> names;
    for (auto const& level : levels) names.push_back(level.name);
    CHECK((names == std::vector<std::string>{"pc", "ic", "jc", "ir", "register"} ||
           names == std::vector<std::string>{"stretch", "register"}));
    CHECK(row.name.ends_with(std::to_string(levels.back().m) + "x" + std::to_string(levels.back().n)));
  });
}

TEST_CASE("scale multiplies C and keeps its gaps; beta = 0 does not read it") {
  auto const check = []<class T>(T) {
    T const nan = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> c = {1, 2, nan, 3, 4, nan};
    problem p{.dtype = tandem::dtype_of<T>, .m = 2, .n = 2, .beta = -2, .c = c.data(), .ldc = 3};
    tandem::cpu::descriptor().scale(p, {});
    CHECK((c[0] == -2 && c[1] == -4 && c[3] == -6 && c[4] == -8 && std::isnan(c[2]) && std::isnan(c[5])));
    c = {nan, nan, T(7), nan, nan, T(7)};
    p.beta = 0;
    p.c = c.data();
    tandem::cpu::descriptor().scale(p, {});
    CHECK(c == std::vector<T>{0, 0, 7, 0, 0, 7});
  };
  check(float());
  check(double());
}

TEST_CASE("axpy of one element goes nowhere else, whatever its strides") {
  auto const check = []<class T>(T) {
    T const x = 3;
    for (std::int64_t const stride : {std::int64_t{1} << 62, -(std::int64_t{1} << 62), std::int64_t{-1}}) {
      T y = 5;
      tandem::axpy(2, tandem::vector_view<T const>(&x, 1, stride), tandem::vector_view<T>(&y, 1, stride),
                   {.backend = tandem::backend::cpu});
      CHECK(y == 11);
    }
  };
  check(float());
  check(double());
}

TEST_CASE("axpy is one fused multiply-add an element, for any stride, size and number of threads") {
  auto const check = []<class T>(T) {
    auto const& rows = tandem::cpu::descriptor().kernels;
    auto const row =
        std::ranges::find(rows, std::string("cpu.axpy.") + (sizeof(T) == 4 ? "f32" : "f64"), &tandem::kernel::name);
    REQUIRE(row != rows.end());
    std::mt19937 engine(5);
    std::normal_distribution<double> real;
    for (std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 257, 1000, 20001, 100003})
      for (std::int64_t stride_x : {1, 0, 3, -2})
        for (std::int64_t stride_y : {1, 2, -1})
          for (int threads : {1, 3}) {
            INFO(n, " strides ", stride_x, " ", stride_y, " threads ", threads);
            std::int64_t const x_size = (n - 1) * std::abs(stride_x) + 1, y_size = (n - 1) * std::abs(stride_y) + 1;
            guarded<T> const x_memory(x_size, n % 2 == 0), y_memory(y_size, n % 2 == 1);
            for (std::int64_t i = 0; i < x_size; ++i) x_memory.data()[i] = static_cast<T>(real(engine));
            for (std::int64_t i = 0; i < y_size; ++i) y_memory.data()[i] = static_cast<T>(real(engine));
            T const* const x = x_memory.data() + (stride_x < 0 ? x_size - 1 : 0);
            T* const y = y_memory.data() + (stride_y < 0 ? y_size - 1 : 0);
            std::vector<T> want(y_memory.data(), y_memory.data() + y_size);
            T* const w = want.data() + (stride_y < 0 ? y_size - 1 : 0);
            T const alpha = T(1) / 3;
            for (std::int64_t i = 0; i < n; ++i) w[i * stride_y] = std::fma(alpha, x[i * stride_x], w[i * stride_y]);
            row->run_axpy({.dtype = row->dtype,
                           .n = n,
                           .alpha = alpha,
                           .x = x,
                           .stride_x = stride_x,
                           .y = y,
                           .stride_y = stride_y},
                          {.stream = nullptr, .threads = threads});
            CHECK(std::memcmp(y_memory.data(), want.data(), want.size() * sizeof(T)) == 0);
          }
  };
  check(float());
  check(double());
}

TEST_SUITE_END();
