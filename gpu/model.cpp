// The estimate of a call's time. On the path of every launch: no strings, no allocation.
#include "gpu/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tandem::gpu {
namespace {

constexpr parameter all_parameters[] = {
    {"rate", &row_model::rate, 0.001, 2.4},
    {"alone", &row_model::alone, 0.05, 1},
    {"blocks", &row_model::blocks, 1, 16},
    {"tail", &row_model::tail, 0, 1},
    {"call", &row_model::call, 0.5, 30},
    {"second", &row_model::second, 0, 30},
    {"copy", &row_model::copy, 0, 50},
    {"strip", &row_model::strip, 0, 50},
    {"line", &row_model::line, 0, 50},
    {"round", &row_model::round, 0, 50},
    {"chunk", &row_model::chunk, 0, 2},
    {"along_k_a", &row_model::along_k_a, 0.3, 6},
    {"along_k_b", &row_model::along_k_b, 0.3, 6},
    {"both_along_k", &row_model::both_along_k, 0.7, 2},
    {"unaligned_a", &row_model::unaligned_a, 0.5, 6},
    {"unaligned_b", &row_model::unaligned_b, 0.5, 6},
    {"sector_a", &row_model::sector_a, 1, 2},
    {"sector_b", &row_model::sector_b, 1, 2},
    {"both_a", &row_model::both_a, 0.5, 2},
    {"both_b", &row_model::both_b, 0.5, 2},
    {"write", &row_model::write, 0, 10},
    {"unaligned_c", &row_model::unaligned_c, 0, 30},
    {"near", &row_model::near, 0.02, 4},
    {"far", &row_model::far, 0.02, 2},
    {"padding", &row_model::padding, 0, 1},
    {"overhang", &row_model::overhang, 1, 2},
};

// Whether all of `lines` lines that begin every ld elements begin at multiples of so many bytes.
bool begin_at(std::uintptr_t multiple, void const* data, std::int64_t lines, std::int64_t ld, std::int64_t size) {
  auto const step = lines == 1 ? 0 : static_cast<std::uintptr_t>(ld * size);
  return (reinterpret_cast<std::uintptr_t>(data) | step) % multiple == 0;
}

// Of two times that overlap, about the longer; near each other they hinder each other by up to a fifth.
double overlapped(double x, double y) {
  double const longer = std::max(x, y), ratio = std::min(x, y) / longer, square = ratio * ratio;
  return longer * (1 + 0.19 * square * square);
}

// Of positive numbers below 2^63: the library's functions are calls on processors without SSE 4.1.
double whole(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double rounded_up(double x) {
  double const below = whole(x);
  return below < x ? below + 1 : below;
}
double quotient_up(std::int64_t x, std::int64_t y) { return static_cast<double>((x + y - 1) / y); }

// An operand's form: 3 where it is contiguous in k, and besides how it is brought. Copies lie as the kernel likes them.
enum { at_sectors, at_vectors, by_elements, forms };
int form_of(bool is_copy, bool along_k, bool single, bool begins_at_sectors) {
  if (is_copy) return 0;
  return (along_k ? forms : 0) + (single ? by_elements : begins_at_sectors ? at_sectors : at_vectors);
}
using form_factors = std::array<double, 2 * forms>;
form_factors factors(double along_k, double unaligned, double sector, double both) {
  return {1, sector, unaligned, along_k, along_k * sector, along_k * unaligned * both};
}
// Elements outside the operand, of which nothing is brought, cost nothing one by one.
double factor_of(form_factors const& all, int form, double filled) {
  auto const at = static_cast<std::size_t>(form);
  if (at % forms != by_elements) return all[at];
  double const by_vectors = all[at - by_elements];
  return by_vectors + filled * (all[at] - by_vectors);
}

}  // namespace

std::span<parameter const> parameters() { return all_parameters; }

bool is_valid(row_model const& m) {
  return std::ranges::all_of(all_parameters,
                             [&](parameter const& p) {
                               return m.*p.member >= p.least && m.*p.member <= p.most;  // false for NaN
                             }) &&
         m.blocks == std::floor(m.blocks);
}

problem turned(problem p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b), std::swap(p.lda, p.ldb);
  std::swap(p.trans_a, p.trans_b);
  p.trans_a = !p.trans_a, p.trans_b = !p.trans_b;
  return p;
}

