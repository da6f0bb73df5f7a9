// The outer-product microkernel: an mr x nr tile of C stays in registers while one column of A and one row of B at a
// time are multiplied into it, so that each loaded element is used nr or mr times.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint> and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int lanes = HWY_LANES(T);

// One vector of C, or its first `count` lanes: nothing behind them is read or written.
template <class T, class V>
HWY_INLINE void store_result(V sum, T alpha, T beta, T* HWY_RESTRICT c, std::int64_t count) {
  hn::ScalableTag<T> const d;
  auto const va = hn::Set(d, alpha);
  if (count >= lanes<T>) {
    hn::StoreU(beta == 0 ? hn::Mul(va, sum) : hn::MulAdd(va, sum, hn::Mul(hn::Set(d, beta), hn::LoadU(d, c))), d, c);
    return;
  }
  alignas(64) T part[lanes<T>] = {};
  if (beta != 0) hn::SafeCopyN(static_cast<std::size_t>(count), d, c, part);
  auto const old = hn::Load(d, part);
  hn::Store(beta == 0 ? hn::Mul(va, sum) : hn::MulAdd(va, sum, hn::Mul(hn::Set(d, beta), old)), d, part);
  hn::SafeCopyN(static_cast<std::size_t>(count), d, part, c);
}

// The first R rows and V vectors of an mr x nr tile. The panels keep their full widths mr and nr.
template <class T, int mr, int nr, int R, int V>
HWY_NOINLINE void tile(std::int64_t kc, T const* HWY_RESTRICT a, T const* HWY_RESTRICT b, T alpha, T beta,
                       T* HWY_RESTRICT c, std::int64_t ldc, std::int64_t cols) {
  constexpr int N = lanes<T>;
  static_assert(R <= mr && V * N <= nr && nr % N == 0);
  hn::ScalableTag<T> const d;
  using vec = hn::Vec<decltype(d)>;

  vec acc[R][V];  // (rows, vectors)
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < kc; ++p, a += mr, b += nr) {
    vec row[V];
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) row[v] = hn::Load(d, b + v * N);
    HWY_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      auto const element = hn::Set(d, a[r]);
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(element, row[v], acc[r][v]);
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) store_result<T>(acc[r][v], alpha, beta, c + r * ldc + v * N, cols - v * N);
  }
}

template <class T>
using tile_function = void (*)(std::int64_t, T const*, T const*, T, T, T*, std::int64_t, std::int64_t);

// tiles[rows - 1][vectors - 1]: an edge tile costs its own rows and vectors, not the full tile's.
template <class T, int mr, int nr>
struct edge_tiles {
  static constexpr int vectors = nr / lanes<T>;
  tile_function<T> entry[mr][vectors] = {};  // (rows, vectors)

  template <int R, int V>
  constexpr void fill() {
    entry[R - 1][V - 1] = &tile<T, mr, nr, R, V>;
    if constexpr (V > 1)
      fill<R, V - 1>();
    else if constexpr (R > 1)
      fill<R - 1, vectors>();
  }
  constexpr edge_tiles() { fill<mr, vectors>(); }
};

template <class T, int mr, int nr>
void multiply(std::int64_t kc, T const* a, T const* b, T alpha, T beta, T* c, std::int64_t ldc, std::int64_t rows,
              std::int64_t cols) {
  static constexpr edge_tiles<T, mr, nr> tiles;
  tiles.entry[rows - 1][(cols - 1) / lanes<T>](kc, a, b, alpha, beta, c, ldc, cols);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
