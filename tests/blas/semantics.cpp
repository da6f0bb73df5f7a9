// The BLAS library's routines beside the reference BLAS, in one process, argument by argument. This program has its own
// xerbla_ and cblas_xerbla, which both libraries must call. Both are loaded with RTLD_LOCAL: linked, ours would take
// the place of the sgemm_ that the reference's cblas_sgemm calls.
#include <doctest/doctest.h>
#include <tandem/blas.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/blas/entries.hpp"
#include "tests/support.hpp"

extern "C" {
int RowMajorStrg = 0;
int CBLAS_CallFromC = 0;
}

namespace {

// What the handlers were told, a line each; empty where nothing was wrong.
std::string reports;

}  // namespace

extern "C" {

// The reference has 32-bit integers in every build: the lower half is what both give.
void xerbla_(char const* name, void const* argument, std::size_t length) {
  std::int32_t number;
  std::memcpy(&number, argument, sizeof number);
  reports += "xerbla_('" + std::string(name, length) + "', " + std::to_string(number) +
             "), RowMajorStrg = " + std::to_string(RowMajorStrg) +
             ", CBLAS_CallFromC = " + std::to_string(CBLAS_CallFromC) + "\n";
}

void cblas_xerbla(std::int32_t argument, char const* routine, char const* format, ...) {
  char text[200];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  reports += "cblas_xerbla(" + std::to_string(argument) + ", '" + routine + "', '" + text +
             "'), RowMajorStrg = " + std::to_string(RowMajorStrg) + "\n";
}

}  // extern "C"

namespace {

using namespace tandem::tests;

template <class T>
entries<T, tandem_blas_int> ours() {
  static void* const library = dlopen(TANDEM_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  INFO(TANDEM_BLAS_LIBRARY);
  REQUIRE(library != nullptr);
  std::string missing;
  auto const found = load<T, tandem_blas_int>(library, missing);
  REQUIRE(missing == "");
  return found;
}

// Debian's build of Netlib's BLAS, for this library's own symbols only.
template <class T>
bool has_reference(entries<T, int>& found) {
  static void* const library = dlopen(TANDEM_REFERENCE_BLAS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return is_there("libblas3", dlerror());
  std::string missing;
  found = load<T, int>(library, missing);
  REQUIRE(missing == "");
  return true;
}

constexpr int options[] = {CblasNoTrans, CblasTrans, CblasConjTrans};
constexpr char letters[] = {'N', 'n', 'T', 't', 'C', 'c'};

// Small integers, so that every order of the sums gives the same number.
template <class T>
std::vector<T> integers(std::size_t size, unsigned seed) {
  std::vector<T> all(size);
  for (auto& x : all) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<int>(seed >> 24) % 7 - 3);
  }
  return all;
}

template <class Call>
std::string reports_of(Call&& call) {
  reports.clear();
  call();
  CHECK(RowMajorStrg == 0);
  CHECK(CBLAS_CallFromC == 0);
  return reports;
}

}  // namespace

TEST_CASE_TEMPLATE("a conjugate transpose is a transpose, in CBLAS and in Fortran, whatever else is there", T, float,
                   double) {
  auto const tandem = ours<T>();
  auto const a = integers<T>(30, 1), b = integers<T>(30, 2);  // (6, 5) and (5, 6), or their transposes
  for (int const layout : {int{CblasRowMajor}, int{CblasColMajor}})
    for (bool const turn_b : {false, true}) {
      auto const product = [&](int transpose) {
        std::vector<T> c(36, -1);
        int const option_b = turn_b ? transpose : int{CblasNoTrans};
        int const ld_b = (layout == CblasRowMajor) != turn_b ? 6 : 5;
        int const ld_a = layout == CblasRowMajor ? 6 : 5;
        CHECK(reports_of([&] {
                tandem.gemm(layout, transpose, option_b, 6, 6, 5, 1, a.data(), ld_a, b.data(), ld_b, 0, c.data(), 6);
              }) == "");
        return c;
      };
      CHECK(product(CblasConjTrans) == product(CblasTrans));
      CHECK(product(CblasTrans) != std::vector<T>(36, -1));
    }
  for (char const letter : {'C', 'c'}) {
    std::vector<T> conjugated(36, -1), transposed(36, -2);
    tandem.gemm(letter, letter, 6, 6, 5, 1, a.data(), 5, b.data(), 6, 0, conjugated.data(), 6);
    tandem.gemm('T', 'T', 6, 6, 5, 1, a.data(), 5, b.data(), 6, 0, transposed.data(), 6);
    CHECK(conjugated == transposed);
  }
}