row_work work_of(gemm_row const& row, problem const& given) {
  auto const& t = row.tiling;
  auto p = given;
  auto inside = row.inside != nullptr ? row.inside(p) : c_extent{p.m, p.n};
  auto tiled = p;
  tiled.m = inside.m, tiled.n = inside.n;
  auto const cut = row.cut_k != nullptr ? row.cut_k(tiled) : k_cut{};
  auto const paths = row.paths != nullptr ? row.paths(tiled) : operand_paths{};
  if (cut.on_its_side) {  // as the kernel sees it
    p = turned(p), tiled = turned(tiled);
    inside = {tiled.m, tiled.n};
  }
  auto const size = static_cast<std::int64_t>(size_of(p.dtype));
  std::int64_t const bm = t.bm, bn = t.bn;

  row_work w;
  w.size = static_cast<double>(size);
  w.m = static_cast<double>(p.m), w.n = static_cast<double>(p.n), w.k = static_cast<double>(p.k);
  double const tiled_m = static_cast<double>(inside.m), tiled_n = static_cast<double>(inside.n);
  double const tiles_m = quotient_up(inside.m, bm), tiles_n = quotient_up(inside.n, bn);
  w.tiles = tiles_m * tiles_n;
  if (row.blocks_down != nullptr) {
    double const blocks = static_cast<double>(row.blocks_down(p));
    w.tiles = blocks * tiles_n, w.tiles_down = rounded_up(tiles_m / blocks);
  }
  w.filled_a = tiled_m / (tiles_m * static_cast<double>(bm));
  w.filled_b = tiled_n / (tiles_n * static_cast<double>(bn));
  w.is_cut = cut.unit != nullptr;
  w.is_even = w.is_cut && cut.length == 0;
  double const slices = w.is_cut && !w.is_even ? quotient_up(p.k, cut.length) : 1;
  // Rows of few steps of k end at C's last row.
  if (row.most_k != 0) w.tile_share = static_cast<double>(std::min(p.m, bm)) / static_cast<double>(bm);
  if (cut.blocks != 0) {
    double const chunks = quotient_up(p.k, t.bk), shared = static_cast<double>(cut.shared_tiles);
    double const share = static_cast<double>(cut.share);
    w.blocks = static_cast<double>(cut.blocks);
    w.stretches = rounded_up((w.tiles - shared) / w.blocks);
    w.chunks = w.stretches * chunks;
    w.is_cut = cut.shared_tiles != 0;
    if (w.is_cut) {
      double const turns = cut.length == 0 ? 1 : rounded_up(shared * slices / w.blocks);
      // A share that is no slice begins within a tile as often as it is a part of one.
      w.stretches += turns + (cut.length == 0 ? std::min(share / chunks, 1.0) : 0);
      w.chunks += turns * share;
      double const parts = cut.length == 0 ? rounded_up(shared * chunks / share) : shared * slices;
      w.parts = (parts + shared) * static_cast<double>(bm * bn * size);
    }
  } else {
    w.slices = slices;
  }

  auto const begins_at = [&](std::uintptr_t multiple, bool b) {
    return b ? begin_at(multiple, p.b, p.trans_b ? p.n : p.k, p.ldb, size)
             : begin_at(multiple, p.a, p.trans_a ? p.k : p.m, p.lda, size);
  };
  bool const single_a = row.paths != nullptr ? paths.single_a : !begins_at(16, false);
  bool const single_b = row.paths != nullptr ? paths.single_b : !begins_at(16, true);
  auto const copied = paths.copied;
  w.form_a = form_of(copied.a, !p.trans_a, single_a, begins_at(32, false));
  w.form_b = form_of(copied.b, p.trans_b, single_b, begins_at(32, true));
  w.both_along_k = !p.trans_a && p.trans_b && !copied.a && !copied.b;
  // Blocks that stay have a loop over k for whole tiles; others lose where some tiles are whole and some are not.
  auto const hangs_over = [&](std::int64_t extent, std::int64_t tile) {
    return extent % tile != 0 && (extent > tile || cut.blocks != 0);
  };
  w.overhang = (!copied.a && hangs_over(inside.m, bm)) || (!copied.b && hangs_over(inside.n, bn));
  w.unaligned_c = cut.on_its_side || !begin_at(16, p.c, given.m, p.ldc, size);
  w.copied = w.size * ((copied.a ? tiled_m * w.k : 0) + (copied.b ? w.k * tiled_n : 0));
  w.strips = {row_work::strip{w.n - tiled_n, w.m, inside.columns_beside},
              row_work::strip{w.m - tiled_m, tiled_n, inside.rows_beside}};
  return w;
}

