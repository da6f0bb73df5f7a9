// Products of a few terms: C costs more than the sums. No sums are kept from step to step of k, and a whole row or
// column of C is passed over by one loop; tiles would begin and end for every few vectors of it.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, "hwy/highway.h", lanes-inl.hpp and pack-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What becomes of a sum: C itself, a multiple of it, C and it, C less it, multiples of both, or a multiple that is
// stored past the caches. Sums of factors with other signs would not do for what is subtracted: they are +0, too, where
// they cancel.
enum class ending { plain, scaled, added, subtracted, combined, streamed };

template <class T>
HWY_INLINE ending ending_of(tile_work<T> const& w) {
  if (w.streaming) return ending::streamed;
  if (w.beta == 0) return w.alpha == 1 ? ending::plain : ending::scaled;
  if (is_added(w.alpha, w.beta)) return ending::added;
  return is_subtracted(w.alpha, w.beta) ? ending::subtracted : ending::combined;
}

constexpr bool reads_c(ending e) { return e == ending::added || e == ending::subtracted || e == ending::combined; }

// A vector of C from its sum.
template <class D, ending E>
HWY_INLINE hn::Vec<D> finished(hn::Vec<D> sum, hn::Vec<D> alpha, hn::Vec<D> beta, hn::Vec<D> old) {
  if constexpr (E == ending::added) return hn::Add(old, sum);
  if constexpr (E == ending::subtracted) return hn::Sub(old, sum);
  if constexpr (E == ending::combined) return hn::MulAdd(alpha, sum, hn::Mul(beta, old));
  if constexpr (E == ending::scaled || E == ending::streamed) return hn::Mul(alpha, sum);
  return sum;
}

template <class D, ending E>
HWY_INLINE void store(hn::Vec<D> v, hn::TFromD<D>* to) {
  if constexpr (E == ending::streamed)
    hn::Stream(v, D(), to);
  else
    hn::StoreU(v, D(), to);
}

// The same from the P terms of its row of A and of B's rows.
template <class D, int P, ending E>
HWY_INLINE hn::Vec<D> updated(hn::Vec<D> const (&of_a)[P], hn::Vec<D> const (&of_b)[P], hn::Vec<D> alpha,
                              hn::Vec<D> beta, hn::Vec<D> old) {
  auto sum = hn::Mul(of_a[0], of_b[0]);
  HWY_UNROLL(8)
  for (int p = 1; p < P; ++p) sum = hn::MulAdd(of_a[p], of_b[p], sum);
  return finished<D, E>(sum, alpha, beta, old);
}

// The sums of one vector of R rows of C: a vector of B at a time, so that many rows of A have room in registers.
template <class D, int R, int P, class LoadB>
HWY_INLINE void sum_rows(hn::Vec<D> const (&of_a)[R][P], LoadB const& load_b, hn::Vec<D> (&sums)[R]) {
  HWY_UNROLL(12)
  for (int p = 0; p < P; ++p) {
    auto const of_b = load_b(p);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) sums[r] = p == 0 ? hn::Mul(of_a[r][p], of_b) : hn::MulAdd(of_a[r][p], of_b, sums[r]);
  }
}

// The sums of V vectors of one row of C, a row of B after the other: from a cache lines that follow one another come
// sooner than those of several rows in turns.
template <class D, int P, int V, class LoadB>
HWY_INLINE void sum_vectors(hn::Vec<D> const (&of_a)[P], LoadB const& load_b, hn::Vec<D> (&sums)[V]) {
  HWY_UNROLL(12)
  for (int p = 0; p < P; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v)
      sums[v] = p == 0 ? hn::Mul(of_a[p], load_b(p, v)) : hn::MulAdd(of_a[p], load_b(p, v), sums[v]);
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) keep(sums[v]);
  }
}

