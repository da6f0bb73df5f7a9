// The parallel outer-product GEMM: a grid of threads over C and, where C is small and k long, over k.
#include "cpu/gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "cpu/caches.hpp"
#include "cpu/dots.hpp"
#include "cpu/few_terms.hpp"
#include "cpu/narrow.hpp"
#include "cpu/operands.hpp"
#include "cpu/panels.hpp"
#include "cpu/schedule.hpp"
#include "cpu/small.hpp"
#include "cpu/threads.hpp"
#include "cpu/workspace.hpp"

namespace tandem::cpu {
namespace {

/// What the threads of one product share.
template <class T>
class product {
 public:
  product(microkernel<T> const& kernel, operands<T> const& o, tiling const& t, grid const& g, bool reproducible)
      : kernel_(kernel), o_(o), t_(t), grid_(g), cut_(choose_pieces(o, t, g)) {
    std::int64_t const panels = ceil_div(o.k, t.kc);
    apart_ = (reproducible ? t.panels_apart : ceil_div(panels, grid_.terms)) * t.kc;
  }

  void operator()() {
    plan_sums();
    reserve();  // everything that can fail happens before C is touched
    if (grid_.terms == 1)
      return run_team(grid_.parts(), cut_.count, counters_,
                      [this](int thread, int part, int piece) { multiply(thread, part, piece); });
    for (first_ = 0; first_ < shares_; first_ += shares_at_once_) {
      auto const pieces = static_cast<int>(ceil_div(shares_now(), grid_.terms));
      run_team(grid_.parts(), pieces, counters_,
               [this](int thread, int part, int piece) { sum_apart(thread, part, piece); });
      run_team(grid_.parts(), [this](int part) { add_up(part); });
    }
  }

 private:
  span_of rows_of(int part) const { return share(o_.m, part / grid_.terms / grid_.cols, grid_.rows, 1); }
  span_of cols_of(int part) const { return share(o_.n, part / grid_.terms % grid_.cols, grid_.cols, kernel_.lanes); }
  T* packed_a(int thread) const { return packed_ + thread * (a_size_ + b_size_); }
  T* packed_b(int thread) const { return packed_a(thread) + a_size_; }
  std::int64_t shares_now() const { return std::min(shares_at_once_, shares_ - first_); }

  void reserve() {
    a_size_ = packed_a_size<T>(t_), b_size_ = packed_b_size(kernel_, t_);
    std::int64_t const packed = grid_.parts() * (a_size_ + b_size_);
    auto const parts = static_cast<std::size_t>(grid_.parts());
    auto const bytes = static_cast<std::size_t>(packed + sums_size_ * shares_at_once_) * sizeof(T);
    std::size_t const counters = (bytes + alignof(piece_counter) - 1) & -alignof(piece_counter);
    auto* const memory = static_cast<std::byte*>(thread_workspace().reserve(counters + parts * sizeof(piece_counter)));
    packed_ = reinterpret_cast<T*>(memory);
    sums_ = packed_ + packed;
    counters_ = reinterpret_cast<piece_counter*>(memory + counters);
    std::uninitialized_default_construct_n(counters_, parts);
  }

  void multiply(int thread, int part, int piece) const {
    auto rows = rows_of(part), cols = cols_of(part);
    if (cut_.of_columns)
      cols = cols.part(share(cols.size(), piece, cut_.count, t_.cols));
    else
      rows = rows.part(falling_share(rows.size(), piece, cut_.count, t_.rows));
    if (cols.size() == 0) return;
    if (sums_size_ == 0)
      return multiply_panels(kernel_, o_, t_, rows, cols, {0, o_.k}, packed_a(thread), packed_b(thread));
    for (std::int64_t i = 0; i < shares_; ++i) {
      sum_apart(sums_, i, rows, cols, thread);
      for (auto r = rows.first; r < rows.last; ++r) add(sums_, i, r, cols);
    }
  }

