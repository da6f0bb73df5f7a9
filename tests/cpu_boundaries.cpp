// The CPU backend through the public interface, on both sides of each boundary between its ways through a product:
// against plain loops, with C unread where beta is 0, and with the same bits on one thread and on several. Boundaries
// that follow the caches have shapes for those of a modest machine (32K,512K,8M), of a Zen 4 and a Zen 5 (32K,1M,32M
// and 48K,1M,32M) and, but for L3, of an Intel server (48K,2M,8M); CTest runs this with all four.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <tandem/tandem.hpp>

#include "tests/unit/awake.hpp"
#include "tests/unit/guarded.hpp"
#include "tests/unit/sequence.hpp"

namespace {

using namespace tandem;
using tests::guarded;
using tests::sequence;

/// `gap`: elements between the rows of each matrix. `threads`: those that must give the bits of one.
struct product {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  std::int64_t gap = 1;
  int threads = 2;
};

struct scalars {
  double alpha, beta;
};

/// A matrix that ends before an unmapped page, NaN in its gaps.
template <class T>
class operand {
 public:
  operand(std::int64_t rows, std::int64_t cols, std::int64_t gap)
      : rows_(rows), cols_(cols), ld_(cols + gap), memory_((rows - 1) * ld_ + cols, true) {}
  template <class Value>
  void fill(T in_gaps, Value const& value) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      T* const row = memory_.data() + i * ld_;
      for (std::int64_t j = 0; j < cols_; ++j) row[j] = value();
      if (i + 1 < rows_) std::fill(row + cols_, row + ld_, in_gaps);
    }
  }
  T* data() const { return memory_.data(); }
  std::int64_t ld() const { return ld_; }
  std::size_t size() const { return static_cast<std::size_t>((rows_ - 1) * ld_ + cols_); }

 private:
  std::int64_t rows_, cols_, ld_;
  guarded<T> memory_;
};

/// The kernels that choose among the ways, one of each instruction set that is there.
std::vector<std::string> kernels_of(dtype type) {
  std::vector<std::string> names;
  for (auto const& info : kernels())
    for (char const* technique : {"avx512", "avx2", "baseline", "neon"})
      if (info.available && info.dtype == type && info.name.starts_with(std::string("cpu.") + technique + "."))
        names.push_back(info.name);
  return names;
}

/// As many threads as are offered to a call.
class offered {
 public:
  explicit offered(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~offered() { omp_set_num_threads(before_); }
  offered(offered const&) = delete;
  offered& operator=(offered const&) = delete;

 private:
  int before_;
};

template <class T>
class trial {
 public:
  explicit trial(product const& p)
      : p_(p),
        a_(p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.gap),
        b_(p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.gap),
        c_(p.m, p.n, p.gap) {}

  void operator()() {
    INFO(p_.m, " x ", p_.n, " x ", p_.k, ", transposed ", p_.trans_a, p_.trans_b, ", gap ", p_.gap, ", ",
         to_string(dtype_of<T>));
    auto const names = kernels_of(dtype_of<T>);
    REQUIRE(!names.empty());
    draw([this] { return static_cast<T>(value_.integer(4)); });
    multiply_plainly();
    for (auto const& name : names) {
      CAPTURE(name);
      for (scalars const s : {scalars{1, 0}, {-1.25, 0.5}}) {
        CAPTURE(s.beta);
        CHECK(errors(name, s) == 0);
      }
    }
    draw([this] { return static_cast<T>(value_.real()); });
    for (auto const& name : names) {
      CAPTURE(name);
      check_bits(name);
    }
  }

 private:
  static constexpr T in_gaps = 12345;

  template <class Value>
  void draw(Value const& value) {
    T const nan = std::numeric_limits<T>::quiet_NaN();
    a_.fill(nan, value), b_.fill(nan, value), c_.fill(in_gaps, value);
    before_.assign(c_.data(), c_.data() + c_.size());
  }