// V vectors of R rows of C are read, added to and written, all of them read before the first is written.
template <class D, ending E, int R, int P, int V, class LoadB, class T = hn::TFromD<D>>
HWY_INLINE void add_to_rows(hn::Vec<D> const (&of_a)[R][P], LoadB const& load_b, hn::Vec<D> alpha, hn::Vec<D> beta,
                            T* HWY_RESTRICT c, std::int64_t ldc) {
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  D const d;
  hn::Vec<D> olds[R][V], sums[V][R];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) olds[r][v] = in_register(hn::LoadU(d, c + r * ldc + v * N));
  }
  HWY_UNROLL(4)
  for (int v = 0; v < V; ++v)
    sum_rows<D, R, P>(
        of_a, [&](int p) HWY_ATTR { return load_b(p, v); }, sums[v]);
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) hn::StoreU(finished<D, E>(sums[v][r], alpha, beta, olds[r][v]), d, c + r * ldc + v * N);
  }
}

// Whether C begins so few elements behind B, modulo a page, that from there on loads would wait for the stores before
// them, to addresses that differ by a multiple of 4096 bytes.
template <class T>
HWY_INLINE bool is_just_behind(T const* c, T const* b, int elements) {
  constexpr std::uintptr_t page = 4096;
  auto const behind = (reinterpret_cast<std::uintptr_t>(c) - reinterpret_cast<std::uintptr_t>(b)) % page;
  return behind > 0 && behind < static_cast<std::uintptr_t>(elements) * sizeof(T);
}

// Rows of a C that is read, and vectors of each, that go together beside P terms of A in registers.
template <int P>
constexpr int rows_beside = P > 8                ? 2
                            : has_mask_registers ? (P <= 2 ? 4 : 3)
                            : P == 1             ? 4
                            : P == 2             ? 3
                                                 : 2;
template <int P>
constexpr int vectors_beside = P <= 6 && has_mask_registers ? 2 : 1;

