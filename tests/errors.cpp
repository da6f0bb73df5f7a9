// Wrong calls: each is refused with its code and a message that carries the values, and nothing is written.
#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <tandem/tandem.hpp>

using namespace tandem;

namespace {

// What a call threw.
struct refusal {
  errc code;
  std::string text;
};

template <class Call>
std::optional<refusal> refused(Call&& call) {
  try {
    call();
  } catch (error const& e) {
    return refusal{e.code(), e.what()};
  }
  return std::nullopt;
}

// Operands of C (2 x 3) = A (2 x 4) B (4 x 3) in one buffer each, with C holding sevens.
template <class T>
struct operands {
  std::vector<T> a = std::vector<T>(64, 1), b = std::vector<T>(64, 1), c = std::vector<T>(64, 7);
  matrix_view<T const> va{a.data(), 2, 4, 4};
  matrix_view<T const> vb{b.data(), 4, 3, 3};
  matrix_view<T> vc{c.data(), 2, 3, 3};
  bool c_untouched() const { return c == std::vector<T>(64, 7); }
};

// The call throws this code, its message holds this text, and C is as it was.
template <class T, class Call>
void check_refused(operands<T> const& o, Call&& call, errc code, std::string const& text, int line = __builtin_LINE()) {
  CAPTURE(line);
  auto const refusal = refused(call);
  REQUIRE(refusal.has_value());
  CAPTURE(refusal->text);
  CHECK(refusal->code == code);
  CHECK(refusal->text.find(text) != std::string::npos);
  CHECK(o.c_untouched());
}

}  // namespace

TEST_SUITE_BEGIN("errors");

TEST_CASE_TEMPLATE("gemm refuses operands that do not fit each other", T, float, double) {
  operands<T> o;
  auto const a = [&](std::int64_t rows, std::int64_t cols) { return matrix_view<T const>(o.a.data(), rows, cols, 8); };
  check_refused(
      o, [&] { gemm(a(2, 5), o.vb, o.vc); }, errc::size_mismatch, "A has 5 columns, B has 4 rows");
  check_refused(
      o, [&] { gemm(a(3, 4), o.vb, o.vc); }, errc::size_mismatch, "C has 2 rows, A has 3");
  check_refused(
      o, [&] { gemm(o.va, matrix_view<T const>(o.b.data(), 4, 2, 8), o.vc); }, errc::size_mismatch,
      "C has 3 columns, B has 2");
  check_refused(
      o, [&] { gemm(o.vb.transposed(), o.vb, o.vc); }, errc::size_mismatch, "C has 2 rows, A has 3");
}

TEST_CASE_TEMPLATE("gemm refuses a leading dimension below the row or the column", T, float, double) {
  operands<T> o;
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.a.data(), 2, 4, 3), o.vb, o.vc); }, errc::leading_dimension, "lda 3 < k 4");
  check_refused(
      o, [&] { gemm(o.va, matrix_view<T const>(o.b.data(), 4, 3, 2), o.vc); }, errc::leading_dimension, "ldb 2 < n 3");
  check_refused(
      o, [&] { gemm(o.va, o.vb, matrix_view<T>(o.c.data(), 2, 3, 1, layout::col_major)); }, errc::leading_dimension,
      "ldc 1 < m 2");
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.a.data(), 2, 4, 1, layout::col_major), o.vb, o.vc); },
      errc::leading_dimension, "lda 1 < m 2");
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.a.data(), 2, 4, -4), o.vb, o.vc); }, errc::leading_dimension,
      "lda -4 < k 4");
}

TEST_CASE_TEMPLATE("gemm refuses null data, negative sizes and misaligned data", T, float, double) {
  operands<T> o;
  check_refused(
      o, [&] { gemm(matrix_view<T const>(nullptr, 2, 4, 4), o.vb, o.vc); }, errc::null_data, "A");
  check_refused(
      o, [&] { gemm(o.va, o.vb, matrix_view<T>(nullptr, 2, 3, 3)); }, errc::null_data, "C");
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.a.data(), -2, 4, 4), o.vb, o.vc); }, errc::negative_size, "A is -2 x 4");
  auto const* const crooked = reinterpret_cast<T const*>(reinterpret_cast<char const*>(o.a.data()) + 1);
  check_refused(
      o, [&] { gemm(matrix_view<T const>(crooked, 2, 4, 4), o.vb, o.vc); }, errc::misaligned, "A's data lies 1 byte");
}

TEST_CASE_TEMPLATE("gemm refuses a view that spans more than 2^63 - 1 bytes", T, float, double) {
  operands<T> o;
  auto const huge = std::numeric_limits<std::int64_t>::max() / 2;
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.a.data(), 2, 4, huge), o.vb, o.vc); }, errc::overflow, "A spans more than");
  check_refused(
      o,
      [&] {
        gemm(matrix_view<T const>(o.a.data(), huge, huge, huge), matrix_view<T const>(o.b.data(), huge, 3, 3),
             matrix_view<T>(o.c.data(), huge, 3, 3));
      },
      errc::overflow, "A spans more than");
}

TEST_CASE_TEMPLATE("gemm refuses a C that shares an element with A or B", T, float, double) {
  operands<T> o;
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.c.data() + 5, 2, 4, 4), o.vb, o.vc); }, errc::overlap, "C overlaps A");
  check_refused(
      o, [&] { gemm(o.va, matrix_view<T const>(o.c.data(), 4, 3, 3), o.vc); }, errc::overlap, "C overlaps B");
  // Rows of C at 0, 8; columns of A start at 4, 7, 10, 13: the second row of C meets the column at 7.
  matrix_view<T> const c(o.c.data(), 2, 3, 8);
  check_refused(
      o, [&] { gemm(matrix_view<T const>(o.c.data() + 4, 2, 4, 3, layout::col_major), o.vb, c); }, errc::overlap,
      "C overlaps A");
}