  // Small integers, whose sums are exact in any order.
  void multiply_plainly() {
    sums_.assign(static_cast<std::size_t>(p_.m * p_.n), 0);
    std::int64_t const b_row = p_.trans_b ? 1 : b_.ld(), b_col = p_.trans_b ? b_.ld() : 1;
    std::vector<double> row_of_b(static_cast<std::size_t>(p_.n));
    for (std::int64_t p = 0; p < p_.k; ++p) {
      for (std::int64_t j = 0; j < p_.n; ++j)
        row_of_b[static_cast<std::size_t>(j)] = static_cast<double>(b_.data()[p * b_row + j * b_col]);
      for (std::int64_t i = 0; i < p_.m; ++i) {
        double const element =
            static_cast<double>(p_.trans_a ? a_.data()[p * a_.ld() + i] : a_.data()[i * a_.ld() + p]);
        double* const sums = sums_.data() + i * p_.n;
        for (std::size_t j = 0; j < row_of_b.size(); ++j) sums[j] += element * row_of_b[j];
      }
    }
  }

  void call(std::string const& name, scalars const& s) {
    auto const order = [](bool transposed) { return transposed ? layout::col_major : layout::row_major; };
    gemm(matrix_view<T const>(a_.data(), p_.m, p_.k, a_.ld(), order(p_.trans_a)),
         matrix_view<T const>(b_.data(), p_.k, p_.n, b_.ld(), order(p_.trans_b)),
         matrix_view<T>(c_.data(), p_.m, p_.n, c_.ld()),
         {.alpha = s.alpha, .beta = s.beta, .backend = backend::cpu, .kernel = name});
  }

  // C as it was; NaN, without its gaps, where it must not be read.
  void restore(scalars const& s) {
    std::copy(before_.begin(), before_.end(), c_.data());
    if (s.beta == 0)
      for (std::int64_t i = 0; i < p_.m; ++i)
        std::fill_n(c_.data() + i * c_.ld(), p_.n, std::numeric_limits<T>::quiet_NaN());
  }

  std::int64_t errors(std::string const& name, scalars const& s) {
    offered const one(1);
    restore(s);
    call(name, s);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < p_.m; ++i) {
      T const* const c = c_.data() + i * c_.ld();
      for (std::int64_t j = 0; j < p_.n; ++j) {
        double const sum = sums_[static_cast<std::size_t>(i * p_.n + j)];
        double const old = static_cast<double>(before_[static_cast<std::size_t>(i * c_.ld() + j)]);
        wrong += !(static_cast<double>(c[j]) == s.alpha * sum + s.beta * old);
      }
      if (i + 1 < p_.m)
        for (std::int64_t j = p_.n; j < c_.ld(); ++j) wrong += c[j] != in_gaps;
    }
    return wrong;
  }

  void check_bits(std::string const& name) {
    scalars const s{0.75, 1.5};
    auto const run = [&](int threads) {
      offered const some(threads);
      restore(s);
      call(name, s);
    };
    run(1);
    std::vector<T> const one(c_.data(), c_.data() + c_.size());
    CHECK(std::ranges::none_of(one, [](T x) { return x != x; }));
    // Threads take part in a small product if they wait for it.
    constexpr int runs = 3;
    if (p_.m * p_.n * p_.k < 4'000'000) {
      awake_.wait(p_.threads);
      CHECK(awake_.count() > 0);
    }
    bool same = true;
    for (int i = 0; i < runs; ++i) {
      run(p_.threads);
      same = same && std::memcmp(one.data(), c_.data(), one.size() * sizeof(T)) == 0;
    }
    CHECK(same);
  }

  product p_;
  operand<T> a_, b_, c_;
  std::vector<T> before_;     // C
  std::vector<double> sums_;  // (m, n)
  sequence value_;
  static inline tests::awake_times awake_;
};

template <class T>
void check(product const& p) {
  trial<T> try_it(p);
  try_it();
}

/// In both types.
void check(product const& p) {
  check<float>(p);
  check<double>(p);
}

/// In both types and all four orders of A and B.
void check_orders(product p) {
  for (bool const trans_a : {false, true})
    for (bool const trans_b : {false, true}) {
      p.trans_a = trans_a, p.trans_b = trans_b;
      check(p);
    }
}

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;

}  // namespace

