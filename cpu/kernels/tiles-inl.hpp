// Outer products: a tile of C stays in registers while one column of A and one row of B at a time are multiplied into
// it, so that each loaded element is used once for every vector or row of the tile.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, "hwy/cache_control.h", "hwy/highway.h", lanes-inl.hpp and pack-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Steps of k in one turn of the loop along rows of A that lie together: where addresses and counting take turns from
// the arithmetic, and registers are left, without which g++ moves sums about.
template <int R, int V>
constexpr int steps_at_once = HWY_MAX_BYTES == 32 && R <= 6 && R* V + V + 1 < 16 ? 4 : 1;
template <int R, int V>
HWY_INLINE std::int64_t whole_turns(std::int64_t steps) {
  constexpr std::int64_t at_once = steps_at_once<R, V>;
  return (steps + at_once - 1) / at_once * at_once;
}

// Asks for rows that are read later, line by line, as fast as R rows of this tile's A are used up; for L2, because L1
// is full.
template <class T, int R, int V>
struct later_rows {
  static constexpr int line = 64, lines = (R * static_cast<int>(sizeof(T)) + line - 1) / line;  // a step of k
  HWY_INLINE explicit later_rows(far_tile_work<T> const& w)
      : at(reinterpret_cast<char const*>(w.next_rows > 0 ? w.next : w.a)),
        step(w.next_rows == 0  ? 0
             : w.next_step > 0 ? w.next_step * static_cast<std::int64_t>(sizeof(T))
                               : lines * line),
        steps(whole_turns<R, V>(is_apart(w) ? w.next_length * static_cast<std::int64_t>(sizeof(T)) / (lines * line) + 1
                                : w.asks_for_c ? w.k / R + 1
                                               : w.k)) {}
  // Rows that lie together are one.
  static HWY_INLINE bool is_apart(far_tile_work<T> const& w) { return w.next_rows > 0 && w.next_row != w.next_length; }
  HWY_INLINE bool has_row(far_tile_work<T> const& w, std::int64_t row) const {
    return is_apart(w) ? row < w.next_rows : w.next_rows > 0;
  }
  HWY_INLINE void ask() {
    for (int i = 0; i < lines; ++i) __builtin_prefetch(at + i * line, 0, 2);
    at += step;
  }
  HWY_INLINE void turn_to_row(far_tile_work<T> const& w, std::int64_t row) {
    if (row < w.next_rows && w.next_row != w.next_length) at = reinterpret_cast<char const*>(w.next + row * w.next_row);
  }
  char const* at;
  std::int64_t step, steps;  // bytes a step of k; steps of k for a row
};

// Asks for rows of C, this tile's or a later one's, while the sums are made: they are far apart, where no hardware
// prefetcher looks. All at once they would keep what loads of A and B need to wait for a line.
template <class T, int R, int V, int N>
struct rows_of_c {
  // `steps`: of k between two turns.
  HWY_INLINE rows_of_c(far_tile_work<T> const& w, std::int64_t steps)
      : at(w.c + w.c_ahead), ldc(w.ldc), rows(w.asks_for_c ? R : 0) {
    if (rows > 0)
      while (at_once * w.k < R * steps) ++at_once;
  }
  HWY_INLINE void ask() {
    for (int i = 0; i < at_once && rows > 0; ++i, --rows, at += ldc)
      for (int v = 0; v < V; ++v) __builtin_prefetch(at + v * N, 1);
  }
  T const* at;
  std::int64_t ldc;
  int rows, at_once = 1;
};

// The sums of a tile with a part of a vector, where there are no masks.
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
      else
        hn::StoreU(combined(d, sum, alpha, beta, c, N), d, c);
    }
}

template <class D, int R, int V, class Old, class Value>
HWY_INLINE void replace(hn::Vec<D> (&acc)[R][V], Old const& old, Value const& value) {
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(24)
    for (int v = 0; v < V; ++v) acc[r][v] = value(acc[r][v], old(r, v));
  }
}

