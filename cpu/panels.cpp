// Loops around the microkernel, after Goto and van de Geijn (2008): pc and ic cut op(A) into blocks that stay in L2, jr
// and ir walk C in register tiles. Unlike there, B has no block of its own: the first tile of a column panel reads B
// where it lies and leaves it packed in L1 for the tiles below. A thread then shares nothing and waits for nobody, and
// the pass over B that packing costs elsewhere is hidden behind the arithmetic.
//
// k is cut into panels of kc. The first panel computes fma(alpha, sum, beta C), every later one fma(alpha, sum, C). A
// product of the first panel is rounded once in each of its kc sums and once by each panel; without a fused operation
// once more, for alpha * sum: at most k + 2 roundings, as the bound gamma(k + 2) demands.
#include "cpu/panels.hpp"

#include <algorithm>

namespace tandem::cpu {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
std::int64_t whole_lines(std::int64_t elements) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return ceil_div(elements, line) * line;
}

/// Rows in tiles that differ by one row at most, so that no thin one is left at the end.
struct row_tiles {
  row_tiles(std::int64_t rows, std::int64_t most)
      : count(ceil_div(rows, most)), height(rows / count), higher(rows % count) {}
  std::int64_t size(std::int64_t i) const { return height + (i < higher ? 1 : 0); }
  std::int64_t count, height, higher;
};

/// One block of A against all columns: kb terms from p0 on, mb rows from i0 on.
template <class T>
struct block {
  microkernel<T> const& kernel;
  operands<T> const& o;
  tiling const& t;
  std::int64_t i0, mb, p0, kb;
  T beta;
  T* packed_a;
  T* packed_b;

  void pack() const {
    row_tiles const tiles(mb, t.rows);
    for (std::int64_t i = 0, done = 0; i < tiles.count; done += tiles.size(i++)) {
      auto const height = tiles.size(i);
      kernel.pack_a[static_cast<std::size_t>(height - 1)](o.a + (i0 + done) * o.a_row + p0 * o.a_col, o.a_row, o.a_col,
                                                          height, kb, packed_a + done * kb);
    }
  }

  /// One column panel.
  void multiply(std::int64_t j0, std::int64_t nb) const {
    int const width = kernel.width_of(nb);
    auto const width_size = kernel.elements(width);
    row_tiles const tiles(mb, t.rows);
    bool const copied = o.b_col != 1;  // B is transposed: its columns become rows as they are packed
    if (copied)
      kernel.pack_b[static_cast<std::size_t>(width)](o.b + p0 * o.b_row + j0 * o.b_col, o.b_col, o.b_row, nb, kb,
                                                     packed_b);
    tile_work<T> w;
    w.k = kb;
    w.alpha = o.alpha, w.beta = beta;
    w.ldc = o.ldc;
    w.cols = nb;
    w.streaming = t.streaming && nb == width_size;
    w.b = o.b + p0 * o.b_row + j0;
    w.b_row = o.b_row;
    w.packed = packed_b;
    bool const kept = t.pack_b && tiles.count > 1;
    w.packed_row = kept ? width_size : 0;
    for (std::int64_t i = 0, done = 0; i < tiles.count; done += tiles.size(i++)) {
      auto const height = tiles.size(i);
      bool const in_place = !copied && (i == 0 || !kept);
      if (!in_place) w.b = packed_b;
      w.a = t.pack_a ? packed_a + done * kb : o.a + (i0 + done) * o.a_row + p0 * o.a_col;
      w.a_row = t.pack_a ? 1 : o.a_row;
      w.a_col = t.pack_a ? height : o.a_col;
      w.c = o.c + (i0 + done) * o.ldc + j0;
      kernel.tile(in_place ? source::in_place : source::packed, width, height)(w);
    }
  }
};

}  // namespace

template <class T>
std::int64_t packed_a_size(tiling const& t) {
  return t.pack_a ? whole_lines<T>(t.kc * t.mc) : 0;
}

template <class T>
std::int64_t packed_b_size(tiling const& t) {
  return whole_lines<T>(t.kc * t.cols);
}

template <class T>
void multiply_panels(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, span_of rows, span_of cols,
                     span_of terms, T* packed_a, T* packed_b) {
  for (std::int64_t p0 = terms.first; p0 < terms.last; p0 += t.kc) {
    std::int64_t const kb = std::min(t.kc, terms.last - p0);
    for (std::int64_t i0 = rows.first; i0 < rows.last; i0 += t.mc) {
      block<T> const part{
          kernel,   o,       t, i0, std::min(t.mc, rows.last - i0), p0, kb, p0 == terms.first ? o.beta : T(1),
          packed_a, packed_b};
      if (t.pack_a) part.pack();
      for (std::int64_t j0 = cols.first; j0 < cols.last; j0 += t.cols)
        part.multiply(j0, std::min(t.cols, cols.last - j0));
    }
  }
}

template std::int64_t packed_a_size<float>(tiling const&);
template std::int64_t packed_a_size<double>(tiling const&);
template std::int64_t packed_b_size<float>(tiling const&);
template std::int64_t packed_b_size<double>(tiling const&);
template void multiply_panels(microkernel<float> const&, operands<float> const&, tiling const&, span_of, span_of,
                              span_of, float*, float*);
template void multiply_panels(microkernel<double> const&, operands<double> const&, tiling const&, span_of, span_of,
                              span_of, double*, double*);

}  // namespace tandem::cpu