TEST_SUITE_BEGIN("cpu_boundaries");

TEST_CASE("few dot products, of one stretch of k or several, on one thread and on two") {
  for (std::int64_t const m : {1, 2, 3, 4, 5})
    for (std::int64_t const n : {1, 2, 3, 4, 5})
      if (m * n <= 6)
        for (std::int64_t const k : {23, 24, 64, 100, 255, 511, 513, 1031}) {
          check({m, n, k, false, true});
          if (n == 1) check({m, n, k, false, false, 0});  // B's only column lies together
        }
  // A stretch is 128 KiB of the small operand.
  for (auto const& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{2, 1}, {1, 2}, {1, 1}, {2, 2}, {4, 1}, {1, 3}, {5, 1}})
    for (std::int64_t const k : {16384, 32769, 60011, 100003}) check({m, n, k, false, true});
}

TEST_CASE("a row times a transposed B, whichever way the row is said to lie") {
  for (std::int64_t const n : {2, 3, 4, 5, 8, 9, 33, 100})
    for (std::int64_t const k : {7, 8, 23, 24, 100, 511, 512, 513})
      for (bool const trans_a : {false, true}) check({1, n, k, trans_a, true, 0});
  for (std::int64_t const n : {3, 50}) check({1, n, 3001, true, true, 0});
  for (std::int64_t const n : {3, 50}) check({1, n, 101, true, true, 2});  // the row's elements are apart
}

TEST_CASE("small products: up to 512 terms, 2^16 elements of A and B, 2^20 or, of 128 terms, 2^21 multiply-adds") {
  for (product const& p : {product{32, 64, 512},
                           {32, 65, 512},
                           {32, 62, 513},
                           {4, 124, 512},
                           {4, 125, 512},
                           {90, 90, 129},
                           {91, 90, 129},
                           {128, 128, 128},
                           {128, 129, 128}})
    check_orders(p);
}

TEST_CASE("a transposed B is packed in panels that grow narrower where k is long") {
  for (std::int64_t const n : {17, 31, 33, 47, 64, 66})
    for (std::int64_t const k : {127, 128, 129, 170, 171, 256, 257, 512}) check({31, n, k, false, true});
  for (std::int64_t const k : {128, 129, 256, 257, 512}) check({29, 40, k, true, true, 0});
  // So small that they are tiles alone.
  for (std::int64_t const k : {120, 129, 140}) check({30, 30, k, false, true});
}

TEST_CASE("one or two columns behind the last whole vector, of up to 512 terms") {
  for (std::int64_t const n : {9, 10, 17, 18, 33, 34})
    for (std::int64_t const k : {128, 129, 511, 512, 513}) check_orders({17, n, k});
  // A beside half of a modest machine's L2, of which a thread's share is less.
  for (std::int64_t const n : {9, 10, 17}) check<double>({300, n, 200, true});
}

TEST_CASE("a few terms in rows of C of three and four vectors, and of one element more") {
  for (std::int64_t const lanes : {2, 4, 8, 16})
    for (std::int64_t const n : {2 * lanes, 2 * lanes + 1, 3 * lanes, 3 * lanes + 1, 4 * lanes, 4 * lanes + 1})
      for (std::int64_t const m : {7, 8, 31, 32, 67})
        for (std::int64_t const k : {2, 5, 6, 7, 8, 9}) check({m, n, k, m % 2 == 0, false, n % 2});
  for (std::int64_t const n : {24, 33, 49, 64})
    for (std::int64_t const k : {3, 5, 6, 8})
      for (bool const trans_a : {false, true}) check({5003, n, k, trans_a, k == 6});
}

TEST_CASE("five to eight terms of a C around half of L3") {
  auto const in_type = []<class T>(T) {
    for (std::int64_t const half : {4 * MiB, 16 * MiB})
      for (std::int64_t const more : {0, 1}) {
        std::int64_t const n = 1024, m = half / n / static_cast<std::int64_t>(sizeof(T)) + more;
        check<T>({m, n, 6, false, more == 1, 0});
      }
  };
  in_type(float());
  in_type(double());
}