// The sums become elements of C. The questions are asked once for the tile: a small product would feel them at each of
// its vectors.
template <class T, class D, int R, int V>
HWY_INLINE void settle(tile_work<T> const& w, hn::Vec<D> (&acc)[R][V], first_lanes<D> const& last) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  if (w.beta == 0 && w.alpha == 1) return;
  auto const alpha = hn::Set(d, w.alpha), beta = hn::Set(d, w.beta);
  if (w.beta == 0) {
    HWY_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(24)
      for (int v = 0; v < V; ++v) acc[r][v] = hn::Mul(alpha, acc[r][v]);
    }
    return;
  }
  T const* HWY_RESTRICT const c = w.c;
  auto const old = [&](int r, int v) HWY_ATTR {
    T const* const at = c + r * w.ldc + v * N;
    return v < V - 1 || last.count == N ? hn::LoadU(d, at) : last.load(at);
  };
  using vec = hn::Vec<D>;
  if (is_added(w.alpha, w.beta))
    return replace<D>(acc, old, [](vec sum, vec before) HWY_ATTR { return hn::Add(before, sum); });
  if (is_subtracted(w.alpha, w.beta))
    return replace<D>(acc, old, [](vec sum, vec before) HWY_ATTR { return hn::Sub(before, sum); });
  replace<D>(acc, old, [&](vec sum, vec before) HWY_ATTR { return hn::MulAdd(alpha, sum, hn::Mul(beta, before)); });
}

template <class T, class D, int R, int V>
HWY_INLINE void store(tile_work<T> const& w, hn::Vec<D> const (&values)[R][V], first_lanes<D> const& last) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  T* HWY_RESTRICT const c = w.c;
  std::int64_t const ldc = w.ldc;  // which a store could otherwise have changed
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(24)
    for (int v = 0; v < V; ++v) {
      T* const at = c + r * ldc + v * N;
      if (v < V - 1 || last.count == N)
        hn::StoreU(values[r][v], d, at);
      else
        last.store(values[r][v], at);
    }
  }
}

// Whole vectors past the caches.
template <class T, class D, int R, int V>
HWY_INLINE void stream(tile_work<T> const& w, hn::Vec<D> const (&values)[R][V]) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  T* HWY_RESTRICT const c = w.c;
  std::int64_t const ldc = w.ldc;
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(24)
    for (int v = 0; v < V; ++v) hn::Stream(values[r][v], d, c + r * ldc + v * N);
  }
}

// The end of a tile.
template <class T, class D, int R, int V>
HWY_INLINE void write(tile_work<T> const& w, hn::Vec<D> (&acc)[R][V], first_lanes<D> const& last) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  bool const whole = last.count == N;
  if (!whole && !has_masks) {
    HWY_ALIGN T sums[R * V * N];
    HWY_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(24)
      for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, sums + (r * V + v) * N);
    }
    return finish<T, D>(w, sums, R, V);
  }
  if (w.streaming) {
    settle<T, D, R, V>(w, acc, first_lanes<D>(N));
    stream<T, D, R, V>(w, acc);
  } else if (whole) {
    settle<T, D, R, V>(w, acc, first_lanes<D>(N));
    store<T, D, R, V>(w, acc, first_lanes<D>(N));
  } else {
    settle<T, D, R, V>(w, acc, last);
    store<T, D, R, V>(w, acc, last);
  }
}

// One step of k, or of several at once the one that is `step` behind the first: the outer product of a column of A and
// a row of B.
template <class T, class D, int R, int V, bool several = false>
HWY_INLINE void add_product(rows_of<T, R> const& a, hn::Vec<D> const (&b_row)[V], hn::Vec<D> (&acc)[R][V],
                            int step = 0) {
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    auto const element = hn::Set(D(), a.at(r)[step]);
    HWY_UNROLL(8)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(element, b_row[v], acc[r][v]);
    if constexpr (several) keep(element);
  }
  if constexpr (several) {
    HWY_UNROLL(8)
    for (int v = 0; v < V; ++v) keep(b_row[v]);
  }
}

