// Inner products, of operands that lie along k: a vector of terms of some rows of A and columns of B at a time, whose
// lanes are added up at the end.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, "hwy/cache_control.h", "hwy/highway.h" and lanes-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How far ahead along a row dot products ask for it: DRAM is some hundred cycles away.
template <class T>
constexpr int cols_ahead = 512 / sizeof(T);

// The sums over the lanes of as many vectors as a block of 16 bytes has elements, in one block. In whatever company, a
// vector's lanes are added in the same order.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<hn::FixedTag<T, 16 / sizeof(T)>> fold_blocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return v;
  } else {
    hn::Half<D> const half;
    return fold_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <class D, int Q, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<hn::FixedTag<T, Q>> sums_of_lanes(D d, hn::Vec<D> const (&v)[Q]) {
  auto const first = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  if constexpr (Q == 2) {
    return fold_blocks(d, first);
  } else {
    hn::Repartition<double, D> const pairs;
    auto const second = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
    auto const p = hn::BitCast(pairs, first), q = hn::BitCast(pairs, second);
    return fold_blocks(
        d, hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, p, q)), hn::BitCast(d, hn::InterleaveUpper(pairs, p, q))));
  }
}

// Where registers are few, the vectors of the rows or of the columns stay in them, whichever are fewer.
template <int R, int J>
constexpr bool keeps_rows = (R < J) && has_few_registers;

// What is read of a row later: far ahead, or near. (In a lambda g++ 12 would drop it, whose calls do nothing else.)
template <class T, bool near, bool far>
HWY_INLINE void ask_for_row([[maybe_unused]] T const* HWY_RESTRICT row, [[maybe_unused]] std::int64_t ahead) {
  if constexpr (far)
    __builtin_prefetch(row + ahead, 0, 2);
  else if constexpr (near)
    hwy::Prefetch(row + cols_ahead<T>);
}

// A vector's terms of R x J dot products. Beside several columns there is time to ask for A's rows; beside one or two
// it would take the reading its turns, unless A comes from memory.
template <class T, int R, int J, bool whole, bool asks, class D = hn::ScalableTag<T>>
HWY_INLINE void add_dots(T const* HWY_RESTRICT a, std::int64_t a_row, std::int64_t a_ahead, T const* HWY_RESTRICT b,
                         std::int64_t b_col, first_lanes<D> const& there, hn::Vec<D> (&acc)[R][J]) {
  auto const part = [&](T const* from) HWY_ATTR { return whole ? hn::LoadU(D(), from) : there.load(from); };
  if constexpr (keeps_rows<R, J>) {
    hn::Vec<D> row[R];
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      ask_for_row<T, (J > 2 && whole), asks>(a + r * a_row, a_ahead);
      row[r] = in_register(part(a + r * a_row));
    }
    HWY_UNROLL(4)
    for (int j = 0; j < J; ++j) {
      auto const col = R > 1 ? in_register(part(b + j * b_col)) : part(b + j * b_col);
      HWY_UNROLL(4)
      for (int r = 0; r < R; ++r) acc[r][j] = hn::MulAdd(row[r], col, acc[r][j]);
    }
    return;
  }
  hn::Vec<D> col[J];
  HWY_UNROLL(4)
  for (int j = 0; j < J; ++j) col[j] = R > 1 ? in_register(part(b + j * b_col)) : part(b + j * b_col);
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    ask_for_row<T, (J > 2 && whole), asks>(a + r * a_row, a_ahead);
    auto const row = J > 1 ? in_register(part(a + r * a_row)) : part(a + r * a_row);
    HWY_UNROLL(4)
    for (int j = 0; j < J; ++j) acc[r][j] = hn::MulAdd(row, col[j], acc[r][j]);
  }
}

// Writes `count` <= Q elements of C, `apart` elements from each other, from the sums of as many vectors.
template <class T, int Q, int count, class D = hn::ScalableTag<T>>
HWY_INLINE void write_dots(hn::Vec<D> const (&of_element)[Q], T alpha, T beta, T* c, std::int64_t apart) {
  hn::FixedTag<T, Q> const block;
  auto const sums = sums_of_lanes<D, Q>(D(), of_element);
  if (count == Q && apart == 1) return hn::StoreU(combined(block, sums, alpha, beta, c, Q), block, c);
  HWY_ALIGN T one_by_one[Q];
  hn::Store(sums, block, one_by_one);
  hn::CappedTag<T, 1> const one;
  HWY_UNROLL(4)
  for (int i = 0; i < count; ++i) {
    T* const to = c + i * apart;
    hn::StoreU(combined(one, hn::LoadU(one, one_by_one + i), alpha, beta, to, 1), one, to);
  }
}