TEST_CASE("up to four terms of a few long rows around half of L3, in whole lines and across them") {
  auto const in_type = []<class T>(T) {
    constexpr std::int64_t line = 64 / sizeof(T);
    for (std::int64_t const half : {4 * MiB, 16 * MiB})
      for (std::int64_t const m : {1, 3, 4}) {
        std::int64_t const n = half / m / static_cast<std::int64_t>(sizeof(T)) / line * line;
        // Of four rows a quarter of a line longer the first begins with one.
        for (std::int64_t const more : {std::int64_t{0}, line, line + 1, line + line / 4})
          check<T>({m, n + more, m == 1 ? 2 : m, m == 3, more == line, 0});
      }
  };
  in_type(float());
  in_type(double());
}

TEST_CASE("nine terms of one and two rows, which take two passes over a C beyond half of a small L3") {
  for (std::int64_t const n : {404, 800, 7200}) {
    check<float>({1, n, 9, false, false, 0});
    check<double>({2, n, 9, false, false, 0});
  }
}

TEST_CASE("up to four rows of C beside a B within L1, of 256 KiB, and around half of L3") {
  auto const in_type = []<class T>(T) {
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t const m : {1, 2, 3, 4, 5})
      for (bool const trans_a : {false, true}) {
        for (std::int64_t const l1 : {32 * KiB, 48 * KiB})
          for (std::int64_t const more : {0, 1}) check<T>({m, l1 / size / 16 + more, 16, trans_a});
        for (std::int64_t const k : {63, 64, 65})
          for (std::int64_t const more : {-1, 0, 1}) check<T>({m, 256 * KiB / size / 64 + more, k, trans_a});
      }
    for (std::int64_t const m : {1, 2, 3, 4})
      for (std::int64_t const half : {4 * MiB, 16 * MiB})
        for (std::int64_t const more : {0, 1}) {
          if (m % 2 == more && half > 4 * MiB) continue;
          std::int64_t const k = m == 3 ? 1030 : 512;  // one panel of k, or two
          check<T>({m, half / size / k + more, k, m == 2});
        }
    // Columns that two threads share unevenly, in panels of k; a share of less than five vectors.
    for (std::int64_t const m : {2, 3, 4})
      for (std::int64_t const n : {193, 389, 417, 803}) check<T>({m, n, 2051});
  };
  in_type(float());
  in_type(double());
}

TEST_CASE("parts of five threads, too narrow for a copy of A's rows, which are pages apart") {
  for (std::int64_t const n : {2047, 2049, 2100})
    for (std::int64_t const k : {1000, 1024}) check({140, n, k, false, false, 1024 - k, 5});
}

TEST_CASE("a skinny C of up to two vectors, and of more, beside long sums") {
  for (std::int64_t const m : {5, 6, 7, 13, 15, 28})
    for (std::int64_t const n : {1, 4, 8, 9, 16, 17, 32, 33, 65})
      for (bool const trans_a : {false, true}) check({m, n, 700 + m, trans_a});
  for (std::int64_t const n : {3, 24}) check({14, n, 20011});
}

TEST_CASE("a narrow C beside a transposed A, in tiles as wide as its rows need") {
  for (std::int64_t const m : {5, 16, 17, 33, 48, 49, 65, 100})
    for (std::int64_t const n : {1, 2, 3, 6, 7, 12, 15, 24, 30})
      for (std::int64_t const k : {9, 60}) check({m, n, k, true, k == 60});
  for (std::int64_t const n : {3, 12, 24}) check({1003, n, 61, true, false});
}

