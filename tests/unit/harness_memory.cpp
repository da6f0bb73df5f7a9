// L1: what a kernel touches besides the elements of its operands.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <tandem/kernels.hpp>

#include "tests/unit/harness_planted.hpp"

using namespace tandem::harness;
using namespace harness_test;

namespace {

auto const memory_rung = rung::memory;

std::string witness_of(candidate const& kernel) {
  auto const j = climb(kernel, memory_rung);
  CHECK_FALSE(j.passed());
  return reason_of(j, memory_rung);
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// Keeps a read whose value nobody wants.
template <class T>
void touch(T const* at) {
  static_cast<void>(*static_cast<T const volatile*>(at));
}

}  // namespace

TEST_SUITE_BEGIN("harness: L1 memory");

TEST_CASE_TEMPLATE("a right kernel passes", T, float, double) {
  auto const j = climb(planted<T>("right", multiply_anything<T>), memory_rung);
  CHECK_MESSAGE(j.passed(), reason_of(j, memory_rung));
  CHECK(report_of(j, memory_rung).calls > 300);
}

TEST_CASE("our rows and the references pass") {
  for (auto const* const name : {"cpu.blocked.f32.64x64x64", "cpu.outer_product.f64", "simt.smem_tile.f32.16x16x16",
                                 "oracle.gemm.f32", "eigen.gemm.f64"}) {
    auto const* const row = tandem::find_kernel(name);
    REQUIRE(row != nullptr);
    auto const j = climb(candidate_of(*row), memory_rung);
    CHECK_MESSAGE(j.passed(), name, ": ", reason_of(j, memory_rung));
  }
}

TEST_CASE("right kernels with workspaces, splits and odd orders pass") {
  auto const padded = planted<float>("padded", [](element_access<float> const& x) {
    auto const up = [](std::int64_t n) { return static_cast<std::size_t>((n + 15) / 16 * 16); };
    std::size_t const m = up(x.p.m), n = up(x.p.n), k = up(x.p.k);
    std::vector<float> a(m * k), b(k * n), c(m * n);
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t q = 0; q < x.p.k; ++q)
        a[static_cast<std::size_t>(i) * k + static_cast<std::size_t>(q)] = x.a(i, q);
    for (std::int64_t q = 0; q < x.p.k; ++q)
      for (std::int64_t j = 0; j < x.p.n; ++j)
        b[static_cast<std::size_t>(q) * n + static_cast<std::size_t>(j)] = x.b(q, j);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t q = 0; q < k; ++q)
        for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + q] * b[q * n + j];
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j)
        x.store(i, j, c[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)]);
  });
  CHECK(climb(padded, memory_rung).passed());

  auto const beta_first = planted<float>("beta first, split k", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        x.c(i, j) = x.p.beta == 0 ? 0 : x.beta() * x.c(i, j);
        for (std::int64_t q = x.p.k; q-- > 0;) x.c(i, j) += x.alpha() * x.a(i, q) * x.b(q, j);
      }
  });
  CHECK(climb(beta_first, memory_rung).passed());
}

TEST_CASE("a load past an operand's end is named with its distance") {
  auto const past_a = planted<float>("past A", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.m > 0 && x.p.k > 0)
      touch(&x.pa[(x.p.trans_a ? (x.p.k - 1) * x.p.lda + x.p.m : (x.p.m - 1) * x.p.lda + x.p.k)]);
  });
  CHECK(has(witness_of(past_a), "unmapped memory read, byte 1 past the end of"));

  // A vector of four where one element is left, and only then.
  auto const vector_tail = planted<float>("vector tail", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.trans_b || x.p.n % 4 != 1) return;
    auto const* const last = x.pb + (x.p.k - 1) * x.p.ldb + x.p.n - 1;
    for (int i = 0; i < 4; ++i) touch(last + i);
  });
  CHECK(has(witness_of(vector_tail), "past the end of"));
}

