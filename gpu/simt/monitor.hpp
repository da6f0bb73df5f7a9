// Follows the threads of a launch and every access of instrumented kernels: decides which memory it goes to, keeps
// that memory's shadow, notes defects, and hands the accesses to the counter.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/session.hpp>

#include "gpu/simt/counter.hpp"
#include "gpu/simt/findings.hpp"
#include "gpu/simt/monitor_events.hpp"
#include "gpu/simt/shadow.hpp"
#include "gpu/simt/warp_trace.hpp"

namespace tandem::simt {

enum class touch { load, store, atomic };

/// Whether a thread may show the defect only because another one was stopped.
inline bool follows_from_an_exit(defect kind) {
  return kind == defect::barrier_divergence || kind == defect::warp_divergence || kind == defect::deadlock ||
         kind == defect::uninitialised_shared || kind == defect::async_not_awaited;
}

class monitor final : public monitor_events {
 public:
  explicit monitor(session_options options);

  // The executor's events.
  std::vector<block_class> begin_launch(kernel_launch const& launch, unsigned char const* arena) override;
  void begin_block(block_class const& block) override;
  void resume(running_thread const& thread) override;
  void wait_for_block(void const* pc) override;
  void wait_for_warp(std::uint32_t mask, bool exchanges, void const* pc) override;
  void shuffle_from_outside(unsigned source, void const* pc) override;
  void exit_thread() override;
  void warp_stopped(unsigned warp) override;
  void warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live, bool exchanges) override;
  void block_synced() override;
  void deadlock() override;
  void end_block() override;
  void end_launch() override;
  void add_workspace(void const* begin, std::size_t bytes) override;
  void remove_workspace(void const* begin) override;

  // The kernel's, while one of its threads runs.
  void enter_block(std::uintptr_t pc) {
    if (++basic_blocks_ > most_basic_blocks_) [[unlikely]]
      endless(pc);
    if (options_.count) trace_.block(pc);
  }
  // Short, as every access comes here; what is not plainly right goes to `check`.
  void access(std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc) {
    if (address - stack_ < stack_bytes_) return;                          // the thread's own memory
    auto& likely = region_of_pc_[(pc ^ pc >> 6) % region_of_pc_.size()];  // an instruction seldom changes its region
    auto r = static_cast<std::size_t>(likely);
    if (!ranges_[r].contains(address, bytes)) [[unlikely]] {
      if (is_built_in_variable(address)) return;
      r = find(address, bytes);
      if (r == nowhere) {
        if (how == touch::load && is_constant(address)) return;
        stray(address, bytes, how, pc);
      }
      likely = static_cast<std::uint16_t>(r);
    }
    if (options_.check && (how != touch::load || (address & (bytes - 1)) != 0 || !load_plainly(r, address, bytes)))
      check(regions_[r], address, bytes, bytes, how, pc);
    if (options_.count) trace_.access(pc, kinds[static_cast<std::size_t>(how)][r >= first_operand], bytes, address);
  }
  void fence() { order_.fence(); }
  void copy_async(void* to, void const* from, unsigned bytes, unsigned from_source, std::uintptr_t pc);
  void commit_async();
  void wait_async(unsigned groups);
  /// Reads an element of a texture.
  void fetch(void const* from, unsigned bytes, std::uintptr_t pc);

  std::vector<finding> findings() const { return findings_.tell(); }
  simt::counts counts() const { return counter_.counts(); }

 private:
  enum class space { shared_arrays, shared_dynamic, operand };
  struct region {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    monitor::space space = space::operand;
    std::size_t element_bytes = 1, line_bytes = 0, stride_bytes = 0;  // of an operand
    bool writable = true;
    bool overlaps_written = false;  // another operand's memory
    std::string name = {};
    simt::shadow shadow = {};
  };
  struct pending_copy {
    void* to;
    void const* from;
    unsigned bytes, from_source;
    unsigned group;
    std::uintptr_t pc;
  };
  struct thread_state {
    std::uintptr_t waits_at = 0;
    bool waits_for_warp = false;
    unsigned groups = 0;  // committed
    std::vector<pending_copy> copies = {};
  };

  static constexpr access_kind kinds[3][2] = {{access_kind::shared_load, access_kind::global_load},
                                              {access_kind::shared_store, access_kind::global_store},
                                              {access_kind::shared_atomic, access_kind::global_atomic}};
  static constexpr std::size_t first_operand = 2, nowhere = ~std::size_t{0};