// The sums of a tile of dot products, some at a time: along C's rows where these lie together, else down its columns.
template <class T, int R, int J, class D = hn::ScalableTag<T>>
HWY_INLINE void write_dot_tile(hn::Vec<D> const (&acc)[R][J], T alpha, T beta, T* c, std::int64_t c_row,
                               std::int64_t c_col) {
  constexpr int Q = 16 / sizeof(T), most = R < Q ? R : Q, whole = R / most * most;
  if constexpr (J % Q == 0) {
    if (c_col == 1) {
      HWY_UNROLL(8)
      for (int r = 0; r < R; ++r) {
        HWY_UNROLL(2)
        for (int j = 0; j < J; j += Q) {
          hn::Vec<D> of_element[Q];
          HWY_UNROLL(4)
          for (int i = 0; i < Q; ++i) of_element[i] = acc[r][j + i];
          write_dots<T, Q, Q>(of_element, alpha, beta, c + r * c_row + j, 1);
        }
      }
      return;
    }
  } else if constexpr (J == 2 && R > 1) {  // two rows at a time
    if (c_col == 1) {
      hn::FixedTag<T, 2> const pair;
      HWY_UNROLL(4)
      for (int r = 0; r < R; r += 2) {
        bool const both = r + 1 < R;
        auto const none = hn::Zero(D());
        hn::Vec<D> const of_element[Q] = {acc[r][0], acc[r][1], both ? acc[both ? r + 1 : r][0] : none,
                                          both ? acc[both ? r + 1 : r][1] : none};
        auto const sums = sums_of_lanes<D, Q>(D(), of_element);
        T *const first = c + r * c_row, *const second = first + c_row;
        hn::StoreU(combined(pair, hn::LowerHalf(pair, sums), alpha, beta, first, 2), pair, first);
        if (both) hn::StoreU(combined(pair, hn::UpperHalf(pair, sums), alpha, beta, second, 2), pair, second);
      }
      return;
    }
  }
  HWY_UNROLL(4)
  for (int j = 0; j < J; ++j) {
    HWY_UNROLL(4)
    for (int r = 0; r < whole; r += most) {
      hn::Vec<D> of_element[Q];
      HWY_UNROLL(4)
      for (int i = 0; i < Q; ++i) of_element[i] = i < most ? acc[r + i][j] : hn::Zero(D());
      write_dots<T, Q, most>(of_element, alpha, beta, c + r * c_row + j * c_col, c_row);
    }
    if constexpr (whole < R) {
      hn::Vec<D> of_element[Q];
      HWY_UNROLL(4)
      for (int i = 0; i < Q; ++i) of_element[i] = i < R - whole ? acc[whole + i][j] : hn::Zero(D());
      write_dots<T, Q, R - whole>(of_element, alpha, beta, c + whole * c_row + j * c_col, c_row);
    }
  }
}

// From here on a, b and c say what part of the work is meant: a copy of the work itself would wait for the stores that
// have just made it.
template <class T, int R, int J, bool asks>
HWY_NOINLINE void dot_rows(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows);

// The same for rows that may be fewer than R.
template <class T, int R, int J, bool asks>
HWY_INLINE void dot_some_rows(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows) {
  if constexpr (R > 1)
    if (rows < R) return dot_some_rows<T, R - 1, J, asks>(w, a, b, c, rows);
  dot_rows<T, R, J, asks>(w, a, b, c, rows);
}

// Rows that are less than two tiles of R: in two of about one height, since a low one would wait for its own sums.
template <class T, int R, int J, bool asks>
HWY_INLINE void dot_two_tiles(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows) {
  if (rows <= R || rows >= 2 * R) return dot_some_rows<T, R, J, asks>(w, a, b, c, rows);
  std::int64_t const first = (rows + 1) / 2;
  dot_some_rows<T, R, J, asks>(w, a, b, c, first);
  dot_some_rows<T, R, J, asks>(w, a + first * w.a_row, b, c + first * w.c_row, rows - first);
}

