// What the public types promise at compile time and by themselves.
#include <doctest/doctest.h>

#include <type_traits>

#include <tandem/tandem.hpp>

using tandem::layout;
using tandem::matrix_view;

static_assert(std::is_default_constructible_v<matrix_view<float>>);
static_assert(std::is_convertible_v<matrix_view<float>, matrix_view<float const>>);
static_assert(!std::is_convertible_v<matrix_view<float const>, matrix_view<float>>);
static_assert(!std::is_convertible_v<matrix_view<float>, matrix_view<double const>>);

template <class A, class B, class C>
concept multiplies = requires(matrix_view<A> a, matrix_view<B> b, matrix_view<C> c) {
  tandem::gemm(a, b, c);
};

static_assert(multiplies<float, float const, float>);
static_assert(multiplies<double const, double, double>);
static_assert(!multiplies<float, float, float const>, "a const C must not compile");
static_assert(!multiplies<float, double, float>, "mixed element types must not compile");
static_assert(!multiplies<float, float, double>, "mixed element types must not compile");

TEST_SUITE_BEGIN("interface");

TEST_CASE("a transposed view swaps the sizes and the layout and keeps data and ld") {
  float data[12] = {};
  matrix_view<float> const v(data, 3, 4, 4);
  auto const t = v.transposed();
  CHECK(t.data() == data);
  CHECK(t.rows() == 4);
  CHECK(t.cols() == 3);
  CHECK(t.ld() == 4);
  CHECK(t.layout() == layout::col_major);
  CHECK(t.transposed().layout() == layout::row_major);
}

TEST_CASE("a kernel is told whether its bits may depend on the number of threads") {
  bool told = true;
  tandem::kernel row;
  row.name = "mine.listener";
  row.backend = tandem::backend::cpu;
  row.run = [&](tandem::problem const&, tandem::execution const& how) { told = how.reproducible; };
  float a = 1, b = 1, c = 0;
  matrix_view<float> const va(&a, 1, 1, 1), vb(&b, 1, 1, 1), vc(&c, 1, 1, 1);
  tandem::gemm_with(row, va, vb, vc, {.reproducible = false});
  CHECK(!told);
  tandem::gemm_with(row, va, vb, vc);
  CHECK(told);
}

TEST_CASE("a kernel's technique is the second part of its name") {
  tandem::kernel row;
  row.name = "cpu.avx512.f32.14x32";
  CHECK(row.technique() == "avx512");
}

TEST_SUITE_END();
