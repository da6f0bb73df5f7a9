// The microkernels of few terms, few rows and few dot products, of every instruction set that this processor has,
// against plain loops: every width, remainder, stride and scalar. Integers, whose sums are exact in any order.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cpu/dots.hpp"
#include "cpu/kernels/microkernel.hpp"
#include "cpu/panels.hpp"
#include "cpu/tiles.hpp"
#include "tests/unit/each_microkernel.hpp"
#include "tests/unit/guarded.hpp"

namespace {

using tandem::cpu::microkernel;
using tandem::tests::all_along_rows;
using tandem::tests::for_each_microkernel;
using tandem::tests::guarded;

/// Small integers.
class integers {
 public:
  std::int64_t operator()() { return static_cast<std::int64_t>(engine_() % 9) - 4; }

 private:
  std::minstd_rand engine_{1};
};

/// A matrix of small integers whose last element is the last before an unmapped page. NaN between its rows.
template <class T>
class operand {
 public:
  explicit operand(std::int64_t most) : memory_(most, true), end_(memory_.data() + most), most_(most) {}
  void lay(std::int64_t rows, std::int64_t cols, std::int64_t ld) {
    std::int64_t const size = (rows - 1) * ld + cols;
    REQUIRE(size <= most_);
    data_ = end_ - size, ld_ = ld;
    std::fill_n(data_, size, std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) data_[i * ld + j] = static_cast<T>(value_());
  }
  T const* data() const { return data_; }
  std::int64_t ld() const { return ld_; }
  double at(std::int64_t i, std::int64_t j) const { return static_cast<double>(data_[i * ld_ + j]); }

 private:
  guarded<T> memory_;
  T* end_;
  std::int64_t most_, ld_ = 0;
  T* data_ = nullptr;
  integers value_;
};

/// Where the elements of C lie: (i, j) at i * row + j * col.
struct places {
  std::int64_t rows, cols, row, col;
  std::int64_t size() const { return (rows - 1) * row + (cols - 1) * col + 1; }
};

struct scalars {
  double alpha, beta;
};
constexpr scalars all_scalars[] = {{1, 0}, {-1.25, 0}, {1, 1}, {-1, 1}, {2, 1}, {1, -1}, {-1.25, 0.5}};

/// Has `multiply` compute a C at these places, of which sums (rows x cols) is what A B is, and returns how many
/// elements are wrong then: of C itself, which is NaN before where beta = 0, those between them, those just before the
/// first, or the `after` behind the last. Behind these is an unmapped page.
template <class T>
class checked_c {
 public:
  explicit checked_c(std::int64_t most) : memory_(most + before, true), end_(memory_.data() + most + before) {}
  template <class Multiply>
  std::int64_t errors(places const& at, std::vector<double> const& sums, scalars const& s, Multiply const& multiply,
                      std::int64_t after = 0) {
    constexpr T sentinel = 12345;
    expected_.assign(static_cast<std::size_t>(before + at.size() + after), sentinel);
    T *const first = end_ - after - at.size() - before, *const c = first + before;
    REQUIRE(first >= memory_.data());
    std::copy(expected_.begin(), expected_.end(), first);
    for (std::int64_t i = 0; i < at.rows; ++i)
      for (std::int64_t j = 0; j < at.cols; ++j) {
        double const old = static_cast<double>(value_());
        T& element = c[i * at.row + j * at.col];
        element = s.beta == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(old);
        double const sum = sums[static_cast<std::size_t>(i * at.cols + j)];
        expected_[static_cast<std::size_t>(before + i * at.row + j * at.col)] =
            static_cast<T>(s.alpha * sum + s.beta * old);
      }
    multiply(c);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < expected_.size(); ++i) wrong += !(first[i] == expected_[i]);
    return wrong;
  }

 private:
  static constexpr std::int64_t before = 64;
  guarded<T> memory_;
  T* end_;
  std::vector<T> expected_;
  integers value_;
};

/// sums (rows x cols) of a(i, p) b(p, j).
template <class A, class B>
std::vector<double> sums_of(std::int64_t rows, std::int64_t cols, std::int64_t k, A const& a, B const& b) {
  std::vector<double> sums(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t p = 0; p < k; ++p) sums[static_cast<std::size_t>(i * cols + j)] += a(i, p) * b(p, j);
  return sums;
}