TEST_CASE("a load before an operand's start is named with its distance") {
  auto const before_b = planted<double>("before B", [](element_access<double> const& x) {
    multiply_anything(x);
    touch(x.pb - 1);
  });
  CHECK(has(witness_of(before_b), "8 bytes before the start of"));
}

TEST_CASE("what is read beside an operand is NaN, so computing with it shows where no page ends") {
  // Both operands' tails are loaded as whole aligned vectors of 16 bytes, which never leave a page; the neighbours of
  // A are taken to be finite, since they are multiplied by zeros.
  auto const trusts = planted<float>("trusts its neighbours", [](element_access<float> const& x) {
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j) {
        float sum = 0;
        std::int64_t q = 0;
        for (; q < x.p.k; ++q) sum += x.a(i, q) * x.b(q, j);
        auto const* const last = &x.pa[x.p.trans_a ? (q - 1) * x.p.lda + i : i * x.p.lda + q - 1];
        bool const in_vector = (reinterpret_cast<std::uintptr_t>(last) & 12) != 12;
        if (!x.p.trans_a && i + 1 == x.p.m && in_vector) sum += last[1] * 0.0F;
        x.store(i, j, sum);
      }
  });
  CHECK(has(witness_of(trusts), "a NaN comes from memory around"));
}

TEST_CASE("writes outside are found: gaps, neighbours, inputs") {
  auto const gap = planted<float>("gap", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.m > 1 && x.p.ldc > x.p.n) x.pc[x.p.n] = 0;
  });
  CHECK(has(witness_of(gap), "gap of C written, 1 elements past the end of"));

  auto const past = planted<float>("past", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.m > 0 && x.p.n > 0) x.pc[(x.p.m - 1) * x.p.ldc + x.p.n] = 0;
  });
  auto const j = climb(past, memory_rung);
  REQUIRE(report_of(j, memory_rung).witness);
  CHECK(report_of(j, memory_rung).witness->what == failure_class::written_outside);

  auto const input = planted<float>("input", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.m * x.p.n * x.p.k > 0) const_cast<float&>(x.pb[0]) += 1;
  });
  CHECK(has(witness_of(input), "modified at (0, 0)"));
}

TEST_CASE("an element that is not written keeps its poison") {
  auto const corner = planted<float>("corner", [](element_access<float> const& x) {
    if (x.p.m < 2 || x.p.n < 2) return multiply_anything(x);
    for (std::int64_t i = 0; i < x.p.m; ++i)
      for (std::int64_t j = 0; j < x.p.n; ++j)
        if (i + 1 < x.p.m || j + 1 < x.p.n || x.p.m % 16 != 1) x.store(i, j, x.dot(i, j, x.p.k));
  });
  auto const r = report_of(climb(corner, memory_rung), memory_rung);
  REQUIRE(r.witness);
  CHECK(r.witness->what == failure_class::untouched);
}

#if defined(__SSE2__)
TEST_CASE("a kernel that needs more alignment than it says crashes; one that says so passes") {
  auto needs = planted<float>("movaps", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.trans_b || x.p.n < 4) return;
    __m128 volatile const kept = _mm_load_ps(x.pb);
    static_cast<void>(kept);
  });
  CHECK(has(reason_of(climb(needs, memory_rung), memory_rung), "needs aligned memory"));
  needs.limits = parse_limits("align=16");
  auto const j = climb(needs, memory_rung);
  CHECK_MESSAGE(j.passed(), reason_of(j, memory_rung));
}
#endif

TEST_CASE("alignment to 32 and to 64 bytes is not to be had for nothing") {
  for (std::uintptr_t const bytes : {32, 64, 128})
    for (int operand = 0; operand < 3; ++operand) {
      auto const needs = planted<float>("aligned", [=](element_access<float> const& x) {
        void const* const at = operand == 0 ? x.p.a : operand == 1 ? x.p.b : x.p.c;
        auto const address = reinterpret_cast<std::uintptr_t>(at);
        // Where 16 bytes are there and more are not: what a test at random offsets may miss.
        if (address % 16 == 0 && address % bytes != 0) __builtin_trap();
        multiply_anything(x);
      });
      CHECK_FALSE(climb(needs, memory_rung).passed());
    }
}