// So many steps of k on such rows of A and on the next rows of B.
template <class T, class D, int R, int V, bool unrolled = true, class Rows>
HWY_INLINE void add_steps(std::int64_t steps, rows_of<T, R>& a, Rows& rows, hn::Vec<D> (&acc)[R][V]) {
  constexpr int at_once = steps_at_once<R, V>;
  if constexpr (unrolled && at_once > 1) {
    if (a.lie_together())
      for (; steps >= at_once; steps -= at_once) {
        HWY_UNROLL(4)
        for (int s = 0; s < at_once; ++s) {
          HWY_FENCE;  // the next step's loads would take registers from this one's sums
          hn::Vec<D> b_row[V];
          rows.next(b_row);
          add_product<T, D, R, V, true>(a, b_row, acc, s);
        }
        a.advance_together(at_once);
      }
  }
  for (; steps > 0; --steps, a.advance()) {
    hn::Vec<D> b_row[V];
    rows.next(b_row);
    add_product<T, D, R, V>(a, b_row, acc);
  }
}

// A packed panel of B, row by row. With AVX-512 later rows are asked for from L2, by which an Intel server gains a
// hundredth and a Zen 4 loses nothing. AVX2's tiles have no instructions to spare.
template <class T, class D, int V>
struct packed_rows {
  HWY_INLINE void next(hn::Vec<D> (&b_row)[V]) {
    constexpr int N = static_cast<int>(hn::MaxLanes(D())), rows_ahead = 16;
    if constexpr (has_mask_registers) {
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) __builtin_prefetch(at + (rows_ahead * V + v) * N);
    }
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) b_row[v] = in_register(hn::Load(D(), at + v * N));
    at += V * N;
  }
  T const* HWY_RESTRICT at;
};

// Rows of B where they lie, which become a packed panel.
template <class T, class D, int V>
struct rows_to_pack {
  HWY_INLINE void next(hn::Vec<D> (&b_row)[V]) {
    constexpr int N = static_cast<int>(hn::MaxLanes(D()));
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      __builtin_prefetch(at + ahead + v * N, 0, 2);
      b_row[v] = in_register(hn::LoadU(D(), at + v * N));
      hn::Store(b_row[v], D(), panel + v * N);
    }
    at += row, panel += V * N;
  }
  T const* HWY_RESTRICT at;
  std::int64_t row, ahead;
  T* HWY_RESTRICT panel;
};

// The same, beside which later rows are asked for.
template <class T, int R, int V, class Rows>
struct rows_and_later {
  template <class Vectors>
  HWY_INLINE void next(Vectors& b_row) {
    later.ask();
    rows.next(b_row);
  }
  Rows rows;
  later_rows<T, R, V> later;
};

// All steps of k on such rows.
template <class T, class D, int R, int V, bool asks, class Rows>
HWY_INLINE void add_products_packed(tile_work<T> const& w, rows_of<T, R> a, Rows rows, hn::Vec<D> (&acc)[R][V]) {
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  if constexpr (!asks) {
    add_steps<T, D, R, V>(w.k, a, rows, acc);
  } else {
    auto const& far = static_cast<far_tile_work<T> const&>(w);
    rows_and_later<T, R, V, Rows> both{rows, later_rows<T, R, V>(far)};
    auto& later = both.later;
    rows_of_c<T, R, V, N> of_c(far, later.steps);
    for (std::int64_t left = w.k, row = 0; left > 0; left -= later.steps, later.turn_to_row(far, ++row)) {
      of_c.ask();
      std::int64_t const steps = left < later.steps ? left : later.steps;
      if (later.has_row(far, row))
        add_steps<T, D, R, V>(steps, a, both, acc);
      else
        add_steps<T, D, R, V>(steps, a, both.rows, acc);
    }
  }
}

// What the steps of k ask for ahead of time, beside C.
enum class asked { nothing, only_c, b, a_and_b };