// R rows of C, from end to end, beside those of A from a on. `asks`: for what far_tile_work says, the next rows of C or
// those of B that are b_ahead, or both. `at_once`: of a C that is read some vectors of all rows are, before the first
// is written.
template <class T, int R, int P, ending E, bool asks, bool at_once>
HWY_INLINE void update_rows(tile_work<T> const& w, T const* HWY_RESTRICT a, T* HWY_RESTRICT const c) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>;
  T const* HWY_RESTRICT const b = w.b;
  std::int64_t const n = w.cols, b_row = w.b_row, ldc = w.ldc;
  bool asks_for_c = false;
  std::int64_t b_ahead = 0;
  if constexpr (asks) {
    auto const& far = static_cast<far_tile_work<T> const&>(w);
    asks_for_c = far.asks_for_c, b_ahead = far.b_ahead;
  }
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  hn::Vec<D> of_a[R][P];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(12)
    for (int p = 0; p < P; ++p) of_a[r][p] = hn::Set(d, a[r * w.a_row + p * w.a_col]);
  }
  std::int64_t j = 0;
  // Some vectors of a row go together, as the registers allow: their stores share lines, and of one row all are read
  // before the first is written, and those of a C just behind B backwards.
  constexpr bool writes_stretches = has_mask_registers && P <= 2 && !reads_c(E);
  constexpr int V = R == 1 || writes_stretches ? 4 : 1;
  if constexpr (V > 1 && !asks) {
    bool const backwards = R == 1 && n >= V * N && is_just_behind(c, b, V * N);
    std::int64_t const step = backwards ? -V * N : V * N;
    std::int64_t at = backwards ? (n / (V * N) - 1) * (V * N) : 0;
    rows_of<T, P> rows_of_b(b + at, b_row, step);
    for (; j + V * N <= n; j += V * N, at += step, rows_of_b.advance()) {
      auto const load_b = [&](int p, int v) HWY_ATTR { return hn::LoadU(d, rows_of_b.at(p) + v * N); };
      hn::Vec<D> of_bs[V][P];  // which several rows share
      if constexpr (R > 1) {
        HWY_UNROLL(4)
        for (int v = 0; v < V; ++v) {
          HWY_UNROLL(12)
          for (int p = 0; p < P; ++p) of_bs[v][p] = in_register(load_b(p, v));
        }
      }
      HWY_UNROLL(8)
      for (int r = 0; r < R; ++r) {
        T* const to = c + r * ldc + at;
        hn::Vec<D> results[V];
        if constexpr (R > 1)
          sum_vectors<D, P, V>(
              of_a[r], [&](int p, int v) HWY_ATTR { return of_bs[v][p]; }, results);
        else
          sum_vectors<D, P, V>(of_a[r], load_b, results);
        HWY_UNROLL(4)
        for (int v = 0; v < V; ++v) {
          auto const old = reads_c(E) ? hn::LoadU(d, to + v * N) : hn::Zero(d);
          results[v] = finished<D, E>(results[v], alpha, beta, old);
        }
        HWY_UNROLL(4)
        for (int v = 0; v < V; ++v) store<D, E>(results[v], to + v * N);
      }
    }
  }

  if constexpr (at_once && R > 1) {
    constexpr int S = vectors_beside<P>;
    rows_of<T, P> rows_of_b(b, b_row, S * N);
    for (; j + S * N <= n; j += S * N, rows_of_b.advance()) {
      auto const load_b = [&](int p, int v) HWY_ATTR {
        if (b_ahead != 0) __builtin_prefetch(rows_of_b.at(p) + b_ahead + v * N, 0, 2);
        return in_register(hn::LoadU(d, rows_of_b.at(p) + v * N));
      };
      if (asks_for_c) {
        HWY_UNROLL(8)
        for (int r = 0; r < R; ++r) {
          HWY_UNROLL(4)
          for (int v = 0; v < S; ++v) __builtin_prefetch(c + (R + r) * ldc + j + v * N, 1);
        }
      }
      add_to_rows<D, E, R, P, S>(of_a, load_b, alpha, beta, c + j, ldc);
    }
  }

  hn::Vec<D> sums[R];
  rows_of<T, P> rows_of_b(b + j, b_row, N);
  for (; j + N <= n; j += N, rows_of_b.advance()) {
    sum_rows<D, R, P>(
        of_a,
        [&](int p) HWY_ATTR {
          if (b_ahead != 0) __builtin_prefetch(rows_of_b.at(p) + b_ahead, 0, 2);
          auto const part = hn::LoadU(d, rows_of_b.at(p));
          return R > 1 ? in_register(part) : part;
        },
        sums);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      T* const to = c + r * ldc + j;
      if (asks_for_c) __builtin_prefetch(to + R * ldc, 1);
      auto const old = reads_c(E) ? hn::LoadU(d, to) : hn::Zero(d);
      store<D, E>(finished<D, E>(sums[r], alpha, beta, old), to);
    }
  }
  if (j == n) return;
  first_lanes<D> const rest(static_cast<std::size_t>(n - j));
  sum_rows<D, R, P>(
      of_a, [&](int p) HWY_ATTR { return rest.load(rows_of_b.at(p)); }, sums);
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    T* const to = c + r * ldc + j;
    auto const old = reads_c(E) ? rest.load(to) : hn::Zero(d);
    rest.store(finished<D, E>(sums[r], alpha, beta, old), to);
  }
}

template <class T, int R, int P, ending E, bool asks, bool at_once = false>
HWY_INLINE void update_groups(tile_work<T> const& w, T const* a, T* c, std::int64_t rows) {
  for (; rows >= R; rows -= R, a += R * w.a_row, c += R * w.ldc) update_rows<T, R, P, E, asks, at_once>(w, a, c);
  if constexpr (R > 1)
    if (rows > 0) update_groups<T, R == 8 ? 4 : R - 1, P, E, asks, at_once>(w, a, c, rows);
}

// Whether vectors of some of as many rows of C meet, modulo a page, while they are passed over: a load of one would
// wait for the store before it to the other, whose address differs by nearly a multiple of 4096 bytes.
template <class T>
HWY_INLINE bool do_rows_of_c_meet(tile_work<T> const& w, std::int64_t rows) {
  constexpr std::uint64_t page = 4096, near = 128;  // bytes; of a vector's step and the next one's
  auto const apart = static_cast<std::uint64_t>(w.ldc) * sizeof(T);
  for (std::uint64_t r = 1; r < static_cast<std::uint64_t>(rows); ++r)
    if ((r * apart + near - 1) % page < 2 * near - 1) return true;
  return false;
}