  // The sums of each share of k lie apart until all are there, and are then added to C in the order of the shares.
  // One thread does the same with one share at a time, or, where a share is one panel, what has the same bits.
  void plan_sums() {
    shares_ = ceil_div(o_.k, apart_);
    bool const is_shared = grid_.terms > 1;
    if (!is_shared && (apart_ == t_.kc || shares_ == 1)) return;
    sums_size_ = o_.m * o_.n;
    shares_at_once_ = 1;
    if (!is_shared) return;
    std::int64_t const kept = most_sums / (sums_size_ * static_cast<std::int64_t>(sizeof(T)));
    shares_at_once_ = std::min(std::max<std::int64_t>(kept, grid_.terms), shares_);
  }

  void sum_apart(int thread, int part, int piece) const {
    auto const shares = share(shares_now(), part % grid_.terms, grid_.terms, 1);
    auto const i = shares.first + piece;
    if (i < shares.last)  // some have one less
      sum_apart(sums_ + i * sums_size_, first_ + i, rows_of(part), cols_of(part), thread);
  }

  void sum_apart(T* sums, std::int64_t index, span_of rows, span_of cols, int thread) const {
    auto o = o_;
    o.alpha = 1, o.beta = 0;
    o.c = sums, o.ldc = o.n;
    auto const p0 = index * apart_;
    multiply_panels(kernel_, o, t_, rows, cols, {p0, std::min(p0 + apart_, o.k)}, packed_a(thread), packed_b(thread));
  }

  void add_up(int part) const {
    auto const rows = share(o_.m, part, grid_.parts(), 1);
    auto const now = shares_now();
    for (auto r = rows.first; r < rows.last; ++r)
      for (std::int64_t i = 0; i < now; ++i) add(sums_ + i * sums_size_, first_ + i, r, {0, o_.n});
  }

  // A row of such sums to C's.
  void add(T const* sums, std::int64_t index, std::int64_t row, span_of cols) const {
    kernel_.combine(cols.size(), o_.alpha, sums + row * o_.n + cols.first, index == 0 ? o_.beta : T(1),
                    o_.c + row * o_.ldc + cols.first);
  }

