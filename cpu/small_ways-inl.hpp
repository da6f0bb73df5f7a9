// The ways through a small product, on the operands where they lie. What is not `multiply_at_once` is kept out of it,
// since a tiny product would pay for its stack frame.
// Included once, by small.cpp: so no include guard, and names of its own.
namespace tandem::cpu {
namespace {

constexpr std::int64_t most_packed_terms = 512;       // of a B that is copied on the stack
constexpr std::int64_t most_turned_bytes = 16 << 10;  // of C's transpose, there

/// The ways through a small product. On a tile's work: one tile, or several (with B packed, if it is transposed); a
/// tile of so few columns and terms that a transposed B is turned in registers; beside a transposed A, and B's columns
/// or its rows, tiles that are turned in registers, or sums of few terms that are turned; a few terms beside a B that
/// stays in L1 as it lies; a column of dot products, or dot products of operands along k; a few rows of long sums; a
/// few whole rows in registers, or parts of them. On a problem: passes over C, dot products, C's transpose, and tiles
/// beside columns that are left over. These, and those of several tiles, by several threads if it is worth them.
enum class way {
  open,
  one_tile,
  tiles,
  packed_tiles,
  turned_tile,
  turning_tiles_of_columns,
  turning_tiles_of_rows,
  turned_sums_of_columns,
  turned_sums_of_rows,
  few_terms_near,
  column,
  dots_near,
  deep_tiles,
  wide_tile,
  wide_tiles,
  few_terms,
  dots,
  narrow,
  tiles_and_columns
};

constexpr bool is_of_tile_work(way known) { return known < way::few_terms; }

/// Whether op(B)'s rows lie together: of a transposed B, too, if they are short or there is one. Longer columns are
/// left to dot products.
bool has_rows_of_transposed_b(std::int64_t n, std::int64_t k, std::int64_t ldb) {
  constexpr std::int64_t short_column = 24;
  return (k == 1 && ldb == 1) || (n == 1 && k < short_column);
}
bool has_rows_of_b(problem const& p) { return !p.trans_b || has_rows_of_transposed_b(p.n, p.k, p.ldb); }

/// Whether op(A)'s rows lie together.
bool has_rows_of_a(bool trans_a, std::int64_t m, std::int64_t lda) { return !trans_a || (m == 1 && lda == 1); }

/// A tile's work on the operands where they lie, from the first row and column on; how many columns it takes is open.
template <class T>
tile_work<T> tile_in_place(problem const& p) {
  tile_work<T> w;
  w.k = p.k;
  w.a = static_cast<T const*>(p.a);
  w.a_row = p.trans_a ? 1 : p.lda, w.a_col = p.trans_a ? p.lda : 1;
  w.b = static_cast<T const*>(p.b);
  w.b_row = p.trans_b ? 1 : p.ldb;
  w.alpha = static_cast<T>(p.alpha), w.beta = static_cast<T>(p.beta);
  w.c = static_cast<T*>(p.c);
  w.ldc = p.ldc;
  return w;
}

/// One or two, along A's rows or, of a transposed A, its columns.
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return k > most_packed_terms ? 0 : columns_left(kernel, m, n, k, 2);
}
template <class T>
std::int64_t columns_left(microkernel<T> const& kernel, problem const& p) {
  return columns_left(kernel, p.m, p.n, p.k);
}

/// The product of the last columns alone.
template <class T>
operands<T> last_columns(problem const& p, std::int64_t count) {
  operands<T> columns(p);
  columns.n = count, columns.b += (p.n - count) * columns.b_col, columns.c += p.n - count;
  return columns;
}

template <class T>
[[gnu::noinline]] void multiply_columns_left(microkernel<T> const& kernel, problem const& p, std::int64_t left) {
  constexpr std::int64_t most_packed = 2 * most_packed_terms;
  T packed_b[most_packed];  // (columns, k)
  auto const columns = last_columns<T>(p, left);
  if (p.trans_a) return multiply_narrow(kernel, columns, 1);
  auto const* b = columns.b;
  std::int64_t b_col = p.ldb;
  if (!p.trans_b) {
    for (std::int64_t q = 0; q < p.k; ++q)
      for (std::int64_t j = 0; j < left; ++j) packed_b[j * p.k + q] = b[q * p.ldb + j];
    b = packed_b, b_col = p.k;
  }
  dot_work<T> w;
  w.k = p.k;
  w.a = static_cast<T const*>(p.a), w.a_row = p.lda;
  w.b = b, w.b_col = b_col;
  w.alpha = static_cast<T>(p.alpha), w.beta = static_cast<T>(p.beta);
  w.c = columns.c, w.c_row = p.ldc, w.c_col = 1;
  kernel.dots(w, p.m, left);
}

/// The tiles of m x n elements beside a transposed B: w.b is its first column, and w.b_row the elements from one to the
/// next. `most_packed`: elements of the panel of B on the stack.
template <class T, std::int64_t most_packed, class Work>
[[gnu::noinline]] void multiply_tiles_packed(microkernel<T> const& kernel, Work& w, std::int64_t m, std::int64_t n) {
  alignas(64) T packed_b[most_packed];  // (k, columns of a tile)
  std::int64_t const fits = quotient(most_packed, w.k * kernel.lanes);
  column_tiles<T> const columns(kernel, m, n, std::min(fits, kernel.nr / kernel.lanes));
  auto const* const b = w.b;
  auto const apart = w.b_row;
  w.b = packed_b;
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    kernel.pack_b[static_cast<std::size_t>(kernel.width_of(w.cols))](b + j * apart, apart, 1, w.cols, w.k, packed_b);
    multiply_column_of_tiles(kernel, source::packed, w, m, i == 0);
  }
  w.b = b;
}