/// Lays A, transposed or not, and B for a product of a few terms; returns its sums.
template <class T>
std::vector<double> sums_of_terms(operand<T>& a, operand<T>& b, std::int64_t rows, std::int64_t cols, std::int64_t k,
                                  bool trans_a, std::int64_t gap = 2) {
  b.lay(k, cols, cols + 3);
  if (trans_a)
    a.lay(k, rows, rows + 1);
  else
    a.lay(rows, k, k + gap);
  return sums_of(
      rows, cols, k, [&](auto i, auto p) { return trans_a ? a.at(p, i) : a.at(i, p); },
      [&](auto p, auto j) { return b.at(p, j); });
}

}  // namespace

TEST_SUITE_BEGIN("cpu_microkernels");

TEST_CASE("few dot products at once: all that fit the registers with four groups of sums, for every remainder of k") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_k = 9 * 16, most_rows = 4;
    operand<T> a(most_rows * (most_k + 3)), b(most_rows * (most_k + 3));
    checked_c<T> c(100);
    int there = 0;
    for (std::int64_t rows = 1; rows <= most_rows + 1; ++rows)
      for (std::int64_t cols = 1; cols <= most_rows + 1; ++cols) {
        auto const few = tandem::cpu::few_dots(kernel, rows, cols);
        INFO(rows, " x ", cols);
        // As many as a deep tile has vectors, which keeps four groups of sums as well.
        CHECK((few != nullptr) == (rows <= most_rows && cols <= most_rows && rows * cols <= kernel.most_deep));
        if (few == nullptr) continue;
        ++there;
        // One turn of all groups, two, and every remainder behind them.
        for (std::int64_t k = 1; k <= 9 * kernel.lanes; ++k) {
          CAPTURE(k);
          a.lay(rows, k, k + 3), b.lay(cols, k, k + 1);
          auto const sums = sums_of(
              rows, cols, k, [&](auto i, auto p) { return a.at(i, p); }, [&](auto p, auto j) { return b.at(j, p); });
          for (auto const& at : {places{rows, cols, cols, 1}, places{rows, cols, cols + 3, 1},
                                 places{rows, cols, 1, rows + 1}, places{rows, cols, 2 * cols + 1, 2}})
            for (auto const& s : all_scalars) {
              INFO("strides ", at.row, ", ", at.col, ", alpha ", s.alpha, ", beta ", s.beta);
              CHECK(c.errors(at, sums, s, [&](T* to) {
                tandem::cpu::dot_work<T> w;
                w.k = k;
                w.a = a.data(), w.a_row = a.ld(), w.b = b.data(), w.b_col = b.ld();
                w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                w.c = to, w.c_row = at.row, w.c_col = at.col;
                few(w);
              }) == 0);
            }
        }
      }
    CHECK(there >= 3);
  });
}

TEST_CASE("tiles that are turned in registers, of every width and number of columns, read B by rows or by columns") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_k = 11;
    std::int64_t const most_rows = 4 * kernel.lanes;
    operand<T> a(most_k * (most_rows + 1)), b((most_k + 3) * (kernel.most_rows + 3));
    checked_c<T> c(most_rows * (kernel.most_rows + 2));
    CHECK(kernel.most_turning[1] >= 4);
    CHECK((kernel.most_turning[0] > 0) == (kernel.lanes * sizeof(T) == 64));
    for (int width = 0; width < kernel.widths; ++width)
      for (std::int64_t cols = 1; cols <= kernel.most_turning[static_cast<std::size_t>(width)]; ++cols) {
        auto const tile = kernel.turning_tiles[static_cast<std::size_t>(width)][static_cast<std::size_t>(cols - 1)];
        bool const is_there = tile != nullptr;
        REQUIRE(is_there);
        std::int64_t const most = kernel.elements(width), least = width == 0 ? 1 : most - kernel.lanes + 1;
        for (std::int64_t rows = least; rows <= most; ++rows)
          for (std::int64_t const k : {1, 2, 11})
            for (bool const trans_b : {false, true}) {
              INFO(rows, " x ", cols, " x ", k, " width ", width, trans_b);
              a.lay(k, rows, rows + 1);
              if (trans_b)
                b.lay(cols, k, k + 3);
              else
                b.lay(k, cols, cols + 3);
              auto const sums = sums_of(
                  rows, cols, k, [&](auto i, auto p) { return a.at(p, i); },
                  [&](auto p, auto j) { return trans_b ? b.at(j, p) : b.at(p, j); });
              for (auto const& s : all_scalars)
                for (std::int64_t const gap : {0, 2})
                  CHECK(c.errors({rows, cols, cols + gap, 1}, sums, s, [&](T* to) {
                    tandem::cpu::turning_tile_work<T> w;
                    w.b_ahead = gap == 0 ? 0 : 3 * rows;
                    w.k = k;
                    w.a = b.data(), w.a_row = trans_b ? b.ld() : 1, w.a_col = trans_b ? 1 : b.ld();
                    w.b = a.data(), w.b_row = a.ld();
                    w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                    w.c = to, w.ldc = cols + gap, w.cols = rows;
                    tile(w);
                  }) == 0);
            }
      }
  });
}

