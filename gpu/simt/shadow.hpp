// What is known of each word of shared memory, or of an operand that a kernel writes: who wrote and who read it last,
// and whether that is ordered before what happens now. Barriers order all threads of a block, operations of a warp
// its lanes; nothing orders blocks but __threadfence with atomics.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace tandem::simt {

/// Who touched a cell, and when. `epoch` counts the barriers and blocks of a session, `time` the operations of a warp.
struct stamp {
  std::uint32_t epoch = 0;
  std::uint32_t time = 0;
  std::uint32_t pc = 0;  ///< its low half
  std::uint16_t thread = 0;
  std::uint8_t flags = 0;

  static constexpr std::uint8_t atomic = 1;
  static constexpr std::uint8_t in_flight = 2;      ///< cp.async has it and was not waited for
  static constexpr std::uint8_t several_lanes = 4;  ///< lanes of one warp, unordered
  static constexpr std::uint8_t several_warps = 8;
  static constexpr std::uint8_t other_block = 16;  ///< a read: another block of this launch has read too
  bool is(std::uint8_t flag) const { return (flags & flag) != 0; }
};

struct cell {
  stamp write, read;
};

/// The running thread's place in the order of things.
class happened_before {
 public:
  void begin_launch() {
    launch_ = ++now_.epoch;
    fenced_ = acquired_ = false;
  }
  void begin_block() {
    block_ = ++now_.epoch;
    acquired_ = false;
    warps_.fill({});
  }
  void block_synced() {
    ++now_.epoch;
    warps_.fill({});
  }
  void warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live);
  void resume(unsigned thread) {
    now_.thread = static_cast<std::uint16_t>(thread);
    now_.time = warps_[thread / 32].time;
  }
  void fence() { fenced_ = true; }
  void atomic() { acquired_ = true; }

  stamp now(std::uint64_t pc) const {
    stamp s = now_;
    s.pc = static_cast<std::uint32_t>(pc);
    return s;
  }
  bool in_this_epoch(stamp const& s) const { return s.epoch == now_.epoch; }
  bool in_this_block(stamp const& s) const { return s.epoch >= block_; }
  bool in_another_block(stamp const& s) const { return s.epoch >= launch_ && s.epoch < block_; }
  /// By another block, alone or besides this one.
  bool by_another_block(stamp const& s) const {
    return in_another_block(s) || (s.is(stamp::other_block) && s.epoch >= launch_);
  }
  bool by_this_warp_now(stamp const& s) const { return s.thread / 32 == now_.thread / 32 && s.time == now_.time; }

  /// Whether another thread made the stamp and nothing puts that before now. What another block did to its own memory
  /// is over; what it did to memory of all blocks is ordered only by fences with atomics.
  bool is_unordered(stamp const& s, bool of_all_blocks) const {
    if (of_all_blocks && by_another_block(s) && !(fenced_ && acquired_)) return true;
    if (s.epoch != now_.epoch) return false;
    if (s.is(stamp::several_warps)) return true;
    return (s.thread != now_.thread || s.is(stamp::several_lanes)) && !is_before_in_warp(s);
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
  stamp now_;
  std::uint32_t block_ = 0, launch_ = 0;
  bool fenced_ = false, acquired_ = false;
  std::array<warp_order, 32> warps_ = {};
};

/// What an access runs into.
///   first_write  a block's first store to a cell of its own: no clash, but the time to ask whether it may
enum class clash { none, write, read, uninitialised, in_flight, first_write };

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
  /// Whether a load of the word at this offset, a multiple of 4, would find and change nothing: others of its warp, or
  /// of several warps, have already read since the last barrier what was written before it.
  bool is_plain_load(happened_before const& order, std::size_t offset) const {
    if (!words_) return false;
    cell const& c = cells_[offset / 4];
    return order.in_this_block(c.write) && !order.in_this_epoch(c.write) && c.write.flags == 0 &&
           order.in_this_epoch(c.read) &&
           (c.read.is(stamp::several_warps) || (c.read.is(stamp::several_lanes) && order.by_this_warp_now(c.read)));
  }
  clash store(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc, bool atomic,
              stamp& other) {
    return each(offset, bytes, [&](cell& c) { return store(order, c, pc, atomic, other); });
  }
  /// As if it had never been written.
  void forget(std::size_t offset, unsigned bytes) {
    each(offset, bytes, [](cell& c) {
      c.write = {};
      return clash::none;
    });
  }
  /// The bytes are on their way, or have arrived.
  void set_in_flight(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc,
                     bool on_its_way) {
    each(offset, bytes, [&](cell& c) {
      c.write = order.now(pc);
      if (on_its_way) c.write.flags = stamp::in_flight;
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
    clash found = clash::none;
    if (order.in_this_epoch(c.write) || !order.in_this_block(c.write) || c.write.is(stamp::in_flight)) [[unlikely]] {
      if (c.write.is(stamp::in_flight) && order.in_this_block(c.write))
        found = clash::in_flight;
      else if (order.is_unordered(c.write, of_all_blocks_))
        found = clash::write;
      else if (!of_all_blocks_ && !order.in_this_block(c.write))
        found = clash::uninitialised;
      if (found != clash::none) other = c.write;
    }
    stamp& r = c.read;
    std::uint8_t const other_block = of_all_blocks_ && order.by_another_block(r) ? stamp::other_block : 0;
    if (!order.in_this_epoch(r)) {
      r = order.now(pc);
    } else if (!r.is(stamp::several_warps)) {
      if (order.by_this_warp_now(r)) {
        if (r.thread != order.now(pc).thread) r.flags |= stamp::several_lanes;
      } else if (r.thread / 32 != order.now(pc).thread / 32) {
        r.flags |= stamp::several_warps;
      } else if (order.is_before_in_warp(r)) {
        r = order.now(pc);
      } else if (r.thread != order.now(pc).thread) {
        r.flags |= stamp::several_lanes;
      }
    }
    r.flags |= other_block;
    return found;
  }

  clash store(happened_before const& order, cell& c, std::uint64_t pc, bool atomic, stamp& other) const {
    clash found = clash::none;
    if (c.write.is(stamp::in_flight) && order.in_this_block(c.write)) {
      found = clash::in_flight, other = c.write;
    } else if (order.is_unordered(c.write, of_all_blocks_) && !(atomic && c.write.is(stamp::atomic))) {
      found = clash::write, other = c.write;
    } else if (order.is_unordered(c.read, of_all_blocks_)) {
      found = clash::read, other = c.read;
    } else if (!of_all_blocks_ && !order.in_this_block(c.write)) {
      found = atomic ? clash::uninitialised : clash::first_write;
    }
    c.write = order.now(pc);
    if (atomic) c.write.flags = stamp::atomic;
    return found;
  }

  template <class F>
  clash each(std::size_t offset, unsigned bytes, F const& f) {
    if (words_ && bytes == 4 && offset % 4 == 0) [[likely]]
      return f(cells_[offset / 4]);
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