// Rows of C of one term that begin anywhere and are not read, each by itself, in vectors on lines: a store across lines
// takes as long as two. The first vector of a row and the last overlap their neighbours. Not a part of the functions
// below, which leave its loop no registers.
template <class T, class D, ending E>
HWY_NOINLINE void write_rows_on_lines(tile_work<T> const& w, std::int64_t rows) {
  D const d;
  constexpr std::int64_t N = hn::MaxLanes(D());
  std::int64_t const n = w.cols, a_row = w.a_row, ldc = w.ldc;
  T const* HWY_RESTRICT const b = w.b;
  T const* HWY_RESTRICT a = w.a;
  T* HWY_RESTRICT c = w.c;
  auto const alpha = hn::Set(d, w.alpha), none = hn::Zero(d);
  for (; rows > 0; --rows, a += a_row, c += ldc) {
    auto const of_a = hn::Set(d, *a);
    auto const product = [&](std::int64_t j)
                             HWY_ATTR { return finished<D, E>(hn::Mul(of_a, hn::LoadU(d, b + j)), alpha, none, none); };
    hn::StoreU(product(0), d, c);
    std::int64_t j = N - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(c) / sizeof(T) % N);
    for (; j + N <= n; j += N) hn::Store(product(j), d, c + j);
    if (j < n) hn::StoreU(product(n - N), d, c + n - N);
  }
}

// Whether there are enough of them, and each is long enough. Of rows that are whole halves of lines every second one
// lies well.
template <class T>
HWY_INLINE bool are_better_on_lines(tile_work<T> const& w, std::int64_t rows) {
  constexpr std::int64_t size = sizeof(T), half_a_line = 32, many_rows = 20, long_row = 384;  // bytes
  return rows >= many_rows && w.cols * size >= long_row && w.ldc * size % half_a_line != 0;
}

// Rows of C that go together: as many as have their P elements of A in registers.
template <int P>
constexpr int rows_at_a_time = P <= 2                ? 8
                               : P <= 4              ? 4
                               : !has_mask_registers ? 2
                               : P <= 6              ? 4
                               : P <= 8              ? 3
                                                     : 2;

// The same of a C that is not read: few rows keep their stores, which are a stretch of each, together.
template <int P>
constexpr int rows_written = !has_mask_registers || P > 2 ? rows_at_a_time<P>
                             : P == 1                     ? 2
                                                          : 4;

// All rows; those of one term that are better on lines by vectors of `bytes`.
template <class T, int P, int bytes>
HWY_INLINE void update_all(tile_work<T> const& w, std::int64_t rows, bool do_meet) {
  auto const how = ending_of(w);
  if constexpr (P == 1)
    if (are_better_on_lines(w, rows)) {
      using D = hn::CappedTag<T, bytes / sizeof(T)>;
      if (how == ending::plain) return write_rows_on_lines<T, D, ending::plain>(w, rows);
      if (how == ending::scaled) return write_rows_on_lines<T, D, ending::scaled>(w, rows);
    }
  constexpr int R = rows_at_a_time<P>, beside = rows_beside<P>;
  constexpr int written = rows_written<P>;
  switch (how) {
    case ending::plain: return update_groups<T, written, P, ending::plain, false>(w, w.a, w.c, rows);
    case ending::scaled: return update_groups<T, written, P, ending::scaled, false>(w, w.a, w.c, rows);
    case ending::streamed: return update_groups<T, written, P, ending::streamed, false>(w, w.a, w.c, rows);
    case ending::combined: return update_groups<T, beside, P, ending::combined, false, true>(w, w.a, w.c, rows);
    case ending::added:
      if (do_meet) return update_groups<T, beside, P, ending::added, false, true>(w, w.a, w.c, rows);
      return update_groups<T, R, P, ending::added, false>(w, w.a, w.c, rows);
    case ending::subtracted:
      if (do_meet) return update_groups<T, beside, P, ending::subtracted, false, true>(w, w.a, w.c, rows);
      return update_groups<T, R, P, ending::subtracted, false>(w, w.a, w.c, rows);
  }
}