TEST_CASE_TEMPLATE("blocks of one matrix that share no element are no overlap", T, float, double) {
  std::vector<T> whole(64, 1);  // 8 x 8; A, B and C are blocks of it
  matrix_view<T const> const a(whole.data(), 4, 4, 8), b(whole.data() + 4, 4, 4, 8);
  matrix_view<T> const c(whole.data() + 36, 4, 4, 8);
  gemm(a, b, c);
  CHECK(whole[36] == 4);
  CHECK(whole[63] == 4);
  CHECK(whole[35] == 1);
  matrix_view<T> const left(whole.data(), 4, 4, 8);  // C's rows lie in the gaps of B's
  gemm(matrix_view<T const>(whole.data() + 32, 4, 4, 8), b, left);
  CHECK(whole[0] == 4);
}

TEST_CASE_TEMPLATE("gemm refuses views in different memories, and device views on a host backend", T, float, double) {
  operands<T> o;
  matrix_view<T const> const device_a(o.a.data(), 2, 4, 4, layout::row_major, memory::device);
  matrix_view<T const> const device_b(o.b.data(), 4, 3, 3, layout::row_major, memory::device);
  matrix_view<T> const device_c(o.c.data(), 2, 3, 3, layout::row_major, memory::device);
  check_refused(
      o, [&] { gemm(device_a, o.vb, o.vc); }, errc::mixed_memory, "A is in device memory, B in host, C in host");
  check_refused(
      o, [&] { gemm(device_a, device_b, device_c, {.backend = backend::cpu}); }, errc::mixed_memory, "device memory");
  check_refused(
      o, [&] { gemm(device_a, device_b, device_c, {.backend = backend::simt}); }, errc::mixed_memory, "device memory");
}

TEST_CASE_TEMPLATE("gemm refuses kernels that it does not have", T, float, double) {
  operands<T> o;
  check_refused(
      o, [&] { gemm(o.va, o.vb, o.vc, {.kernel = "warp_drive"}); }, errc::unknown_kernel, "'warp_drive'");
  check_refused(
      o, [&] { gemm(o.va, o.vb, o.vc, {.backend = backend::cpu, .kernel = "thread_tile"}); }, errc::unknown_kernel,
      "'thread_tile' is of backend gpu, simt");
  check_refused(
      o, [&] { gemm(o.va, o.vb, o.vc, {.backend = backend::cpu, .kernel = "eigen.gemm.f32"}); }, errc::unknown_kernel,
      "is not of backend cpu");
  check_refused(
      o, [&] { gemm(o.va, o.vb, o.vc, {.kernel = "oracle.axpy.f32"}); }, errc::unknown_kernel,
      "computes axpy, not gemm");
  auto const other = std::same_as<T, float> ? "oracle.gemm.f64" : "oracle.gemm.f32";
  check_refused(
      o, [&] { gemm(o.va, o.vb, o.vc, {.kernel = other}); }, errc::unknown_kernel, "the views hold");
}

TEST_CASE_TEMPLATE("a backend that is not there is an error with its reason, never a fallback", T, float, double) {
  operands<T> o;
  for (auto const& info : backends()) {
    if (info.available) continue;
    check_refused(
        o, [&] { gemm(o.va, o.vb, o.vc, {.backend = info.backend}); }, errc::unavailable, info.reason);
  }
}

TEST_CASE_TEMPLATE("a kernel of one's own is checked like ours", T, float, double) {
  operands<T> o;
  kernel mine;
  mine.name = "mine.nothing";
  mine.dtype = dtype_of<T>;
  mine.run = [](problem const&, execution const&) {};
  mine.refuses = [](problem const& p) { return p.m == 2 ? "m is 2" : ""; };
  check_refused(
      o, [&] { gemm_with(mine, o.va, o.vb, o.vc); }, errc::unsupported, "mine.nothing: m is 2");
  mine.refuses = {};
  mine.unavailable = [] { return "it rains"; };
  check_refused(
      o, [&] { gemm_with(mine, o.va, o.vb, o.vc); }, errc::unavailable, "mine.nothing: it rains");
}

TEST_CASE_TEMPLATE("axpy refuses what it cannot do", T, float, double) {
  operands<T> o;
  vector_view<T const> const x(o.a.data(), 8);
  vector_view<T> const y(o.c.data(), 8);
  check_refused(
      o, [&] { axpy(1, vector_view<T const>(o.a.data(), 7), y); }, errc::size_mismatch, "x has 7 elements, y 8");
  check_refused(
      o, [&] { axpy(1, vector_view<T const>(nullptr, 8), y); }, errc::null_data, "x");
  check_refused(
      o, [&] { axpy(1, vector_view<T const>(o.a.data(), -1), vector_view<T>(o.c.data(), -1)); }, errc::negative_size,
      "-1");
  check_refused(
      o, [&] { axpy(1, x, vector_view<T>(o.c.data(), 8, 0)); }, errc::zero_stride, "y has stride 0");
  check_refused(
      o, [&] { axpy(1, vector_view<T const>(o.c.data() + 1, 8), y); }, errc::overlap, "y overlaps x");
  check_refused(
      o, [&] { axpy(1, vector_view<T const>(o.c.data() + 7, 8, -1), y); }, errc::overlap, "y overlaps x");
  check_refused(
      o, [&] { axpy(1, x, y, {.kernel = "warp_drive"}); }, errc::unknown_kernel, "'warp_drive'");
  vector_view<T const> const device_x(o.a.data(), 8, 1, memory::device);
  check_refused(
      o, [&] { axpy(1, device_x, y); }, errc::mixed_memory, "x is in device memory, y in host");
}

TEST_SUITE_END();