/// The same. Threads of small stacks have room for few terms.
template <class T>
void multiply_tiles_packed(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t vector = 64 / sizeof(T), few_terms = 32, widest = 4, most = vector * most_packed_terms;
  if (w.k <= few_terms) return multiply_tiles_packed<T, vector * widest * few_terms>(kernel, w, m, n);
  if (!may_ask_soon(kernel, m, n, w.k)) return multiply_tiles_packed<T, most>(kernel, w, m, n);
  soon_tile_work<T> soon{w};
  multiply_tiles_packed<T, most>(kernel, soon, m, n);
}

/// `left`: columns that are left over.
template <class T>
void multiply_tiles(microkernel<T> const& kernel, problem const& p, std::int64_t left) {
  if (left > 0) multiply_columns_left(kernel, p, left);
  auto w = tile_in_place<T>(p);
  if (has_rows_of_b(p)) return multiply_tiles_in_place(kernel, w, p.m, p.n - left);
  w.b_row = p.ldb;
  multiply_tiles_packed(kernel, w, p.m, p.n - left);
}

/// The product of some rows of C, or of some of its columns.
template <class T>
problem part_of(problem const& p, span_of rows, span_of cols) {
  auto q = p;
  q.m = rows.size(), q.n = cols.size();
  q.a = static_cast<T const*>(p.a) + rows.first * (p.trans_a ? 1 : p.lda);
  q.b = static_cast<T const*>(p.b) + cols.first * (p.trans_b ? p.ldb : 1);
  q.c = static_cast<T*>(p.c) + rows.first * p.ldc + cols.first;
  return q;
}

/// `work(part)` for parts of a product by several threads, each with some rows, `together` of which stay so, or some
/// columns of few rows: an element's terms are added in one order, whatever tile has it.
template <class T, class F>
void share_product(microkernel<T> const& kernel, problem const& p, std::int64_t together, int threads, F&& work) {
  constexpr std::int64_t few_rows = 8, vectors = 2;  // of a part
  bool const by_columns = p.m < few_rows * threads && p.n >= vectors * kernel.lanes * threads;
  auto const parts = by_columns ? threads : static_cast<int>(std::min<std::int64_t>(threads, ceil_div(p.m, together)));
  run_team(parts, [&](int part) {
    auto const rows = by_columns ? span_of{0, p.m} : share(p.m, part, parts, together);
    auto const cols = by_columns ? share(p.n, part, parts, kernel.lanes) : span_of{0, p.n};
    work(part_of<T>(p, rows, cols));
  });
}

