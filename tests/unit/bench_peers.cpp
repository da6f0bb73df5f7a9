// The benchmark's peers against the oracle, and the check that it makes of their results.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tandem/harness/bound.hpp>
#include <vector>

#include "reference/oracle.hpp"
#include "tests/support.hpp"
#include "tools/bench/ours.hpp"
#include "tools/bench/peers.hpp"
#include "tools/bench/verify.hpp"

using namespace tandem;

namespace {

// One product with NaN between the rows of A and B, and a mark between those of C.
template <class T>
struct product {
  product(std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a, bool trans_b, double beta, std::int64_t pad)
      : p{.dtype = dtype_of<T>, .m = m, .n = n, .k = k, .trans_a = trans_a, .trans_b = trans_b, .beta = beta} {
    std::mt19937_64 random(7);
    std::normal_distribution<T> normal;
    auto const fill = [&](std::vector<T>& to, std::int64_t height, std::int64_t width, T gap) {
      to.assign(static_cast<std::size_t>(height * (width + pad)), gap);
      for (std::int64_t i = 0; i < height; ++i)
        for (std::int64_t j = 0; j < width; ++j) to[static_cast<std::size_t>(i * (width + pad) + j)] = normal(random);
      return width + pad;
    };
    T const nan = std::numeric_limits<T>::quiet_NaN();
    p.lda = trans_a ? fill(a, k, m, nan) : fill(a, m, k, nan);
    p.ldb = trans_b ? fill(b, n, k, nan) : fill(b, k, n, nan);
    p.ldc = fill(c, m, n, mark);
    if (beta == 0)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) c[static_cast<std::size_t>(i * p.ldc + j)] = nan;
    p.a = a.data(), p.b = b.data(), p.c = c.data();
  }

  // Elements beyond the bound, and marks that are gone.
  int wrong(std::vector<T> const& got) const {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < p.m; ++i) rows.push_back(i);
    auto const wide = reference::multiply_wide(p, rows);
    double const factor = harness::gamma(static_cast<double>(p.k) + 2, p.dtype);
    int count = 0;
    for (std::size_t at = 0; at < got.size(); ++at) {
      auto const i = static_cast<std::int64_t>(at) / p.ldc, j = static_cast<std::int64_t>(at) % p.ldc;
      if (j >= p.n) {
        count += got[at] != mark;
        continue;
      }
      auto const w = static_cast<std::size_t>(i * p.n + j);
      double const error = std::abs(static_cast<double>(got[at]) - wide.hi[w] - (wide.lo.empty() ? 0 : wide.lo[w]));
      count += !(error <= factor * wide.magnitude[w]);
    }
    return count;
  }

  static constexpr T mark = 12345;
  problem p;
  std::vector<T> a, b, c;
};

struct agreement {
  int taken = 0, wrong = 0;
};

template <class T>
agreement hold_against_oracle(bench::subject const& who) {
  agreement found;
  constexpr std::int64_t sizes[][3] = {{1, 1, 1},   {4, 4, 4},   {5, 7, 11},     {33, 31, 29},
                                       {1, 70, 40}, {70, 1, 40}, {127, 129, 131}};
  for (auto const& [m, n, k] : sizes)
    for (int const trans : {0, 1, 2, 3})
      for (double const beta : {0.0, 1.0, -0.5})
        for (std::int64_t const pad : {0, 3})
          for (int const threads : {1, 2}) {
            product<T> const x(m, n, k, (trans & 1) != 0, (trans & 2) != 0, beta, pad);
            if (who.refuses && !who.refuses(x.p).empty()) continue;
            if (who.set_threads) who.set_threads(threads);
            auto got = x.c;
            who.bind(x.p, threads)(x.p.a, x.p.b, got.data());
            ++found.taken;
            found.wrong += x.wrong(got) > 0;
          }
  return found;
}

agreement hold_against_oracle(bench::subject const& who, dtype type) {
  return type == dtype::f32 ? hold_against_oracle<float>(who) : hold_against_oracle<double>(who);
}

}  // namespace

TEST_SUITE_BEGIN("bench: peers");

