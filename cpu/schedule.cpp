// The cost model, in time of one fused multiply-add of vectors (`steps`): what a grid of threads costs is what its
// slowest part costs, and what it takes to wake the others.
#include "cpu/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cpu/dots.hpp"
#include "cpu/threads.hpp"
#include "cpu/tiles.hpp"

namespace tandem::cpu {
namespace {

double as_double(std::int64_t x) { return static_cast<double>(x); }

/// Equal shares of `size` of at most `limit`, in multiples of `step`: no thin one is left at the end.
std::int64_t split(std::int64_t size, std::int64_t limit, std::int64_t step) {
  std::int64_t const shares = ceil_div(size, std::max(limit / step * step, step));
  return std::min(ceil_div(ceil_div(size, shares), step) * step, size);
}

// Steps of a microsecond: one a cycle at 3.5 GHz.
constexpr double microsecond = 3500;

constexpr std::int64_t page = 4096;  // bytes

/// Columns of a product beside which, with a small L2, a copy of A is forgotten.
constexpr std::int64_t columns_of_small_l2 = 768;

/// Threads that differ little share a product of two parts or three.
bool is_shared_by_many(grid const& g) { return g.parts() >= many_threads; }

constexpr std::int64_t few_rows = 256;  // of A, beside which the packing of B takes a good part of the time

/// Whether B is read once, where it lies, as it comes.
bool passes(tiling const& t) { return !t.pack_b && !t.b_stays && !t.all_rows && !t.by_rows; }

/// Whether whole rows pass, and threads may share terms.
bool passes_by_rows(tiling const& t) { return t.by_rows && t.panels_apart > 1; }

/// Until the threads of a team have their work and their operands, which takes half as long where they wait for it.
double waking(int parts, double slowness) {
  if (parts == 1) return 0;
  return (2 + 0.2 * parts) * std::min(1.0, 0.5 * slowness) * microsecond;
}

/// A part's steps for one term of a C of n columns: its tiles, each with some loads and a turn of the loop of its own,
/// and what is packed, of B anew for each block of A, unless it is one block, and each piece of the part's rows. Where
/// it is packed once, by many threads, it comes from far.
double steps(std::int64_t n, std::int64_t rows, double vectors, tiling const& t, pieces_of_part const& cut) {
  double const tiles = as_double(ceil_div(rows, t.rows));
  double const packing = cut.of_columns ? 12 : 4;
  std::int64_t const blocks_of_a = t.nc < n ? ceil_div(rows, t.mc) : 1;
  std::int64_t const times = std::max<std::int64_t>(blocks_of_a, cut.of_columns ? 1 : cut.count);
  double const packed_b = t.pack_b ? packing * as_double(times) : 0;
  return vectors * (as_double(rows) + 1.5 * tiles + packed_b) + (t.pack_a ? 0.35 * as_double(rows) : 0);
}

/// How many lines of `rows` rows, `bytes` bytes of each at the same place, share the fullest set of an L1 that is
/// indexed by an address in its page.
std::int64_t fullest_set(std::int64_t rows, std::int64_t stride, std::int64_t bytes) {
  constexpr std::int64_t line = 64, sets = page / line;
  std::array<std::int64_t, sets> lines = {};
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < bytes / line; ++i)
      ++lines[static_cast<std::size_t>((r * (stride % page) / line + i) % sets)];
  return *std::ranges::max_element(lines);
}

/// Whether a tile's rows of A leave each other alone in L1 where they lie, while B passes.
template <class T>
bool lies_well(cache_sizes const& caches, operands<T> const& o, tiling const& t) {
  constexpr std::int64_t stretch = 256;  // bytes of a row that are wanted at a time
  std::int64_t const stride = o.a_row * static_cast<std::int64_t>(sizeof(T)), ways = caches.l1 / page;
  return o.a_col == 1 && (stride <= stretch || fullest_set(std::min(t.rows, o.m), stride, stretch) <= ways * 2 / 3);
}

/// Whether a transposed A's columns are read as well where they lie as from a copy: those of a tile stay in L2, which
/// they pass for each block of B, and these blocks are few. (Not on Intel's processors, with 2 MiB of L2: one thread
/// loses a tenth there. With a small L2 copies are level or better.)
template <class T>
bool columns_lie_well(cache_sizes const& caches, operands<T> const& o, tiling const& t) {
  constexpr std::int64_t line = 64, few_columns = 1536;
  std::int64_t const stride = o.a_col * static_cast<std::int64_t>(sizeof(T));
  std::int64_t const places = std::min(page / std::gcd(stride, page), page / line);  // in a page, at which they begin
  return o.a_col != 1 && !has_large_l2(caches) && !has_small_l2(caches) && o.n <= few_columns &&
         t.kc <= places * (caches.l2 / page);
}

/// Whether low tiles, which take but a part of each line of a transposed A's columns, gain by a copy of it for so many
/// columns of C.
template <class T>
bool copies_columns(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), many = size == 8 ? 64 : 160, many_near = 128;
  bool const is_near = (o.m + o.n) * o.k * size <= caches.l2;
  return kernel.has_low_tiles() && o.a_col != 1 && o.m > kernel.mr && o.n >= (is_near ? many_near : many);
}