TEST_CASE("a narrow C beside a transposed A from beyond three quarters of L3, or half of a large L2") {
  auto const in_type = []<class T>(T, std::int64_t lanes) {
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t const near : {1 * MiB, 6 * MiB, 24 * MiB})
      for (std::int64_t const k : {399, 400}) {
        std::int64_t const rows = near / size / k;
        check<T>({rows + 1, 7 * lanes / 4, k, true, k == 400});
        if (near > 6 * MiB) continue;
        check<T>({rows, 7 * lanes / 4, k, true, k == 399});
        check<T>({rows + 1, 7 * lanes / 4 + 1, k, true, k == 400});
      }
  };
  in_type(float(), 16);
  in_type(double(), 8);
}

TEST_CASE("a small C of many terms, which is turned beside a transposed A from beyond half of L2") {
  auto const in_type = []<class T>(T) {
    for (std::int64_t const l2 : {512 * KiB, 1 * MiB, 2 * MiB})
      for (std::int64_t const more : {0, 1})
        check<T>({60, 20, l2 / 2 / 60 / static_cast<std::int64_t>(sizeof(T)) + more, true});
    for (std::int64_t const n : {1, 2, 3, 5, 9, 17, 21, 33}) {
      check<T>({3 * n + 1, n, 20011, true});
      check<T>({16, n, 40003, true, false, 0});
      check<T>({6144 / n, n, 513, true});
    }
  };
  in_type(float());
  in_type(double());
}

TEST_CASE("a narrow C beside a transposed A from beyond half of L2, turned in panels of k, in parts of any rows") {
  auto const in_type = []<class T>(T) {
    for (std::int64_t const k : {15, 16, 33, 255, 256, 600})
      for (std::int64_t const n : {1, 3, 6, 9, 12, 17, 21, 27, 28, 29}) {
        std::int64_t const m = 1200000 / k / static_cast<std::int64_t>(sizeof(T)) + n;
        check<T>({m, n, k, true, n % 2 == 0, n % 3, n == 9 ? 3 : 2});
      }
    check<T>({2 * MiB / 17 / static_cast<std::int64_t>(sizeof(T)), 17, 40, true});  // several blocks of sums a part
  };
  in_type(float());
  in_type(double());
}

TEST_CASE("a narrow C whose last thread has rows for less than half a vector, beside tiles as high as there are") {
  for (std::int64_t const m : {20, 24, 36})  // lines of 16 floats or 8 doubles are shared out
    for (std::int64_t const n : {14, 15, 16, 17, 30, 32})
      for (bool const trans_b : {false, true}) check({m, n, 3000, true, trans_b});
}

TEST_CASE("few sums beside a transposed A of few rows, in deep tiles") {
  for (std::int64_t const m : {3, 5, 12, 14, 16, 31, 33, 64})
    for (std::int64_t const n : {1, 2, 3, 4, 5})
      for (std::int64_t const k : {67, 300, 1807})
        for (bool const trans_b : {false, true}) check({m, n, k, true, trans_b});
  for (std::int64_t const n : {1, 2}) check({33, n, 30011, true, true});  // which threads share
}

TEST_CASE("as many rows of a transposed A as a vector has lanes, beside a wide transposed B") {
  for (std::int64_t const m : {4, 7, 8, 15, 16, 17, 24, 25})
    for (std::int64_t const n : {30, 129, 300, 707}) check({m, n, 100 + m, true, true});
}

TEST_CASE("few columns of B are laid along k for dot products") {
  for (std::int64_t const m : {4, 8, 20, 40})
    for (std::int64_t const n : {1, 2, 3, 4, 5, 6, 7, 8, 9})
      for (std::int64_t const k : {60, 513, 1000, 2049}) check({m, n, k, false, false, k % 2});
}

TEST_CASE("up to 1024 multiply-adds of two transposed operands, by C's transpose") {
  for (product const& p : {product{63, 2, 7},
                           {26, 2, 12},
                           {17, 4, 4},
                           {16, 4, 4},
                           {64, 4, 4},
                           {65, 4, 4},
                           {17, 4, 3},
                           {17, 5, 4},
                           {128, 2, 4},
                           {9, 2, 50},
                           {9, 3, 38}})
    check({p.m, p.n, p.k, true, true});
}

