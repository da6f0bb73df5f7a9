// The estimate of a call's time. On the path of every launch: no strings, no allocation.
#include "gpu/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

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
    {"round", &row_model::round, 0, 50},
    {"chunk", &row_model::chunk, 0, 2},
    {"along_k_a", &row_model::along_k_a, 0.3, 6},
    {"along_k_b", &row_model::along_k_b, 0.3, 6},
    {"unaligned_a", &row_model::unaligned_a, 0.5, 6},
    {"unaligned_b", &row_model::unaligned_b, 0.5, 6},
    {"both_a", &row_model::both_a, 0.5, 2},
    {"both_b", &row_model::both_b, 0.5, 2},
    {"write", &row_model::write, 0, 10},
    {"unaligned_c", &row_model::unaligned_c, 0, 30},
    {"near", &row_model::near, 0.02, 4},
    {"far", &row_model::far, 0.02, 2},
    {"padding", &row_model::padding, 0, 1},
};

// Whether 16-byte accesses cannot reach all of `lines` lines that begin every ld elements.
bool is_unaligned(void const* data, std::int64_t lines, std::int64_t ld, std::int64_t size) {
  auto const step = lines == 1 ? 0 : static_cast<std::uintptr_t>(ld * size);
  return (reinterpret_cast<std::uintptr_t>(data) | step) % 16 != 0;
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
// How many tiles, of whose edge this is the inverse, cover an extent of at least 1.
double tiles(double extent, double per_edge) { return whole((extent - 0.5) * per_edge) + 1; }

std::array<double, 4> factors(double along_k, double unaligned, double both) {
  return {1, unaligned, along_k, along_k * unaligned * both};
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

estimator::estimator(gemm_row const& row, row_model const& m)
    : row_(&row),
      m_(m),
      per_bm_(1.0 / row.tiling.bm),
      per_bn_(1.0 / row.tiling.bn),
      bk_(std::max(row.tiling.bk, 1)),
      per_bk_(1 / bk_),
      per_strip_step_(1 / (0.5 * peak_rate(row.dtype))),
      per_step_(row.tiling.bm * double(row.tiling.bn) / (peak_rate(row.dtype) * m.rate)),
      a_(factors(m.along_k_a, m.unaligned_a, m.both_a)),
      b_(factors(m.along_k_b, m.unaligned_b, m.both_b)),
      per_near_byte_(1 / (near_rate * m.near)),
      per_far_byte_(1 / (far_rate * m.far)) {}

double estimator::operator()(problem const& p, int multiprocessors) const {
  double const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  auto const bytes_of_element = static_cast<std::int64_t>(size_of(p.dtype));
  double const size = static_cast<double>(bytes_of_element), at_once = std::max(multiprocessors, 1);

  auto const inside = row_->inside != nullptr ? row_->inside(p) : c_extent{p.m, p.n};
  double const tiled_m = static_cast<double>(inside.m), tiled_n = static_cast<double>(inside.n);
  auto tiled = p;
  tiled.m = inside.m, tiled.n = inside.n;
  auto const cut = row_->cut_k != nullptr ? row_->cut_k(tiled) : k_cut{};
  double const c_tiles = cut.on_its_side ? tiles(tiled_m, per_bn_) * tiles(tiled_n, per_bm_)
                                         : tiles(tiled_m, per_bm_) * tiles(tiled_n, per_bn_);
  bool const is_cut = cut.unit != nullptr, is_even = is_cut && cut.length == 0;
  double const slices = is_cut && !is_even ? rounded_up(k / static_cast<double>(cut.length)) : 1;

  // Operands that are copied first lie as the kernel likes them.
  auto const copies = row_->copies != nullptr ? row_->copies(tiled) : operand_copies{};
  double const copied = size * ((copies.a ? tiled_m * k : 0) + (copies.b ? k * tiled_n : 0));
  double factor = 1;
  if (!copies.a)
    factor *= a_[(p.trans_a ? 0 : 2) + (is_unaligned(p.a, p.trans_a ? p.k : p.m, p.lda, bytes_of_element) ? 1 : 0)];
  if (!copies.b)
    factor *= b_[(p.trans_b ? 2 : 0) + (is_unaligned(p.b, p.trans_b ? p.n : p.k, p.ldb, bytes_of_element) ? 1 : 0)];

  // Blocks of a multiprocessor, and the steps of k of each: so many whole rounds of them, and a last one.
  double blocks = c_tiles * slices / at_once, steps = k / slices, rounds = 0, last = 0;
  if (is_even) {  // shares of one size, none of them much shorter than `shortest`
    constexpr double shortest = 64;
    double const shares = std::min(m_.blocks * at_once, std::max(c_tiles * k / shortest, c_tiles));
    steps = c_tiles * k / shares;
    last = std::max(shares / at_once, 1.0);
  } else {
    rounds = whole(blocks / m_.blocks);
    double const rest = blocks - rounds * m_.blocks;
    last = m_.tail * rounded_up(rest) + (1 - m_.tail) * rest;
    if (rounds == 0) last = std::max(last, 1.0);
  }
  if (m_.padding > 0) steps += m_.padding * (tiles(steps, per_bk_) * bk_ - steps);
  // The fewer blocks a multiprocessor has, the less of its rate it reaches.
  double const fill = m_.blocks > 1 ? (std::max(last, 1.0) - 1) / (m_.blocks - 1) : 1;
  double const reached = m_.alone + (1 - m_.alone) * std::min(fill, 1.0);
  double const multiplying = (rounds * m_.blocks + last / reached) * steps * per_step_ +
                             (rounds + (last > 0 ? 1 : 0)) * (m_.round + steps * per_bk_ * m_.chunk);

  double const bytes = size * (m * k + k * n + m * n * slices);
  double const moving = bytes * per_far_byte_;

  double const adding = is_cut ? m_.second + (slices > 1 ? size * m * n * slices * per_near_byte_ : 0) : 0;
  double const copying = copied > 0 ? m_.copy + 2 * copied * per_far_byte_ : 0;
  // Strips of C read the operand along which they lie once, and multiply in tiles of eight rows at half of the peak.
  auto const strip = [&](std::int64_t rows, double length) {
    double const strip_steps = 8 * tiles(static_cast<double>(rows), 1.0 / 8) * per_strip_step_ / at_once;
    return m_.strip + length * k * std::max(size * per_far_byte_, strip_steps);
  };
  double const strips =
      (inside.n < p.n ? strip(p.n - inside.n, m) : 0) + (inside.m < p.m ? strip(p.m - inside.m, tiled_n) : 0);
  double const writing =
      size * m * n / far_rate * (is_unaligned(p.c, p.m, p.ldc, bytes_of_element) ? m_.unaligned_c : m_.write);
  return m_.call + adding + copying + strips + writing + factor * overlapped(multiplying, moving);
}

}  // namespace tandem::gpu