// A row of B where it lies, of whose last vector the tile may have a part.
template <class T, class D, int R, int V>
HWY_INLINE void load_row(T const* HWY_RESTRICT b, first_lanes<D> const& last, hn::Vec<D> (&b_row)[V]) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  bool const whole = last.count == N;
  HWY_UNROLL(8)
  for (int v = 0; v < V; ++v) {
    auto const part = v < V - 1 || (whole && !has_mask_registers) ? hn::LoadU(d, b + v * N) : last.load(b + v * N);
    b_row[v] = R > 1 ? in_register(part) : part;
  }
}

// Rows of B where they lie, of vectors that are all `whole`, or where the processor has no cheap masks need not be; A
// is that of which columns are asked for.
template <class T, class D, int R, int V, asked ahead, bool whole>
struct rows_in_place {
  HWY_INLINE void next(hn::Vec<D> (&b_row)[V]) {
    if constexpr (ahead == asked::a_and_b) {  // a column's elements lie in two lines at most
      __builtin_prefetch(a.base[0] + a_ahead);
      __builtin_prefetch(a.base[0] + a_ahead + (R - 1) * sizeof(T));
    }
    if constexpr (ahead >= asked::b) {  // the lines of a tile's columns; the next tile's begin where these end
      HWY_UNROLL(4)
      for (int v = 0; v < V; v += of_line) __builtin_prefetch(at + b_ahead + v * N, 0, 2);
    }
    if constexpr (whole) {
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) b_row[v] = in_register(hn::LoadU(D(), at + v * N));
    } else {
      load_row<T, D, R, V>(at, last, b_row);
    }
    at += row;
  }
  static constexpr int N = static_cast<int>(hn::MaxLanes(D())), line = 64 / sizeof(T);
  static constexpr int of_line = N < line ? line / N : 1;  // vectors
  T const* HWY_RESTRICT at;
  std::int64_t row;
  first_lanes<D> const& last;
  rows_of<T, R> const& a;
  std::int64_t b_ahead = 0, a_ahead = 0;
};

// All steps of k on such rows.
template <class T, class D, int R, int V, asked ahead, bool whole, class Work>
HWY_INLINE void add_products_of_rows(Work const& w, rows_of<T, R> a, first_lanes<D> const& last,
                                     hn::Vec<D> (&acc)[R][V]) {
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  rows_in_place<T, D, R, V, ahead, whole> rows{w.b, w.b_row, last, a};
  if constexpr (ahead == asked::nothing) {
    add_steps<T, D, R, V, whole>(w.k, a, rows, acc);
  } else {
    rows.b_ahead = w.b_ahead, rows.a_ahead = w.a_ahead * static_cast<std::int64_t>(sizeof(T));
    std::int64_t const turn = whole_turns<R, V>(w.asks_for_c ? w.k / R + 1 : w.k);
    rows_of_c<T, R, V, N> of_c(w, turn);
    for (std::int64_t left = w.k; left > 0; left -= turn) {
      of_c.ask();
      add_steps<T, D, R, V, whole>(left < turn ? left : turn, a, rows, acc);
    }
  }
}

// All steps of k on B where it lies.
template <class T, class D, int R, int V, asked ahead, class Work>
HWY_INLINE void add_products_in_place(Work const& w, rows_of<T, R> const& a, first_lanes<D> const& last,
                                      hn::Vec<D> (&acc)[R][V]) {
  if (!has_mask_registers && last.count == hn::MaxLanes(D()))
    add_products_of_rows<T, D, R, V, ahead, true>(w, a, last, acc);
  else
    add_products_of_rows<T, D, R, V, ahead, false>(w, a, last, acc);
}