TEST_CASE("a few terms of a C beyond L1, in rows of whole lines and not, of 1024 elements and more") {
  for (product const& p :
       {product{306, 385, 3}, {300, 300, 8}, {203, 288, 2}, {26, 1023, 4}, {26, 1476, 4}, {9, 3000, 5}})
    for (std::int64_t const gap : {0, 1})
      for (bool const trans_b : {false, true}) check({p.m, p.n, p.k, gap == 1, trans_b, gap});
}

TEST_CASE("up to 128 terms of a C beyond L2") {
  for (std::int64_t const k : {20, 128, 129}) check_orders({301, 1800, k});
  for (std::int64_t const n : {30, 48, 49}) check({20011, n, 60});
}

TEST_CASE("beside few rows of A, rows of B of up to 14 KiB and more, and such as threads do not share") {
  for (std::int64_t const m : {7, 15}) {
    for (std::int64_t const more : {0, 1}) {
      check<float>({m, 3584 + more, 333, false, false, 0});
      check<double>({m, 1792 + more, 333, false, false, 0});
    }
    check({m, 1023, 2100});
  }
}

TEST_CASE("shares of 256 terms and more, whose sums are made apart, beside long rows of B and up to half a MiB of C") {
  for (std::int64_t const k : {256, 257, 700, 2049}) {
    check<float>({7, 3585, k, false, false, 0, 5});
    check<double>({15, 1793, k, false, false, 0, 16});
    for (std::int64_t const less : {0, 1}) {  // rows of two pages, and shorter ones as far apart
      check<float>({16, 2048 - less, k, false, false, less, 16});
      check<double>({5, 1024 - less, k, false, false, less, 4});
    }
  }
  for (std::int64_t const more : {0, 1}) {
    check<float>({7, 18724 + more, 300, false, false, 0, 4});
    check<double>({7, 9362 + more, 300, false, false, 0, 4});
  }
}

TEST_CASE("both transposed, within L2, where C may be turned, and beyond it") {
  for (std::int64_t const edge : {100, 295, 296}) check<float>({edge, edge, edge, true, true, 0, 3});
  for (std::int64_t const edge : {100, 208, 209, 210}) check<double>({edge, edge, edge, true, true, 0, 3});
  check({16, 29, 32, true, true});
  check({17, 28, 31, true, true});
  check({40, 300, 200, true, true, 1, 5});
}

TEST_CASE("one row or two of C beside long rows of B, whose terms, if they are 1000 or 2000, threads share") {
  for (std::int64_t const m : {1, 2})
    for (std::int64_t const k : {999, 1000, 1003, 1999, 2000, 2005}) {
      check<float>({m, 4096, k, false, false, 0, 16});  // a multiple of a page apart
      check<double>({m, 2048, k, false, false, 0, 8});
    }
  check<float>({1, 3585, 1001, false, false, 1, 8});  // 14 KiB and more
  check<double>({2, 1793, 2001, false, false, 1, 16});
  check<float>({1, 2047, 1001, true, false, 1, 8});
}

TEST_CASE("few terms beside a C around L2, with B as it lies and transposed") {
  for (std::int64_t const k : {9, 24, 25})
    for (bool const trans_b : {false, true}) {
      for (auto const& [m, n] : {std::pair<std::int64_t, std::int64_t>{256, 512}, {257, 513}, {512, 512}, {513, 513}})
        check({m, n, k, k == 24, trans_b});
      // Of 24 terms, B around half of L2.
      for (std::int64_t const half : {256 * KiB, 512 * KiB})
        for (std::int64_t const more : {0, 1})
          if (k == 24) {
            check<float>({203, half / 4 / k + more, k, false, trans_b});
            check<double>({103, half / 8 / k + more, k, false, trans_b});
          }
    }
  // C past the caches, or not where its rows are no whole lines.
  for (std::int64_t const gap : {0, 1}) check<float>({1040, 1024, 24, false, true, gap});
}

