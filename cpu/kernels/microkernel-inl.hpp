// The microkernel's table: which functions an instruction set has for tiles, dot products, few terms and packing.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs the other -inl.hpp files of gemm before it, dots-inl.hpp, pack-inl.hpp, tiles-inl.hpp and update-inl.hpp.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums at a time that hide the latency of two multiply-adds a cycle.
constexpr int enough_sums = 12;

// A row of A's accumulators and a row of B must fit the registers, beside the element that is multiplied.
constexpr int most_rows(int registers, int vectors, int mr) {
  int const fits = (registers - 1 - vectors) / vectors;
  return fits < mr ? fits : mr;
}

// A tile by what it asks for. AVX2's have no instructions to spare for what may be near.
constexpr bool asks_soon = has_mask_registers;
template <class T, class D, int R, int V, source S>
constexpr typename microkernel<T>::by_asking tiles_of() {
  typename microkernel<T>::by_asking f = {tile<T, D, R, V, S, asking::nothing>, tile<T, D, R, V, S, asking::far>};
  if constexpr (asks_soon) f[2] = tile<T, D, R, V, S, asking::soon>;
  return f;
}

// The tiles of one width: V vectors of D, R rows and fewer.
template <class T, class D, int R, int V>
constexpr void fill(microkernel<T>& k, int width) {
  if constexpr (R > 0) {
    k.rows[width] = R > k.rows[width] ? R : k.rows[width];
    k.pack_b[width] = pack<T, V* static_cast<int>(hn::MaxLanes(D()))>;
    k.tiles[0][width][R - 1] = tiles_of<T, D, R, V, source::packed>();
    k.tiles[1][width][R - 1] = tiles_of<T, D, R, V, source::in_place>();
    fill<T, D, R - 1, V>(k, width);
  }
}

// The rows of which most tiles of one width are.
template <class T, int R, int V>
constexpr void fill_packing(microkernel<T>& k) {
  using D = hn::ScalableTag<T>;
  k.packing_tiles[V][R - 1] = packing_tile<T, D, R, V>;
  k.packing_tiles[V][R - 2] = packing_tile<T, D, R - 1, V>;
}

// R rows and fewer.
template <class T, class D, int R, int V>
constexpr void fill_deep(microkernel<T>& k, int width) {
  if constexpr (R > 0) {
    k.deep_tiles[width][R - 1] = deep_tile<T, D, R, V>;
    fill_deep<T, D, R - 1, V>(k, width);
  }
}

// Of one row, and of two, as many halves of vectors as leave registers for a row of B.
template <class T, int R = 1, int V = 1>
constexpr void fill_deep_of_halves(microkernel<T>& k) {
  using D = hn::CappedTag<T, lanes<T> / 2>;
  if constexpr (R * V <= microkernel<T>::most_halves) {
    k.deep_tiles_of_halves[R - 1][V - 1] = deep_tile<T, D, R, V>;
    fill_deep_of_halves<T, R, V + 1>(k);
  } else if constexpr (R == 1) {
    fill_deep_of_halves<T, 2>(k);
  }
}

// R rows and fewer of J columns and fewer.
template <class T, int sums, int R = 1, int J = 1>
constexpr void fill_few_dots(microkernel<T>& k) {
  if constexpr (R * J <= sums) {
    k.few_dots[R - 1][J - 1] = few_dots<T, R, J>;
    fill_few_dots<T, sums, R, J + 1>(k);
  } else if constexpr (R < sums) {
    fill_few_dots<T, sums, R + 1>(k);
  }
}

// Of one to four rows, as many vectors as leave registers for a row's element and a vector of B.
template <class T, int sums, int R = 1, int V = 5>
constexpr void fill_wide(microkernel<T>& k) {
  if constexpr (R <= microkernel<T>::wide_rows && R * V <= sums) {
    k.wide_tiles[R - 1][V - 5] = wide_tile<T, R, V>;
    fill_wide<T, sums, R, V + 1>(k);
  } else if constexpr (R < microkernel<T>::wide_rows) {
    fill_wide<T, sums, R + 1>(k);
  }
}