TEST_CASE_TEMPLATE("products of every size, layout, option and scalar equal the reference's, gaps of C included", T,
                   float, double) {
  entries<T, int> reference;
  if (!has_reference(reference)) return;
  auto const tandem = ours<T>();
  auto const a = integers<T>(400, 1), b = integers<T>(400, 2), start = integers<T>(400, 3);
  int wrong = 0, products = 0;
  auto const compare = [&](std::vector<T> const& c, std::vector<T> const& expected) {
    ++products;
    if (c != expected) ++wrong;
  };
  for (int const m : {0, 1, 2, 5, 17})
    for (int const n : {0, 1, 3, 16})
      for (int const k : {0, 1, 4, 9})
        for (T const alpha : {0, 1, -2})
          for (T const beta : {0, 1, 2}) {
            for (int const layout : {CblasRowMajor, CblasColMajor})
              for (int const ta : options)
                for (int const tb : options) {
                  auto c = start, expected = start;
                  tandem.gemm(layout, ta, tb, m, n, k, alpha, a.data(), 18, b.data(), 19, beta, c.data(), 20);
                  reference.gemm(layout, ta, tb, m, n, k, alpha, a.data(), 18, b.data(), 19, beta, expected.data(), 20);
                  compare(c, expected);
                }
            for (char const ta : letters)
              for (char const tb : letters) {
                auto c = start, expected = start;
                tandem.gemm(ta, tb, m, n, k, alpha, a.data(), 18, b.data(), 19, beta, c.data(), 20);
                reference.gemm(ta, tb, m, n, k, alpha, a.data(), 18, b.data(), 19, beta, expected.data(), 20);
                compare(c, expected);
              }
          }
  CHECK(products == 5 * 4 * 4 * 9 * (18 + 36));
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("beta = 0 never reads C; alpha = 0 never reads A or B", T, float, double) {
  auto const tandem = ours<T>();
  T const nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> const a(9, 1), b(9, 1);
  for (int const layout : {CblasRowMajor, CblasColMajor}) {
    std::vector<T> c(4, nan);
    tandem.gemm(layout, CblasNoTrans, CblasNoTrans, 2, 2, 3, 2, a.data(), 3, b.data(), 3, 0, c.data(), 2);
    CHECK(c == std::vector<T>(4, 6));
    tandem.gemm(layout, CblasNoTrans, CblasTrans, 2, 2, 3, 0, nullptr, 3, nullptr, 3, 3, c.data(), 2);
    CHECK(c == std::vector<T>(4, 18));
    tandem.gemm(layout, CblasTrans, CblasConjTrans, 2, 2, 0, 1, nullptr, 3, nullptr, 3, 0, c.data(), 2);
    CHECK(c == std::vector<T>(4, 0));
  }
}

TEST_CASE_TEMPLATE("quick returns touch nothing", T, float, double) {
  auto const tandem = ours<T>();
  T* const nothing = nullptr;
  CHECK(reports_of([&] {
          tandem.gemm('N', 'N', 0, 4, 4, 1, nothing, 1, nothing, 4, 0, nothing, 1);
          tandem.gemm('N', 'N', 4, 0, 4, 1, nothing, 4, nothing, 4, 0, nothing, 4);
          tandem.gemm('N', 'N', 4, 4, 0, 1, nothing, 4, nothing, 1, 1, nothing, 4);
          tandem.gemm('N', 'N', 4, 4, 4, 0, nothing, 4, nothing, 4, 1, nothing, 4);
          for (bool const fortran : {false, true}) {
            tandem.axpy(fortran, 0, 1, nothing, 1, nothing, 1);
            tandem.axpy(fortran, -3, 1, nothing, 1, nothing, 1);
            tandem.axpy(fortran, 3, 0, nothing, 1, nothing, 1);
          }
        }).empty());
}

// Netlib's 3.11 gives a wrong TransB of a row-major call the number 2; later ones give 3, as for a column-major call.
std::string as_numbered_today(std::string report) {
  if (report.find("Illegal TransB") != std::string::npos) report.replace(0, 14, "cblas_xerbla(3");
  return report;
}

TEST_CASE_TEMPLATE("wrong arguments are reported as the reference reports them, and C is not written", T, float,
                   double) {
  entries<T, int> reference;
  if (!has_reference(reference)) return;
  auto const tandem = ours<T>();
  std::vector<T> const a(100, 1), start(100, 5);
  int reported = 0, calls = 0;
  for (int const m : {-1, 0, 3})
    for (int const n : {-1, 2})
      for (int const k : {-1, 0, 4})
        for (int const lda : {-1, 0, 1, 3, 4})
          for (int const ldb : {0, 1, 2, 4})
            for (int const ldc : {0, 1, 2, 3}) {
              auto const compare = [&](auto... first) {
                INFO("m ", m, ", n ", n, ", k ", k, ", lda ", lda, ", ldb ", ldb, ", ldc ", ldc);
                auto c = start, expected = start;
                auto const said = reports_of(
                    [&] { tandem.gemm(first..., m, n, k, 1, a.data(), lda, a.data(), ldb, 1, c.data(), ldc); });
                auto const meant = reports_of([&] {
                  reference.gemm(first..., m, n, k, 1, a.data(), lda, a.data(), ldb, 1, expected.data(), ldc);
                });
                REQUIRE(said == as_numbered_today(meant));
                REQUIRE(c == expected);
                if (!said.empty()) REQUIRE(c == start);
                ++calls;
                reported += !said.empty();
              };
              for (int const layout : {int{CblasRowMajor}, int{CblasColMajor}, 0, -1})
                for (int const ta : {int{CblasNoTrans}, int{CblasTrans}, 110, -1})
                  for (int const tb : {int{CblasNoTrans}, int{CblasConjTrans}, 0}) compare(layout, ta, tb);
              for (char const ta : {'N', 't', 'X', ' '})
                for (char const tb : {'n', 'C', '\0'}) compare(ta, tb);
            }
  CHECK(reported > calls / 2);
  CHECK(reported < calls);
}

TEST_CASE("the program's own handlers get the reference's names and numbers") {
  std::vector<float> c(4, 5);
  float const* const a = c.data();
  auto const tandem = ours<float>();
  CHECK(reports_of([&] { tandem.gemm('N', 'N', -1, 1, 1, 1, a, 1, a, 1, 1, c.data(), 1); }) ==
        "xerbla_('SGEMM ', 3), RowMajorStrg = 0, CBLAS_CallFromC = 0\n");
  // m of a row-major call is n of the column-major one, which is argument 4.
  CHECK(reports_of([&] {
          tandem.gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, 1, 1, 1, a, 1, a, 1, 1, c.data(), 1);
        }) == "xerbla_('SGEMM ', 4), RowMajorStrg = 1, CBLAS_CallFromC = 1\n");
  CHECK(reports_of([&] { tandem.gemm(CblasColMajor, 7, CblasNoTrans, 1, 1, 1, 1, a, 1, a, 1, 1, c.data(), 1); }) ==
        "cblas_xerbla(2, 'cblas_sgemm', 'Illegal TransA setting, 7\n'), RowMajorStrg = 0\n");
}

