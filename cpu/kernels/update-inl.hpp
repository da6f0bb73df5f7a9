// Products of a few terms: C costs more than the sums. No sums are kept from step to step of k, and a whole row or
// column of C is passed over by one loop; tiles would begin and end for every few vectors of it.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, "hwy/highway.h" and lanes-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What becomes of a sum: C itself, a multiple of it, or that and a multiple of C.
enum class ending { plain, scaled, added };

template <class T>
HWY_INLINE ending ending_of(tile_work<T> const& w) {
  return w.beta != 0 ? ending::added : w.alpha != 1 ? ending::scaled : ending::plain;
}

// A vector of C from the P terms of its row of A and of B's rows.
template <class D, int P, ending E>
HWY_INLINE hn::Vec<D> updated(hn::Vec<D> const (&of_a)[P], hn::Vec<D> const (&of_b)[P], hn::Vec<D> alpha,
                              hn::Vec<D> beta, hn::Vec<D> old) {
  auto sum = hn::Mul(of_a[0], of_b[0]);
  HWY_UNROLL(8)
  for (int p = 1; p < P; ++p) sum = hn::MulAdd(of_a[p], of_b[p], sum);
  if constexpr (E == ending::added) return hn::MulAdd(alpha, sum, hn::Mul(beta, old));
  if constexpr (E == ending::scaled) return hn::Mul(alpha, sum);
  return sum;
}

// R rows of C, from end to end. From far away the next ones are asked for.
template <class T, int R, int P, ending E>
HWY_INLINE void update_rows(tile_work<T> const& w) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>;
  T const* HWY_RESTRICT const b = w.b;
  T* HWY_RESTRICT const c = w.c;
  std::int64_t const n = w.cols, b_row = w.b_row, ldc = w.ldc;
  bool const far_c = w.far_c;
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  hn::Vec<D> of_a[R][P], of_b[P];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p) of_a[r][p] = hn::Set(d, w.a[r * w.a_row + p * w.a_col]);
  }
  std::int64_t j = 0;
  for (; j + N <= n; j += N) {
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p) of_b[p] = hn::LoadU(d, b + p * b_row + j);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      T* const to = c + r * ldc + j;
      if (far_c) __builtin_prefetch(to + R * ldc, 1);
      auto const old = E == ending::added ? hn::LoadU(d, to) : hn::Zero(d);
      hn::StoreU(updated<D, P, E>(of_a[r], of_b, alpha, beta, old), d, to);
    }
  }
  if (j == n) return;
  first_lanes<D> const rest(static_cast<std::size_t>(n - j));
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) of_b[p] = rest.load(b + p * b_row + j);
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    T* const to = c + r * ldc + j;
    auto const old = E == ending::added ? rest.load(to) : hn::Zero(d);
    rest.store(updated<D, P, E>(of_a[r], of_b, alpha, beta, old), to);
  }
}

template <class T, int R, int P, ending E>
HWY_INLINE void update_groups(tile_work<T>& w, std::int64_t rows) {
  for (; rows >= R; rows -= R, w.a += R * w.a_row, w.c += R * w.ldc) update_rows<T, R, P, E>(w);
  if constexpr (R > 1)
    if (rows > 0) update_groups<T, R / 2, P, E>(w, rows);
}

// As many rows at a time as have their elements of A in registers.
template <class T, int P>
HWY_NOINLINE void update_along(tile_work<T> const& work, std::int64_t rows) {
  constexpr int R = P <= 2 ? 8 : P <= 4 ? 4 : 2;
  auto w = work;
  auto const how = ending_of(w);
  if (how == ending::plain) return update_groups<T, R, P, ending::plain>(w, rows);
  if (how == ending::scaled) return update_groups<T, R, P, ending::scaled>(w, rows);
  update_groups<T, R, P, ending::added>(w, rows);
}