TEST_CASE("deep tiles of halves of vectors are right at every width, with the bits of tiles of whole vectors") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_k = 67, most_rows = 2;
    std::int64_t const half = kernel.lanes / 2;
    operand<T> a(most_rows * (most_k + 3)), b(most_k * (4 * kernel.lanes + 1));
    checked_c<T> c(200);
    int there = 0;
    for (std::int64_t rows = 1; rows <= most_rows; ++rows)
      for (std::int64_t halves = 1; halves <= microkernel<T>::most_halves; ++halves) {
        auto const tile =
            kernel.deep_tiles_of_halves[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(halves - 1)];
        if (tile == nullptr) continue;
        ++there;
        for (std::int64_t cols = (halves - 1) * half + 1; cols <= halves * half; ++cols)
          for (std::int64_t const k : {1, 3, 4, 5, 8, 33, 67}) {
            INFO(rows, " x ", cols, " x ", k);
            a.lay(rows, k, k + 3), b.lay(k, cols, cols + 1);
            auto const sums = sums_of(
                rows, cols, k, [&](auto i, auto p) { return a.at(i, p); }, [&](auto p, auto j) { return b.at(p, j); });
            auto const run = [&](tandem::cpu::tile_function<T> f, T const* of_a, scalars const& s, T* to,
                                 std::int64_t ldc) {
              tandem::cpu::tile_work<T> w;
              w.k = k;
              w.a = of_a, w.a_row = a.ld(), w.a_col = 1, w.b = b.data(), w.b_row = b.ld();
              w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
              w.c = to, w.ldc = ldc, w.cols = cols;
              f(w);
            };
            for (auto const& s : all_scalars)
              CHECK(c.errors({rows, cols, cols + 2, 1}, sums, s,
                             [&](T* to) { run(tile, a.data(), s, to, cols + 2); }) == 0);
            std::vector<T> tenths(a.data(), a.data() + (rows - 1) * a.ld() + k),
                of_halves(static_cast<std::size_t>(rows * cols));
            for (auto& x : tenths) x /= 10;  // whose sums depend on the order of their terms
            auto of_whole = of_halves;
            run(tile, tenths.data(), {1, 0}, of_halves.data(), cols);
            run(kernel.deep_tile(rows, cols), tenths.data(), {1, 0}, of_whole.data(), cols);
            CHECK(of_halves == of_whole);
          }
      }
    CHECK(there == (kernel.lanes * sizeof(T) == 64 ? 10 : 0));
  });
}