// Whether a row of A is so long that the hardware looks far ahead along it.
template <class T>
HWY_INLINE bool is_followed(dot_work<T> const& w) {
  constexpr std::int64_t size = sizeof(T), longest = 8192;  // bytes
  return w.k * size > longest;
}

// From one row of a tile to the next, and from one tile to the next, in rows.
struct tile_rows {
  std::int64_t apart, next;
};

// The rows of a tile lie one below the other. If those of an A beyond L1 lie nearly together, and are neither so short
// that a tile's pass as one nor so long that the hardware looks far ahead along each, they are taken from as many
// stretches of A, each of which is then read as one stream. Rows that are asked for, or there, need none.
template <class T, int R, bool asks>
HWY_INLINE tile_rows rows_of_tiles(dot_work<T> const& w, std::int64_t tiles) {
  constexpr std::int64_t size = sizeof(T), of_l1 = 32 << 10, shortest = 256, gap = 256;  // bytes
  bool const are_streams = !asks && !w.stays && R > 1 && tiles > 1 && w.k * size >= shortest && !is_followed(w) &&
                           (w.a_row - w.k) * size <= gap && tiles * R * w.k * size > of_l1;
  return are_streams ? tile_rows{tiles, 1} : tile_rows{1, R};
}

// C in tiles of R x J dot products of rows of A and columns of B, each of which lies together. Of a few columns some
// vectors of each row are read together, which the hardware follows by itself.
template <class T, int R, int J, bool asks>
HWY_NOINLINE void dot_rows(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>, together = asks ? 1 : J == 1 ? 4 : J == 2 ? 2 : 1;
  std::int64_t const tiles = rows / R, rest_rows = rows % R;
  auto const step = rows_of_tiles<T, R, asks>(w, tiles);
  T const alpha = w.alpha, beta = w.beta;
  std::int64_t const k = w.k, a_ahead = w.a_ahead, b_col = w.b_col, c_col = w.c_col;
  std::int64_t const a_row = step.apart * w.a_row, c_row = step.apart * w.c_row;
  std::int64_t const next_a = step.next * w.a_row, next_c = step.next * w.c_row;
  first_lanes<D> const rest(static_cast<std::size_t>(k % N));
  for (std::int64_t left = tiles; left > 0; --left, a += next_a, c += next_c) {
    hn::Vec<D> acc[R][J];  // (rows, columns)
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (int j = 0; j < J; ++j) acc[r][j] = hn::Zero(d);
    }
    std::int64_t p = 0;
    for (; p + together * N <= k; p += together * N) {
      HWY_UNROLL(4)
      for (int v = 0; v < together; ++v)
        add_dots<T, R, J, true, asks>(a + p + v * N, a_row, a_ahead, b + p + v * N, b_col, rest, acc);
    }
    for (; together > 1 && p + N <= k; p += N)
      add_dots<T, R, J, true, asks>(a + p, a_row, a_ahead, b + p, b_col, rest, acc);
    if (p < k) add_dots<T, R, J, false, asks>(a + p, a_row, a_ahead, b + p, b_col, rest, acc);
    write_dot_tile<T, R, J>(acc, alpha, beta, c, c_row, c_col);
  }
  if constexpr (R > 1) {
    std::int64_t const behind = tiles * (R - step.next);  // rows from here to the first that is left
    if (rest_rows > 0) dot_some_rows<T, R - 1, J, asks>(w, a + behind * w.a_row, b, c + behind * w.c_row, rest_rows);
  }
}

