// Products whose operands stay near and which are over soon: a few tiles on the operands where they lie, or another way
// of one thread. Which way is asked of several estimates, that would take as long as the product; so the answer for a
// shape is kept.
#include "cpu/small.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "cpu/caches.hpp"
#include "cpu/costs.hpp"
#include "cpu/dots.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/narrow.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"
#include "cpu/threads.hpp"
#include "cpu/tiles.hpp"

#include "cpu/small_ways-inl.hpp"

#include "cpu/small_choice-inl.hpp"

namespace tandem::cpu {

template <class T>
void multiply_deep(microkernel<T> const& kernel, problem const& p) {
  auto w = tile_in_place<T>(p);
  multiply_deep(kernel, w, p.m, p.n);
}

template <class T>
void multiply_small(microkernel<T> const& kernel, problem const& p, execution const& e) {
  bool const packs = !has_rows_of_b(p);
  auto w = tile_in_place<T>(p);
  if (packs) w.b_row = p.ldb;
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (!is_of_tile_work(known)) return multiply_several(kernel, known, p, threads_of_small(kernel, p, e));
  multiply_at_once(kernel, known, w, p.m, p.n);
}

namespace {

/// The ways of the shapes that came last, a word each: threads may read and write them at once.
class ways_met {
 public:
  template <class Find>
  way of(std::uint64_t shape, Find const& find) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    auto& word = words_[shape * spread >> (64 - bits)];
    auto const met = word.load(std::memory_order_relaxed);
    if (met >> of_way == shape) [[likely]]
      return static_cast<way>(met & ((1 << of_way) - 1));
    way const found = find();
    word.store(shape << of_way | static_cast<std::uint64_t>(found), std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr int bits = 8, of_way = 5;
  static_assert(static_cast<int>(way::tiles_and_columns) < 1 << of_way);  // the last
  std::array<std::atomic<std::uint64_t>, 1 << bits> words_ = {};
};

/// One kernel's small products.
template <class T>
struct small_products {
  explicit small_products(microkernel<T> const& k) : kernel(k) {}
  microkernel<T> const& kernel;
  mutable ways_met ways;
};

/// All that a way depends on, in a word that is not 0. Of the elements between rows of B it is how they lie to pages.
template <class T>
[[gnu::always_inline]] inline std::uint64_t shape_of(std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a,
                                                     bool trans_b, std::int64_t lda, std::int64_t ldb) {
  constexpr std::uint64_t page = 4096 / sizeof(T);
  auto const u = [](auto x) { return static_cast<std::uint64_t>(x); };
  return u(m) << 43 | u(n) << 27 | u(k) << 14 | u(trans_a) << 13 | u(trans_b) << 12 | u(lda == 1) << 11 |
         u(ldb == 1) << 10 | (u(ldb) & (page - 1));
}

template <class T>
problem problem_of(matrix_view<T const> const& a, matrix_view<T const> const& b, matrix_view<T> const& c, T alpha,
                   T beta) {
  return {.dtype = dtype_of<T>,
          .m = c.rows(),
          .n = c.cols(),
          .k = a.cols(),
          .alpha = static_cast<double>(alpha),
          .a = a.data(),
          .lda = a.ld(),
          .trans_a = a.layout() == layout::col_major,
          .b = b.data(),
          .ldb = b.ld(),
          .trans_b = b.layout() == layout::col_major,
          .beta = static_cast<double>(beta),
          .c = c.data(),
          .ldc = c.ld()};
}

/// What a shape that comes again does not need.
template <class T>
[[gnu::noinline]] way find_way(microkernel<T> const& kernel, matrix_view<T const> const& a,
                               matrix_view<T const> const& b, matrix_view<T> const& c, bool packs) {
  auto const p = problem_of<T>(a, b, c, 1, 0);
  return is_small(kernel, p) ? way_of(kernel, p, packs) : way::open;
}

template <class T>
[[gnu::noinline]] void multiply_one_of_several(microkernel<T> const& kernel, way known, matrix_view<T const> const& a,
                                               matrix_view<T const> const& b, matrix_view<T> const& c, T alpha,
                                               T beta) {
  multiply_several(kernel, known, problem_of<T>(a, b, c, alpha, beta), 1);
}

template <class T>
bool multiply_tiny(void const* state, matrix_view<T const> const& a, matrix_view<T const> const& b,
                   matrix_view<T> const& c, T alpha, T beta) {
  auto const& products = *static_cast<small_products<T> const*>(state);
  auto const& kernel = products.kernel;
  std::int64_t const m = c.rows(), n = c.cols(), k = a.cols();
  bool const trans_a = a.layout() == layout::col_major, trans_b = b.layout() == layout::col_major;
  if (is_row_turned(m, n, c.ld(), trans_a, a.ld())) {  // the transposed product, whose C is a row
    matrix_view<T> const row(c.data(), 1, m, m);
    matrix_view<T const> const rows_of_a(a.data(), k, m, trans_a ? a.ld() : m);
    return multiply_tiny(state, b.transposed(), rows_of_a, row, alpha, beta);
  }
  if ((m | n) >> bits_of_edge != 0 || k >> bits_of_terms != 0) return false;
  bool const packs = trans_b && !has_rows_of_transposed_b(n, k, b.ld());
  std::int64_t const b_row = packs || !trans_b ? b.ld() : 1;
  auto const known = products.ways.of(shape_of<T>(m, n, k, trans_a, trans_b, a.ld(), b.ld()),
                                      [&] { return find_way(kernel, a, b, c, packs); });
  if (known == way::open) return false;
  if (!is_of_tile_work(known)) {
    multiply_one_of_several(kernel, known, a, b, c, alpha, beta);
    return true;
  }
  tile_work<T> w;
  w.k = k;
  w.a = a.data(), w.a_row = trans_a ? 1 : a.ld(), w.a_col = trans_a ? a.ld() : 1;
  w.b = b.data(), w.b_row = b_row;
  w.alpha = alpha, w.beta = beta;
  w.c = c.data(), w.ldc = c.ld();
  multiply_at_once(kernel, known, w, m, n);
  return true;
}

}  // namespace

template <class T>
tiny_gemm<T> tiny_of(microkernel<T> const& kernel) {
  return {multiply_tiny<T>, std::make_shared<small_products<T> const>(kernel)};
}

namespace {

/// A way that takes a tile's work.
template <class T, way known>
struct prepared_at_once {
  microkernel<T> const& kernel;
  tile_work<T> work;
  std::int64_t m, n;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_at_once const*>(state);
    auto w = s.work;
    w.a = static_cast<T const*>(a), w.b = static_cast<T const*>(b), w.c = static_cast<T*>(c);
    multiply_at_once(s.kernel, known, w, s.m, s.n);
  }
};

template <class T>
struct prepared_several {
  microkernel<T> const& kernel;
  way known;
  problem p;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_several const*>(state);
    auto p = s.p;
    p.a = a, p.b = b, p.c = c;
    multiply_several(s.kernel, s.known, p, 1);
  }
};

/// A column computed as a row, where A and B have changed places.
template <class Row>
struct prepared_column {
  Row row;

