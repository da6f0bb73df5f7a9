// Which way a small product goes: a shape's limits, measured, and the estimates of the larger products' files.
// Included once, by small.cpp, behind small_ways-inl.hpp: so no include guard, and names of its own.
namespace tandem::cpu {
namespace {

constexpr std::int64_t long_sum = 32;
constexpr std::int64_t some_products = 500;  // dot products need some length before they are worth their beginning
constexpr std::int64_t few_products = 1024, long_edge = 128;  // of so few the tiles, unless C's rows are long

template <class T>
bool has_whole_vectors_of_64_bytes(microkernel<T> const& kernel) {
  return kernel.lanes * sizeof(T) == 64 && !kernel.half_costs_half;
}

/// Multiply-adds times bytes of an element.
template <class T>
std::int64_t work_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n * k * static_cast<std::int64_t>(sizeof(T));
}

/// The work that another thread is worth: a microsecond of it, or some microseconds where threads take longer to begin
/// (and vectors of 64 bytes are computed at once).
template <class T>
std::int64_t worth_a_thread(microkernel<T> const& kernel) {
  return has_whole_vectors_of_64_bytes(kernel) ? 5 << 18 : 1 << 18;
}

template <class T>
bool is_worth_threads(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return work_of<T>(m, n, k) >= worth_a_thread(kernel);
}

/// Whether it is so much work that ways by several threads that one thread alone would not choose are worth it.
template <class T>
bool is_worth_other_ways(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return work_of<T>(m, n, k) >= (has_whole_vectors_of_64_bytes(kernel) ? 5 << 18 : 1 << 20);
}

/// Whether A and B, which lie along k, are few rows of the one beside the other's terms.
bool are_dots_in_place(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t least = 24, terms = 8;  // that pay for adding up a sum's lanes
  return k >= least && std::min(m, n) * terms <= k;
}

}  // namespace

// Not a few rows of long sums beside a B beyond L1, which is asked for ahead elsewhere.
template <class T>
bool is_small(microkernel<T> const& kernel, problem const& p) {
  constexpr std::int64_t most = 128 * 128 * 128, most_of_c = 256 * 256, read = 1 << 16, many_terms = 128;
  constexpr std::int64_t few_rows = 16, near = (64 << 10) / sizeof(T), most_terms = 8192;
  std::int64_t const m = p.m, n = p.n, k = p.k;
  if (k >= most_terms || m > most || n > most || m * n > most_of_c || (m + n) * k > read) return false;
  if (k > most_packed_terms && !has_rows_of_b(p))
    return has_rows_of_a(p.trans_a, m, p.lda) && are_dots_in_place(m, n, k) && !is_worth_threads(kernel, m, n, k);
  if (k <= many_terms) return m * n * k <= most;
  return m * n * k <= most / 2 && (m >= few_rows || n * k <= near);
}

template <class T>
bool is_deep(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t size = sizeof(T), near = 128 << 10, few_rows = 2;
  if (k < long_sum || m > kernel.most_deep) return false;
  if (n <= 4 * kernel.lanes) return (m + n) * k * size <= host_caches().l2 && kernel.deep_tile(m, n) != nullptr;
  return !kernel.has_low_tiles() && m <= few_rows && n * k * size <= near;
}

