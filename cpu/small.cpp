// Products whose operands stay near and which are over soon: a few tiles on the operands where they lie, or another
// way. Which way is asked of several estimates, which would take as long as the product: for calls that come
// again it is prepared.
#include "cpu/small.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

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
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (may_take_threads(kernel, known, p)) return multiply_by_threads(kernel, known, p, packs, e);
  auto w = tile_in_place<T>(p);
  if (packs) w.b_row = p.ldb;
  multiply_at_once(kernel, known, w, p.m, p.n);
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

/// One tile.
template <class T>
struct prepared_tile {
  tile_function<T> tile;
  tile_work<T> work;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_tile const*>(state);
    auto w = s.work;
    w.a = static_cast<T const*>(a), w.b = static_cast<T const*>(b), w.c = static_cast<T*>(c);
    s.tile(w);
  }
};

/// A way that takes a problem, or that threads may take parts of.
template <class T>
struct prepared_by_threads {
  microkernel<T> const& kernel;
  way known;
  problem p;
  bool packs;

  static void call(void const* state, void const* a, void const* b, void* c) {
    auto const& s = *static_cast<prepared_by_threads const*>(state);
    auto p = s.p;
    p.a = a, p.b = b, p.c = c;
    try {
      multiply_by_threads(s.kernel, s.known, p, s.packs, {});
    } catch (std::bad_alloc const&) {
      throw_no_memory(p);
    }
  }

 private:
  // Where there is no memory for what the error says either, it says nothing.
  [[noreturn]] static void throw_no_memory(problem const& p) {
    try {
      throw error(errc::out_of_memory, fmt::format("a small product: no memory for {} x {} x {}", p.m, p.n, p.k));
    } catch (std::bad_alloc const&) {
      throw error(errc::out_of_memory, "");
    }
  }
};

/// C's transpose, for which A and B have changed places.
template <class Prepared>
struct prepared_turned {
  Prepared turned;

  static void call(void const* state, void const* a, void const* b, void* c) {
    Prepared::call(&static_cast<prepared_turned const*>(state)->turned, b, a, c);
  }
};

template <class Prepared>
prepared_gemm prepare(Prepared const& prepared, bool turned) {
  if (turned)
    return {prepared_turned<Prepared>::call,
            std::make_shared<prepared_turned<Prepared> const>(prepared_turned<Prepared>{prepared})};
  return {Prepared::call, std::make_shared<Prepared const>(prepared)};
}

/// By a function that goes this way alone.
template <class T, way first, way... others>
prepared_gemm prepare_at_once(microkernel<T> const& kernel, way known, tile_work<T> const& w, problem const& p,
                              bool turned) {
  if constexpr (sizeof...(others) > 0)
    if (known != first) return prepare_at_once<T, others...>(kernel, known, w, p, turned);
  return prepare(prepared_at_once<T, first>{kernel, w, p.m, p.n}, turned);
}

template <class T>
prepared_gemm prepare_tile_work(microkernel<T> const& kernel, way known, problem const& p, bool packs, bool turned) {
  auto w = tile_in_place<T>(p);
  if (packs) w.b_row = p.ldb;
  if (known == way::one_tile) {
    w.cols = p.n;
    return prepare(prepared_tile<T>{kernel.tile(source::in_place, kernel.width_of(p.n), p.m), w}, turned);
  }
  return prepare_at_once<T, way::tiles, way::packed_tiles, way::turned_tile, way::turning_tiles_of_columns,
                         way::turning_tiles_of_rows, way::turned_sums_of_columns, way::turned_sums_of_rows,
                         way::few_terms_near, way::column, way::dots_near, way::deep_tiles, way::wide_tile,
                         way::wide_tiles>(kernel, known, w, p, turned);
}

}  // namespace

template <class T>
prepared_gemm prepare_small(microkernel<T> const& kernel, problem const& given) {
  bool const turned = is_turned(given);
  auto const p = turned ? as_turned(given) : given;
  if (!is_small(kernel, p)) return {};
  bool const packs = !has_rows_of_b(p);
  auto known = way_of(kernel, p, packs);
  if (known == way::open) known = way_of_several(kernel, operands<T>(p));
  if (may_take_threads(kernel, known, p)) return prepare(prepared_by_threads<T>{kernel, known, p, packs}, turned);
  return prepare_tile_work(kernel, known, p, packs, turned);
}

template bool is_small(microkernel<float> const&, problem const&);
template bool is_small(microkernel<double> const&, problem const&);
template bool is_deep(microkernel<float> const&, std::int64_t, std::int64_t, std::int64_t);
template bool is_deep(microkernel<double> const&, std::int64_t, std::int64_t, std::int64_t);
template void multiply_deep(microkernel<float> const&, problem const&);
template void multiply_deep(microkernel<double> const&, problem const&);
template void multiply_small(microkernel<float> const&, problem const&, execution const&);
template void multiply_small(microkernel<double> const&, problem const&, execution const&);
template prepared_gemm prepare_small(microkernel<float> const&, problem const&);
template prepared_gemm prepare_small(microkernel<double> const&, problem const&);

}  // namespace tandem::cpu
