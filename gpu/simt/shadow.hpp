// What is known of each word of shared memory, or of an operand that a kernel writes: who wrote and who read it last,
// and whether that is ordered before what happens now. Barriers order all threads of a block, __syncwarp the lanes of a
// warp; nothing orders blocks but __threadfence with an atomic operation after it, and one in the block that reads.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace tandem::simt {

/// Who touched a cell, and when. `epoch` counts the barriers and blocks of a session, `time` the operations of a warp.
struct stamp {
  std::uint32_t epoch = 0;
  std::uint32_t time = 0;
  std::uint32_t pc = 0;     ///< its low half
  std::uint32_t lanes = 0;  ///< of the thread's warp: its own, and others that touched it unordered, `time` the latest
  std::uint16_t thread = 0;
  std::uint8_t flags = 0;

  static constexpr std::uint8_t atomic = 1;
  static constexpr std::uint8_t in_flight = 2;  ///< cp.async has it and was not waited for
  static constexpr std::uint8_t several_warps = 4;
  static constexpr std::uint8_t other_block = 8;  ///< another block of this launch has read, or updated, too
  static constexpr std::uint8_t over_plain = 16;  ///< an update of what the same block wrote plainly in this launch
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
    releases_.clear();
  }
  void begin_block() {
    block_ = ++now_.epoch;
    fenced_ = acquired_ = false;
    warps_.fill({});
  }
  void block_synced() {
    ++now_.epoch;
    warps_.fill({});
  }
  void warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live);
  void resume(unsigned thread) {
    now_.thread = static_cast<std::uint16_t>(thread);
    now_.lanes = std::uint32_t{1} << thread % 32;
    now_.time = warps_[thread / 32].time;
  }
  void fence() { fenced_ = true; }
  void atomic() {
    acquired_ = true;
    if (fenced_) release();
  }

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
  /// Whether the stamp, as a plain write, stands for this update of the running thread too: it comes right after.
  bool covers_update(stamp const& s) const {
    return !s.is(stamp::atomic) && s.epoch == now_.epoch && s.thread == now_.thread && s.time == now_.time;
  }
  bool by_this_warp(stamp const& s) const { return s.thread / 32 == now_.thread / 32; }
  /// Adds the running thread to a stamp of this epoch that its warp has made since its last operation; false for
  /// others.
  bool join_now(stamp& s) const {
    if (!by_this_warp(s) || s.time != now_.time) return false;
    s.lanes |= now_.lanes;
    return true;
  }

  /// Whether another thread made the stamp and nothing puts that before now. What another block did to its own memory
  /// is over; what it did to memory of all blocks is ordered only by fences with atomics.
  bool is_unordered(stamp const& s, bool of_all_blocks) const {
    if (of_all_blocks && by_another_block(s) && !(acquired_ && is_released(s))) return true;
    if (s.epoch != now_.epoch) return false;
    if (s.is(stamp::several_warps)) return true;
    return (s.thread != now_.thread || s.lanes != now_.lanes) && !is_before_in_warp(s);
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
  // A block's last atomic operations after a fence, by which it tells others what was done before: by its threads up to
  // the barrier before, and by those that have made one since.
  struct block_release {
    std::uint32_t block, epoch;
    std::bitset<1024> threads;
  };
  void release();
  bool is_released(stamp const& s) const;

  stamp now_;
  std::uint32_t block_ = 0, launch_ = 0;
  bool fenced_ = false, acquired_ = false;  // this block has made a fence, an atomic operation
  std::vector<block_release> releases_;     // of this launch
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

  /// Accesses `bytes` at the offset; the first clash, and in `other`, empty before, who was there.
  clash load(happened_before const& order, std::size_t offset, unsigned bytes, std::uint64_t pc, stamp& other) {
    return each(offset, bytes, [&](cell& c) { return load(order, c, pc, other); });
  }
  /// Loads the word at this offset, a multiple of 4, of a block's own memory, if nothing can be wrong with that:
  /// several warps, or this one since its last operation, have already read since the last barrier what was written
  /// before it.
  bool load_plainly(happened_before const& order, std::size_t offset, unsigned bytes) {
    if (!words_) return false;
    for (auto i = offset / 4; i < (offset + bytes) / 4; ++i) {
      cell& c = cells_[i];
      if (!order.in_this_block(c.write) || order.in_this_epoch(c.write) || c.write.flags != 0 ||
          !order.in_this_epoch(c.read) || !(c.read.is(stamp::several_warps) || order.join_now(c.read)))
        return false;
    }
    return true;
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
    if (order.in_this_epoch(c.write) || !order.in_this_block(c.write) || c.write.flags != 0) [[unlikely]] {
      if (c.write.is(stamp::in_flight) && order.in_this_block(c.write))
        found = clash::in_flight;
      else if (order.is_unordered(c.write, of_all_blocks_))
        found = clash::write;
      else if (!of_all_blocks_ && !order.in_this_block(c.write))
        found = clash::uninitialised;
      if (found != clash::none && other.epoch == 0) other = c.write;
    }
    add(order, c.read, pc);
    return found;
  }

  // Makes the stamp one of this thread too.
  void add(happened_before const& order, stamp& s, std::uint64_t pc) const {
    std::uint8_t const other_block = of_all_blocks_ && order.by_another_block(s) ? stamp::other_block : 0;
    if (!order.in_this_epoch(s)) {
      s = order.now(pc);
    } else if (!order.by_this_warp(s)) {
      s.flags |= stamp::several_warps;
    } else if (!s.is(stamp::several_warps)) {
      auto const mine = order.now(pc);
      if (s.time != mine.time && order.is_before_in_warp(s)) {
        s = mine;
      } else {
        s.lanes |= mine.lanes;
        s.time = std::max(s.time, mine.time);
      }
    }
    s.flags |= other_block;
  }

  clash store(happened_before const& order, cell& c, std::uint64_t pc, bool atomic, stamp& other) const {
    clash found = clash::none;
    stamp& w = c.write;
    stamp first;
    if (w.is(stamp::in_flight) && order.in_this_block(w)) {
      found = clash::in_flight, first = w;
    } else if (order.is_unordered(w, of_all_blocks_) &&
               !(atomic && w.is(stamp::atomic) && !(w.is(stamp::over_plain) && order.in_another_block(w)))) {
      found = clash::write, first = w;
    } else if (order.is_unordered(c.read, of_all_blocks_)) {
      found = clash::read, first = c.read;
    } else if (!of_all_blocks_ && !order.in_this_block(w)) {
      found = atomic ? clash::uninitialised : clash::first_write;
    }
    if (other.epoch == 0) other = first;
    if (!atomic) {
      w = order.now(pc);
    } else if (!order.covers_update(w)) {
      bool const plain = order.in_this_block(w) && (!w.is(stamp::atomic) || w.is(stamp::over_plain));
      if (w.is(stamp::atomic))
        add(order, w, pc);  // updates are no clash with each other, but all of them are with a plain access
      else
        w = order.now(pc);
      w.flags |= stamp::atomic | (plain ? stamp::over_plain : 0);
    }
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