TEST_CASE("tiles that ask for what is read soon, of every height and width, on B packed and where it lies") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    using tandem::cpu::source;
    constexpr std::int64_t most_k = 33;
    if (!kernel.asks_soon) return;
    std::int64_t const most = microkernel<T>::most_rows, most_cols = 4 * kernel.lanes;
    operand<T> a(most * (most_k + 17) * 2), b(most_k * (most_cols + 3));
    checked_c<T> c(most * (most_cols + 5));
    std::vector<T> panel(static_cast<std::size_t>(most_k * most_cols) + 64 / sizeof(T));
    auto* const aligned = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(panel.data()) + 63) / 64 * 64);
    for (int width = 0; width < kernel.widths; ++width)
      for (std::int64_t rows = 1; rows <= kernel.rows[static_cast<std::size_t>(width)]; ++rows)
        for (std::int64_t const cols : {kernel.elements(width), kernel.elements(width) - 1})
          for (std::int64_t const k : {1, 2, 33})
            for (bool const trans_a : {false, true}) {
              INFO(rows, " x ", cols, " x ", k, " width ", width, trans_a);
              auto const sums = sums_of_terms(a, b, rows, cols, k, trans_a);
              kernel.pack_b[static_cast<std::size_t>(width)](b.data(), 1, b.ld(), cols, k, aligned);
              for (auto const from : {source::packed, source::in_place})
                for (bool const with_c : {false, true})
                  for (auto const& s : all_scalars)
                    CHECK(c.errors({rows, cols, cols + 2, 1}, sums, s, [&](T* to) {
                      tandem::cpu::soon_tile_work<T> w;
                      w.k = k;
                      w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
                      w.b = from == source::packed ? aligned : b.data(), w.b_row = b.ld();
                      w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                      w.c = to, w.ldc = cols + 2, w.cols = cols;
                      w.next = reinterpret_cast<char const*>(a.data()), w.step = 64, w.lines = 3, w.gap = -100;
                      if (with_c) w.next_c = to, w.last_c = to + (rows - 1) * w.ldc, w.b_ahead = 2 * b.ld();
                      kernel.tile(from, width, rows, tandem::cpu::asking::soon)(w);
                    }) == 0);
            }
  });
}

TEST_CASE(
    "of many terms a column of tiles asks once for A, as it passes first, for all of C, and for B with its first") {
  constexpr std::int64_t line = 64, k = 128, height = 14, tiles = 20, m = tiles * height;
  // Addresses alone are looked at.
  auto const* const first_a = reinterpret_cast<float const*>(std::uintptr_t{1} << 20);
  auto* const first_c = reinterpret_cast<float*>(std::uintptr_t{1} << 30);
  for (bool const trans_a : {false, true})
    for (std::int64_t const gap : {0, 5, 1000})
      for (bool const is_new : {false, true}) {
        INFO("A transposed ", trans_a, ", gap ", gap, ", new ", is_new);
        tandem::cpu::soon_tile_work<float> w;
        w.k = k, w.ldc = 50, w.b_row = 70;
        w.a_row = trans_a ? 1 : k + gap, w.a_col = trans_a ? m + gap : 1;
        std::set<std::uintptr_t> lines;
        std::set<float const*> rows;
        int askers_for_b = 0;
        for (std::int64_t above = 0; above < tiles; ++above) {
          w.a = first_a + above * height * w.a_row;
          if (ask_soon<float>(w, above, height, above + 1 == tiles, first_c, m, is_new) == tandem::cpu::asking::nothing)
            continue;
          auto const* at = w.next;
          auto const* c = w.next_c;
          auto left = w.lines;
          for (std::int64_t p = 0; p < k; ++p) {
            lines.insert(reinterpret_cast<std::uintptr_t>(at) / line);
            at += w.step;
            if (--left == 0) at += w.gap, left = w.lines;
            if (c == nullptr) continue;
            rows.insert(c);
            if (c < w.last_c) c += w.ldc;
          }
          askers_for_b += w.next_c != nullptr && w.b_ahead != 0;
        }
        // What is read below the first tile, but for the beginnings of columns.
        std::int64_t missed = 0;
        for (std::int64_t i = height; i < m; i += height)
          for (std::int64_t p = 0; p < k; ++p)
            for (std::int64_t r = trans_a ? height - 1 : 0; r < height; ++r) {
              auto const at = reinterpret_cast<std::uintptr_t>(first_a + (i + r) * w.a_row + p * w.a_col);
              missed += lines.count(at / line) == 0;
            }
        if (is_new)
          CHECK(missed == 0);
        else
          CHECK(lines.size() <= (m + k - 1) / k);  // where tiles that ask for C are
        CHECK(rows.size() == m);
        CHECK(*rows.rbegin() == first_c + (m - 1) * w.ldc);
        CHECK(askers_for_b == 1);
      }
}

