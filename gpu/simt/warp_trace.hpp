// Finds the accesses of a warp in what its lanes did one after the other: which lanes' accesses a GPU would make in one
// instruction. Lanes meet by the rule of the least program counter ("thread frontiers"): of a warp whose lanes stand at
// different places, those at the lowest address go on, so that the others are caught up with. The lanes' streams
// merged in this order are what a warp would have done that ran all its lanes at once.
//
// The rule needs every basic block in the streams, also those without accesses: in `if (c) x;` within a loop only the
// blocks around it tell whether two lanes did x in the same round. And it needs code in topological order: what
// is done later stands behind, but for the jump back of a loop. clang keeps the order of the source with
//   -Xclang -disable-lifetime-markers -mllvm -disable-block-placement -mllvm -disable-branch-fold -fno-unroll-loops
// (without the first, the code after a loop stands before its body). Then lanes meet again behind each if and each
// loop, however they left it. With `break` or `continue` in an if within an if, or both in a loop, that is sooner than
// at the immediate post-dominator; what a GPU's convergence barriers do then has not been compared.
// Limits:
// - A loop with two jumps back: a lane that took the first one runs ahead of one that is on its way to the second.
// - Copies of code are different code: lanes in an unrolled loop and in its remainder do not meet.
// - A function that is not inlined does no harm before its caller. If it stands behind and only some lanes call it,
//   the others go on without them until the segment ends or they call it too.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include <tandem/simt/session.hpp>

#include "gpu/simt/warp_access.hpp"

namespace tandem::simt {

/// An instruction by which the active lanes access memory.
struct warp_request {
  std::uint64_t pc = 0;
  access_kind kind = access_kind::global_load;
  warp_access access;
  std::array<std::uint64_t, 32> to{};  ///< of cp.async, whose `access` is to global memory; at 0 a lane reads nothing
};

/// The streams of one warp's lanes from one point at which they all meet to the next ("a segment").
class warp_trace {
 public:
  warp_trace() { clear(); }

  /// What follows is done by this lane: from the segment's beginning, or from where the lane stopped in it.
  void start_lane(unsigned lane) {
    end_run();
    lane_ = lane;
    lane_bit_ = std::uint32_t{1} << lane;
    lanes_ |= lane_bit_;
    at_ = last_record_[lane];
    auto const made = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back({addresses_.size(), 0, none});
    (first_run_[lane] == none ? first_run_[lane] : runs_[last_run_[lane]].next) = made;
    last_run_[lane] = made;
  }

  /// The lanes that have done something in this segment.
  std::uint32_t lanes() const { return lanes_; }
  /// Whether the segment is so long that it must end before its lanes have met.
  bool is_full() const { return addresses_.size() >= std::size_t{1} << 26; }  // 512 MiB

  /// The lane enters the basic block at `pc`.
  void block(std::uint64_t pc) { step(pc << 16); }

  /// The lane accesses `bytes` (1 to 16) bytes, not by cp.async.
  void access(std::uint64_t pc, access_kind kind, unsigned bytes, std::uint64_t address) {
    step(pc << 16 | (static_cast<std::uint64_t>(kind) + 1) << 8 | bytes);
    addresses_.push_back(address);
  }

  /// The lane copies `bytes` bytes by cp.async, or zeros, if `from` is 0.
  void copy(std::uint64_t pc, unsigned bytes, std::uint64_t from, std::uint64_t to) {
    access(pc, access_kind::async_copy, bytes, from);
    addresses_.push_back(to);
  }