// So few dot products that each multiply-add would wait for the one before: some vectors of terms at a time have sums
// of their own.
template <class T, int R, int J>
HWY_NOINLINE void few_dots(dot_work<T> const& w) {
  using D = hn::ScalableTag<T>;
  D const d;
  constexpr int N = lanes<T>, G = 4;
  T const *HWY_RESTRICT a = w.a, *HWY_RESTRICT b = w.b;
  std::int64_t const a_row = w.a_row, b_col = w.b_col;
  hn::Vec<D> acc[G][R][J];  // (groups, rows, columns)
  HWY_UNROLL(4)
  for (int g = 0; g < G; ++g) {
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (int j = 0; j < J; ++j) acc[g][r][j] = hn::Zero(d);
    }
  }
  first_lanes<D> const rest(static_cast<std::size_t>(w.k % N));
  std::int64_t left = w.k;
  for (; left >= G * N; left -= G * N) {
    HWY_UNROLL(4)
    for (int g = 0; g < G; ++g, a += N, b += N) add_dots<T, R, J, true, false>(a, a_row, 0, b, b_col, rest, acc[g]);
  }
  HWY_UNROLL(4)
  for (int g = 0; g < G; ++g, a += N, b += N, left -= N) {
    if (left < N) {
      if (left > 0) add_dots<T, R, J, false, false>(a, a_row, 0, b, b_col, rest, acc[g]);
      break;
    }
    add_dots<T, R, J, true, false>(a, a_row, 0, b, b_col, rest, acc[g]);
  }
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int j = 0; j < J; ++j)
      acc[0][r][j] = hn::Add(hn::Add(acc[0][r][j], acc[1][r][j]), hn::Add(acc[2][r][j], acc[3][r][j]));
  }
  write_dot_tile<T, R, J>(acc[0], w.alpha, w.beta, w.c, w.c_row, w.c_col);
}

// Where registers are few, the sums of a tile, of which none waits for itself.
constexpr int dot_sums = has_few_registers ? 12 : 0;

// Rows of a tile of J columns; those that come together beside one column stay so.
template <int R, int J>
constexpr int rows_of_tile = R == 8 ? R : static_cast<int>(rows_of_dot_tile(R, dot_sums, J));

// At most J columns.
template <class T, int R, int J, bool asks>
HWY_INLINE void dot_some_columns(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows,
                                 std::int64_t cols) {
  if constexpr (J > 1)
    if (cols < J) return dot_some_columns<T, R, J - 1, asks>(w, a, b, c, rows, cols);
  dot_two_tiles<T, rows_of_tile<R, J>, J, asks>(w, a, b, c, rows);
}

// All columns of B, in tiles of about one width: a narrow one would load almost as often as it multiplies.
template <class T, int R, int J, bool asks>
HWY_INLINE void dot_columns(dot_work<T> const& w, T const* a, T const* b, T* c, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t tiles = (cols + J - 1) / J; tiles > 0; --tiles) {
    std::int64_t const width = (cols + tiles - 1) / tiles;
    dot_some_columns<T, R, J, asks>(w, a, b, c, rows, width);
    cols -= width, b += width * w.b_col, c += width * w.c_col;
  }
}

// A comes from afar once: where there are more columns than a tile has, as many rows of it at a time as stay in L2.
template <class T, int R, int J, bool asks>
void dot_blocks(dot_work<T> const& w, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t of_l2 = (128 << 10) / sizeof(T);
  std::int64_t step = rows;
  if (cols > J) {
    std::int64_t const fits = of_l2 / (w.k > 0 ? w.k : 1) / R * R;
    step = fits < R ? R : fits;
  }
  for (std::int64_t i = 0; i < rows; i += step)
    dot_columns<T, R, J, asks>(w, w.a + i * w.a_row, w.b, w.c + i * w.c_row, rows - i < step ? rows - i : step, cols);
}

// Long rows are read best by the largest tile; after short ones its fifth row would be added up by itself. Where there
// is one column eight rows come at a time from memory, or if each is a stream: more of their lines are on the way at
// once.
template <class T, int R, int J>
void dots(dot_work<T> const& w, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t long_k = 512;
  constexpr int many = microkernel<T>::dot_rows_of_column;
  bool const asks = w.a_ahead != 0;
  if (cols == 1 && asks) return dot_blocks<T, many, 1, true>(w, rows, cols);
  if (cols == 1 && is_followed(w)) return dot_blocks<T, many, 1, false>(w, rows, cols);
  if (asks) return dot_blocks<T, R, J, true>(w, rows, cols);
  if (R > 4 && w.k < long_k && rows != R && rows != 2 * R) return dot_blocks<T, 4, J, false>(w, rows, cols);
  dot_blocks<T, R, J, false>(w, rows, cols);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