// Any rows of B, beside which a line is asked for, and perhaps a row of C.
template <class T, int V, int N, bool with_c, class Rows>
struct rows_and_soon {
  HWY_INLINE rows_and_soon(soon_tile_work<T> const& w, Rows const& rows_of_b)
      : rows(rows_of_b),
        at(w.next),
        step(w.step),
        gap(w.gap),
        lines(w.lines),
        left(w.lines),
        c(w.next_c),
        last_c(w.last_c),
        ldc(w.ldc) {}
  template <class Vectors>
  HWY_INLINE void next(Vectors& b_row) {
    __builtin_prefetch(at, 0, 2);
    at += step;
    if (--left == 0) at += gap, left = lines;
    if constexpr (with_c) {
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) __builtin_prefetch(c + v * N, 0, 2);
      c = c < last_c ? c + ldc : c;
    }
    rows.next(b_row);
  }
  Rows rows;
  char const* at;
  std::int64_t step, gap, lines, left;
  T const* c;
  T const* last_c;
  std::int64_t ldc;
};

template <class T, class D, int R, int V, source S>
HWY_INLINE void add_products_soon(soon_tile_work<T> const& w, rows_of<T, R> a, first_lanes<D> const& last,
                                  hn::Vec<D> (&acc)[R][V]) {
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  auto const add = [&](auto rows) HWY_ATTR { add_steps<T, D, R, V>(w.k, a, rows, acc); };
  if constexpr (S == source::packed) {
    using packed = packed_rows<T, D, V>;
    if (w.next_c != nullptr)
      add(rows_and_soon<T, V, N, true, packed>(w, {w.b}));
    else
      add(rows_and_soon<T, V, N, false, packed>(w, {w.b}));
  } else {
    using with_b = rows_in_place<T, D, R, V, asked::b, false>;
    using alone = rows_in_place<T, D, R, V, asked::nothing, false>;
    if (w.next_c != nullptr)
      add(rows_and_soon<T, V, N, true, with_b>(w, {w.b, w.b_row, last, a, w.b_ahead}));
    else
      add(rows_and_soon<T, V, N, false, alone>(w, {w.b, w.b_row, last, a}));
  }
}

// The tile of R rows and V vectors of D.
template <class T, class D, int R, int V, source S, asking ahead>
HWY_NOINLINE void tile(tile_work<T> const& w) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  using vec = hn::Vec<D>;
  rows_of<T, R> const a(w.a, w.a_row, w.a_col);
  first_lanes<D> const last(static_cast<std::size_t>(w.cols - (V - 1) * N));  // columns of the last vector

  vec acc[R][V];  // (rows, vectors)
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  if constexpr (ahead == asking::soon) {
    add_products_soon<T, D, R, V, S>(static_cast<soon_tile_work<T> const&>(w), a, last, acc);
  } else if constexpr (S == source::packed) {
    add_products_packed<T, D, R, V, ahead == asking::far>(w, a, packed_rows<T, D, V>{w.b}, acc);
  } else if constexpr (ahead == asking::nothing) {
    add_products_in_place<T, D, R, V, asked::nothing>(w, a, last, acc);
  } else {
    auto const& far = static_cast<far_tile_work<T> const&>(w);
    if (far.a_ahead != 0)
      add_products_in_place<T, D, R, V, asked::a_and_b>(far, a, last, acc);
    else if (far.b_ahead != 0)
      add_products_in_place<T, D, R, V, asked::b>(far, a, last, acc);
    else
      add_products_in_place<T, D, R, V, asked::only_c>(far, a, last, acc);
  }

  write<T, D, R, V>(w, acc, last);
}

// The same, beside which B is packed.
template <class T, class D, int R, int V>
HWY_NOINLINE void packing_tile(tile_work<T> const& work) {
  D const d;
  auto const& w = static_cast<packing_tile_work<T> const&>(work);
  hn::Vec<D> acc[R][V];
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  add_products_packed<T, D, R, V, true>(w, rows_of<T, R>(w.a, w.a_row, w.a_col),
                                        rows_to_pack<T, D, V>{w.b, w.b_row, w.b_ahead, w.panel}, acc);
  write<T, D, R, V>(w, acc, first_lanes<D>(hn::MaxLanes(d)));
}