// The same where lines are asked for.
template <class T, int P>
HWY_INLINE void update_all_asking(tile_work<T> const& w, std::int64_t rows) {
  constexpr int R = rows_at_a_time<P>, beside = rows_beside<P>;
  constexpr int written = rows_written<P>;
  switch (ending_of(w)) {
    case ending::plain: return update_groups<T, written, P, ending::plain, true>(w, w.a, w.c, rows);
    case ending::scaled: return update_groups<T, written, P, ending::scaled, true>(w, w.a, w.c, rows);
    case ending::streamed: return update_groups<T, written, P, ending::streamed, true>(w, w.a, w.c, rows);
    case ending::added: return update_groups<T, R, P, ending::added, true>(w, w.a, w.c, rows);
    case ending::subtracted: return update_groups<T, R, P, ending::subtracted, true>(w, w.a, w.c, rows);
    case ending::combined: return update_groups<T, beside, P, ending::combined, true, true>(w, w.a, w.c, rows);
  }
}

// Of rows of C that meet nothing is asked for: not the lines are waited for.
template <class T, int P, int bytes = lanes<T> * sizeof(T)>
HWY_NOINLINE void update_along(tile_work<T> const& w, std::int64_t rows, bool asks) {
  constexpr int R = rows_at_a_time<P>;
  bool const do_meet = w.beta != 0 && do_rows_of_c_meet(w, rows < R ? rows : R);
  if (asks && (!do_meet || static_cast<far_tile_work<T> const&>(w).b_ahead != 0))
    return update_all_asking<T, P>(w, rows);
  update_all<T, P, bytes>(w, rows, do_meet);
}

// Of P terms, the vectors of a row of C beside which B's have room in registers.
template <int P>
constexpr int vectors_down = !has_mask_registers ? 2
                             : P <= 5            ? 4
                             : P <= 7            ? 3
                                                 : 2;

// Rows of C that are some vectors, the last of which overlaps the one before if there are not as many elements: all are
// computed before one is written. A masked store would hold up what is read soon after from its other lanes. B stays in
// registers.
template <class T, class D, int V, int P, ending E>
HWY_INLINE void update_columns(tile_work<T> const& w, std::int64_t rows) {
  D const d;
  T const* HWY_RESTRICT a = w.a;
  T* HWY_RESTRICT c = w.c;
  std::int64_t const a_row = w.a_row, a_col = w.a_col, ldc = w.ldc;
  constexpr std::int64_t N = hn::MaxLanes(D());
  std::int64_t const last = w.cols - N;
  auto const at = [last](int v) HWY_ATTR { return v == 0 ? 0 : v < V - 1 ? v * N : last; };
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  hn::Vec<D> of_b[V][P];
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) of_b[v][p] = hn::LoadU(d, w.b + p * w.b_row + at(v));
  }
  for (std::int64_t i = 0; i < rows; ++i, a += a_row, c += ldc) {
    hn::Vec<D> of_a[P], result[V];
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p) of_a[p] = hn::Set(d, a[p * a_col]);
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      auto const old = reads_c(E) ? hn::LoadU(d, c + at(v)) : hn::Zero(d);
      result[v] = updated<D, P, E>(of_a, of_b[v], alpha, beta, old);
    }
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) hn::StoreU(result[v], d, c + at(v));
  }
}

// Rows of C that are a part of a vector, by masks: half the work of two vectors that overlap, where C is not read,
// whose next row's load would wait for the masked store.
template <class T, class D, int P, ending E>
HWY_INLINE void update_part_of_vector(tile_work<T> const& w, std::int64_t rows) {
  D const d;
  T const* HWY_RESTRICT a = w.a;
  T* HWY_RESTRICT c = w.c;
  std::int64_t const a_row = w.a_row, a_col = w.a_col, ldc = w.ldc;
  first_lanes<D> const there(static_cast<std::size_t>(w.cols));
  auto const alpha = hn::Set(d, w.alpha), none = hn::Zero(d);
  hn::Vec<D> of_b[P];
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) of_b[p] = there.load(w.b + p * w.b_row);
  for (std::int64_t i = 0; i < rows; ++i, a += a_row, c += ldc) {
    hn::Vec<D> of_a[P];
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p) of_a[p] = hn::Set(d, a[p * a_col]);
    there.store(updated<D, P, E>(of_a, of_b, alpha, none, none), c);
  }
}

