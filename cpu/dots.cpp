// The outer product wants rows of B; where B is transposed it has to be turned first, and where C is a few columns most
// lanes of a vector are idle. Here a vector runs along k instead, and its lanes are added up at the end. Bound by the
// bytes of the large operand, which is read once, front to back.
//
// k is cut into stretches, so that the small operand's stay in L2; a term is rounded at most once for every vector of
// its stretch, in the sum over the lanes, and once a stretch: fewer than k + 2 times.
#include "cpu/dots.hpp"

#include <algorithm>
#include <utility>

#include "cpu/narrow.hpp"
#include "cpu/panels.hpp"
#include "cpu/threads.hpp"
#include "cpu/workspace.hpp"

namespace tandem::cpu {
namespace {

// Beyond so many rows of the small operand, packing the large one costs less than reading it that often.
constexpr std::int64_t most_rows = 24;

constexpr std::int64_t small_bytes = 128 << 10;  // of the small operand that stay while the large one passes

// Tiles would have B turned first, which takes about a step an element; less beside few of them.
template <class T>
bool few_rows(microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t many = 4, beside_few = 8;
  auto const vectors = [&](std::int64_t edge) { return (edge + kernel.lanes - 1) / kernel.lanes; };
  // Of a transposed A in little work, C's transpose by tiles along A's rows, if these fill their vectors well enough.
  if (o.a_row == 1 && o.m >= kernel.lanes && o.m * o.n * o.k <= little_work &&
      vectors(o.m) * o.k <= o.m * (vectors(o.k) + steps_of_sum))
    return false;
  std::int64_t const worth = o.n >= many * o.m ? steps_of_sum : beside_few;
  return o.m <= most_rows && o.b_row == 1 && (o.n > o.m || o.a_col == 1) && o.m * worth <= o.k;
}

/// The large operand's rows and the small one's, both along k, and where the elements of C lie.
template <class T>
struct roles {
  std::int64_t rows, few;
  T const* large;
  std::int64_t large_row;
  T const* small;
  std::int64_t small_row, small_term;
  std::int64_t c_row, c_few;
};

template <class T>
roles<T> cast(operands<T> const& o) {
  bool const b_is_large = o.b_row == 1 && (o.a_col != 1 || o.n > o.m);
  if (b_is_large) return {o.n, o.m, o.b, o.b_col, o.a, o.a_row, o.a_col, 1, o.ldc};
  return {o.m, o.n, o.a, o.a_row, o.b, o.b_col, o.b_row, o.ldc, 1};
}

/// How many threads the bytes deserve: a core reads some 20 bytes a nanosecond.
template <class T>
int choose_threads(operands<T> const& o, roles<T> const& r, int threads) {
  double const bytes = static_cast<double>(r.rows) * static_cast<double>(o.k) * sizeof(T);
  double const microseconds = std::max(bytes, bytes * static_cast<double>(r.few) / 4) / 2e4;
  return deserved_threads(microseconds, microseconds, threads);
}

/// The small operand along k, from a copy if it does not lie so.
template <class T>
void lay_along_k(microkernel<T> const& kernel, operands<T> const& o, roles<T>& r, T* copy, std::int64_t apart) {
  kernel.turn(r.small, r.small_term, o.k, r.few, copy, apart);
  r.small = copy, r.small_row = apart;
}

}  // namespace

bool is_read_again(void const* large) {
  thread_local void const* last = nullptr;
  return std::exchange(last, large) == large;
}

template <class T>
bool suits_dots(microkernel<T> const& kernel, operands<T> const& o) {
  return (o.a_col == 1 && are_few_columns(kernel, o.m, o.n, o.k, o.b_row == 1)) || few_rows(kernel, o);
}

template <class T>
std::int64_t dots_stretch(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o) {
  constexpr std::int64_t step = 64, size = sizeof(T);  // whole vectors
  auto const r = cast(o);
  auto const read = (kernel.dot_rows + r.few) * o.k * size, of_l1 = caches.l1 / 8 * 7;
  if (read <= of_l1) return o.k;
  auto const narrowest = quotient(r.few, ceil_div(r.few, kernel.dot_cols));  // of all tiles
  bool const in_l1 = narrowest > 1 && 2 * narrowest <= kernel.dot_cols && r.rows >= 4 * kernel.dot_rows &&
                     r.rows * o.k * size <= caches.l3 / 4;
  auto const most = in_l1 ? of_l1 / (size * (kernel.dot_rows + r.few)) : small_bytes / (r.few * size);
  auto const stretches = ceil_div(o.k, std::max(most / step * step, step));
  return std::min(o.k, ceil_div(ceil_div(o.k, stretches), step) * step);
}

template <class T>
std::int64_t dots_ahead(cache_sizes const& caches, microkernel<T> const& kernel, operands<T> const& o, bool again) {
  constexpr std::int64_t size = sizeof(T), along = 512 / size, far = (32 << 10) / size, page = 4096, few = 2, gap = 256;
  auto const r = cast(o);
  bool const are_streams = o.k * size <= page && r.few <= few && (r.large_row - o.k) * size <= gap;
  if (are_streams) return 0;
  std::int64_t const near = again ? caches.l3 / 2 : caches.l3 / 4;  // what others may leave of L3
  if (follows_rows(caches) || r.rows * o.k * size <= near) return 0;
  std::int64_t const of_tile = r.few == 1 ? kernel.dot_rows_of_column : kernel.dot_rows;
  std::int64_t const rows = std::max(of_tile, far / o.k);  // of short ones some tiles' rows
  return rows * dots_stretch(caches, kernel, o) * size <= caches.l2 / 2 ? rows * r.large_row : along;
}

template <class T>
void multiply_dots(microkernel<T> const& kernel, operands<T> const& o, int threads) {
  constexpr std::int64_t rows_of_tiles = 4;  // so many tiles of a piece have all their rows
  auto r = cast(o);
  auto const stretch = dots_stretch(host_caches(), kernel, o);
  bool const again = is_read_again(r.large);
  auto const ahead = dots_ahead(host_caches(), kernel, o, again);
  auto const parts = static_cast<int>(std::min<std::int64_t>(choose_threads(o, r, threads), r.rows));
  // Many threads with many rows each have whole lines of C.
  constexpr std::int64_t line = 64 / sizeof(T), many_lines = 4;
  bool const by_lines = r.c_row == 1 && parts >= many_threads && r.rows >= many_lines * line * parts;
  std::int64_t const unit = by_lines ? line : 1, units = ceil_div(r.rows, unit);
  bool const is_few = few_dots(kernel, r.rows, r.few) != nullptr;
  std::int64_t const bytes = r.rows * o.k * static_cast<std::int64_t>(sizeof(T));
  std::int64_t const pieces = std::min(bytes / bytes_of_piece, r.rows / (rows_of_tiles * kernel.dot_rows)) / parts;
  // Threads that have a piece each also have a copy each, unless it is large: one that another wrote comes later than
  // it is made.
  std::int64_t const apart = ceil_div(o.k, kernel.lanes) * kernel.lanes, copied = r.few * apart;
  bool const is_alone = parts < many_threads || pieces <= 1;
  bool const turns = r.small_term != 1;
  bool const turn_apart = turns && is_alone && copied * static_cast<std::int64_t>(sizeof(T)) <= small_bytes;
  T* copy = nullptr;
  if (turns) {
    auto const elements = static_cast<std::size_t>(turn_apart ? parts * copied : copied);
    copy = static_cast<T*>(thread_workspace().reserve(elements * sizeof(T)));
  }
  if (turns && !turn_apart) lay_along_k(kernel, o, r, copy, apart);
  share_units(parts, units, pieces, [&](int thread, std::int64_t first_unit, std::int64_t last_unit) {
    auto const first = first_unit * unit, last = std::min(last_unit * unit, r.rows);
    auto mine = r;
    if (turn_apart) lay_along_k(kernel, o, mine, copy + thread * copied, apart);
    dot_work<T> w;
    w.a_row = r.large_row, w.a_ahead = ahead, w.b_col = mine.small_row;
    w.alpha = o.alpha;
    w.c = o.c + first * r.c_row, w.c_row = r.c_row, w.c_col = r.c_few;
    for (std::int64_t p = 0; p < o.k; p += stretch) {
      w.k = std::min(stretch, o.k - p);
      w.a = r.large + first * r.large_row + p, w.b = mine.small + p;
      w.beta = p == 0 ? o.beta : T(1);
      if (is_few) {
        few_dots(kernel, last - first, r.few)(w);
        continue;
      }
      w.stays = again && stays_in_part(host_caches(), (last - first) * w.k * static_cast<std::int64_t>(sizeof(T)));
      kernel.dots(w, last - first, r.few);
    }
  });
}

template std::int64_t dots_stretch(cache_sizes const&, microkernel<float> const&, operands<float> const&);
template std::int64_t dots_stretch(cache_sizes const&, microkernel<double> const&, operands<double> const&);
template std::int64_t dots_ahead(cache_sizes const&, microkernel<float> const&, operands<float> const&, bool);
template std::int64_t dots_ahead(cache_sizes const&, microkernel<double> const&, operands<double> const&, bool);
template bool suits_dots(microkernel<float> const&, operands<float> const&);
template bool suits_dots(microkernel<double> const&, operands<double> const&);
template void multiply_dots(microkernel<float> const&, operands<float> const&, int);
template void multiply_dots(microkernel<double> const&, operands<double> const&, int);

}  // namespace tandem::cpu
