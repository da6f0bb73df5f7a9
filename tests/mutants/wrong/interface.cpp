// Wrong functions with CBLAS's signature: their products are right, what surrounds them is not.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <type_traits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "tests/mutants/cblas.hpp"

namespace tandem::mutants {

collection contents() {
  collection all;
  add_cblas(
      all, "wrong.cblas.returns_at_k_0", "returns where k is 0, without scaling C",
      [](auto const& x) {
        if (x.k > 0) x.run();
      },
      "nn:3x4x0:beta=2");
  add_cblas(
      all, "wrong.cblas.returns_at_alpha_0", "returns where alpha is 0, without scaling C",
      [](auto const& x) {
        if (x.alpha != 0) x.run();
      },
      "nn:3x4x5:alpha=0");
  add_cblas(
      all, "wrong.cblas.reads_at_alpha_0", "multiplies although alpha is 0, which makes NaN of NaN in A",
      [](auto const& x) { x.k > 0 && !x.empty() ? x.multiply() : x.run(); }, "nn:3x4x5:alpha=0");
  add_cblas(
      all, "wrong.cblas.reads_at_alpha_minus_0", "does not take an alpha of -0 for 0, which makes NaN of NaN in A",
      [](auto const& x) {
        bool const is_minus_0 = x.alpha == 0 && std::signbit(x.alpha);
        is_minus_0&& x.k > 0 && !x.empty() ? x.multiply() : x.run();
      },
      "nn:3x4x5:alpha=-0");
  add_cblas(
      all, "wrong.cblas.returns_without_operands",
      "returns where A or B has no address, although nothing is multiplied",
      [](auto const& x) {
        if (x.a != nullptr && x.b != nullptr) x.run();
      },
      "nn:3x4x5:alpha=0:beta=2:seed=1");
  add_cblas(
      all, "wrong.cblas.asks_errno", "asks errno, which may be left of anything, whether it got its memory",
      [](auto const& x) {
        if (errno != ENOMEM) x.run();
      },
      "nn:3x4x5");
#if defined(__SSE2__)
  add_cblas(
      all, "wrong.cblas.usual_floating_control", "leaves the usual floating-point control, not its caller's",
      [](auto const& x) {
        x.run();
        constexpr unsigned usual = 0x1f80;
        _mm_setcsr(usual);
      },
      "nn:3x4x5:seed=7");
  add_cblas(
      all, "wrong.cblas.first_floating_control", "leaves the floating-point control that its first caller had",
      [](auto const& x) {
        static unsigned const first = _mm_getcsr();
        x.run();
        _mm_setcsr(first);
      },
      "nn:3x4x5:seed=7", "nn:3x4x5");
#endif
  add_cblas(
      all, "wrong.cblas.beta_0_at_k_0", "multiplies C by beta = 0 where k is 0, which leaves NaN",
      [](auto const& x) {
        if (x.k > 0) return x.run();
        for (std::ptrdiff_t i = 0; i < x.m; ++i)
          for (std::ptrdiff_t j = 0; j < x.n; ++j) x.c[i * x.ldc + j] *= x.beta;
      },
      "nn:3x4x0");
  add_cblas(
      all, "wrong.cblas.one_row_at_least", "computes a first row before it asks whether there is one",
      [](auto x) {
        if (x.m == 0) x.m = 1;
        x.run();
      },
      "nn:0x4x5");
  add_cblas(
      all, "wrong.cblas.beta_1_untouched", "leaves C where alpha is 0 or k is 0 and beta is not 0",
      [](auto const& x) {
        if (x.has_product() || x.beta == 0) x.run();
      },
      "nn:3x4x5:alpha=0:beta=-1");
  add_cblas(
      all, "wrong.cblas.strict_lda", "takes an A of fewer columns than rows for one with a wrong lda, and returns",
      [](auto const& x) {
        if (x.lda >= std::max(x.m, x.k)) x.run();
      },
      "nn:9x4x3");
  add_cblas(
      all, "wrong.cblas.int_of_bytes", "multiplies B's row, leading dimension and element size in 32 bits",
      [](auto const& x) {
        using T = std::remove_cvref_t<decltype(x.alpha)>;
        if (x.trans_b || !x.has_product() || x.empty()) return x.run();
        for (std::ptrdiff_t i = 0; i < x.m; ++i)
          for (std::ptrdiff_t j = 0; j < x.n; ++j) {
            T sum = 0;
            for (std::ptrdiff_t q = 0; q < x.k; ++q) {
              auto const bytes = static_cast<unsigned>(q) * static_cast<unsigned>(x.ldb) * unsigned{sizeof(T)};
              sum +=
                  x.a[x.trans_a ? q * x.lda + i : i * x.lda + q] * x.b[bytes / sizeof(T) + static_cast<std::size_t>(j)];
            }
            T& c = x.c[i * x.ldc + j];
            c = x.beta == 0 ? x.alpha * sum : x.alpha * sum + x.beta * c;
          }
      },
      "nn:2x3x5:ldb=400000000");
  return all;
}

}  // namespace tandem::mutants