TEST_CASE("of few terms a column of tiles asks with its first one alone, unless A is transposed and passes first") {
  constexpr std::int64_t k = 60, height = 14, m = 10 * height;
  auto const* const a = reinterpret_cast<float const*>(std::uintptr_t{1} << 20);
  auto const* const c = reinterpret_cast<float const*>(std::uintptr_t{1} << 30);
  for (bool const trans_a : {false, true}) {
    tandem::cpu::soon_tile_work<float> w;
    w.k = k, w.a = a, w.a_row = trans_a ? 1 : k, w.a_col = trans_a ? m : 1, w.ldc = 50, w.b_row = 70;
    for (std::int64_t above = 0; above < 9; ++above) {
      bool const asks = ask_soon<float>(w, above, height, false, c, m, true) == tandem::cpu::asking::soon;
      CHECK(asks == (above == 0 || trans_a));
      if (asks) CHECK((w.next_c != nullptr) == (above == 0));
      CHECK(ask_soon<float>(w, above, height, true, c, m, false) ==
            (above == 0 ? tandem::cpu::asking::soon : tandem::cpu::asking::nothing));
    }
  }
}

TEST_CASE("tiles that are turned ask whole tiles ahead for long rows of an A beyond L1, beside four columns and more") {
  using tandem::cpu::columns_ahead;
  CHECK(columns_ahead<float>(600, 8, 100, 600, 64) == 128);
  CHECK(columns_ahead<double>(600, 8, 100, 600, 24) == 72);
  CHECK(columns_ahead<float>(300, 8, 100, 300, 64) == 64);
  CHECK(columns_ahead<float>(300, 8, 100, 300, 48) == 96);
  CHECK(columns_ahead<float>(150, 8, 150, 150, 64) == 0);  // short rows
  CHECK(columns_ahead<float>(150, 8, 150, 200, 64) == 64);
  CHECK(columns_ahead<float>(300, 3, 100, 300, 64) == 0);
  CHECK(columns_ahead<float>(300, 8, 20, 300, 64) == 0);
}

TEST_CASE("dot products in tiles of any rows and columns, written along C's rows, down its columns or apart") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_k = 520, most_rows = 12, most_cols = 6;
    operand<T> a(most_rows * (most_k + 3)), b(most_cols * (most_k + 3));
    checked_c<T> c(most_rows * (2 * most_cols + 1));
    for (std::int64_t rows = 1; rows <= most_rows; ++rows)
      for (std::int64_t cols = 1; cols <= most_cols; ++cols)
        // Long sums are made in tiles of other rows.
        for (std::int64_t const k : {1, kernel.lanes, 2 * kernel.lanes + 1, 4 * kernel.lanes + 3, 518}) {
          INFO(rows, " x ", cols, " x ", k);
          a.lay(rows, k, k + 3), b.lay(cols, k, k + 1);
          auto const sums = sums_of(
              rows, cols, k, [&](auto i, auto p) { return a.at(i, p); }, [&](auto p, auto j) { return b.at(j, p); });
          for (auto const& at :
               {places{rows, cols, cols, 1}, places{rows, cols, cols + 3, 1}, places{rows, cols, 1, rows},
                places{rows, cols, 1, rows + 3}, places{rows, cols, 2 * cols + 1, 2}})
            for (auto const& s : all_scalars)
              for (bool const asks : {false, true}) {
                INFO("strides ", at.row, ", ", at.col, ", alpha ", s.alpha, ", beta ", s.beta, ", asks ", asks);
                CHECK(c.errors(at, sums, s, [&](T* to) {
                  tandem::cpu::dot_work<T> w;
                  w.k = k;
                  w.a = a.data(), w.a_row = a.ld(), w.a_ahead = asks ? 8 * a.ld() : 0;
                  w.b = b.data(), w.b_col = b.ld();
                  w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                  w.c = to, w.c_row = at.row, w.c_col = at.col;
                  kernel.dots(w, rows, cols);
                }) == 0);
              }
        }
  });
}

TEST_CASE("a column of dot products of rows longer than the hardware needs to follow them: any number of rows") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t k = 8192 / sizeof(T) + 1, most_rows = 25;
    operand<T> a(most_rows * (k + 3)), b(k);
    checked_c<T> c(most_rows * 2);
    for (std::int64_t rows = 1; rows <= most_rows; ++rows) {
      a.lay(rows, k, k + 3), b.lay(1, k, k);
      auto const sums = sums_of(
          rows, 1, k, [&](auto i, auto p) { return a.at(i, p); }, [&](auto p, auto) { return b.at(0, p); });
      for (std::int64_t const apart : {1, 2})
        for (auto const& s : all_scalars)
          for (bool const asks : {false, true}) {
            INFO(rows, " rows, ", apart, " apart, alpha ", s.alpha, ", beta ", s.beta, ", asks ", asks);
            CHECK(c.errors({rows, 1, apart, 1}, sums, s, [&](T* to) {
              tandem::cpu::dot_work<T> w;
              w.k = k;
              w.a = a.data(), w.a_row = a.ld(), w.a_ahead = asks ? 8 * a.ld() : 0;
              w.b = b.data();
              w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
              w.c = to, w.c_row = apart;
              kernel.dots(w, rows, 1);
            }) == 0);
          }
    }
  });
}