/// Whether C is written once, in whole lines or parts that do not overlap them, and is too large to be found in a cache
/// afterwards.
template <class T>
bool streams(cache_sizes const& caches, operands<T> const& o, tiling const& t) {
  constexpr std::int64_t size = sizeof(T), line = 64;
  bool const has_lines = t.cols * size % line == 0 || line % (t.cols * size) == 0;
  return o.beta == 0 && o.k <= t.kc && o.m * o.n * size > caches.l3 / 2 && has_lines && o.ldc * size % line == 0 &&
         reinterpret_cast<std::uintptr_t>(o.c) % line == 0;
}

/// Whether all operands stay in L2, or nearly.
template <class T>
bool are_near(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  return std::max(o.m, o.n) * o.k * size <= caches.l2 / 2 && o.m * o.n * size <= caches.l2 &&
         (o.m * o.k + o.k * o.n + o.m * o.n) * size <= caches.l2 / 4 * 5;
}

/// Whether B's rows lie together and begin at cache lines, so that no vector of them lies in two.
template <class T>
bool has_whole_lines(operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), line = 64;
  return o.b_col == 1 && o.b_row * size % line == 0 && reinterpret_cast<std::uintptr_t>(o.b) % line == 0;
}

/// Whether B, which lies together and comes from a cache, meets so few rows of A that copying it would take a good part
/// of the time.
template <class T>
bool is_soon_done(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), few_tiles = 16;
  return o.m <= few_tiles * kernel.mr && o.b_row == o.n && o.k * o.n * size <= near_l3(caches) / 4;
}

/// Into how many places of one block each L2 is divided. Beside few rows of A the copying of B takes a good part of the
/// time: small blocks leave room for the next one. (Measured where L2 is large.)
template <class T>
std::int64_t places_of_b(cache_sizes const& caches, operands<T> const& o) {
  if (has_small_l2(caches)) return 4;
  if (!has_large_l2(caches)) return 2;
  return o.m <= few_rows ? 8 : o.m <= 2 * few_rows ? 4 : 2;
}

/// Whether the packing of a B from memory takes a good part of the time, where L2 is small: longer pieces of fewer rows
/// lie in fewer pages.
template <class T>
bool is_packed_in_passing(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), few = 64;
  return has_small_l2(caches) && o.m <= few && o.b_col == 1 && o.k * o.n * size > caches.l3;
}

/// Whether rows of B lie so far apart, beside few rows of A, that pieces of fewer of them come sooner in a pass of
/// their own, where L2 is large and sums are long enough to be cut.
template <class T>
bool has_far_rows(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), far = 30 << 10, long_sum = 700;
  return has_large_l2(caches) && o.m <= few_rows && o.b_col == 1 && o.b_row * size >= far && o.k >= long_sum;
}

/// Whether A's rows lie in more pages than the processor keeps the places of, and come back often enough to be
/// copied to fewer.
template <class T>
bool lies_in_many_pages(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), many = 1024;
  return has_small_l2(caches) && o.a_col == 1 && o.n > columns_of_small_l2 && o.m * o.a_row * size > many * page;
}

/// Whether B's vectors lie in two lines each and sums are so short that packing B is felt: a pass of its own takes less
/// than tiles that pack on their way. Measured on a Zen 4.
template <class T>
bool has_own_pass(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t short_sum = 256;
  return is_like_zen4(caches) && o.k <= short_sum && o.b_col == 1 && !has_whole_lines(o);
}

/// Blocks of A and B packed for tiles of rows x cols.
template <class T>
tiling tiled(cache_sizes const& caches, operands<T> const& o, std::int64_t rows, std::int64_t cols) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  tiling t;
  t.rows = rows, t.cols = cols;
  t.pack_a = t.pack_b = true;
  // Long sums pass over C seldom: a page of a row of A. A block of B fills half of L2 or less and is narrow, a block of
  // A comes back from L3 for each.
  constexpr std::int64_t few_terms = 128, some_terms = 256;
  std::int64_t const most_terms = std::clamp<std::int64_t>(caches.l2 / 256, 64, page) / size;
  bool const is_far = has_far_rows(caches, o);
  t.kc = split(o.k, is_packed_in_passing(caches, o) ? few_terms : is_far ? some_terms : most_terms, 8);
  t.nc = split(o.n, caches.l2 / places_of_b(caches, o) / (size * t.kc), cols);
  // Beside more than a few rows of A Intel's processors lose by asking, and where tiles come back to rows of B that are
  // far apart.
  constexpr std::int64_t far_apart = 12 << 10;
  bool const gains = !has_large_l2(caches) || o.m <= few_rows;
  t.asks_for_b = gains;
  // Where L2 is small, or its rows lie far apart, B comes sooner by a pass of its own.
  t.tiles_pack_b =
      !has_small_l2(caches) && !is_far && !has_own_pass(caches, o) && (gains || o.b_row * size <= far_apart);
  std::int64_t const part_of_l3 = has_small_l2(caches) ? 16 : 8;
  t.mc = split(o.m, std::min<std::int64_t>(caches.l3 / part_of_l3, 4 << 20) / (size * t.kc) + rows, rows);
  return t;
}

/// Lets no more of a copy of A's columns be made at a time than stays in L2 beside B, where that is one block: tiles
/// read it once, soon after.
template <class T>
void copy_to_l2(cache_sizes const& caches, operands<T> const& o, tiling& t) {
  constexpr std::int64_t size = sizeof(T), places = 4;
  if (t.pack_a && o.a_col != 1 && t.nc >= o.n) t.mc = split(o.m, caches.l2 / places / (size * t.kc) + t.rows, t.rows);
}

