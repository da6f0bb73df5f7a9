// What is known of each word of shared memory, or of an operand that a kernel writes: who wrote and who read it last,
// and whether that is ordered before what happens now. Barriers order all threads of a block, operations of a warp
// its lanes; nothing orders blocks but __threadfence with atomics.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace tandem::simt {

/// Who touched a cell, and when. `epoch` counts the barriers and blocks of a session, `time` the operations of a warp.
struct stamp {
  std::uint32_t epoch = 0;
  std::uint32_t time = 0;
  std::uint32_t pc = 0;  ///< its low half
  std::uint16_t thread = 0;
  bool atomic = false;
  bool in_flight = false;      ///< cp.async has it and was not waited for
  bool several_lanes = false;  ///< lanes of one warp, unordered
  bool several_warps = false;
  bool other_block = false;  ///< of a read: another block of this launch has read too
};

struct cell {
  stamp write, read;
};

/// The running thread's place in the order of things.
class happened_before {
 public:
  void begin_launch() {
    launch_ = ++epoch_;
    fenced_ = acquired_ = false;
  }
  void begin_block() {
    block_ = ++epoch_;
    acquired_ = false;
    warps_.fill({});
  }
  void block_synced() {
    ++epoch_;
    warps_.fill({});
  }
  void warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live);
  void resume(unsigned thread) { thread_ = thread; }
  void fence() { fenced_ = true; }
  void atomic() { acquired_ = true; }

  stamp now(std::uint64_t pc) const {
    return {.epoch = epoch_,
            .time = warps_[thread_ / 32].time,
            .pc = static_cast<std::uint32_t>(pc),
            .thread = static_cast<std::uint16_t>(thread_)};
  }
  bool in_this_epoch(stamp const& s) const { return s.epoch == epoch_; }
  bool in_this_block(stamp const& s) const { return s.epoch >= block_; }
  bool in_another_block(stamp const& s) const { return s.epoch >= launch_ && s.epoch < block_; }

  /// Or both by another block and by this one.
  bool by_another_block(stamp const& s) const {
    return in_another_block(s) || (s.other_block && s.epoch >= launch_);
  }

  /// Whether another thread made the stamp and nothing puts that before now. What another block did to its own memory
  /// is over; what it did to memory of all blocks is ordered only by fences with atomics.
  bool is_unordered(stamp const& s, bool of_all_blocks) const {
    if (of_all_blocks && by_another_block(s) && !(fenced_ && acquired_)) return true;
    if (s.epoch != epoch_) return false;
    if (s.several_warps) return true;
    return (s.thread != thread_ || s.several_lanes) && !is_before_in_warp(s);
  }

  bool is_before_in_warp(stamp const& s) const;

 private:
  struct warp_order {
    std::uint32_t time = 1;
    std::uint32_t all_synced = 0;  ///< what has an earlier time happened before, for all lanes
    /// known[a][b]: what b did at an earlier time happened before what a does now. Empty before the first operation
    /// that only some lanes took part in.
    std::shared_ptr<std::array<std::array<std::uint32_t, 32>, 32>> known = {};
  };
  std::uint32_t epoch_ = 0, block_ = 0, launch_ = 0;
  unsigned thread_ = 0;
  bool fenced_ = false, acquired_ = false;
  std::array<warp_order, 32> warps_ = {};
};

/// What an access runs into.
enum class clash { none, write, read, uninitialised, in_flight };

/// The cells of one piece of memory: one for each word, or for each byte once something narrower was accessed.
class shadow {
 public:
  shadow() = default;
  /// `of_all_blocks`: global memory; else a block's own, which starts uninitialised.
  shadow(std::size_t bytes, bool of_all_blocks)
      : bytes_(bytes), of_all_blocks_(of_all_blocks), cells_(allocate(bytes / 4 + 1)) {}

  /// Accesses `bytes` at the offset; the first clash, and in `other` who was there.
  clash load(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc, stamp& other) {
    return each(offset, bytes, [&](cell& c) { return load(order, c, pc, other); });
  }
  clash store(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc, bool atomic,
              stamp& other) {
    return each(offset, bytes, [&](cell& c) { return store(order, c, pc, atomic, other); });
  }
  /// The bytes are on their way, or have arrived.
  void set_in_flight(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc, bool on_its_way) {
    each(offset, bytes, [&](cell& c) {
      c.write = order.now(pc);
      c.write.in_flight = on_its_way;
      return clash::none;
    });
  }

 private:
  struct release {
    void operator()(cell* p) const { std::free(p); }
  };
  using cell_array = std::unique_ptr<cell[], release>;
  // Pages of zeros cost nothing until they are touched.
  static cell_array allocate(std::size_t count) {
    auto* const p = static_cast<cell*>(std::calloc(count, sizeof(cell)));
    if (p == nullptr) throw std::bad_alloc();
    return cell_array(p);
  }

  clash load(happened_before const& order, cell& c, std::uint64_t pc, stamp& other) const {
    auto const now = order.now(pc);
    clash found = clash::none;
    if (!order.in_this_epoch(c.write) || c.write.thread != now.thread || c.write.in_flight) {
      if (c.write.in_flight && order.in_this_block(c.write))
        found = clash::in_flight;
      else if (order.is_unordered(c.write, of_all_blocks_))
        found = clash::write;
      else if (!of_all_blocks_ && !order.in_this_block(c.write))
        found = clash::uninitialised;
      if (found != clash::none) other = c.write;
    }
    stamp& r = c.read;
    bool const other_block = of_all_blocks_ && order.by_another_block(r);
    if (!order.in_this_epoch(r)) {
      r = now;
    } else if (!r.several_warps) {
      if (r.thread / 32 != now.thread / 32)
        r.several_warps = true;
      else if (r.time != now.time && order.is_before_in_warp(r))
        r = now;
      else if (r.thread != now.thread)
        r.several_lanes = true;
    }
    r.other_block = other_block;
    return found;
  }

  clash store(happened_before const& order, cell& c, std::uint64_t pc, bool atomic, stamp& other) const {
    clash found = clash::none;
    if (c.write.in_flight && order.in_this_block(c.write)) {
      found = clash::in_flight, other = c.write;
    } else if (order.is_unordered(c.write, of_all_blocks_) && !(atomic && c.write.atomic)) {
      found = clash::write, other = c.write;
    } else if (order.is_unordered(c.read, of_all_blocks_)) {
      found = clash::read, other = c.read;
    } else if (atomic && !of_all_blocks_ && !order.in_this_block(c.write)) {
      found = clash::uninitialised;
    }
    c.write = order.now(pc);
    c.write.atomic = atomic;
    return found;
  }

  template <class F>
  clash each(std::size_t offset, unsigned bytes, F const& f) {
    if (words_ && (bytes % 4 != 0 || offset % 4 != 0)) refine();
    auto const first = words_ ? offset / 4 : offset, count = words_ ? bytes / 4 : std::size_t{bytes};
    auto found = clash::none;
    for (std::size_t i = first; i < first + count; ++i) {
      auto const one = f(cells_[i]);
      if (found == clash::none) found = one;
    }
    return found;
  }

  void refine();

  std::size_t bytes_ = 0;
  bool of_all_blocks_ = false;
  bool words_ = true;
  cell_array cells_;
};

}  // namespace tandem::simt