  /// Calls each(warp_request const&) for every access of the segment, in the order in which the warp makes them, and
  /// starts the next segment.
  template <class F>
  void flush(F&& each) {
    end_run();
    warp_request request;
    auto& [mask, bytes, address] = request.access;
    std::array<run, 32> rest_of;
    for (unsigned lane = 0; lane < 32; ++lane) rest_of[lane] = {0, 0, first_run_[lane]};
    auto const next_address = [&](unsigned lane) {
      auto& rest = rest_of[lane];
      while (rest.begin == rest.end) rest = runs_[rest.next];
      return addresses_[rest.begin++];
    };
    for (auto i = records_[head].next; i != tail; i = records_[i].next) {
      record const& r = records_[i];
      if ((r.key & 0xffff) == 0) continue;  // a basic block
      request.pc = r.key >> 16;
      request.kind = static_cast<access_kind>((r.key >> 8 & 0xff) - 1);
      bytes = r.key & 0xff;
      mask = r.lanes;
      if (request.kind == access_kind::async_copy)
        for (auto rest = mask; rest != 0; rest &= rest - 1) {
          auto const lane = static_cast<unsigned>(std::countr_zero(rest));
          address[lane] = next_address(lane);
          request.to[lane] = next_address(lane);
        }
      else if (mask == ~std::uint32_t{0})
        for (unsigned lane = 0; lane < 32; ++lane) address[lane] = next_address(lane);
      else
        for (auto rest = mask; rest != 0; rest &= rest - 1) {
          auto const lane = static_cast<unsigned>(std::countr_zero(rest));
          address[lane] = next_address(lane);
        }
      each(static_cast<warp_request const&>(request));
    }
    clear();
  }

  /// Forgets the segment.
  void clear() {
    constexpr std::size_t kept = std::size_t{1} << 20;  // addresses; 8 MiB, with up to 4 MiB of records
    // A kernel without barriers is one segment of any length: its memory is given back.
    if (addresses_.capacity() > kept || records_.capacity() > kept / 4) {
      addresses_ = {};
      records_ = {};
    }
    addresses_.clear();
    records_.assign({{~std::uint64_t{0}, tail, 0}, {0, tail, 0}});  // tail and head
    runs_.clear();
    first_run_.fill(none);
    last_record_.fill(head);
    lanes_ = 0;
    at_ = head;
  }

 private:
  // What some lanes did together, in a list ordered as the warp does it. Addresses are not kept here but in each lane's
  // own order, which is also the list's.
  struct record {
    std::uint64_t key;  // pc << 16 | (kind + 1) << 8 | bytes, or pc << 16 of a block: addresses of code have 48 bits
    std::uint32_t next;
    std::uint32_t lanes;
  };
  static constexpr std::uint32_t tail = 0, head = 1;
  // Addresses that a lane accessed without another lane in between.
  struct run {
    std::size_t begin, end;
    std::uint32_t next;  // of the same lane
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  void end_run() {
    last_record_[lane_] = at_;
    if (!runs_.empty()) runs_.back().end = addresses_.size();
  }

  // Records made one after the other mostly follow each other, so the processor need not wait for the link.
  void step(std::uint64_t key) {
    auto next = at_ + 1;
    if (records_[at_].next != next || records_[next].key != key) [[unlikely]]
      next = find(key);
    records_[next].lanes |= lane_bit_;
    at_ = next;
  }

  // The next record that the lane takes part in, made if need be. The tail's key is above all others.
  [[gnu::noinline]] std::uint32_t find(std::uint64_t key) {
    auto before = at_, next = records_[before].next;
    while (records_[next].key < key) {
      before = next;
      next = records_[next].next;
    }
    if (records_[next].key == key) return next;
    auto const made = static_cast<std::uint32_t>(records_.size());
    records_.push_back({key, next, 0});
    records_[before].next = made;
    return made;
  }

  std::vector<record> records_;
  std::vector<std::uint64_t> addresses_;  // as the lanes accessed them
  std::vector<run> runs_;                 // in the same order
  std::array<std::uint32_t, 32> first_run_ = {}, last_run_ = {};
  std::array<std::uint32_t, 32> last_record_ = {};
  std::uint32_t lanes_ = 0;
  unsigned lane_ = 0;
  std::uint32_t at_ = head;  // the record in which the lane took part last
  std::uint32_t lane_bit_ = 1;
};

}  // namespace tandem::simt