/// The lowest and widest tiles.
template <class T>
tiling with_low_tiles(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling t) {
  auto const low = tiled(caches, o, kernel.rows[static_cast<std::size_t>(kernel.widest)], kernel.widest * kernel.lanes);
  t.rows = low.rows, t.cols = low.cols, t.mc = low.mc, t.nc = low.nc;
  return t;
}

/// The vectors of a tile's row beside more than a few rows of A. Where L2 is large, wider tiles than those of the most
/// rows, which load less for a multiply-add: of floats, unless C is large, and of doubles where the last tile of a row
/// would be one vector wide. Measured with AVX-512 on an Intel server, most of all while others use the core's other
/// half.
template <class T>
int width_of_tiles(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t high = 8, few = 16, widest = 4, most = 1 << 20;  // rows; vectors; elements of C
  std::int64_t const vectors = ceil_div(o.n, kernel.lanes);
  int const highest = static_cast<int>(kernel.nr / kernel.lanes);
  if (!has_large_l2(caches) || highest != 2 || kernel.rows[3] < high || vectors <= highest) return highest;
  if (sizeof(T) == 8) return vectors % 2 == 1 && vectors % 3 != 1 && vectors < few ? 3 : highest;
  if (vectors <= 2 * widest) return static_cast<int>(ceil_div(vectors, ceil_div(vectors, widest)));
  return o.m * o.n <= most ? 3 : highest;
}

/// Lets `t` do without its copy of A where it is not used for more than `columns`, too few for it to be forgotten:
/// fewer rows at a time leave each other alone, and need no copy.
template <class T>
void lower_tiles(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, std::int64_t columns,
                 tiling& t) {
  std::int64_t const enough_columns = has_small_l2(caches) ? columns_of_small_l2 : 2048;
  if (!t.pack_a || columns > enough_columns) return;
  auto const low = with_low_tiles(caches, kernel, o, t);
  if (!lies_well(caches, o, low)) return;
  t = low;
  t.pack_a = false;
}

/// The rows of A beside which, where tiles are low, a B that lies far away is not worth a copy: a few more than a
/// skinny C's where B's rows are a multiple of a page apart, which meet in few sets of L1 before the next tile comes,
/// more where its vectors lie across lines, and most where they do not. A transposed A comes sooner from a copy, and a
/// C from beyond the caches goes past them in whole lines.
template <class T>
std::int64_t rows_of_low_tiles(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  if (o.a_col != 1 || o.m * o.n * size > caches.l3 / 2) return 0;
  if (o.b_row * size % page == 0) return 16;
  return o.b_row % kernel.lanes != 0 ? 40 : 96;
}

/// Whether B, which lies far away, meets so few rows of A that a copy of it would not be used often enough: fewer where
/// tiles are low, as 16 registers allow. Intel's processors, with 2 MiB of L2, copy faster than C could leave it and
/// come back.
template <class T>
bool is_rather_skinny(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), few = 168;
  bool const c_stays = !has_large_l2(caches) || o.m * o.n * size <= caches.l2 / 2;
  return o.m <= (kernel.has_low_tiles() ? rows_of_low_tiles(caches, kernel, o) : few) && c_stays;
}

/// How far ahead to ask for rows of B that are streams; 0: not at all. The hardware follows a stream to the end of its
/// row: from memory the next rows are asked for while these are read, if L2 has room for them and the processor gains
/// by it.
template <class T>
std::int64_t ahead_of_rows(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  if (follows_rows(caches) || o.k * o.n * size <= caches.l3) return 0;
  return kernel.most_terms * o.n * size <= caches.l2 / 2 ? kernel.most_terms * o.b_row : 1024 / size;
}

/// A few whole rows of C in registers, where threads may share k: panels of some hundred KiB of B.
template <class T>
tiling whole_rows(operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), of_b = 128 << 10, least = 64;
  tiling t;
  t.rows = o.m, t.cols = o.n;
  t.mc = o.m, t.nc = o.n;
  t.kc = split(o.k, std::max(of_b / (o.n * size), least), 8);
  t.all_rows = true;
  return t;
}

/// Parts of a few rows of C in registers, where threads share the columns.
template <class T>
tiling wide_tiles(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t many_terms = 1024;
  tiling t;
  t.rows = o.m, t.cols = kernel.widest_of(o.m) * kernel.lanes;
  t.mc = o.m, t.nc = o.n;
  t.kc = split(o.k, many_terms, 8);
  t.all_rows = true;
  return t;
}

/// Whether a B from memory beside more than two rows of A comes sooner if it is copied, a part of each row at a time:
/// where L2 is small and tiles are low, stretches of many rows in as many pages push each other out.
template <class T>
bool is_copied_sooner(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), streamed_rows = 2;
  return has_small_l2(caches) && kernel.has_low_tiles() && o.m > streamed_rows && o.k * o.n * size > caches.l3;
}

/// Whether rows of a B of up to L3, beside one row of C, lie nearly together and end before the hardware has looked far
/// ahead along them: of terms from as many stretches each stretch is one stream. Measured on a Zen 4, where it gains
/// nothing beside two rows, nor where the next rows are asked for from beyond L3.
template <class T>
bool are_streams_of_b(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), longest = 8192, gap = 256;  // bytes
  return is_like_zen4(caches) && o.m == 1 && o.n * size <= longest && (o.b_row - o.n) * size <= gap &&
         o.k * o.n * size <= caches.l3;
}

