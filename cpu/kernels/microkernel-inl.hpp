// The outer-product microkernel: a tile of C stays in registers while one column of A and one row of B at a time are
// multiplied into it, so that each loaded element is used once for every vector or row of the tile.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, "hwy/cache_control.h" and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int lanes = HWY_LANES(T);

// Masked loads and stores that leave the memory of other lanes alone.
#if HWY_ARCH_X86
constexpr bool has_masks = HWY_TARGET <= HWY_AVX2;
#else
constexpr bool has_masks = false;
#endif

// The first `count` lanes, zeros behind them: nothing behind them is read.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_lanes(D d, T const* HWY_RESTRICT from, std::size_t count) {
  if constexpr (has_masks) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    if (count == hn::MaxLanes(d)) return hn::LoadU(d, from);
    HWY_ALIGN T part[hn::MaxLanes(D())] = {};
    hn::SafeCopyN(count, d, from, part);
    return hn::Load(d, part);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, T* HWY_RESTRICT to, std::size_t count) {
  if constexpr (has_masks) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T part[hn::MaxLanes(D())];
    hn::Store(v, d, part);
    hn::SafeCopyN(count, d, part, to);
  }
}

// alpha sum + beta old, where old is not read if beta = 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> combined(D d, hn::Vec<D> sum, T alpha, T beta, T const* HWY_RESTRICT old, std::size_t count) {
  auto const va = hn::Set(d, alpha);
  if (beta == 0) return hn::Mul(va, sum);
  auto const before = count == hn::MaxLanes(d) ? hn::LoadU(d, old) : load_lanes(d, old, count);
  return hn::MulAdd(va, sum, hn::Mul(hn::Set(d, beta), before));
}

// The rows of A. Row r lies odd * 2^shift strides below the first: with the odd multiples at hand, x86 reaches each row
// with one address of base, index and scale, and no row needs a pointer of its own.
template <class T>
struct row_strides {
  explicit HWY_INLINE row_strides(std::int64_t stride) {
    for (int i = 0; i < 7; ++i) odd[i] = (2 * i + 1) * stride * static_cast<std::int64_t>(sizeof(T));
  }
  HWY_INLINE T const& at(T const* base, int r) const {
    if (r == 0) return *base;
    int const shift = r % 8 == 0 ? 3 : r % 4 == 0 ? 2 : r % 2 == 0 ? 1 : 0;
    auto const* const bytes = reinterpret_cast<char const*>(base) + (odd[(r >> shift) / 2] << shift);
    return *reinterpret_cast<T const*>(bytes);
  }
  std::int64_t odd[7];  // 1, 3, 5, ... 13 strides in bytes
};

// Rows of B that a tile reading B where it lies asks for ahead of time: DRAM is some hundred cycles away.
constexpr int rows_ahead = 16;

// What happens rarely to a tile's sums: parts of vectors are stored, or whole ones past the caches.
template <class T, class D>
HWY_NOINLINE void finish(tile_work<T> const& w, T const* HWY_RESTRICT sums, int rows, int vectors) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  T const alpha = w.alpha, beta = w.beta;
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v, sums += N) {
      T* const c = w.c + r * w.ldc + v * N;
      auto const sum = hn::Load(d, sums);
      std::int64_t const count = w.cols - v * N;
      if (count < N)
        store_lanes(d, combined(d, sum, alpha, beta, c, static_cast<std::size_t>(count)), c,
                    static_cast<std::size_t>(count));
      else if (w.streaming)
        hn::Stream(combined(d, sum, alpha, beta, c, N), d, c);
      else
        hn::StoreU(combined(d, sum, alpha, beta, c, N), d, c);
    }
}