  static void call(void const* state, void const* a, void const* b, void* c) {
    Row::call(&static_cast<prepared_column const*>(state)->row, b, a, c);
  }
};

template <class Prepared>
prepared_gemm prepare(Prepared const& prepared, bool as_column) {
  if (as_column)
    return {prepared_column<Prepared>::call,
            std::make_shared<prepared_column<Prepared> const>(prepared_column<Prepared>{prepared})};
  return {Prepared::call, std::make_shared<Prepared const>(prepared)};
}

/// By a function that goes this way alone.
template <class T, way first, way... others>
prepared_gemm prepare_at_once(microkernel<T> const& kernel, way known, tile_work<T> const& w, problem const& p,
                              bool as_column) {
  if constexpr (sizeof...(others) > 0)
    if (known != first) return prepare_at_once<T, others...>(kernel, known, w, p, as_column);
  return prepare(prepared_at_once<T, first>{kernel, w, p.m, p.n}, as_column);
}

}  // namespace

template <class T>
prepared_gemm prepare_small(microkernel<T> const& kernel, problem const& given) {
  bool const is_column = is_row_turned(given);
  auto const p = is_column ? as_row(given) : given;
  if (!is_small(kernel, p)) return {};
  auto w = tile_in_place<T>(p);
  bool const packs = !has_rows_of_b(p);
  if (packs) w.b_row = p.ldb;
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (is_of_tile_work(known))
    return prepare_at_once<T, way::one_tile, way::tiles, way::packed_tiles, way::turned_tile,
                           way::turning_tiles_of_columns, way::turning_tiles_of_rows, way::turned_sums_of_columns,
                           way::turned_sums_of_rows, way::few_terms_near, way::column, way::dots_near, way::deep_tiles,
                           way::wide_tile, way::wide_tiles>(kernel, known, w, p, is_column);
  return prepare(prepared_several<T>{kernel, known, p}, is_column);
}

template bool is_small(microkernel<float> const&, problem const&);
template bool is_small(microkernel<double> const&, problem const&);
template bool is_deep(microkernel<float> const&, std::int64_t, std::int64_t, std::int64_t);
template bool is_deep(microkernel<double> const&, std::int64_t, std::int64_t, std::int64_t);
template void multiply_deep(microkernel<float> const&, problem const&);
template void multiply_deep(microkernel<double> const&, problem const&);
template void multiply_small(microkernel<float> const&, problem const&, execution const&);
template void multiply_small(microkernel<double> const&, problem const&, execution const&);
template tiny_gemm<float> tiny_of(microkernel<float> const&);
template tiny_gemm<double> tiny_of(microkernel<double> const&);
template prepared_gemm prepare_small(microkernel<float> const&, problem const&);
template prepared_gemm prepare_small(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