/// A skinny C: B is used up as it comes, in stretches of its rows, while C stays in L2. A row is one stream from one
/// end to the other; tiles that are wide and low take whole lines of each, or of a few columns all.
template <class T>
tiling skinny(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t long_row = 14 << 10;  // bytes
  tiling t;
  t.rows = kernel.mr, t.cols = kernel.nr;
  int const wide = o.m <= kernel.rows[4] ? 4 : kernel.has_low_tiles() ? widest_beside(kernel, o.m, o.k) : 3;
  int const width = o.n <= 2 * kernel.lanes ? kernel.width_of(o.n) : wide;
  if (kernel.rows[static_cast<std::size_t>(width)] > 0)
    t.rows = kernel.rows[static_cast<std::size_t>(width)], t.cols = kernel.elements(width);
  // Rows of B that are a multiple of a page apart meet in few sets of L2. On processors with 2 MiB of it (Intel's) long
  // stretches of them push each other out; with 1 MiB (AMD's) they are faster all the same. And Intel's follow 32
  // streams by themselves, one a page, and no more of long rows that lie in pages of their own.
  bool const meet = o.b_row * size % page == 0 && has_large_l2(caches);
  bool const are_long = o.b_row * size > long_row && has_large_l2(caches);
  // Zen 5's hardware follows rows by itself: stretches may be longer, and are asked for half as far ahead.
  bool const zen5 = is_like_zen5(caches);
  std::int64_t const stretch = are_long ? 32 : meet ? 64 : zen5 ? 512 : 256;  // rows of B
  std::int64_t const ahead = are_long || zen5 ? 256 : 512;                    // bytes
  // Panels of equal length, so that threads that share k have equal shares.
  t.by_rows = streams_rows(o) && o.k >= kernel.most_terms;
  t.has_streams = t.by_rows && are_streams_of_b(caches, o);
  if (streams_rows(o))
    t.b_ahead = ahead_of_rows(caches, kernel, o);
  else if (o.k * o.n * size > caches.l2 / 2)
    t.b_ahead = ahead / size;
  // Beside streams, and rows that are asked for, more than eight terms at a time gain nothing.
  bool const are_more = !t.has_streams && t.b_ahead == 0 && o.k >= kernel.terms_of_few_rows;
  std::int64_t const terms_at_once = are_more ? kernel.terms_of_few_rows : kernel.most_terms;
  t.kc = streams_rows(o) ? std::min(o.k, terms_at_once) : split(o.k, stretch, 8);
  // Beside such short panels threads that shared k would write C's size of sums for each: shares of some panels leave
  // fewer, if they are made apart always.
  // Beside one row or two of C threads take whole rows, if there are enough for it to pay.
  constexpr std::int64_t many_rows = 250 * size;
  bool const is_wide = o.n * size >= 2 * page && o.m * o.n * size <= most_sums / 4;
  // Streams end where such a share does.
  if (t.has_streams || ((meet || are_long) && is_wide && (!streams_rows(o) || o.k >= many_rows))) {
    constexpr std::int64_t shares = 8, least = 256;
    t.panels_apart = ceil_div(std::max(ceil_div(o.k, shares), least), t.kc);
  }
  t.mc = o.m, t.nc = o.n;
  t.b_is_near = is_like_zen4(caches) && o.k * o.n * size <= caches.l3 / 4;
  return t;
}

/// Whether a B from beyond L3 has rows that are neither so short that the hardware follows them from one to the next
/// nor so long that it follows each: a tile's part of them comes line by line, and the packing of whole ones sooner.
/// Beside more rows of A than two tiles' it pays for longer ones and a nearer B, too. Measured on a Zen 4.
template <class T>
bool comes_in_pieces(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), short_row = 480, long_row = 1152, longer_row = 2048;  // bytes
  if (!is_like_zen4(caches) || o.b_col != 1) return false;
  std::int64_t const row = o.n * size, of_b = o.k * row;
  if (o.m > 2 * kernel.mr) return row <= longer_row && of_b > caches.l3 / 5;
  return o.m >= kernel.mr / 2 && row >= short_row && row <= long_row && of_b > caches.l3 / 2;
}

/// Whether a small C has so many terms, in rows of a transposed A and of B, that both pass as streams. On Zen 5 longer
/// rows that are no whole lines come faster from beyond L3 if they are copied.
template <class T>
bool are_streams(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), many = 512, line = 64, short_row = 256;
  bool const whole_lines = o.a_col * size % line == 0 && o.b_row * size % line == 0;
  bool const far = o.k * (o.m + o.n) * size > caches.l3 / 2;
  bool const copied = is_like_zen5(caches) && far && !whole_lines && o.n * size > short_row;
  return o.a_col != 1 && o.b_col == 1 && o.m > kernel.mr && o.k > many && !copied;
}

/// Whether sums are so short that tiles end often, on a processor that ends low ones sooner: they write to fewer rows
/// of C at a time, which are in each other's way where they are a multiple of a page apart. Intel's of late, if three
/// vectors leave enough rows, and those of a small L2, which a C from a cache slows down less.
template <class T>
bool has_low_tiles(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), short_sum = 128, shorter_sum = 24, high = 8;
  bool const is_far = o.m * o.n * size > caches.l3 / 2;
  return has_small_l2(caches) ? o.k <= (is_far ? short_sum : shorter_sum) && kernel.has_low_tiles()
                              : o.k <= short_sum && has_large_l2(caches) && kernel.rows[3] >= high;
}