TEST_CASE("up to eight terms: C of twelve vectors, a few rows of 64 KiB, rows of 112 bytes, a few columns or rows") {
  for (std::int64_t const k : {1, 2, 4, 5, 7, 8})
    for (std::int64_t const lanes : {4, 8, 16})
      for (std::int64_t const m : {1, 2, 3, 4})
        for (std::int64_t const more : {0, 1}) check({m, 12 / m * lanes + more, k, k == 5});
  for (std::int64_t const k : {2, 5, 8})
    for (std::int64_t const m : {3, 4}) {
      check<float>({m, 64 * KiB / 4 / 3 + m - 3, k, k == 5});
      check<double>({m, 64 * KiB / 8 / 3 + m - 3, k, k == 5});
    }
  for (bool const trans_a : {false, true}) {
    for (std::int64_t const n : {13, 14, 27, 28})
      for (std::int64_t const m : {5, 19, 40})
        for (std::int64_t const k : {7, 8}) check({m, n, k, trans_a});
    for (std::int64_t const n : {2, 3, 4, 5, 6, 7, 8, 9})
      for (std::int64_t const m : {20, 41})
        for (std::int64_t const k : {5, 6, 7, 8, 12}) check({m, n, k, trans_a, k == 12, m == 41 ? 0 : 1});
    for (std::int64_t const m : {4, 5, 29})
      for (std::int64_t const n : {8, 83, 150})
        for (std::int64_t const k : {2, 5, 8}) check({m, n, k, trans_a, true});
  }
}

TEST_CASE("rows of A, from L1's size on, in as many stretches as a tile has rows, or one below the other") {
  // Dot products: rows of 256 bytes and 8 KiB, gaps of 256 bytes, what is left of rows behind the stretches.
  for (std::int64_t const n : {1, 2, 3, 5})
    for (std::int64_t const m : {9, 10, 11, 61, 135, 136, 137})
      for (std::int64_t const bytes : {252, 256, 700, 8192, 8200})
        for (std::int64_t const gap : {1, 64, 65}) {
          if (m * bytes > 512 * KiB || (gap > 1 && bytes != 700)) continue;
          check<float>({m, n, bytes / 4, false, n == 2, gap});
          check<double>({m, n, bytes / 8, false, n == 2, gap});
          check<float>({n, m, bytes / 4, false, true, gap});
        }
  // One row of C beside rows of B from beyond L2, each of eight at a time from a stretch of up to 256 terms or an
  // eighth.
  for (std::int64_t const k : {1100, 2060, 2311})
    for (std::int64_t const bytes : {1024, 2056, 8192, 8200})
      for (std::int64_t const gap : {0, 64, 65}) {
        if (gap > 0 && (bytes != 2056 || k == 2060)) continue;
        check<float>({1, bytes / 4, k, false, false, gap, 5});
        check<double>({1, bytes / 8, k, k == 2311, false, gap, 3});
      }
  check<float>({2, 1000, 2060, false, false, 0, 5});
  // Read again, of half of L2 to one and a half.
  for (int again = 0; again < 2; ++again)
    for (std::int64_t const m : {127, 129, 300, 383, 385}) check<float>({m, 1, 1024, false, false, 1});
  // The same from beyond a quarter of L3, where longer rows, and those beside three columns, are asked for.
  for (std::int64_t const quarter : {2 * MiB, 8 * MiB})
    for (std::int64_t const n : {1, 2, 3})
      for (std::int64_t const bytes : {4096, 4104}) check<float>({quarter / bytes + 7, n, bytes / 4, false, false, 1});
  // Tiles of one width, of several, and with half a vector at the end, beside an A of more than half of L2.
  for (std::int64_t const n : {3, 8, 12, 16, 24, 33, 40, 100})
    for (std::int64_t const bytes : {248, 256, 1024, 4096, 4104}) {
      check<float>({600 * KiB / bytes + 3, n, bytes / 4, false, n == 16, 1});
      check<double>({600 * KiB / bytes + 4, n, bytes / 8, false, n == 16, 32});
    }
  for (std::int64_t const more : {-6, 0, 1, 6, 7}) check<float>({512 * KiB / 400 + more, 24, 100, false, false, 0});
  check<float>({1500, 40, 100, false, false, 65});
}

TEST_SUITE_END();