  struct range {
    std::uintptr_t begin;
    std::size_t bytes;
    bool may_all_be_read;  // an input without gaps
    bool contains(std::uintptr_t address, unsigned size) const {
      return address - begin < bytes && size <= bytes - (address - begin);
    }
  };
  /// The region that holds all the bytes.
  std::size_t find(std::uintptr_t address, unsigned bytes) const;
  bool load_plainly(std::size_t r, std::uintptr_t address, unsigned bytes) {
    return ranges_[r].may_all_be_read || (r < first_operand && bytes >= 4 &&
                                          regions_[r].shadow.load_plainly(order_, address - ranges_[r].begin, bytes));
  }
  std::size_t find_or_stray(std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc);
  /// Or an argument of the kernel.
  bool is_built_in_variable(std::uintptr_t address) const;
  static bool is_constant(std::uintptr_t address);
  void check(region& r, std::uintptr_t address, unsigned bytes, unsigned alignment, touch how, std::uintptr_t pc);
  void mark_in_flight(void* to, unsigned bytes, std::uintptr_t pc, bool on_its_way);
  void set_range(std::size_t i);
  void set_shared_arrays(shared_image const* image);
  bool is_in_shared_array(std::uintptr_t address, unsigned bytes) const;
  [[noreturn]] void end_thread();
  [[noreturn]] void endless(std::uintptr_t pc);
  [[noreturn]] void misaligned(region const& r, std::uintptr_t address, unsigned bytes, unsigned alignment, touch how,
                               std::uintptr_t pc);
  [[noreturn]] void write_to_input(region const& r, std::uintptr_t address, unsigned bytes, std::uintptr_t pc);
  static bool is_in_gap(region const& r, std::uintptr_t address, unsigned bytes) {
    return r.stride_bytes != r.line_bytes && (address - r.begin) % r.stride_bytes + bytes > r.line_bytes;
  }
  region* find_operand(std::uintptr_t address, unsigned bytes, touch how);
  void in_gap(region const& r, std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc);
  [[noreturn]] void stray(std::uintptr_t address, unsigned bytes, touch how, std::uintptr_t pc);
  void report(clash found, stamp const& other, region& r, std::uintptr_t address, unsigned bytes, touch how,
              std::uintptr_t pc);
  std::string describe(region const& r, std::uintptr_t address) const;
  std::uintptr_t full_pc(stamp const& s) const;
  template <class Detail>
  void note(defect kind, std::uintptr_t pc, std::uintptr_t other, Detail const& detail) {
    note(kind, pc, other, thread_index, detail);
  }
  template <class Detail>
  void note(defect kind, std::uintptr_t pc, std::uintptr_t other, index3 thread, Detail const& detail) {
    if (abandoned_ && follows_from_an_exit(kind)) return;
    findings_.note(kind, kernel_, pc, block_.block, thread, other, detail);
  }
  thread_state& me() { return threads_[thread_.thread]; }

  session_options options_;
  findings_list findings_;
  counter counter_;
  warp_trace trace_;
  happened_before order_;

  // Static shared memory, the dynamic one, then the operands.
  std::vector<region> regions_;
  std::vector<range> ranges_;  // of the regions, side by side
  std::array<std::uint16_t, 256> region_of_pc_ = {};
  shared_image const* image_ = nullptr;
  std::vector<shared_array> arrays_;  // by address

  void const *kernel_ = nullptr, *arguments_ = nullptr;
  std::size_t argument_bytes_ = 0;
  block_class block_;
  unsigned thread_count_ = 0;
  running_thread thread_ = {};
  std::uintptr_t stack_ = 0;
  std::size_t stack_bytes_ = 0;
  // That the running thread has gone through since it last waited, and with how many it is taken to spin: the first
  // one of a launch with more than any k brings, the others with fewer, so that a block of them ends in time.
  std::uint64_t basic_blocks_ = 0, most_basic_blocks_ = 0;
  std::vector<thread_state> threads_;
  std::vector<std::uint32_t> live_;  // lanes of each warp
  unsigned exited_ = 0;
  bool abandoned_ = false;      // a thread of this block, at a defect
  std::uintptr_t barrier_ = 0;  // where the first thread waits for the block
  index3 barrier_thread_ = {};
  struct meeting {
    unsigned warp = 0;
    bool exchanges = false;
    std::uintptr_t pc = 0;
  };
  std::uint32_t synced_ = 0, met_ = 0;     // lanes that went on in this round, and the most that did so together
  std::array<meeting, 32> meetings_ = {};  // where lanes wait for others of their warp
};

/// The monitor of the kernel's thread that runs; nullptr outside kernels and without a session.
extern monitor* watching;
/// The stack that this thread runs on, of no bytes where `watching` is nullptr.
extern std::atomic<std::uintptr_t> watched_stack, watched_stack_bytes;

/// `watching`, where the caller runs on that stack. Another system thread does not: it may be in instrumented code,
/// too, around a launch that waits for the session's end. A thread_local pointer would take longer than all else in a
/// hook.
[[gnu::always_inline]] inline monitor* watching_here() {
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  auto const above = here - watched_stack.load(std::memory_order_relaxed);
  return above < watched_stack_bytes.load(std::memory_order_relaxed) ? watching : nullptr;
}

}  // namespace tandem::simt