// By the largest vectors that a row of C fills, N elements or fewer, or of many rows the smallest that holds one.
template <class T, int N, int P, ending E>
HWY_INLINE void update_columns_of(tile_work<T> const& w, std::int64_t rows) {
  constexpr int many_rows = 16;  // by which the first masked store has come to rest
  using D = hn::CappedTag<T, N>;
  if constexpr (N > 1) {
    if constexpr (has_mask_registers && N > 2 && !reads_c(E))
      if (w.cols < N && 2 * w.cols > N && rows >= many_rows) return update_part_of_vector<T, D, P, E>(w, rows);
    if (w.cols < N) return update_columns_of<T, N / 2, P, E>(w, rows);
  }
  if (w.cols == N) return update_columns<T, D, 1, P, E>(w, rows);
  if constexpr (N == lanes<T>) {
    if constexpr (vectors_down<P> >= 4)
      if (w.cols > 3 * N) return update_columns<T, D, 4, P, E>(w, rows);
    if constexpr (vectors_down<P> >= 3)
      if (w.cols > 2 * N) return update_columns<T, D, 3, P, E>(w, rows);
  }
  update_columns<T, D, 2, P, E>(w, rows);
}

// A vector of P terms of as many rows of A as D has lanes, which lie along k, term by term.
template <class D, int P, class T = hn::TFromD<D>>
HWY_INLINE void load_terms(T const* HWY_RESTRICT a, std::int64_t a_row, hn::Vec<D> (&of_a)[P]) {
  D const d;
  constexpr int Q = 16 / sizeof(T), rest = P % Q;
  hn::Vec<D> block[Q];
  if constexpr (P >= Q) {
    HWY_UNROLL(4)
    for (int p = 0; p + Q <= P; p += Q) {
      load_transposed<D, Q>(a + p, a_row, block);
      HWY_UNROLL(4)
      for (int q = 0; q < Q; ++q) of_a[p + q] = block[q];
    }
    if constexpr (rest > 0) {
      load_transposed<D, Q>(a + P - Q, a_row, block);
      HWY_UNROLL(4)
      for (int q = Q - rest; q < Q; ++q) of_a[P - Q + q] = block[q];
    }
  } else if (a_row == P) {
    hn::Vec<D> v[4];
    load_interleaved<P>(d, a, v);
    HWY_UNROLL(4)
    for (int p = 0; p < P; ++p) of_a[p] = v[p];
  } else {
    fixed_lanes<hn::FixedTag<T, Q>, P> const there;
    HWY_UNROLL(4)
    for (int q = 0; q < Q; ++q)
      block[q] = load_blocks(d, [&](int i) HWY_ATTR { return there.load(a + (i * Q + q) * a_row); });
    transpose_blocks<D, Q>(block);
    HWY_UNROLL(4)
    for (int p = 0; p < P; ++p) of_a[p] = block[p];
  }
}

// A column of C whose elements lie together, beside rows of A that lie along k: vectors go down it, and A is turned in
// registers. The last vector overlaps the one before, and what it is added to is read before that is written; of a
// column shorter than a vector, half as long ones.
template <class T, class D, int P, ending E>
HWY_INLINE void update_column(tile_work<T> const& w, T const* HWY_RESTRICT a, T* HWY_RESTRICT c, std::int64_t rows) {
  D const d;
  constexpr std::int64_t N = hn::MaxLanes(D());
  if (rows < N) {
    if constexpr (N * sizeof(T) > 16) return update_column<T, hn::Half<D>, P, E>(w, a, c, rows);
    return update_columns<T, hn::CappedTag<T, 1>, 1, P, E>(w, rows);
  }
  std::int64_t const a_row = w.a_row, b_row = w.b_row, last = rows - N;
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  hn::Vec<D> of_b[P];
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) of_b[p] = hn::Set(d, w.b[p * b_row]);
  auto const update = [&](std::int64_t i, hn::Vec<D> old) HWY_ATTR {
    hn::Vec<D> of_a[P];
    load_terms<D, P>(a + i * a_row, a_row, of_a);
    hn::StoreU(updated<D, P, E>(of_a, of_b, alpha, beta, old), d, c + i);
  };
  auto const old_of = [&](std::int64_t i) HWY_ATTR { return reads_c(E) ? hn::LoadU(d, c + i) : hn::Zero(d); };
  auto const old_of_last = old_of(last);
  for (std::int64_t i = 0; i < last; i += N) update(i, old_of(i));
  update(last, old_of_last);
}