TEST_CASE("down C's rows: every number of terms, and every width up to the vectors that B has room for") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_rows = 33, most_cols = 64, most_terms = microkernel<T>::most_terms;
    operand<T> a(most_rows * (most_terms + 2) + most_rows * most_terms), b(most_terms * (most_cols + 3));
    checked_c<T> c(most_rows * (most_cols + 2));
    for (std::int64_t k = 1; k <= most_terms; ++k) {
      std::int64_t const widest = kernel.vectors_down[static_cast<std::size_t>(k - 1)] * kernel.lanes;
      CHECK(widest >= 2 * kernel.lanes);
      REQUIRE(widest <= most_cols);
      for (std::int64_t cols = 1; cols <= widest; ++cols)
        for (std::int64_t const rows : {1, 2, 15, 16, 33})  // from 16 on, a part of a vector is written by masks
          for (bool const trans_a : {false, true}) {
            INFO(rows, " x ", cols, " x ", k, " ", trans_a);
            auto const sums = sums_of_terms(a, b, rows, cols, k, trans_a);
            for (std::int64_t const gap : {0, 2})
              for (auto const& s : all_scalars) {
                INFO("gap ", gap, ", alpha ", s.alpha, ", beta ", s.beta);
                CHECK(c.errors({rows, cols, cols + gap, 1}, sums, s, [&](T* to) {
                  tandem::cpu::tile_work<T> w;
                  w.k = 100;  // is not read
                  w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
                  w.b = b.data(), w.b_row = b.ld();
                  w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                  w.c = to, w.ldc = cols + gap, w.cols = cols;
                  kernel.update_down[static_cast<std::size_t>(k - 1)](w, rows, false);
                }) == 0);
              }
          }
    }
  });
}

TEST_CASE("down a column whose elements lie together: rows of A are turned, whether they lie together or apart") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_rows = 70, most_terms = microkernel<T>::most_terms;
    operand<T> a(most_rows * (most_terms + 3)), b(most_terms * 4);
    checked_c<T> c(most_rows);
    for (std::int64_t k = 1; k <= most_terms; ++k)
      for (std::int64_t rows = 1; rows <= most_rows; ++rows)
        for (std::int64_t const gap : {0, 1, 3}) {
          auto const sums = sums_of_terms(a, b, rows, 1, k, false, gap);
          for (auto const& s : all_scalars) {
            INFO(rows, " x 1 x ", k, " gap ", gap, ", alpha ", s.alpha, ", beta ", s.beta);
            CHECK(c.errors({rows, 1, 1, 1}, sums, s, [&](T* to) {
              tandem::cpu::tile_work<T> w;
              w.a = a.data(), w.a_row = a.ld(), w.a_col = 1;
              w.b = b.data(), w.b_row = b.ld();
              w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
              w.c = to, w.ldc = 1, w.cols = 1;
              kernel.update_down[static_cast<std::size_t>(k - 1)](w, rows, false);
            }) == 0);
          }
        }
  });
}