estimator::estimator(gemm_row const& row, row_model const& m)
    : row_(&row),
      m_(m),
      bk_(std::max(row.tiling.bk, 1)),
      per_bk_(1 / bk_),
      per_strip_step_(1 / (0.5 * peak_rate(row.dtype))),
      per_step_(row.tiling.bm * double(row.tiling.bn) / (peak_rate(row.dtype) * m.rate)),
      a_(factors(m.along_k_a, m.unaligned_a, m.sector_a, m.both_a)),
      b_(factors(m.along_k_b, m.unaligned_b, m.sector_b, m.both_b)),
      per_near_byte_(1 / (near_rate * m.near)),
      per_far_byte_(1 / (far_rate * m.far)) {}

double estimator::operator()(row_work const& w, int multiprocessors) const {
  double const at_once = std::max(multiprocessors, 1);
  // Steps of k on a multiprocessor, of `last` blocks at once those that are not in whole rounds; and what else takes
  // the time of a round, and of a chunk.
  double in_rounds = 0, last = 0, steps = 0, rounds = 0, chunks = 0;
  auto const lacking = [&](double blocks) { return m_.tail * rounded_up(blocks) + (1 - m_.tail) * blocks; };
  if (w.blocks > 0) {
    steps = w.chunks * bk_;
    last = lacking(std::max(w.blocks / at_once, 1.0));
    rounds = w.stretches, chunks = w.chunks;
  } else {
    steps = w.k / w.slices;
    if (w.is_even) {  // shares of one size, none of them much shorter than `shortest`
      constexpr double shortest = 64;
      double const shares = std::min(m_.blocks * at_once, std::max(w.tiles * w.k / shortest, w.tiles));
      steps = w.tiles * w.k / shares;
      last = std::max(shares / at_once, 1.0);
    } else {
      double const blocks = w.tiles * w.slices / at_once;
      rounds = whole(blocks / m_.blocks);
      last = lacking(blocks - rounds * m_.blocks);
      if (rounds == 0) last = std::max(last, 1.0);
    }
    steps += (row_->most_k != 0 ? 1 : m_.padding) * (rounded_up(steps * per_bk_) * bk_ - steps);
    steps *= w.tiles_down;
    in_rounds = rounds * m_.blocks;
    if (last > 0) ++rounds;
    chunks = rounds * steps * per_bk_;
  }
  // The fewer blocks a multiprocessor has, the less of its rate it reaches.
  double const fill = m_.blocks > 1 ? (std::max(last, 1.0) - 1) / (m_.blocks - 1) : 1;
  double const alone = std::max(m_.alone, 1 / m_.blocks);  // all of them do not take less time than one
  double const reached = alone + (1 - alone) * std::min(fill, 1.0);
  double const multiplying =
      (in_rounds + last / reached) * steps * per_step_ * w.tile_share + rounds * m_.round + chunks * m_.chunk;

  double const c_bytes = w.size * w.m * w.n, slice_bytes = c_bytes * w.slices;
  double const moving = (w.size * (w.m + w.n) * w.k + slice_bytes) * per_far_byte_;
  double const added = w.parts + (w.slices > 1 ? slice_bytes : 0);
  double const adding = w.is_cut ? m_.second + added * per_near_byte_ : 0;
  double const copying = w.copied > 0 ? m_.copy + 2 * w.copied * per_far_byte_ : 0;
  // Strips of C read the operand along which they lie once, and multiply in tiles of eight rows at half of the peak; or
  // they hinder the tiles a little for every two rows, as measured.
  double strips = 0;
  for (auto const& s : w.strips)
    if (s.width > 0) {
      constexpr double hindering = 1 / 8e6;
      double const strip_steps = 8 * rounded_up(s.width / 8) * per_strip_step_ / at_once;
      double const each =
          s.beside ? rounded_up(s.width / 2) * hindering : std::max(w.size * per_far_byte_, strip_steps);
      strips += (s.width == 1 || s.beside ? m_.line : m_.strip) + s.length * w.k * each;
    }
  double const writing = c_bytes / far_rate * (w.unaligned_c ? m_.unaligned_c : m_.write);
  double const factor = factor_of(a_, w.form_a, w.filled_a) * factor_of(b_, w.form_b, w.filled_b) *
                        (w.both_along_k ? m_.both_along_k : 1) * (w.overhang ? m_.overhang : 1);
  return m_.call + adding + copying + strips + writing + factor * overlapped(multiplying, moving);
}

}  // namespace tandem::gpu