namespace {

/// Of operands whose rows of B lie together.
template <class T>
[[gnu::always_inline]] inline bool is_one_tile(microkernel<T> const& kernel, std::int64_t m, std::int64_t n,
                                               std::int64_t k) {
  constexpr std::int64_t worth_two_tiles = 100;  // elements of A
  constexpr int widest_of_all = 4;
  int const widest = m <= kernel.rows[widest_of_all] ? widest_of_all : kernel.widest;
  if (n > widest * kernel.lanes || m > kernel.rows[static_cast<std::size_t>(kernel.width_of(n))]) return false;
  return m * k < worth_two_tiles || !kernel.ends_in_half(n);
}

/// Threads for a small product, two for as much work as that, more for more, fewer where they begin slowly. Nobody is
/// woken for it, which takes longer than all of it: threads take part where one product follows the other.
template <class T>
int threads_of_small(microkernel<T> const& kernel, problem const& p, execution const& e) {
  if (!is_worth_threads(kernel, p.m, p.n, p.k)) return 1;
  int const offered = offered_threads(e);
  if (offered == 1) return 1;
  auto const work = static_cast<double>(work_of<T>(p.m, p.n, p.k));
  double const worth = static_cast<double>(worth_a_thread(kernel)) * slowness_of_team();
  constexpr double of_another = 1 << 19;
  double const threads = std::max(2.0, 1 + work / std::max(worth, of_another));
  return work < worth ? 1 : static_cast<int>(std::min<double>(threads, offered));
}

/// Whether there may be several: of a way that takes a problem, or of which threads take parts.
template <class T>
bool may_take_threads(microkernel<T> const& kernel, way known, problem const& p) {
  return !is_of_tile_work(known) || (is_of_parts(known) && is_worth_threads(kernel, p.m, p.n, p.k));
}

template <class T>
[[gnu::noinline]] void multiply_by_threads(microkernel<T> const& kernel, way known, problem const& p, bool packs,
                                           execution const& e) {
  if (known == way::few_terms)
    return multiply_few_terms(kernel, operands<T>(p), is_for_one_thread<T>(p.m, p.n) ? 1 : offered_threads(e));
  int const threads = threads_of_small(kernel, p, e);
  if (!is_of_tile_work(known)) return multiply_several(kernel, known, p, threads);
  multiply_in_parts(kernel, known, p, packs, threads);
}

/// Of few terms, whether C is large enough for one loop over it to begin sooner than tiles end. A transposed B is
/// turned for either, for the loop once; beside a transposed A tiles may be turned instead.
template <class T>
bool is_worth_a_loop(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool a_along_k,
                     bool turns_b) {
  if (m >= long_edge || n >= long_edge) return true;
  constexpr std::int64_t few = 6, many = 1000, many_turned = 4096, some_rows = 20, few_turned = 4;
  constexpr std::int64_t long_row = 112 / sizeof(T);  // beside up to eight terms
  if (!turns_b) return m * n >= many || k <= few || goes_down(kernel, m, n, k) || n >= long_row;
  if (kernel.has_low_tiles()) return k <= kernel.most_terms && m * n >= (k < few_turned ? 220 : 1300);
  std::int64_t const vectors = k > few_turned ? 8 : m >= some_rows ? 4 : 5;
  return m * n >= many_turned || (a_along_k && n >= vectors * kernel.lanes);
}

// Elements of A, and terms, of which dot products are a column; else the sums end as soon in tiles.
constexpr std::int64_t worth_dots = 256, long_dot = 20;

/// Whether a column of so many rows is done sooner by a tile than by dot products.
inline bool ends_soon_in_tile(std::int64_t m, std::int64_t k) {
  constexpr std::int64_t few_rows = 4, of_a_tile = 16;
  return m <= of_a_tile && (m > few_rows || k < long_dot) && m * k < worth_dots;
}

/// Of a small product that is not one tile. The other ways need some length before they are worth their beginning.
template <class T>
way way_of_several(microkernel<T> const& kernel, operands<T> const& o) {
  bool const is_worth = is_worth_a_loop(kernel, o.m, o.n, o.k, o.a_col == 1, o.b_col != 1);
  if ((is_worth && suits_few_terms(kernel, o)) || (o.b_col == 1 && streams_rows(o))) return way::few_terms;
  if (o.m * o.n * o.k >= some_products && suits_dots(kernel, o)) return way::dots;
  return suits_narrow(kernel, o) ? way::narrow : way::tiles_and_columns;
}

/// Of a transposed A, few terms and a long narrow C, whether sums that are turned are there sooner than tiles that are.
template <class T>
bool suits_turned_sums(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool trans_b) {
  constexpr std::int64_t size = sizeof(T), few = 4;
  if (k > kernel.most_terms || k < 2 || n < 2 || m < 3 * kernel.lanes) return false;
  if (turned_apart(kernel, m) * n * size > most_turned_bytes) return false;
  if (trans_b) return n <= few;
  return n <= 3 && (k >= n + 2 || (n == 2 && size == sizeof(float)));
}

template <class T>
[[gnu::noinline]] way look_closely(microkernel<T> const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                                   bool trans_a, bool trans_b, std::int64_t lda, std::int64_t b_row) {
  constexpr std::int64_t many_products = 2000, terms_turned = 16;
  constexpr std::int64_t near = 4096, worth_turning = 800;  // elements that stay in L1; of A
  constexpr std::int64_t long_of_columns = 60;
  std::int64_t const few_rows_turned = trans_a ? 8 : 32;
  if (trans_b && m <= few_rows_turned && n <= kernel.turned_edge && k <= kernel.turned_edge) return way::turned_tile;
  bool const a_along_k = has_rows_of_a(trans_a, m, lda);
  if (n == 1 && b_row == 1 && a_along_k && are_column_of_dots(m, k) && !ends_soon_in_tile(m, k)) return way::column;
  constexpr std::int64_t few_sums = 12;  // a tile of no more ends before a loop of few terms has begun
  bool const are_few_sums = m * quotient(n + kernel.lanes - 1, kernel.lanes) <= few_sums;
  if (!trans_b && (are_whole_rows(kernel, m, n, k) || (are_few_sums && kernel.wide_tile(m, n) != nullptr)))
    return way::wide_tile;
  if (!trans_b && is_deep(kernel, m, n, k)) return way::deep_tiles;
  if (!trans_b && m <= kernel.wide_rows && are_in_wide_tiles(host_caches(), kernel, m, n, k)) return way::wide_tiles;
  bool const may_be_columns = !trans_a && !trans_b && (kernel.half_costs_half || k > long_of_columns);
  bool const in_columns = may_be_columns && are_few_columns(kernel, m, n, k, b_row == 1);
  if (in_columns) return way::open;
  bool const turned = trans_a && m >= 4 * n && m * k >= worth_turning && kernel.deep_tile(n, m) != nullptr;
  if (!trans_b && !turned && is_one_tile(kernel, m, n, k)) return way::one_tile;
  auto const tiles = trans_b ? way::packed_tiles : way::tiles;
  if (trans_b && a_along_k && are_dots_in_place(m, n, k))
    return is_worth_threads(kernel, m, n, k) ? way::open : way::dots_near;
  // Of few, rows of a transposed A, which are turned first, have to be longer.
  std::int64_t const terms_a_row = trans_a && m * n * k < many_products ? 10 : 5;
  if (trans_b && k >= terms_a_row * std::min(m, n) && m * n * k >= some_products) return way::open;
  // So few rows take B together, once, wherever it lies.
  std::int64_t const rows_together = kernel.has_low_tiles() && k > 4 ? 2 : 3;
  bool const passes_once = m <= rows_together && is_for_one_thread<T>(m, n);
  if (!trans_b && (n * k <= near || passes_once) && is_worth_a_loop(kernel, m, n, k, a_along_k, false) &&
      are_few_terms(kernel, m, n, k, trans_a ? 1 : lda) && !copies_rows_of_b(kernel, m, n, k, b_row) &&
      !asks_for_rows_of_c(kernel, m, n, k, n))
    return way::few_terms_near;
  bool const is_loop = k <= kernel.most_terms && is_worth_a_loop(kernel, m, n, k, a_along_k, trans_b);
  if (m * n * k <= few_products && n <= long_edge && !(trans_b && is_loop)) return tiles;
  bool const may_be_turned = trans_b && fills_vectors(kernel, m, n, k, true) && k >= terms_turned;
  bool const may_be_narrow = trans_a && (may_be_turned || (m >= n && n <= 2 * kernel.lanes));
  if (may_be_narrow || turned || streams_rows<T>(m, n)) return way::open;
  if (!trans_a && !trans_b && are_few_columns(kernel, m, n, k, b_row == 1)) return way::open;
  if (is_loop) return way::open;
  return !is_worth_other_ways(kernel, m, n, k) && columns_left(kernel, m, n, k) == 0 ? tiles : way::open;
}

/// This way, or one that costs less: which operand is turned, or C, if any.
template <class T>
way or_cheaper(microkernel<T> const& kernel, way known, problem const& p, std::int64_t b_row, bool packs) {
  constexpr double of_one_tile = 35;  // which is there sooner than several
  constexpr std::int64_t few_lines = 8, few_floats = 4, many_terms = 125;
  std::int64_t const m = p.m, n = p.n, k = p.k;
  bool const a_along_k = has_rows_of_a(p.trans_a, m, p.lda);
  // Beside a transposed A, too, B is turned for a loop of few terms soon enough if C is no few lines, or rows of
  // floats.
  bool const is_loop = known == way::few_terms && (a_along_k || !kernel.half_costs_half || std::min(m, n) > few_lines ||
                                                   (sizeof(T) == sizeof(float) && m <= few_floats));
  bool const turns_b = known == way::packed_tiles || known == way::dots_near ||
                       (packs && !is_loop && (known == way::dots || known == way::few_terms));
  bool const turns_c = known == way::narrow || known == way::tiles || known == way::one_tile;
  if (!turns_b && (a_along_k || !turns_c)) return known;
  auto const tiles = packs ? way::packed_tiles : known == way::one_tile ? known : way::tiles;
  double of_tiles = cost_of_tiles(kernel, m, n, k, b_row, !a_along_k, packs);
  if (known == way::one_tile) of_tiles -= of_one_tile;
  if (packs && k > most_packed_terms) of_tiles = std::numeric_limits<double>::infinity();
  // Passes of few terms, if they are estimated to take clearly less and B is not turned for a few rows alone. (Of whole
  // vectors of 64 bytes, whose stores take longer, the estimate is not known.)
  constexpr std::int64_t worth_turning_b = 5;
  constexpr double clearly = 1.05;
  bool const may_be_passes =
      packs && k <= kernel.most_terms && m >= worth_turning_b && !has_whole_vectors_of_64_bytes(kernel);
  double const of_few =
      may_be_passes ? clearly * cost_of_few_terms(kernel, m, n, k) : std::numeric_limits<double>::infinity();
  if (a_along_k) {
    double const of_dots = cost_of_dots(kernel, m, n, k, false);
    if (of_few < std::min(of_tiles, of_dots)) return way::few_terms;
    return of_tiles < of_dots ? tiles : way::dots_near;
  }
  if (k >= many_terms && kernel.deep_tile(n, m) != nullptr) return known;  // others' sums would wait for themselves
  double const of_turning = cost_of_turning(kernel, m, n, k);
  if (known == way::dots && cost_of_dots(kernel, m, n, k, true) <= std::min(of_tiles, of_turning)) return known;
  if (of_few < std::min(of_tiles, of_turning)) return way::few_terms;
  if (of_tiles < of_turning) return tiles;
  return packs ? way::turning_tiles_of_columns : way::turning_tiles_of_rows;
}

/// Open: it depends on the threads. `packs`: B is transposed, and its rows do not lie together.
template <class T>
[[gnu::noinline]] way way_of(microkernel<T> const& kernel, problem const& p, bool packs) {
  std::int64_t const b_row = packs || !p.trans_b ? p.ldb : 1;
  if (p.trans_a && suits_turned_sums(kernel, p.m, p.n, p.k, packs))
    return packs ? way::turned_sums_of_columns : way::turned_sums_of_rows;
  bool const is_short = p.k < long_sum && (p.n > 1 || ends_soon_in_tile(p.m, p.k));
  if (!packs && is_short && is_one_tile(kernel, p.m, p.n, p.k))
    return or_cheaper(kernel, way::one_tile, p, b_row, packs);
  auto const known = look_closely(kernel, p.m, p.n, p.k, p.trans_a, packs, p.lda, b_row);
  if (is_worth_other_ways(kernel, p.m, p.n, p.k)) return known;
  if (known != way::open) return or_cheaper(kernel, known, p, b_row, packs);
  auto const several = way_of_several(kernel, operands<T>(p));
  if (several != way::tiles_and_columns) return or_cheaper(kernel, several, p, b_row, packs);
  if (columns_left(kernel, p) > 0) return several;
  return or_cheaper(kernel, packs ? way::packed_tiles : way::tiles, p, b_row, packs);
}

}  // namespace
}  // namespace tandem::cpu