/// Whether rows of A and of a narrow C are so short, and lie so close together, that each is one stream, which the
/// hardware follows: asked for line by line they come later, and low tiles end sooner. Measured on a Zen 4 and, with
/// one thread and 16, on an Intel server.
template <class T>
bool are_short_rows(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  if (o.a_col != 1 || o.m <= 2 * kernel.mr) return false;
  std::int64_t const of_a = o.k * size, of_both = of_a + o.n * size, apart = std::max(o.a_row, o.ldc) * size;  // bytes
  if (has_large_l2(caches))
    return size == 8 ? of_a <= 200 && of_both <= 900 && apart <= 800 : of_a <= 160 && of_both <= 576 && apart <= 512;
  return is_like_zen4(caches) && of_a <= 264 && of_both <= (size == 8 ? 576 : 464) && apart <= 512;
}

/// Low tiles for them. Of one vector's width those of a Zen 4 have no more sums than keep the arithmetic busy as they
/// are; on Intel's processors one of three vectors is there sooner than one of two and one of one.
template <class T>
void lower_for_short_rows(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling& t) {
  constexpr std::int64_t low = 8;
  std::int64_t const vectors = ceil_div(o.n, kernel.lanes);
  if (vectors > 1 || has_large_l2(caches)) t.rows = std::min(t.rows, low);
  if (vectors == 3 && has_large_l2(caches) && kernel.rows[3] >= low) t.cols = 3 * kernel.lanes;
}

/// Whether all operands lie together and in a part of L3, from which rows of short sums come in time by themselves:
/// tiles that ask for nothing go on sooner. Measured on a Zen 4, where beside longer sums, a transposed A, and larger
/// or padded operands they lose.
template <class T>
bool come_in_time(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), least = 17, most = 96;
  bool const a_is_tight = o.a_col == 1 && o.a_row == o.k;
  bool const b_is_tight = o.b_col == 1 ? o.b_row == o.n : o.b_col == o.k;
  return is_like_zen4(caches) && o.k >= least && o.k <= most && a_is_tight && b_is_tight && o.ldc == o.n &&
         o.k * o.n * size <= caches.l2 && (o.m * o.k + o.k * o.n + o.m * o.n) * size <= caches.l3 / 5;
}

/// Whether A and B stay in L2 as they are, and C nearly: then tiles find all that they need soon, and blocks, copies
/// and C's rows asked for ahead take longer than they save. Measured on a Zen 4.
template <class T>
bool stay_near(cache_sizes const& caches, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T);
  return is_like_zen4(caches) && o.b_col == 1 && (o.m + o.n) * o.k * size <= caches.l2 &&
         o.m * o.n * size <= caches.l2 / 2 * 3;
}

/// Whether what low tiles read of a B that is near does not stay in L1 until the next tile, since its vectors lie
/// across lines, or its rows meet in few sets: beside many rows of A a copy of it, which does, is there soon.
template <class T>
bool leaves_l1(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t size = sizeof(T), lines = 128, few = 96;  // bytes of a row of B; rows
  bool const is_apart = o.b_row % kernel.lanes != 0 || o.b_row * size % (page / 2) == 0;
  return kernel.has_low_tiles() && o.m >= few && is_apart && lines * o.k > caches.l1 / 3 * 2;
}

/// Whether A's rows lie nearly together, and are neither so short that a tile's pass as one nor so long that the
/// hardware looks far ahead along each: from beyond L2 they come sooner if a tile has its rows from as many stretches
/// of A, each of which is then read as one stream. Measured on a Zen 4 and, with one thread, 4 and 16, on an Intel
/// server.
template <class T>
bool come_as_streams(cache_sizes const& caches, operands<T> const& o, tiling const& t, grid const& g) {
  constexpr std::int64_t size = sizeof(T), shortest = 256, longest = 4096, gap = 256;  // bytes
  std::int64_t const near = has_large_l2(caches) ? caches.l2 : caches.l2 / 2;
  bool const is_one_block = (t.pack_b || t.b_stays) && t.nc >= o.n && t.kc >= o.k && t.dot_cols == 0;
  return (is_like_zen4(caches) || has_large_l2(caches)) && is_one_block && !t.in_place && !t.pack_a && o.a_col == 1 &&
         o.k * size >= shortest && o.k * size <= longest && (o.a_row - o.k) * size <= gap &&
         o.m * o.k * size > near * g.rows;
}

template <class T>
tiling in_place(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  tiling t;
  int const widest = widest_beside(kernel, o.m, o.k);
  t.rows = enough_rows(kernel, widest), t.cols = widest * kernel.lanes;
  t.kc = o.k, t.mc = o.m, t.nc = o.n;
  t.in_place = true;
  t.pack_b = leaves_l1(caches, kernel, o);
  t.b_stays = !t.pack_b;
  return t;
}

/// The last columns of C that are left to dot products, along A's rows. A vector of few elements loses less.
template <class T>
std::int64_t columns_of_dots(microkernel<T> const& kernel, operands<T> const& o) {
  return o.a_col == 1 ? columns_left(kernel, o.m, o.n, o.k, std::min<std::int64_t>(2, kernel.lanes / 4)) : 0;
}