// Some vectors of each row of C.
template <class T, int P>
HWY_NOINLINE void update_down(tile_work<T> const& w, std::int64_t rows, bool) {
  constexpr int N = lanes<T>;
  if constexpr (P > 1) {
    if (w.cols == 1 && w.ldc == 1 && w.a_col == 1) {
      using D = hn::ScalableTag<T>;
      auto const how = ending_of(w);
      if (how == ending::plain) return update_column<T, D, P, ending::plain>(w, w.a, w.c, rows);
      if (how == ending::scaled) return update_column<T, D, P, ending::scaled>(w, w.a, w.c, rows);
      if (how == ending::added) return update_column<T, D, P, ending::added>(w, w.a, w.c, rows);
      if (how == ending::subtracted) return update_column<T, D, P, ending::subtracted>(w, w.a, w.c, rows);
      return update_column<T, D, P, ending::combined>(w, w.a, w.c, rows);
    }
  }
  auto const how = ending_of(w);
  if (how == ending::plain) return update_columns_of<T, N, P, ending::plain>(w, rows);
  if (how == ending::scaled) return update_columns_of<T, N, P, ending::scaled>(w, rows);
  if (how == ending::added) return update_columns_of<T, N, P, ending::added>(w, rows);
  if (how == ending::subtracted) return update_columns_of<T, N, P, ending::subtracted>(w, rows);
  update_columns_of<T, N, P, ending::combined>(w, rows);
}

// Stores rows of C. Those that were read (`reads`) in pieces, if these are few or the next row begins within a vector:
// behind a mask that leaves it out it would be waited for.
template <class D, int E, class Lanes, class T = hn::TFromD<D>>
HWY_INLINE void store_rows(std::int64_t rows, Lanes const& there, hn::Vec<D> const (&v)[E], T* HWY_RESTRICT c,
                           std::int64_t ldc, bool reads) {
  constexpr int few = 4;
  if (reads && (E <= few || ldc < E)) {
    HWY_UNROLL(8)
    for (int e = 0; e < E; ++e)
      if (e < rows) there.store_exactly(v[e], c + e * ldc);
    return;
  }
  HWY_UNROLL(8)
  for (int e = 0; e < E; ++e)
    if (e < rows) there.store(v[e], c + e * ldc);
}

// Rows of C from some columns of S, its vectors v.
template <class D, int E, class Lanes, class T = hn::TFromD<D>>
HWY_INLINE void write_rows(std::int64_t rows, Lanes const& there, T alpha, hn::Vec<D> (&v)[E], T beta,
                           T* HWY_RESTRICT c, std::int64_t ldc) {
  D const d;
  auto const va = hn::Set(d, alpha), vb = hn::Set(d, beta);
  HWY_UNROLL(8)
  for (int e = 0; e < E; ++e) {
    if (e >= rows) continue;  // what lies there is no sum, and must not trap
    v[e] = beta != 0 ? hn::MulAdd(va, v[e], hn::Mul(vb, there.load(c + e * ldc))) : hn::Mul(va, v[e]);
  }
  store_rows<D, E>(rows, there, v, c, ldc, beta != 0);
}

// Whole vectors of two, three or four columns of C that lie together.
template <int cols, class D, class T>
HWY_INLINE void write_interleaved(D d, T alpha, hn::Vec<D> (&v)[4], T beta, T* HWY_RESTRICT c) {
  auto const va = hn::Set(d, alpha), vb = hn::Set(d, beta);
  if (beta != 0) {
    hn::Vec<D> old[4];
    load_interleaved<cols>(d, c, old);
    HWY_UNROLL(4)
    for (int j = 0; j < cols; ++j) v[j] = hn::MulAdd(va, v[j], hn::Mul(vb, old[j]));
  } else {
    HWY_UNROLL(4)
    for (int j = 0; j < cols; ++j) v[j] = hn::Mul(va, v[j]);
  }
  if constexpr (cols == 2)
    hn::StoreInterleaved2(v[0], v[1], d, c);
  else if constexpr (cols == 3)
    hn::StoreInterleaved3(v[0], v[1], v[2], d, c);
  else
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, c);
}