TEST_CASE("a path for results that no cache holds and whose rows are whole cache lines is taken") {
  // Right but for what `spoil` does to a row of such a C.
  auto const streaming = [](auto spoil) {
    return planted<float>("streaming", [spoil](element_access<float> const& x) {
      multiply_anything(x);
      bool const whole = reinterpret_cast<std::uintptr_t>(x.p.c) % 64 == 0 && x.p.ldc % 16 == 0;
      if (whole && x.p.beta == 0 && x.p.m * x.p.n > 1 << 20) spoil(x);
    });
  };
  using access = element_access<float>;
  CHECK(climb(streaming([](access const&) {}), memory_rung).passed());
  // One vector of a row whose length is an odd number of them.
  CHECK_FALSE(climb(streaming([](access const& x) {
                      if (x.p.n % 32 == 16) x.c(x.p.m - 1, x.p.n - 16) += 1;
                    }),
                    memory_rung)
                  .passed());
  // The rest of the line in which a row ends.
  CHECK_FALSE(climb(streaming([](access const& x) {
                      for (auto j = x.p.n; j < x.p.ldc; ++j) x.pc[j] = 0;
                    }),
                    memory_rung)
                  .passed());
  for (auto const& [m, n] : {std::pair{1000, 1000}, std::pair{100, 1 << 16}, std::pair{1 << 14, 100}})
    CHECK_FALSE(climb(streaming([m = m, n = n](access const& x) {
                        bool const shape = m == n ? std::min(x.p.m, x.p.n) >= m : m < n ? x.p.m < m : x.p.n < n;
                        if (shape) x.c(0, 0) += 1;
                      }),
                      memory_rung)
                    .passed());
}

TEST_CASE("a leading dimension that is ignored shows in the gaps") {
  auto const tight = planted<float>("tight", [](element_access<float> const& x) {
    auto y = x;
    if (!y.p.trans_b && y.p.ldb > y.p.n) y.p.ldb = y.p.n;
    multiply_anything(y);
  });
  CHECK_FALSE(climb(tight, memory_rung).passed());
}

TEST_CASE("bugs behind one storage form and one residue are reached at standard, by every seed") {
  auto const rare = planted<float>("rare", [](element_access<float> const& x) {
    multiply_anything(x);
    if (x.p.trans_a && x.p.trans_b && x.p.m % 8 == 7 && x.p.m * x.p.n * x.p.k > 0)
      touch(&x.pb[(x.p.n - 1) * x.p.ldb + x.p.k + 2]);
  });
  for (std::uint64_t seed = 1; seed <= 3; ++seed) CHECK_FALSE(climb(rare, memory_rung, seed, level::standard).passed());
}

TEST_CASE("limits hold in every problem") {
  auto aligned = planted<double>("aligned", [](element_access<double> const& x) {
    for (void const* const at : {x.p.a, x.p.b, static_cast<void const*>(x.p.c)})
      if (reinterpret_cast<std::uintptr_t>(at) % 32 != 0) __builtin_trap();
    if (x.p.m % 4 != 0 || x.p.n % 8 != 0 || x.p.k % 2 != 0) __builtin_trap();
    multiply_anything(x);
  });
  aligned.limits = parse_limits("m_multiple_of=4,n_multiple_of=8,k_multiple_of=2,align=32,row_major");
  auto j = climb(aligned, memory_rung);
  CHECK_MESSAGE(j.passed(), reason_of(j, memory_rung));

  auto tight = planted<double>("tight", [](element_access<double> const& x) {
    if (x.p.ldc != x.p.n) __builtin_trap();
    multiply_anything(x);
  });
  tight.limits = parse_limits("tight");
  j = climb(tight, memory_rung);
  CHECK_MESSAGE(j.passed(), reason_of(j, memory_rung));
}

TEST_SUITE_END();