// The same for so few sums that each multiply-add would wait for the one before: some steps of k at a time have sums of
// their own, which are added up at the end.
template <class T, class D, int R, int V>
HWY_NOINLINE void deep_tile(tile_work<T> const& w) {
  D const d;
  constexpr int N = static_cast<int>(hn::MaxLanes(D())), G = 4;
  rows_of<T, R> a(w.a, w.a_row, w.a_col);
  first_lanes<D> const last(static_cast<std::size_t>(w.cols - (V - 1) * N));
  T const* HWY_RESTRICT b = w.b;
  hn::Vec<D> acc[G][R][V];  // (groups, rows, vectors)
  HWY_UNROLL(4)
  for (int g = 0; g < G; ++g) {
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) acc[g][r][v] = hn::Zero(d);
    }
  }
  auto const step = [&](hn::Vec<D>(&sums)[R][V]) HWY_ATTR {
    hn::Vec<D> b_row[V];
    load_row<T, D, R, V>(b, last, b_row);
    add_product<T, D, R, V>(a, b_row, sums);
    a.advance(), b += w.b_row;
  };
  std::int64_t p = w.k;
  for (; p >= G; p -= G) {
    HWY_UNROLL(4)
    for (int g = 0; g < G; ++g) step(acc[g]);
  }
  for (; p > 0; --p) step(acc[0]);
  HWY_UNROLL(4)
  for (int g = 1; g < G; ++g) {
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) acc[0][r][v] = hn::Add(acc[0][r][v], acc[g][r][v]);
    }
  }
  write<T, D, R, V>(w, acc[0], last);
}

// R whole rows of C, as far as they fit the registers: B's rows lie one behind the other and pass as one stream, which
// the hardware follows faster than the parts of rows that narrower tiles take.
template <class T, int R, int V>
HWY_NOINLINE void wide_tile(tile_work<T> const& w) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>;
  rows_of<T, R> a(w.a, w.a_row, w.a_col);
  first_lanes<D> const last(static_cast<std::size_t>(w.cols - (V - 1) * N));
  hn::Vec<D> acc[R][V];  // (rows, vectors)
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(24)
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  T const* HWY_RESTRICT b = w.b;
  for (std::int64_t p = w.k; p > 0; --p, a.advance(), b += w.b_row) {
    hn::Vec<D> element[R];
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) element[r] = hn::Set(d, *a.at(r));
    HWY_UNROLL(24)
    for (int v = 0; v < V; ++v) {
      bool const whole = v < V - 1 || (last.count == N && !has_mask_registers);
      auto const part = whole ? hn::LoadU(d, b + v * N) : last.load(b + v * N);
      auto const b_v = R > 1 ? in_register(part) : part;
      HWY_UNROLL(4)
      for (int r = 0; r < R; ++r) acc[r][v] = hn::MulAdd(element[r], b_v, acc[r][v]);
    }
  }
  write<T, D, R, V>(w, acc, last);
}

// A tile of so few columns and terms that a B whose columns lie together is turned in registers: a copy in memory could
// not be read before all of it is written.
template <class T>
HWY_NOINLINE void turned_tile(tile_work<T> const& w, std::int64_t rows) {
  constexpr int E = transpose_edge<T>;
  using D = edge_vector<T>;
  D const d;
  first_lanes<D> const terms(static_cast<std::size_t>(w.k)), cols(static_cast<std::size_t>(w.cols));
  hn::Vec<D> b[E];
  HWY_UNROLL(8)
  for (int j = 0; j < E; ++j) b[j] = j < w.cols ? terms.load(w.b + j * w.b_row) : hn::Zero(d);
  transpose<D, E>(b);
  T const* HWY_RESTRICT a = w.a;
  T* HWY_RESTRICT c = w.c;
  for (std::int64_t i = 0; i < rows; ++i, a += w.a_row, c += w.ldc) {
    auto sum = hn::Zero(d);
    HWY_UNROLL(8)
    for (int p = 0; p < E; ++p)
      if (p < w.k) sum = hn::MulAdd(hn::Set(d, a[p * w.a_col]), b[p], sum);
    cols.store(combined(d, sum, w.alpha, w.beta, c, cols), c);
  }
}

// C from sums that were made elsewhere.
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

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