TEST_CASE_TEMPLATE("axpy equals the reference's for every pair of increments", T, float, double) {
  entries<T, int> reference;
  if (!has_reference(reference)) return;
  auto const tandem = ours<T>();
  auto const start = integers<T>(100, 4);
  for (bool const fortran : {false, true})
    for (int const n : {1, 2, 7})
      for (int const incx : {-3, -1, 0, 1, 2})
        for (int const incy : {-3, -1, 0, 1, 2}) {
          INFO("fortran ", fortran, ", n ", n, ", incx ", incx, ", incy ", incy);
          auto all = start, expected = start;
          tandem.axpy(fortran, n, 2, all.data() + 20, incx, all.data() + 70, incy);
          reference.axpy(fortran, n, 2, expected.data() + 20, incx, expected.data() + 70, incy);
          REQUIRE(all == expected);
        }
}

// The reference's compiler may take overlapping vectors for separate ones; its text adds in this order.
TEST_CASE_TEMPLATE("where x and y overlap, axpy adds element by element, in order", T, float, double) {
  auto const tandem = ours<T>();
  auto const start = integers<T>(100, 5);
  for (int const n : {1, 2, 7})
    for (int const incx : {-3, -1, 0, 1, 2})
      for (int const incy : {-3, -1, 0, 1, 2})
        for (int const apart : {-2, 0, 1, 5}) {
          INFO("n ", n, ", incx ", incx, ", incy ", incy, ", y - x ", apart);
          auto all = start, expected = start;
          tandem.axpy(false, n, 2, all.data() + 40, incx, all.data() + 40 + apart, incy);
          int ix = 40 + (incx < 0 ? (1 - n) * incx : 0), iy = 40 + apart + (incy < 0 ? (1 - n) * incy : 0);
          for (int i = 0; i < n; ++i, ix += incx, iy += incy) expected[iy] += 2 * expected[ix];
          REQUIRE(all == expected);
        }
}