/// Whether the last tile of two vectors would have more than one's columns, but half of the second empty: a tile of all
/// whole vectors and one of half a vector take less.
template <class T>
bool leaves_half(microkernel<T> const& kernel, operands<T> const& o) {
  std::int64_t const vectors = quotient(o.n, kernel.lanes);
  return kernel.ends_in_half(o.n) && (vectors == 1 || vectors == 3) && columns_of_dots(kernel, o) == 0;
}

template <class T>
tiling cut(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  tiling t;
  int const width = width_of_tiles(caches, kernel, o);
  t.rows = kernel.rows[static_cast<std::size_t>(width)], t.cols = width * kernel.lanes;
  bool const transposed_b = o.b_col != 1, near = are_near(caches, o);
  if (!transposed_b && are_whole_rows(kernel, o.m, o.n, o.k)) return whole_rows(o);
  if (!transposed_b && are_in_wide_tiles(caches, kernel, o.m, o.n, o.k)) return wide_tiles(kernel, o);
  if (stay_near(caches, o) && !copies_columns(caches, kernel, o)) return in_place(caches, kernel, o);
  bool const is_skinny = o.m <= 2 * kernel.mr, in_pieces = comes_in_pieces(caches, kernel, o);
  if (is_skinny && !transposed_b && !in_pieces && !is_copied_sooner(caches, kernel, o))
    return skinny(caches, kernel, o);
  if (o.n <= 4 * kernel.nr && (o.a_col == 1 || o.m * size <= 512) && !(is_skinny && in_pieces)) {
    if (leaves_half(kernel, o)) {
      std::int64_t const vectors = quotient(o.n, kernel.lanes);
      t.cols = vectors * kernel.lanes;
      t.rows = std::min(kernel.rows[static_cast<std::size_t>(vectors)], kernel.rows[0]);
    }
    if (are_short_rows(caches, kernel, o)) lower_for_short_rows(caches, kernel, o, t);
    // A narrow C: A is used up as it comes, along its rows or in rows that are short; a block of B fills half of L2.
    // Where threads may share k, it is a page of a row of A deep at most: of more blocks they have more equal shares.
    t.b_stays = (near || is_soon_done(caches, kernel, o)) && has_whole_lines(o);
    t.pack_b = !t.b_stays;
    t.nc = o.n;
    // What B's next block brings with it from beyond L3, while this one is used, has a place in L2 as well.
    std::int64_t const places = o.k * o.n * size > near_l3(caches) / 2 ? 4 : 2;
    std::int64_t const of_b = caches.l2 / places / (size * padded(kernel, o.n, t.cols));
    bool const is_small = o.m * o.n * size <= most_sums / 16;
    t.kc = split(o.k, is_small ? std::min(of_b, page / size) : of_b, 8);
    t.mc = o.m;
    // Of a transposed A's rows, which are short, a tile takes a part: if they are far they are copied as the stream
    // that they are.
    t.pack_a = o.a_col != 1 && o.m > kernel.mr && !near;
    // Rows of A that are a multiple of a page apart share the eight places of one set of L1.
    if (o.a_row * size % page == 0) t.rows = std::min<std::int64_t>(t.rows, 8);
    if (are_streams(caches, kernel, o)) {
      // Stretches of both stay in L2 (with a small one, and on Zen 5 in double, in L1) while their tiles pass over
      // them: the longer they are, the fewer sums have threads that share k to add. The next rows are asked for on the
      // way.
      constexpr std::int64_t rows_ahead = 32;
      bool const is_short = has_small_l2(caches) || (is_like_zen5(caches) && size == 8);
      std::int64_t const stretch = is_short ? 128 : 2048 / size;
      t.pack_a = t.pack_b = false, t.b_stays = true;
      t.kc = stretch;
      t.a_ahead = rows_ahead * o.a_col, t.b_ahead = rows_ahead * o.b_row;
    }
    copy_to_l2(caches, o, t);
    return t;
  }
  if (!transposed_b && !near && !in_pieces && is_rather_skinny(caches, kernel, o) &&
      !is_copied_sooner(caches, kernel, o))
    return skinny(caches, kernel, o);
  t = has_low_tiles(caches, kernel, o) ? tiled(caches, o, kernel.rows[3], 3 * kernel.lanes)
                                       : tiled(caches, o, t.rows, t.cols);
  t.pack_a = o.a_col == 1 ? !lies_well(caches, o, t) || lies_in_many_pages(caches, o)
                          : copies_columns(caches, kernel, o) || (!near && !columns_lie_well(caches, o, t));
  lower_tiles(caches, kernel, o, o.n, t);
  copy_to_l2(caches, o, t);
  // Operands that stay in L2 need no copies.
  if (!transposed_b && near && !leaves_l1(caches, kernel, o)) t.pack_b = false, t.b_stays = true, t.nc = o.n;
  return t;
}

}  // namespace

template <class T>
tiling packed_tiling(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  return tiled(caches, o, kernel.mr, kernel.nr);
}