// One or two vectors of each row of C, the last of them a part of one. B stays in registers. Some rows of C are read
// before the first of them is written: a masked store holds up what is read soon after from its other lanes.
template <class T, int V, int P, ending E>
HWY_INLINE void update_columns(tile_work<T> const& w, std::int64_t rows, std::int64_t cols) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>, R = 8 / V;
  T const* HWY_RESTRICT a = w.a;
  T* HWY_RESTRICT c = w.c;
  std::int64_t const a_row = w.a_row, a_col = w.a_col, ldc = w.ldc;
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  first_lanes<D> const last(static_cast<std::size_t>(cols - (V - 1) * N));
  hn::Vec<D> of_b[V][P];
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v)
      of_b[v][p] = v < V - 1 ? hn::LoadU(d, w.b + p * w.b_row + v * N) : last.load(w.b + p * w.b_row + v * N);
  }
  for (std::int64_t i = 0; i < rows; i += R) {
    std::int64_t const there = rows - i < R ? rows - i : R;
    hn::Vec<D> old[R][V];
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) {
        old[r][v] = hn::Zero(d);
        if (E == ending::added && r < there)
          old[r][v] = v < V - 1 ? hn::LoadU(d, c + r * ldc + v * N) : last.load(c + r * ldc + v * N);
      }
    }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      if (r >= there) break;
      hn::Vec<D> of_a[P];
      HWY_UNROLL(8)
      for (int p = 0; p < P; ++p) of_a[p] = hn::Set(d, a[p * a_col]);
      if constexpr (V == 2) hn::StoreU(updated<D, P, E>(of_a, of_b[0], alpha, beta, old[r][0]), d, c);
      last.store(updated<D, P, E>(of_a, of_b[V - 1], alpha, beta, old[r][V - 1]), c + (V - 1) * N);
      a += a_row, c += ldc;
    }
  }
}

template <class T, int P>
HWY_NOINLINE void update_down(tile_work<T> const& work, std::int64_t rows) {
  constexpr std::int64_t N = lanes<T>;
  auto w = work;
  auto const how = ending_of(w);
  for (; w.cols > 0; w.cols -= 2 * N, w.b += 2 * N, w.c += 2 * N) {
    auto const all = [&]<ending E>() HWY_ATTR {
      if (w.cols > N)
        update_columns<T, 2, P, E>(w, rows, w.cols < 2 * N ? w.cols : 2 * N);
      else
        update_columns<T, 1, P, E>(w, rows, w.cols);
    };
    if (how == ending::plain)
      all.template operator()<ending::plain>();
    else if (how == ending::scaled)
      all.template operator()<ending::scaled>();
    else
      all.template operator()<ending::added>();
  }
}

// C (rows x cols) = alpha S^T + beta C, where S (cols x rows) lies with `apart` elements between its rows, a multiple
// of a vector's. All rows of a block are read before the first is written, as above.
template <class T>
HWY_NOINLINE void write_turned(std::int64_t rows, std::int64_t cols, T alpha, T const* HWY_RESTRICT sums,
                               std::int64_t apart, T beta, T* HWY_RESTRICT c, std::int64_t ldc) {
  constexpr int E = transpose_edge<T>;
  using D = edge_vector<T>;
  D const d;
  auto const va = hn::Set(d, alpha), vb = hn::Set(d, beta);
  for (std::int64_t j = 0; j < cols; j += E) {
    first_lanes<D> const there(static_cast<std::size_t>(cols - j < E ? cols - j : E));
    for (std::int64_t i = 0; i < rows; i += E) {
      T* const to = c + i * ldc + j;
      hn::Vec<D> v[E];
      HWY_UNROLL(8)
      for (int e = 0; e < E; ++e) v[e] = j + e < cols ? hn::LoadU(d, sums + (j + e) * apart + i) : hn::Zero(d);
      transpose<D, E>(v);
      HWY_UNROLL(8)
      for (int e = 0; e < E; ++e) {
        auto const scaled = hn::Mul(va, v[e]);
        v[e] = beta != 0 && i + e < rows ? hn::MulAdd(va, v[e], hn::Mul(vb, there.load(to + e * ldc))) : scaled;
      }
      HWY_UNROLL(8)
      for (int e = 0; e < E; ++e)
        if (i + e < rows) there.store(v[e], to + e * ldc);
    }
  }
}

template <class T, int P = 1>
constexpr void fill_updates(microkernel<T>& k) {
  if constexpr (P <= microkernel<T>::most_terms) {
    k.update_along[P - 1] = update_along<T, P>;
    k.update_down[P - 1] = update_down<T, P>;
    fill_updates<T, P + 1>(k);
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