  microkernel<T> const& kernel_;
  operands<T> o_;
  tiling t_;
  grid grid_;
  pieces_of_part cut_;
  std::int64_t a_size_ = 0, b_size_ = 0;
  std::int64_t apart_ = 0;  // terms of a share
  std::int64_t shares_ = 0, shares_at_once_ = 0, sums_size_ = 0;
  std::int64_t first_ = 0;  // of the shares summed apart at present
  T* packed_ = nullptr;
  T* sums_ = nullptr;  // (shares at once, m, n)
  piece_counter* counters_ = nullptr;
};

template <class T>
tiling tiling_of(microkernel<T> const& kernel, path way, operands<T> const& o) {
  auto t = choose_tiling(host_caches(), kernel, o);
  if (way == path::packed) {
    t = packed_tiling(host_caches(), kernel, o);
  } else if (way == path::in_place) {
    t.pack_a = t.pack_b = false;
    t.mc = o.m, t.nc = o.n;
  }
  return t;
}

template <class T>
void multiply_in_tiles(microkernel<T> const& kernel, path way, operands<T> const& o, execution const& e) {
  int const threads = offered_threads(e);
  bool const is_open = way == path::chosen;
  auto const t = tiling_of(kernel, way, o);
  if (t.all_rows && t.cols == o.n && o.k <= t.kc)
    return multiply_panels<T>(kernel, o, t, {0, o.m}, {0, o.n}, {0, o.k}, nullptr, nullptr);
  // Where the order of terms follows the grid, it does not also follow what the team is at.
  bool const may_follow = threads > 1 && e.reproducible;
  double const slowness = may_follow ? slowness_of_team() : std::numeric_limits<double>::infinity();
  auto const g = choose_grid(host_caches(), kernel, o, t, threads, e.reproducible, slowness);
  product<T>(kernel, o, is_open ? tiling_of_parts(host_caches(), kernel, o, t, g) : t, g, e.reproducible)();
}

/// C's transpose in tiles, and C from it.
template <class T>
void multiply_turned(microkernel<T> const& kernel, operands<T> const& o, execution const& e) {
  alignas(64) T sums[most_turned<T>];  // (n, ldc)
  auto transposed = turned(o);
  transposed.c = sums, transposed.ldc = ceil_div(o.m, kernel.lanes) * kernel.lanes;
  multiply_in_tiles(kernel, path::chosen, transposed, e);
  kernel.write_turned(o.m, o.n, o.alpha, sums, transposed.ldc, o.beta, o.c, o.ldc);
}

template <class T>
void multiply_large(microkernel<T> const& kernel, path way, problem const& p, execution const& e) {
  operands<T> const o(p);
  int const threads = offered_threads(e);
  bool const is_open = way == path::chosen;
  if (is_open && suits_few_terms(kernel, o)) return multiply_few_terms(kernel, o, threads);
  if (way == path::dots || (is_open && suits_dots(kernel, o))) return multiply_dots(kernel, o, threads);
  if (is_open && suits_turning(host_caches(), kernel, o)) return multiply_turned(kernel, o, e);
  if (is_open && suits_narrow(kernel, o)) return multiply_narrow(kernel, o, threads);
  if (is_open && o.b_col == 1 && is_deep(kernel, o.m, o.n, o.k)) return multiply_deep(kernel, p);
  multiply_in_tiles(kernel, way, o, e);
}

}  // namespace

std::string refusal(path way, problem const& p) {
  if (way == path::in_place && p.trans_b) return "B is transposed: its rows do not lie together";
  if (way == path::dots && p.trans_a && !p.trans_b) return "neither A's rows nor B's columns lie together";
  return {};
}

template <class T>
void gemm(microkernel<T> const& kernel, path way, problem const& p, execution const& e) {
  if (way == path::chosen && is_turned(p)) return gemm(kernel, way, as_turned(p), e);
  if (way == path::chosen && is_small(kernel, p)) return multiply_small(kernel, p, e);
  multiply_large(kernel, way, p, e);
}

template <class T>
plan plan_of(microkernel<T> const& kernel, path way, problem const& p) {
  if (way == path::chosen && is_turned(p)) {
    auto turned = plan_of(kernel, way, as_turned(p));
    for (auto& level : turned.levels) std::swap(level.m, level.n);
    return turned;
  }
  if (way == path::dots)
    return {
        {{.name = "stretch", .m = 0, .n = 0, .k = dots_stretch(host_caches(), kernel, operands<T>(p)), .memory = "L2"},
         {.name = "register",
          .m = kernel.dot_rows,
          .n = kernel.dot_cols,
          .k = kernel.lanes,
          .memory = "registers",
          .keeps_c = true}}};
  operands<T> const o(p);
  auto t = tiling_of(kernel, way, o);
  if (way == path::chosen) t = tiling_of_parts(host_caches(), kernel, o, t, {});
  plan whole = {{{.name = "pc", .m = 0, .n = 0, .k = t.kc, .memory = "memory"},
                 {.name = "ic", .m = t.mc, .n = 0, .k = t.kc, .memory = "L3"},
                 {.name = "jc", .m = t.mc, .n = t.nc, .k = t.kc, .memory = "L2"},
                 {.name = "ir", .m = t.rows, .n = t.nc, .k = t.kc, .memory = "L1"},
                 {.name = "register", .m = t.rows, .n = t.cols, .k = 1, .memory = "registers", .keeps_c = true}}};
  if (t.panels_apart > 1)
    whole.levels.insert(whole.levels.begin(),
                        {.name = "share", .m = 0, .n = 0, .k = t.panels_apart * t.kc, .memory = "memory"});
  return whole;
}

template void gemm(microkernel<float> const&, path, problem const&, execution const&);
template void gemm(microkernel<double> const&, path, problem const&, execution const&);
template plan plan_of(microkernel<float> const&, path, problem const&);
template plan plan_of(microkernel<double> const&, path, problem const&);

}  // namespace tandem::cpu