// The same for a C of two, three or four columns that lie together, as far as whole vectors of S go; returns how many
// rows those are.
template <int cols, class T>
HWY_INLINE std::int64_t write_together(std::int64_t rows, T alpha, T const* HWY_RESTRICT sums, std::int64_t apart,
                                       T beta, T* HWY_RESTRICT c) {
  hn::ScalableTag<T> const d;
  constexpr int N = lanes<T>;
  std::int64_t i = 0;
  for (; i + N <= rows; i += N, c += cols * N) {
    hn::Vec<decltype(d)> v[4];
    HWY_UNROLL(4)
    for (int j = 0; j < cols; ++j) v[j] = hn::LoadU(d, sums + j * apart + i);
    write_interleaved<cols>(d, alpha, v, beta, c);
  }
  return i;
}

// C (rows x cols) = alpha S^T + beta C, where S (cols x rows) lies with `apart` elements between its rows, a multiple
// of a vector's. All rows of a block are read before the first is written, as above. Whole vectors of C where those are
// wider than square blocks.
template <class T>
HWY_NOINLINE void write_turned(std::int64_t rows, std::int64_t cols, T alpha, T const* HWY_RESTRICT sums,
                               std::int64_t apart, T beta, T* HWY_RESTRICT c, std::int64_t ldc) {
  constexpr int E = transpose_edge<T>, Q = 16 / sizeof(T), N = lanes<T>;
  using whole = hn::ScalableTag<T>;
  using square = edge_vector<T>;
  std::int64_t const together = ldc != cols ? 0
                                : cols == 2 ? write_together<2>(rows, alpha, sums, apart, beta, c)
                                : cols == 3 ? write_together<3>(rows, alpha, sums, apart, beta, c)
                                : cols == 4 ? write_together<4>(rows, alpha, sums, apart, beta, c)
                                            : 0;
  rows -= together, sums += together, c += together * ldc;
  std::int64_t j = 0;
  for (; N > E && j + N <= cols; j += N) {
    fixed_lanes<whole, N> const all;
    for (std::int64_t i = 0; i < rows; i += Q) {
      hn::Vec<whole> v[Q];
      load_transposed<whole, Q>(sums + j * apart + i, apart, v);
      write_rows<whole, Q>(rows - i, all, alpha, v, beta, c + i * ldc + j, ldc);
    }
  }
  for (; j < cols; j += E) {
    first_lanes<square> const there(static_cast<std::size_t>(cols - j < E ? cols - j : E));
    for (std::int64_t i = 0; i < rows; i += E) {
      square const d;
      hn::Vec<square> v[E];
      HWY_UNROLL(8)
      for (int e = 0; e < E; ++e) v[e] = j + e < cols ? hn::LoadU(d, sums + (j + e) * apart + i) : hn::Zero(d);
      transpose<square, E>(v);
      if (cols - j >= E)
        write_rows<square, E>(rows - i, fixed_lanes<square, E>(), alpha, v, beta, c + i * ldc + j, ldc);
      else
        write_rows<square, E>(rows - i, there, alpha, v, beta, c + i * ldc + j, ldc);
    }
  }
}

template <class T, int P = 1>
constexpr void fill_updates(microkernel<T>& k) {
  if constexpr (P <= microkernel<T>::most_terms) {
    k.update_along[P - 1] = update_along<T, P>;
    k.update_down[P - 1] = update_down<T, P>, k.vectors_down[P - 1] = vectors_down<P>;
    fill_updates<T, P + 1>(k);
  } else {
    constexpr int many = has_mask_registers ? 12 : microkernel<T>::most_terms;
    k.terms_of_few_rows = many, k.update_few_rows = update_along<T, many>;
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