/// The tiles, and columns left over, by several threads.
template <class T>
[[gnu::noinline]] void multiply_tiles_in_parts(microkernel<T> const& kernel, problem const& p, int threads) {
  auto const left = columns_left(kernel, p);
  if (left == 0)
    return share_product<T>(kernel, p, 1, threads, [&](problem const& q) { multiply_tiles(kernel, q, 0); });
  // How the sums of the columns left are made depends on the size of A, not of a share of it.
  bool const turns = p.trans_a;
  auto const parts = static_cast<int>(std::min<std::int64_t>(threads, p.m));
  run_team(parts, [&](int part) {
    auto const rows = share(p.m, part, parts, 1);
    if (turns) multiply_narrow_rows(kernel, last_columns<T>(p, left), rows);
    multiply_tiles(kernel, part_of<T>(p, rows, {0, p.n - (turns ? left : 0)}), turns ? 0 : left);
  });
}

/// One that takes a problem.
template <class T>
[[gnu::noinline]] void multiply_several(microkernel<T> const& kernel, way known, problem const& p, int threads) {
  operands<T> const o(p);
  if (known == way::dots) return multiply_dots(kernel, o, threads);
  if (known == way::narrow) return multiply_narrow(kernel, o, threads);
  if (threads > 1) return multiply_tiles_in_parts(kernel, p, threads);
  multiply_tiles(kernel, p, columns_left(kernel, p));
}

/// A few rows of long sums.
template <class T>
[[gnu::noinline]] void multiply_deep(microkernel<T> const& kernel, tile_work<T>& w, std::int64_t m, std::int64_t n) {
  if (auto const halves = kernel.deep_tile_of_halves(m, n)) {
    w.cols = n;
    return halves(w);
  }
  column_tiles<T> const columns(kernel, column_tiles<T>::many_rows, n, kernel.most_deep / m);  // none of them waits
  for (std::int64_t i = 0, j = 0; j < n; j += w.cols, w.b += w.cols, w.c += w.cols, ++i) {
    w.cols = columns.size(i, j);
    kernel.deep_tile(m, w.cols)(w);
  }
}

/// Elements from row to row of C's transpose, whole vectors.
template <class T>
std::int64_t turned_apart(microkernel<T> const& kernel, std::int64_t m) {
  return quotient(m + kernel.lanes - 1, kernel.lanes) * kernel.lanes;
}

/// The work of C's transpose, beside a transposed A, whose columns are then the rows of what is multiplied along them;
/// without C.
template <class T, class Work = tile_work<T>>
Work turned_work(tile_work<T> const& w, bool trans_b) {
  Work t;
  t.k = w.k;
  t.a = w.b, t.a_row = trans_b ? w.b_row : 1, t.a_col = trans_b ? 1 : w.b_row;
  t.b = w.a, t.b_row = w.a_col;
  return t;
}

/// In tiles that are turned in registers.
template <class T>
[[gnu::noinline]] void multiply_turning(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m,
                                        std::int64_t n, bool trans_b) {
  auto t = turned_work<T, turning_tile_work<T>>(w, trans_b);
  t.alpha = w.alpha, t.beta = w.beta;
  t.c = w.c, t.ldc = w.ldc;
  multiply_turning_tiles(kernel, t, m, n);
}

/// In passes of a few terms over sums that are turned at the end.
template <class T>
[[gnu::noinline]] void multiply_turned_sums(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m,
                                            std::int64_t n, bool trans_b) {
  alignas(64) T sums[most_turned_bytes / sizeof(T)];  // (n, apart)
  std::int64_t const apart = turned_apart(kernel, m);
  auto t = turned_work(w, trans_b);
  t.c = sums, t.ldc = apart, t.cols = m;
  kernel.update_along[static_cast<std::size_t>(w.k - 1)](t, n, false);
  kernel.write_turned(m, n, w.alpha, sums, apart, w.beta, w.c, w.ldc);
}