TEST_CASE("along C's rows: every number of terms and of rows, stored in the caches and, in whole lines, past them") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t most_rows = 9, most_cols = 100;
    std::int64_t const most_terms = kernel.terms_of_few_rows;
    constexpr std::int64_t line = 64 / sizeof(T), c_row = (most_cols / line + 2) * line;
    operand<T> a(most_rows * (most_terms + 2) + most_rows * most_terms), b(most_terms * (most_cols + 3));
    checked_c<T> c(most_rows * c_row + line);
    for (auto const& along : all_along_rows(kernel))
      for (std::int64_t rows = 1; rows <= most_rows; ++rows)
        for (std::int64_t const cols : {std::int64_t{1}, line - 1, line, 4 * line, 5 * line + 1, most_cols}) {
          auto const k = along.terms;
          bool const trans_a = rows % 2 == 0;
          INFO(rows, " x ", cols, " x ", k, " ", trans_a);
          auto const sums = sums_of_terms(a, b, rows, cols, k, trans_a);
          std::int64_t const after = c_row - cols;
          for (bool const streaming : {false, true})
            for (auto const& s : all_scalars) {
              if (streaming && s.beta != 0) continue;
              INFO("streaming ", streaming, ", alpha ", s.alpha, ", beta ", s.beta);
              auto const multiply = [&](T* to) {
                tandem::cpu::tile_work<T> w;
                w.k = 100;  // is not read
                w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
                w.b = b.data(), w.b_row = b.ld();
                w.streaming = streaming;
                w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
                w.c = to, w.ldc = c_row, w.cols = cols;
                along.update(w, rows, false);
              };
              CHECK(c.errors({rows, cols, c_row, 1}, sums, s, multiply, after) == 0);
              if (!streaming) CHECK(c.errors({rows, cols, c_row, 1}, sums, s, multiply) == 0);  // across lines
            }
        }
  });
}

TEST_CASE("along rows of C that are nearly a multiple of a page apart, and those that are not") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t rows = 9, cols = 100;
    std::int64_t const most_terms = kernel.terms_of_few_rows;
    constexpr std::int64_t page = 4096 / sizeof(T), line = 64 / sizeof(T);
    operand<T> a(rows * (most_terms + 2)), b(most_terms * (cols + 3));
    checked_c<T> c(rows * (page + 3 * line));
    for (auto const& along : all_along_rows(kernel)) {
      auto const k = along.terms;
      auto const sums = sums_of_terms(a, b, rows, cols, k, false);
      for (std::int64_t const c_row : {page - line, page, page + 3, page + 2 * line, page / 2, page / 4 - 1})
        for (auto const& s : all_scalars) {
          INFO(k, " terms, rows of C ", c_row, " apart, alpha ", s.alpha, ", beta ", s.beta);
          CHECK(c.errors({rows, cols, c_row, 1}, sums, s, [&](T* to) {
            tandem::cpu::tile_work<T> w;
            w.a = a.data(), w.a_row = a.ld(), w.a_col = 1;
            w.b = b.data(), w.b_row = b.ld();
            w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
            w.c = to, w.ldc = c_row, w.cols = cols;
            along.update(w, rows, false);
          }) == 0);
        }
    }
  });
}

TEST_CASE("wide tiles of all rows, and narrower ones where few columns are wanted, take every column once") {
  for_each_microkernel([]<class T>(microkernel<T> const& kernel) {
    constexpr std::int64_t k = 11, most_cols = 900;
    operand<T> a(microkernel<T>::wide_rows * (k + 2)), b(k * (most_cols + 3));
    checked_c<T> c(microkernel<T>::wide_rows * (most_cols + 3));
    int widths = 0;
    for (std::int64_t rows = 1; rows <= kernel.wide_rows; ++rows) {
      std::int64_t const widest = kernel.widest_of(rows) * kernel.lanes;
      if (kernel.widest_of(rows) <= 4) continue;  // there are none
      std::int64_t const step = std::max<std::int64_t>(kernel.lanes / 2 - 1, 1);
      for (std::int64_t cols = 1; cols <= 2 * widest + 2 * kernel.lanes; cols += step) {
        INFO(rows, " x ", cols);
        ++widths;
        a.lay(rows, k, k + 2), b.lay(k, cols, cols + 3);
        auto const sums = sums_of(
            rows, cols, k, [&](auto i, auto p) { return a.at(i, p); }, [&](auto p, auto j) { return b.at(p, j); });
        for (auto const& s : all_scalars) {
          INFO("alpha ", s.alpha, ", beta ", s.beta);
          CHECK(c.errors({rows, cols, cols + 3, 1}, sums, s, [&](T* to) {
            tandem::cpu::tile_work<T> w;
            w.k = k;
            w.a = a.data(), w.a_row = a.ld(), w.a_col = 1, w.b = b.data(), w.b_row = b.ld();
            w.alpha = static_cast<T>(s.alpha), w.beta = static_cast<T>(s.beta);
            w.c = to, w.ldc = cols + 3, w.cols = cols;
            tandem::cpu::multiply_in_wide_tiles(kernel, w, rows);
          }) == 0);
        }
      }
    }
    CHECK(widths > 0);
  });
}

TEST_SUITE_END();