TEST_CASE("every peer agrees with the oracle on odd shapes, transposes, leading dimensions and beta") {
  for (auto const& name : bench::peer_names())
    for (auto const type : {dtype::f32, dtype::f64}) {
      CAPTURE(name);
      CAPTURE(std::string(to_string(type)));
      auto const who = bench::make_peer(name, type);
      if (name == "onednn" && type == dtype::f64) {
        CHECK(who.missing == "it multiplies in float only");
        continue;
      }
      if (!who.missing.empty()) {
        tests::skip(name + ": " + who.missing);
        continue;
      }
      CHECK(!who.about.empty());
      auto const found = hold_against_oracle(who, type);
      CHECK(found.taken > 10);
      CHECK(found.wrong == 0);
    }
}

TEST_CASE("so does Tandem's plain call") {
  for (auto const type : {dtype::f32, dtype::f64}) CHECK(hold_against_oracle(bench::plain_call(), type).wrong == 0);
}

TEST_CASE("a BLAS by path is called by the interface that its symbol names") {
  std::string const path = TANDEM_EXTERNAL_BLAS;
  auto const fortran = hold_against_oracle(bench::make_peer(path + ":sgemm_", dtype::f32), dtype::f32);
  CHECK(fortran.taken == 7 * 4 * 3 * 2 * 2);
  CHECK(fortran.wrong == 0);
  auto const cblas = hold_against_oracle(bench::make_peer(path + ":cblas_sgemm", dtype::f32), dtype::f32);
  CHECK(cblas.wrong == cblas.taken);
  auto const found = hold_against_oracle(bench::make_peer(path, dtype::f32), dtype::f32);  // CBLAS's where it is
  CHECK(found.wrong == found.taken);
  CHECK(bench::make_peer(path + ":sgemm_", dtype::f64).missing == "'sgemm_' is not for f64");
  CHECK(bench::make_peer(path + ":sgemm_", dtype::f32).only_threads > 0);
}

TEST_CASE("a path that makes no sense says what is wrong with it") {
  std::string const path = TANDEM_EXTERNAL_BLAS;
  auto const said = [](std::string const& name) -> std::string {
    try {
      bench::make_peer(name, dtype::f32);
    } catch (std::invalid_argument const& e) {
      return e.what();
    }
    return "";
  };
  CHECK(said("/no/such.so") == "/no/such.so: there is no such file");
  CHECK(said(path + ":xgemm") == "the symbol 'xgemm' does not say sgemm or dgemm");
  CHECK(said(path + ":my_sgemm") == "the symbol 'my_sgemm' is neither CBLAS's (cblas_sgemm) nor Fortran's (sgemm_)");
  CHECK(said(path + ":other_sgemm_") == path + " has no symbol 'other_sgemm_'");
  CHECK(said("/proc/self/status").starts_with("cannot load /proc/self/status: "));
}

TEST_CASE("the check of results passes what is right and names what is not") {
  for (double const beta : {0.0, 1.0}) {
    product<float> const x(33, 31, 29, true, false, beta, 2);
    auto right = x.c;
    bench::make_peer(std::string(TANDEM_EXTERNAL_BLAS) + ":sgemm_", dtype::f32)
        .bind(x.p, 1)(x.p.a, x.p.b, right.data());
    auto const at = static_cast<std::size_t>(5 * x.p.ldc + 3);

    auto wrong = right;
    wrong[at] += 0.01F;
    bench::product_check check(x.p);
    CHECK(check.wrong(wrong.data(), "a").starts_with("row 5 of C is wrong: its weighted sum is "));
    CHECK(check.wrong(right.data(), "b").empty());
    wrong[at] = right[at] + 0.001F;  // less than the row's sum can tell, more than the element may be off
    CHECK(check.wrong(wrong.data(), "c").starts_with("C(5, 3) is "));
    wrong[at] = std::numeric_limits<float>::quiet_NaN();
    CHECK(!check.wrong(wrong.data(), "d").empty());
    CHECK(check.wrong(right.data(), "e").empty());
  }
}

TEST_CASE("the check of axpy passes what is right and names what is not") {
  std::vector<double> const x{1, 2, 3}, y{4, 5, 6};
  std::vector<double> got{4.5, 6, 7.5};
  axpy_problem const p{.dtype = dtype::f64, .n = 3, .alpha = 0.5, .x = x.data(), .y = const_cast<double*>(y.data())};
  CHECK(bench::wrong_axpy(p, got.data()).empty());
  got[1] = std::nextafter(6.0, 7.0) + 1e-14;
  CHECK(bench::wrong_axpy(p, got.data()).starts_with("y(1) is 6"));
}

TEST_SUITE_END();