// The tile of R rows and V vectors of D. B comes from a packed panel, or from where it lies: then it is also left in
// `packed`, `packed_row` elements a row.
template <class T, class D, int R, int V, bool in_place>
HWY_NOINLINE void tile(tile_work<T> const& w) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  using vec = hn::Vec<D>;
  std::int64_t const b_row = in_place ? w.b_row : V * N;
  T const* HWY_RESTRICT a = w.a;
  T const* HWY_RESTRICT b = w.b;
  T* HWY_RESTRICT packed = w.packed;
  std::int64_t const a_col = w.a_col;
  row_strides<T> const rows(w.a_row);
  std::size_t const last = static_cast<std::size_t>(w.cols - (V - 1) * N);  // columns of the last vector

  vec acc[R][V];  // (rows, vectors)
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  // C is wanted when the sums are done; its rows are far apart, where no hardware prefetcher looks.
  if (w.beta != 0)
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) hwy::Prefetch(w.c + r * w.ldc + v * N);
  for (std::int64_t p = w.k; p > 0; --p, a += a_col, b += b_row) {
    vec row[V];
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      if constexpr (in_place) {
        __builtin_prefetch(b + rows_ahead * b_row + v * N, 0, 2);
        row[v] = v == V - 1 ? load_lanes(d, b + v * N, last) : hn::LoadU(d, b + v * N);
        hn::Store(row[v], d, packed + v * N);
      } else {
        row[v] = hn::Load(d, b + v * N);
      }
    }
    if constexpr (in_place) packed += w.packed_row;
    HWY_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      auto const element = hn::Set(d, rows.at(a, r));
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(element, row[v], acc[r][v]);
    }
  }

  if (last != N || w.streaming) {
    HWY_ALIGN T sums[R * V * N];
    HWY_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, sums + (r * V + v) * N);
    }
    return finish<T, D>(w, sums, R, V);
  }
  T const alpha = w.alpha, beta = w.beta;
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      T* const c = w.c + r * w.ldc + v * N;
      hn::StoreU(combined(d, acc[r][v], alpha, beta, c, N), d, c);
    }
  }
}

template <class T>
HWY_NOINLINE void combine(std::int64_t n, T alpha, T const* HWY_RESTRICT sums, T beta, T* HWY_RESTRICT c) {
  hn::ScalableTag<T> const d;
  constexpr int N = lanes<T>;
  for (std::int64_t i = 0; i < n; i += N) {
    std::size_t const count = static_cast<std::size_t>(n - i < N ? n - i : N);
    auto const sum = load_lanes(d, sums + i, count);
    store_lanes(d, combined(d, sum, alpha, beta, c + i, count), c + i, count);
  }
}

// A row of A's accumulators and a row of B must fit the registers, beside the element that is multiplied.
constexpr int most_rows(int registers, int vectors, int mr) {
  int const fits = (registers - 1 - vectors) / vectors;
  return fits < mr ? fits : mr;
}

// The tiles of one width: V vectors of D, R rows and fewer.
template <class T, class D, int R, int V>
constexpr void fill(microkernel<T>& k, int width) {
  if constexpr (R > 0) {
    k.rows[width] = R > k.rows[width] ? R : k.rows[width];
    k.pack_b[width] = pack<T, V* static_cast<int>(hn::MaxLanes(D()))>;
    k.tiles[0][width][R - 1] = tile<T, D, R, V, false>;
    k.tiles[1][width][R - 1] = tile<T, D, R, V, true>;
    fill<T, D, R - 1, V>(k, width);
  }
}

template <class T, int R>
constexpr void fill_pack_a(microkernel<T>& k) {
  if constexpr (R > 0) {
    k.pack_a[R - 1] = pack<T, R>;
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
  // Only where half a vector costs half of one: AVX-512 on processors of 256-bit units.
  if constexpr (N * sizeof(T) == 64) fill<T, hn::CappedTag<T, N / 2>, mr, 1>(k, 0);
  fill<T, full, most_rows(registers, 1, mr), 1>(k, 1);
  fill<T, full, most_rows(registers, 2, mr), 2>(k, 2);
  if constexpr (nr == 3 * N) fill<T, full, most_rows(registers, 3, mr), 3>(k, 3);
  fill<T, full, most_rows(registers, 4, mr), 4>(k, 4);
  fill_pack_a<T, mr>(k);
  k.combine = combine<T>;
  return k;
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