// Tiles of one width, of as many columns as fit the registers beside a row of op(A) and an element.
template <class T, class D, int registers, int V, int R = 1>
constexpr void fill_turning(microkernel<T>& k, int width) {
  if constexpr (R <= microkernel<T>::most_rows && R * V + V + 1 <= registers) {
    k.turning_tiles[width][R - 1] = turning_tile<T, D, R, V>;
    k.most_turning[width] = R;
    fill_turning<T, D, registers, V, R + 1>(k, width);
  }
}

template <class T, int R>
constexpr void fill_pack_a(microkernel<T>& k) {
  if constexpr (R > 0) {
    k.pack_a[R - 1] = pack_contiguous<T, R>;
    fill_pack_a<T, R - 1>(k);
  }
}

template <class T, int mr, int nr, int registers>
constexpr microkernel<T> make_microkernel() {
  constexpr int N = lanes<T>;
  static_assert(mr <= microkernel<T>::most_rows && nr % N == 0);
  using full = hn::ScalableTag<T>;
  microkernel<T> k;
  k.mr = mr, k.nr = nr, k.lanes = N;
  k.asks_soon = asks_soon;
  constexpr int deep = registers == 32 ? 4 : 3;  // four sums of each, and a row of B beside them
  k.most_deep = deep;
  // Only where half a vector costs half of one: AVX-512 on processors of 256-bit units.
  if constexpr (N * sizeof(T) == 64) {
    fill<T, hn::CappedTag<T, N / 2>, mr, 1>(k, 0);
    fill_deep<T, hn::CappedTag<T, N / 2>, deep, 1>(k, 0);
    fill_deep_of_halves<T>(k);
  }
  fill_deep<T, full, deep / 1, 1>(k, 1);
  fill_deep<T, full, deep / 2, 2>(k, 2);
  fill_deep<T, full, deep / 3, 3>(k, 3);
  fill_deep<T, full, deep / 4, 4>(k, 4);
  fill<T, full, most_rows(registers, 1, 16), 1>(k, 1);
  fill<T, full, most_rows(registers, 2, mr), 2>(k, 2);
  fill<T, full, most_rows(registers, 3, mr), 3>(k, 3);
  fill<T, full, most_rows(registers, 4, mr), 4>(k, 4);
  for (int width = 1; width <= 4; ++width)
    if (width * k.rows[width] >= enough_sums) k.widest = width;
  constexpr int V = nr / N;
  fill_packing<T, most_rows(registers, V, mr), V>(k);
  if constexpr (V != 4 && most_rows(registers, 4, mr) * 4 >= enough_sums)
    fill_packing<T, most_rows(registers, 4, mr), 4>(k);
  fill_few_dots<T, deep>(k);
  constexpr int wide_sums = registers / 4 * 3;
  k.wide_sums = wide_sums;
  fill_wide<T, wide_sums>(k);
  fill_pack_a<T, mr>(k);
  k.turned_edge = transpose_edge<T>, k.turned_tile = turned_tile<T>;
  if constexpr (N * sizeof(T) == 64) fill_turning<T, hn::CappedTag<T, N / 2>, registers, 1>(k, 0);
  fill_turning<T, full, registers, 1>(k, 1);
  fill_turning<T, full, registers, 2>(k, 2);
  fill_turning<T, full, registers, 3>(k, 3);
  fill_turning<T, full, registers, 4>(k, 4);
  k.combine = combine<T>;
  fill_updates(k);
  k.turn = turn<T>;
  k.write_turned = write_turned<T>;
  constexpr int dot_rows = registers == 32 ? 5 : 3, dot_cols = 4;
  k.dot_rows = dot_rows, k.dot_cols = dot_cols;
  k.dot_sums = dot_sums;
  k.dots = dots<T, dot_rows, dot_cols>;
  return k;
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
