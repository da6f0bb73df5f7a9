// Packing: panels hold the right elements for every layout, zeros behind the edge, and nothing else is written.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cpu/kernels/microkernel.hpp"

namespace {

/// What `pack`, called as a pack_function, makes of a width x depth slice.
template <class T, class Pack>
void check_slice(Pack const& pack, std::int64_t width_of_panel, std::int64_t width, std::int64_t depth,
                 bool contiguous_width, std::string const& what) {
  INFO(what, " panel ", width_of_panel, ", ", width, " x ", depth, ", ", contiguous_width);
  T const nan = std::numeric_limits<T>::quiet_NaN();
  std::int64_t const ld = (contiguous_width ? width : depth) + 3;
  std::int64_t const stride_w = contiguous_width ? 1 : ld, stride_d = contiguous_width ? ld : 1;
  std::vector<T> src(static_cast<std::size_t>(ld * (contiguous_width ? depth : width)), nan);
  for (std::int64_t w = 0; w < width; ++w)
    for (std::int64_t d = 0; d < depth; ++d)
      src[static_cast<std::size_t>(w * stride_w + d * stride_d)] = static_cast<T>(1000 * w + d + 1);

  std::int64_t const panels = (width + width_of_panel - 1) / width_of_panel;
  std::int64_t const size = panels * width_of_panel * depth;
  std::vector<T> out(static_cast<std::size_t>(size + 16), T(-7));
  pack(src.data(), stride_w, stride_d, width, depth, out.data());

  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t const panel = i / (width_of_panel * depth), d = i / width_of_panel % depth;
    std::int64_t const w = panel * width_of_panel + i % width_of_panel;
    wrong += out[static_cast<std::size_t>(i)] != (w < width ? static_cast<T>(1000 * w + d + 1) : T(0));
  }
  for (std::int64_t i = size; i < size + 16; ++i) wrong += out[static_cast<std::size_t>(i)] != T(-7);
  CHECK(wrong == 0);
}

constexpr std::int64_t depths[] = {1, 2, 3, 4, 5, 15, 16, 17, 37};

template <class T>
void check_kernel(tandem::cpu::microkernel<T> const& kernel, std::string const& what) {
  for (std::int64_t rows = 1; rows <= kernel.mr; ++rows)
    for (std::int64_t const tiles : {1, 2, 5, 40})
      for (auto const depth : depths)
        check_slice<T>(
            [&](T const* src, std::int64_t, std::int64_t stride_d, std::int64_t width, std::int64_t terms, T* out) {
              kernel.pack_a[static_cast<std::size_t>(rows - 1)](src, stride_d, width, terms, out);
            },
            rows, tiles * rows, depth, true, what + " a");
  for (int width = 0; width < tandem::cpu::microkernel<T>::widths; ++width)
    if (kernel.rows[static_cast<std::size_t>(width)] > 0)
      for (std::int64_t const columns : {1, 2, 5, 13, 14, 15, 31, 32, 33, 70, 300, 530})
        for (auto const depth : depths)
          for (bool const contiguous_width : {false, true})
            check_slice<T>(kernel.pack_b[static_cast<std::size_t>(width)], kernel.elements(width), columns, depth,
                           contiguous_width, what + " b");
}

/// A tile that packs B on its way, beside one on a panel that was packed before.
template <class T>
void check_packing_tile(tandem::cpu::microkernel<T> const& kernel, int width, std::int64_t rows, std::int64_t k, T beta,
                        std::string const& what) {
  INFO(what, " tile ", rows, " x ", width, ", k ", k, ", beta ", beta);
  T const nan = std::numeric_limits<T>::quiet_NaN();
  std::int64_t const cols = kernel.elements(width), ldb = cols + 3, ldc = cols + 5, end = 16;
  std::vector<T> a(static_cast<std::size_t>(rows * k)), b(static_cast<std::size_t>(ldb * k), nan);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int>(i * 7 % 13) - 6) / 3;
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t j = 0; j < cols; ++j)
      b[static_cast<std::size_t>(p * ldb + j)] = static_cast<T>((p * 5 + j * 3) % 11 - 5) / 7;
  std::vector<T> c(static_cast<std::size_t>(rows * ldc), T(2));
  auto expected_c = c;
  auto const panel_size = static_cast<std::size_t>(cols * k + end);
  auto const panel = [&] {
    struct release {
      void operator()(T* p) const { std::free(p); }
    };
    constexpr std::size_t line = 64;
    std::unique_ptr<T, release> p(
        static_cast<T*>(std::aligned_alloc(line, panel_size * sizeof(T) / line * line + line)));
    std::fill_n(p.get(), panel_size, T(-7));
    return p;
  };
  auto const packed = panel(), expected = panel();

  tandem::cpu::packing_tile_work<T> w;
  w.k = k;
  w.a = a.data(), w.a_row = k, w.a_col = 1;
  w.alpha = T(1.5), w.beta = beta;
  w.ldc = ldc, w.cols = cols;
  w.asks_for_c = true;
  w.next = a.data(), w.next_rows = rows, w.next_row = w.next_length = k;
  kernel.pack_b[static_cast<std::size_t>(width)](b.data(), 1, ldb, cols, k, expected.get());
  w.b = expected.get(), w.c = expected_c.data();
  kernel.tile(tandem::cpu::source::packed, width, rows, tandem::cpu::asking::far)(w);
  w.b = b.data(), w.b_row = ldb, w.b_ahead = 4 * ldb, w.panel = packed.get(), w.c = c.data();
  kernel.packing_tile(width, rows)(w);
  CHECK(std::equal(packed.get(), packed.get() + panel_size, expected.get()));
  CHECK(c == expected_c);
}

template <class T>
void check_packing_tiles(tandem::cpu::microkernel<T> const& kernel, std::string const& what) {
  int const usual = kernel.width_of(kernel.nr);
  bool const has_usual = kernel.packing_tile(usual, kernel.mr) && kernel.packing_tile(usual, kernel.mr - 1);
  CHECK(has_usual);
  for (int width = 0; width < tandem::cpu::microkernel<T>::widths; ++width)
    for (std::int64_t rows = 1; rows <= tandem::cpu::microkernel<T>::most_rows; ++rows)
      if (kernel.packing_tile(width, rows) != nullptr)
        for (auto const depth : depths)
          for (T const beta : {T(0), T(1), T(-0.5)}) check_packing_tile(kernel, width, rows, depth, beta, what);
}

}  // namespace

TEST_SUITE_BEGIN("cpu_packing");

TEST_CASE("every packing routine of every instruction set") {
  for (auto const* set : tandem::cpu::instruction_sets()) {
    if (!set->supported()) continue;
    std::string const name(set->technique);
    check_kernel(set->f32, name + " f32");
    check_kernel(set->f64, name + " f64");
  }
}

TEST_CASE("a tile that packs B on its way leaves the panel and the C that packing first would") {
  for (auto const* set : tandem::cpu::instruction_sets()) {
    if (!set->supported()) continue;
    std::string const name(set->technique);
    check_packing_tiles(set->f32, name + " f32");
    check_packing_tiles(set->f64, name + " f64");
  }
}

TEST_SUITE_END();