/// A few terms beside a B that stays in L1.
template <class T>
[[gnu::noinline]] void multiply_few_terms_near(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  auto const& functions = goes_down(kernel, m, w.cols, w.k) ? kernel.update_down : kernel.update_along;
  functions[static_cast<std::size_t>(w.k - 1)](w, m, false);
}

/// A column of dot products.
template <class T>
[[gnu::noinline]] void multiply_column(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  dot_work<T> d;
  d.k = w.k;
  d.a = w.a, d.a_row = w.a_row, d.b = w.b;
  d.alpha = w.alpha, d.beta = w.beta;
  d.c = w.c, d.c_row = w.ldc;
  if (auto const few = few_dots(kernel, m, 1)) return few(d);
  multiply_rows_of(kernel, d, m, 1);
}

/// Dot products of the rows of A and the columns of B, which lie along k; few of the one stay while the other's pass.
template <class T>
[[gnu::noinline]] void multiply_dots_in_place(microkernel<T> const& kernel, tile_work<T> const& w, std::int64_t m) {
  dot_work<T> d;
  d.k = w.k;
  d.a = w.a, d.a_row = w.a_row, d.b = w.b, d.b_col = w.b_row;
  d.alpha = w.alpha, d.beta = w.beta;
  d.c = w.c, d.c_row = w.ldc, d.c_col = 1;
  if (auto const few = few_dots(kernel, m, w.cols)) return few(d);
  if (m >= w.cols) return multiply_rows_of(kernel, d, m, w.cols);
  std::swap(d.a, d.b), std::swap(d.a_row, d.b_col), std::swap(d.c_row, d.c_col);
  multiply_rows_of(kernel, d, w.cols, m);
}

template <class T>
[[gnu::always_inline]] inline void multiply_at_once(microkernel<T> const& kernel, way known, tile_work<T>& w,
                                                    std::int64_t m, std::int64_t n) {
  w.cols = n;
  if (known == way::one_tile) return kernel.tile(source::in_place, kernel.width_of(n), m)(w);
  if (known == way::tiles) return multiply_tiles_in_place(kernel, w, m, n);
  if (known == way::packed_tiles) return multiply_tiles_packed(kernel, w, m, n);
  if (known == way::turned_tile) return kernel.turned_tile(w, m);
  if (known == way::turning_tiles_of_columns) return multiply_turning(kernel, w, m, n, true);
  if (known == way::turning_tiles_of_rows) return multiply_turning(kernel, w, m, n, false);
  if (known == way::turned_sums_of_columns) return multiply_turned_sums(kernel, w, m, n, true);
  if (known == way::turned_sums_of_rows) return multiply_turned_sums(kernel, w, m, n, false);
  if (known == way::few_terms_near) return multiply_few_terms_near(kernel, w, m);
  if (known == way::column) return multiply_column(kernel, w, m);
  if (known == way::dots_near) return multiply_dots_in_place(kernel, w, m);
  if (known == way::wide_tile) return kernel.wide_tile(m, n)(w);
  if (known == way::wide_tiles) return multiply_in_wide_tiles(kernel, w, m);
  multiply_deep(kernel, w, m, n);
}

/// Whether threads may each take a part of a product in which this way takes a tile's work.
constexpr bool is_of_parts(way known) {
  return known == way::tiles || known == way::packed_tiles || known == way::turning_tiles_of_columns ||
         known == way::turning_tiles_of_rows;
}

/// By several threads. `packs`: B is transposed, and its rows do not lie together.
template <class T>
void multiply_in_parts(microkernel<T> const& kernel, way known, problem const& p, bool packs, int threads) {
  bool const turns = known == way::turning_tiles_of_columns || known == way::turning_tiles_of_rows;
  share_product<T>(kernel, p, turns ? kernel.lanes : 1, threads, [&](problem const& q) {
    auto w = tile_in_place<T>(q);
    if (packs) w.b_row = q.ldb;
    multiply_at_once(kernel, known, w, q.m, q.n);
  });
}

}  // namespace
}  // namespace tandem::cpu