template <class T>
tiling choose_tiling(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  auto t = cut(caches, kernel, o);
  constexpr std::int64_t size = sizeof(T), few = 24, short_sum = 256, short_row = 256, short_row_of_c = 88;
  bool const transposed_b = o.b_col != 1, is_beyond_l2 = o.m * o.n * size > caches.l2;
  bool const as_streams = are_short_rows(caches, kernel, o);
  // Intel's processors fetch C's rows ahead by themselves, and lose where it is asked for, unless a tile has whole
  // rows, and these are no stream; so do those of a small L2.
  bool const whole_rows = o.n <= t.cols && !(has_large_l2(caches) && o.ldc == o.n && o.n * size <= short_row_of_c);
  t.asks_for_c = is_beyond_l2 && !as_streams && ((!has_large_l2(caches) && !has_small_l2(caches)) || whole_rows);
  t.dot_cols = columns_of_dots(kernel, o);
  t.streaming = streams(caches, o, t);
  t.asks_for_next_c = t.asks_for_c && o.k <= short_sum;
  // On Intel's processors short rows of A beside many columns come in time, too.
  bool const a_comes_in_time =
      has_large_l2(caches) && o.a_col == 1 && o.n > 4 * kernel.nr && o.k * size <= 2 * short_row;
  t.asks_for_a = !as_streams && !a_comes_in_time && (!has_small_l2(caches) || t.kc * size >= short_row);
  if (come_in_time(caches, o)) t.asks_for_a = t.asks_for_c = t.asks_for_next_c = false;
  bool const is_low = has_small_l2(caches) && has_low_tiles(caches, kernel, o);
  // What others leave of L3, on a Zen 4, where a C from beyond it comes sooner to high tiles.
  bool const is_too_far = is_like_zen4(caches) && o.m * o.n * size > caches.l3 / 16 * 5;
  // Where registers are few, rows of C that meet in one set of L1 come sooner to high tiles, too.
  bool const meet = kernel.has_low_tiles() && o.ldc * size % page == 0;
  if (is_beyond_l2 && !is_too_far && !t.in_place && !t.streaming && !is_low && o.k <= few && !meet &&
      o.m > 2 * kernel.mr && o.n > 4 * kernel.nr && o.k * o.n * size <= caches.l2 / 2) {
    // C takes longer than the sums. Of wide tiles it has fewer rows at a time, each longer, and the hardware looks
    // ahead; from beyond L3 not far enough: there the C of the second tile from here is asked for.
    t.rows = kernel.rows[static_cast<std::size_t>(kernel.widest)], t.cols = kernel.widest * kernel.lanes;
    t.asks_for_c = o.m * o.n * size > caches.l3 / 4 * 3, t.c_ahead = 2 * t.cols;
    t.asks_for_next_c = false;
    t.pack_b = transposed_b, t.b_stays = !transposed_b, t.nc = o.n;
  }
  return t;
}

template <class T>
grid choose_grid(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling const& t,
                 int threads, bool reproducible, double slowness) {
  double const halves = as_double(ceil_div(2 * o.n, kernel.lanes));  // half vectors of a row of C
  double const vectors_of_tile = as_double(t.cols) / as_double(kernel.lanes);
  double const k = as_double(o.k);
  std::int64_t const most_terms = most_sums / (o.m * o.n * static_cast<std::int64_t>(sizeof(T)));
  std::int64_t const apart = reproducible ? t.kc * t.panels_apart : t.kc;
  constexpr double size = sizeof(T);
  constexpr int crowd = 8;
  // What a part reads comes mostly beside the arithmetic: as if a step brought 40 bytes. Of a B from afar it brings a
  // tenth where eight threads want some on Intel's processors, and less where they read different rows; and sums that
  // others wrote come as slowly.
  bool const comes = passes(t) || passes_by_rows(t);
  bool const is_far = has_large_l2(caches) && threads >= crowd && comes && k * o.n * size > caches.l2;
  double const of_byte = is_far ? 1 / 4.0 : 1 / 40.0, of_terms = is_far ? 0.12 : 0, of_sum = is_far ? 20 : 4;
  // Rows of a B that passes as it lies are read in as many pieces as there are threads beside each other. If they come
  // from afar, of those up to a page long one of a KiB takes as long to begin as to read; longer ones are followed by
  // the hardware.
  constexpr double begins = 1024 / sizeof(T), short_piece = page / sizeof(T);
  // Of the rows beside one row of C or two any piece takes a page's time to begin, and two shares of k are enough.
  bool const by_rows = is_far && t.by_rows;
  constexpr double begins_by_rows = page / sizeof(T);
  std::int64_t const most_shares = by_rows ? 2 : threads;
  constexpr double of_piece = 0.2, of_boundary = 150;
  grid best;
  double best_cost = (steps(o.n, o.m, halves / 2, t, {}) + of_byte * size * as_double(o.m + o.n)) * k;
  if (best_cost < 2 * waking(2, slowness)) return best;
  auto const consider = [&](grid const& g) {
    double const share = std::ceil(halves / g.cols) / 2;
    auto const shares = ceil_div(o.k, apart);
    auto const rows = ceil_div(o.m, g.rows);
    double const terms = as_double(ceil_div(shares, g.terms) * apart);
    double const piece = share * as_double(kernel.lanes);
    bool const is_short = passes(t) && !t.b_is_near && piece <= short_piece;
    double const beginning = g.cols == 1 ? 0 : by_rows ? begins_by_rows : is_short ? begins : 0;
    double const read = (as_double(rows) + piece + beginning) * terms * size;  // bytes of A and B
    auto const cut = choose_pieces(o, t, g);
    double part = steps(o.n, rows, share, t, cut);
    if (t.pack_b && is_shared_by_many(g)) {
      // The narrower a part, the fewer multiply-adds for each load of A; and the slowest thread has a share of a piece
      // left when the others are done.
      part += 0.25 * std::ceil(share / vectors_of_tile) * as_double(rows);
      part *= 1 + of_piece / (g.terms == 1 ? cut.count : as_double(ceil_div(shares, g.terms)));
    }
    double cost = part * terms + of_byte * (1 + of_terms * (g.terms - 1)) * read + waking(g.parts(), slowness);
    // Where a row of C goes from thread to thread, the hardware fetches for each what the other has just written.
    if (g.cols > 1) cost += of_boundary * as_double(rows);
    // Sums apart are written once and read once.
    double const sums = reproducible ? as_double(shares) : g.terms;
    double const adding = as_double(o.m) * halves / 2 * sums / g.parts();  // vectors
    if (g.terms > 1) cost += waking(g.parts(), slowness) + of_sum * adding;
    if (cost < best_cost) best = g, best_cost = cost;
  };
  std::int64_t const most_rows = t.all_rows ? 1 : o.m;
  std::int64_t const most_cols = t.all_rows && t.cols == o.n ? 1 : ceil_div(o.n, kernel.lanes);
  for (int rows = 1; rows <= threads && rows <= most_rows; ++rows)
    for (int cols = 1; rows * cols <= threads && cols <= most_cols; ++cols) {
      consider({rows, cols, 1});
      int const terms = static_cast<int>(
          std::min({std::int64_t{threads} / (rows * cols), ceil_div(o.k, apart), most_terms, most_shares}));
      if (terms > 1) consider({rows, cols, terms});
    }
  return best;
}

