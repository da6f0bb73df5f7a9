// Outer products whose vectors lie along C's columns: where A is transposed its columns lie together, and where C has
// few columns, or B would have to be turned for tiles along C's rows, it is the tile that is turned, in its registers.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs tiles-inl.hpp and update-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector, or a half of it, that is as long as the edge of a square.
template <class T, class D>
HWY_INLINE hn::Vec<edge_vector<T>> edge_of(hn::Vec<D> v, int half) {
  if constexpr (hn::MaxLanes(D()) == transpose_edge<T>) {
    return v;
  } else {
    return half == 0 ? hn::LowerHalf(v) : hn::UpperHalf(edge_vector<T>(), v);
  }
}

// Rows of C from a square, mostly all of them.
template <class D, int E, class Lanes, class T = hn::TFromD<D>>
HWY_INLINE void write_square(std::int64_t rows, Lanes const& there, T alpha, hn::Vec<D> (&v)[E], T beta,
                             T* HWY_RESTRICT c, std::int64_t ldc) {
  if (rows < E) return write_rows<D, E>(rows, there, alpha, v, beta, c, ldc);
  D const d;
  auto const va = hn::Set(d, alpha), vb = hn::Set(d, beta);
  if (beta == 0) {
    HWY_UNROLL(8)
    for (int e = 0; e < E; ++e) there.store(hn::Mul(va, v[e]), c + e * ldc);
    return;
  }
  auto const store = [&](auto const& value) HWY_ATTR {
    HWY_UNROLL(8)
    for (int e = 0; e < E; ++e) v[e] = value(v[e], there.load(c + e * ldc));
    store_rows<D, E>(E, there, v, c, ldc, true);
  };
  using vec = hn::Vec<D>;
  if (is_added(alpha, beta)) return store([](vec sum, vec old) HWY_ATTR { return hn::Add(old, sum); });
  if (is_subtracted(alpha, beta)) return store([](vec sum, vec old) HWY_ATTR { return hn::Sub(old, sum); });
  store([&](vec sum, vec old) HWY_ATTR { return hn::MulAdd(va, sum, hn::Mul(vb, old)); });
}

// Sums of R columns of C, as many of whose rows as w.cols, become elements of C, square by square.
template <class T, class D, int R, int V>
HWY_INLINE void write_turning(tile_work<T> const& w, hn::Vec<D> const (&acc)[R][V]) {
  using square = edge_vector<T>;
  constexpr int N = static_cast<int>(hn::MaxLanes(D())), E = transpose_edge<T>;
  static_assert(N % E == 0 && N <= 2 * E);
  T const alpha = w.alpha, beta = w.beta;
  std::int64_t const ldc = w.ldc;
  T* HWY_RESTRICT c = w.c;
  std::int64_t rows = w.cols;
  HWY_UNROLL(4)
  for (int v = 0; v < V; ++v) {
    if constexpr (R >= 2 && R <= 4 && N == lanes<T>) {
      if (ldc == R && rows >= N) {
        hn::Vec<D> columns[4];
        HWY_UNROLL(4)
        for (int r = 0; r < R; ++r) columns[r] = acc[r][v];
        write_interleaved<R>(D(), alpha, columns, beta, c);
        rows -= N, c += R * N;
        continue;
      }
    }
    HWY_UNROLL(2)
    for (int half = 0; half < N / E; ++half, rows -= E, c += E * ldc) {
      if (rows <= 0) return;
      HWY_UNROLL(4)
      for (int r = 0; r < R; r += E) {
        hn::Vec<square> turned[E];
        HWY_UNROLL(8)
        for (int e = 0; e < E; ++e) turned[e] = r + e < R ? edge_of<T, D>(acc[r + e][v], half) : hn::Zero(square());
        transpose<square, E>(turned);
        constexpr int rest = R % E == 0 ? E : R % E;
        if (r + E <= R)
          write_square<square, E>(rows, fixed_lanes<square, E>(), alpha, turned, beta, c + r, ldc);
        else
          write_square<square, E>(rows, fixed_lanes<square, rest>(), alpha, turned, beta, c + r, ldc);
      }
    }
  }
}

// Of C's transpose a tile of R rows and V vectors of D; element (p, j) of op(B) is w.a[j * w.a_row + p * w.a_col],
// op(A) is w.b, and w.cols are C's rows.
template <class T, class D, int R, int V>
HWY_NOINLINE void turning_tile(tile_work<T> const& work) {
  auto const& w = static_cast<turning_tile_work<T> const&>(work);
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  rows_of<T, R> a(w.a, w.a_row, w.a_col);
  first_lanes<D> const last(static_cast<std::size_t>(w.cols - (V - 1) * N));
  hn::Vec<D> acc[R][V];  // (columns of C, vectors)
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  using asking_rows = rows_in_place<T, D, R, V, asked::b, false>;
  if (has_mask_registers && w.b_ahead != 0) {
    asking_rows rows{w.b, w.b_row, last, a, w.b_ahead};
    add_steps<T, D, R, V>(w.k, a, rows, acc);
  } else {
    add_products_in_place<T, D, R, V, asked::nothing>(w, a, last, acc);
  }
  write_turning<T, D, R, V>(w, acc);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
