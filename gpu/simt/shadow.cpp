// The rare parts of the shadow: operations that only some lanes of a warp take part in, and accesses below a word.
#include "gpu/simt/shadow.hpp"

#include <algorithm>

namespace tandem::simt {

bool happened_before::is_before_in_warp(stamp const& s) const {
  if (s.thread / 32 != now_.thread / 32) return false;
  auto const& w = warps_[now_.thread / 32];
  if (s.time < w.all_synced) return true;
  if (!w.known) return false;
  auto const& known = (*w.known)[now_.thread % 32];
  auto const others = s.lanes & ~now_.lanes;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((others >> lane & 1) != 0 && s.time >= known[lane]) return false;
  return true;
}

void happened_before::release() {
  if (releases_.empty() || releases_.back().block != block_) releases_.push_back({block_, 0, {}});
  auto& last = releases_.back();
  if (last.epoch != now_.epoch) last.threads.reset();
  last.epoch = now_.epoch;
  last.threads.set(now_.thread);
}

bool happened_before::is_released(stamp const& s) const {
  // What other blocks did to a cell that this one has since touched is no longer known.
  if (!in_another_block(s)) return !releases_.empty();
  auto const after = std::ranges::upper_bound(releases_, s.epoch, {}, &block_release::block);
  if (after == releases_.begin()) return false;
  auto const& r = *std::prev(after);
  return s.epoch < r.epoch || (s.epoch == r.epoch && r.threads[s.thread]);
}

// Vector clocks: each lane of the operation then knows what any of them knew.
void happened_before::warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live) {
  auto& w = warps_[warp];
  ++w.time;
  if ((live & ~lanes) == 0) {
    w.all_synced = w.time;
    return;
  }
  if (!w.known) w.known = std::make_shared<std::array<std::array<std::uint32_t, 32>, 32>>();
  auto& known = *w.known;
  std::array<std::uint32_t, 32> together = {};
  for (unsigned a = 0; a < 32; ++a)
    if ((lanes >> a & 1) != 0)
      for (unsigned b = 0; b < 32; ++b)
        together[b] = std::max(together[b], (lanes >> b & 1) != 0 ? w.time : known[a][b]);
  for (unsigned a = 0; a < 32; ++a)
    if ((lanes >> a & 1) != 0) known[a] = together;
}

void shadow::refine() {
  auto fine = allocate(bytes_ + 4);
  for (std::size_t i = 0; i < bytes_; ++i)
    if (cells_[i / 4].write.epoch != 0 || cells_[i / 4].read.epoch != 0) fine[i] = cells_[i / 4];
  cells_ = std::move(fine);
  words_ = false;
}

}  // namespace tandem::simt
