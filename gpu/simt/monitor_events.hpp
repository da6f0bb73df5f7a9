// What the executor tells a monitor, and what a monitor asks of the executor. Hooks of instrumented kernels stand on
// the monitor's side (gpu/simt/hooks.cpp).
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <tandem/simt/session.hpp>

#include "gpu/simt/sanitizers.hpp"

namespace tandem::simt {

/// One thread of a block, as it runs.
struct running_thread {
  unsigned thread;  ///< in the block
  unsigned warp, lane;
  stack_bounds stack;
};

/// Follows one launch after the other, on the thread that launches.
class monitor_events {
 public:
  virtual ~monitor_events() = default;
  /// The blocks to run; empty: all.
  virtual std::vector<block_class> begin_launch(kernel_launch const& launch, unsigned char const* arena) = 0;
  virtual void begin_block(block_class const& block) = 0;
  /// The thread runs from here on: started, or released from a barrier or an operation of its warp.
  virtual void resume(running_thread const& thread) = 0;
  /// It waits for its block, called from `pc`.
  virtual void wait_for_block(void const* pc) = 0;
  /// It waits for the lanes of `mask`; `exchanges`: to give them a value.
  virtual void wait_for_warp(std::uint32_t mask, bool exchanges, void const* pc) = 0;
  /// It asked for the value of a lane that takes no part.
  virtual void shuffle_from_outside(unsigned source, void const* pc) = 0;
  virtual void exit_thread() = 0;
  /// No lane of the warp can go on before others have done something.
  virtual void warp_stopped(unsigned warp) = 0;
  /// These lanes of the warp, of those that have not exited, have waited for each other; `exchanges`: to give each
  /// other a value, which orders no accesses to memory.
  virtual void warp_synced(unsigned warp, std::uint32_t lanes, std::uint32_t live, bool exchanges) = 0;
  virtual void block_synced() = 0;
  /// Threads that have not exited wait for ever; the block ends.
  virtual void deadlock() = 0;
  virtual void end_block() = 0;
  virtual void end_launch() = 0;
  /// Memory that launches may read and write from here on, until it is removed.
  virtual void add_workspace(void const* begin, std::size_t bytes) = 0;
  virtual void remove_workspace(void const* begin) = 0;
};

/// Held by whoever launches, for the launch, or by a session for its life.
std::recursive_mutex& executor_mutex();

/// The monitor of the launches to come, nullptr for none. The mutex must be held.
void watch_with(monitor_events* monitor);
bool is_watched();

/// Ends the running thread where it stands; the others go on as if it had exited.
[[noreturn]] void abandon_thread();

}  // namespace tandem::simt