template <class T>
tiling tiling_of_parts(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, tiling t,
                       grid const& g) {
  if (come_as_streams(caches, o, t, g)) {
    // Those of the low tile of half a vector behind one whole would wait for their sums.
    std::int64_t const streams = o.n > kernel.lanes && kernel.ends_in_half(o.n) ? 8 : 6;
    t.rows = std::min(t.rows, streams), t.has_streams = true;
    t.asks_for_a = t.asks_for_c = t.asks_for_next_c = false;
    return t;
  }
  if (!has_large_l2(caches) || !is_shared_by_many(g)) return t;
  if (o.ldc == o.n && o.n <= t.cols) t.asks_for_c = false;  // which comes as a stream
  constexpr std::int64_t size = sizeof(T), places = 4, short_piece = 1280, rows_ahead = 8;
  std::int64_t const columns = ceil_div(o.n, g.cols);
  // A short piece of a row that passes ends before what is asked for along it: the next rows' are.
  if (passes(t) && t.b_ahead != 0 && columns * size <= short_piece) t.b_ahead = rows_ahead * o.b_row;
  if (!t.pack_b) return t;
  lower_tiles(caches, kernel, o, columns, t);
  // A narrow C passes over A once for each block of B.
  if (t.nc == o.n) return t;
  // Tiles that load least for a multiply-add: measured with AVX-512, where floats gain nothing.
  bool const loads_less = size == 8 && kernel.widest == 4;
  if (loads_less && !t.pack_a && t.rows == kernel.mr && t.cols == kernel.nr) t = with_low_tiles(caches, kernel, o, t);
  t.nc = std::min(t.nc, split(columns, caches.l2 / places / (size * t.kc), t.cols));
  return t;
}

template <class T>
pieces_of_part choose_pieces(operands<T> const& o, tiling const& t, grid const& g) {
  if (!is_shared_by_many(g) || g.terms > 1) return {};
  constexpr std::int64_t least = 64, tiles = 4;  // rows or columns of a piece that packs B; tiles of one that does not
  auto const pieces = [](std::int64_t count, int most) {
    return static_cast<int>(std::clamp<std::int64_t>(count, 1, most));
  };
  std::int64_t const rows = o.m / g.rows, cols = ceil_div(o.n / g.cols, least);
  if (!t.pack_b) return {pieces(rows / (tiles * t.rows), 4)};
  if (!t.pack_a && cols >= 4) return {pieces(cols, 12), true};
  return {pieces(rows / least, 8)};
}

template tiling packed_tiling(cache_sizes const&, microkernel<float> const&, operands<float> const&);
template tiling packed_tiling(cache_sizes const&, microkernel<double> const&, operands<double> const&);
template tiling choose_tiling(cache_sizes const&, microkernel<float> const&, operands<float> const&);
template tiling choose_tiling(cache_sizes const&, microkernel<double> const&, operands<double> const&);
template grid choose_grid(cache_sizes const&, microkernel<float> const&, operands<float> const&, tiling const&, int,
                          bool, double);
template grid choose_grid(cache_sizes const&, microkernel<double> const&, operands<double> const&, tiling const&, int,
                          bool, double);
template tiling tiling_of_parts(cache_sizes const&, microkernel<float> const&, operands<float> const&, tiling,
                                grid const&);
template tiling tiling_of_parts(cache_sizes const&, microkernel<double> const&, operands<double> const&, tiling,
                                grid const&);
template pieces_of_part choose_pieces(operands<float> const&, tiling const&, grid const&);
template pieces_of_part choose_pieces(operands<double> const&, tiling const&, grid const&);

}  // namespace tandem::cpu
