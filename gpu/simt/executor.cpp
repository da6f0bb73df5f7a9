// Fibers as the threads of a block. They switch by Boost.Context's jump, below its fiber class, because a fiber of ours
// is never unwound: kernels own nothing, so what a failed launch leaves behind is dropped with its stack's contents.
#include <tandem/simt/executor.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <tandem/error.hpp>
#include <tandem/simt/operations.hpp>

#include "gpu/simt/monitor_events.hpp"
#include "gpu/simt/sanitizers.hpp"

namespace tandem::simt {

index3 thread_index, block_index, block_size, grid_size;

namespace {

namespace context = boost::context;

// CUDA gives a thread up to 512 KiB of memory of its own; the rest is for what a kernel calls, and a sanitizer's
// redzones. Pages that are not touched cost nothing.
constexpr std::size_t stack_bytes = 768 * 1024;
constexpr unsigned warp_size = 32;

struct fiber {
  context::detail::fcontext_t resume = nullptr;  // where it stopped
  fiber* next = nullptr;                         // in the list that it stands in
  index3 index = {};                             // threadIdx of the thread that it runs
  running_thread thread = {};
  std::array<std::uint64_t, warp_size> received = {};  // by the last operation of its warp
  std::uint32_t received_from = 0;
  sanitizer_state sanitizer;
};

class fiber_list {
 public:
  bool empty() const { return head_ == nullptr; }
  void push(fiber& f) {
    f.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &f;
    tail_ = &f;
  }
  fiber& pop() {
    fiber& first = *head_;
    head_ = first.next;
    return first;
  }

 private:
  fiber* head_ = nullptr;
  fiber* tail_ = nullptr;
};

// The lanes of a warp run in rounds: each goes on until it stops. What is released during a round runs in the next.
struct warp {
  unsigned lanes = 0, started = 0;
  std::uint32_t live = 0;  // not exited
  fiber_list ready, released, at_barrier;
  std::uint32_t waiting = 0;    // lanes that wait for the lanes of their mask
  std::uint32_t exchanges = 0;  // of which give a value
  std::array<fiber*, warp_size> who = {};
  std::array<std::uint32_t, warp_size> mask = {};
  std::array<std::uint64_t, warp_size> value = {};
};

void enter(context::detail::transfer_t from);

// std::thread::id is given again to a later thread; this number is not.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last = 0;
  static thread_local std::uint64_t const mine = ++last;
  return mine;
}

template <class F>
void for_each_lane(std::uint32_t lanes, F const& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

// Warps take turns; a warp's threads are started on one fiber, one after the other, until one waits; its fiber stays
// with it, and an idle one starts the next threads. So a kernel without barriers runs as a plain loop.
class executor {
 public:
  std::recursive_mutex& mutex() { return mutex_; }
  void watch_with(monitor_events* monitor) { monitor_ = monitor; }
  bool is_watched() const { return monitor_ != nullptr; }

  void run(kernel_launch const& launch) {
    std::lock_guard const lock(mutex_);
    if (monitor_ != nullptr && launch.image == nullptr)
      throw error(errc::unsupported,
                  "simt: a kernel launched in a session is not instrumented, so that nothing of it would be seen");
    prepare(launch);
    std::vector<block_class> chosen;
    if (monitor_ != nullptr) chosen = monitor_->begin_launch(launch, static_cast<unsigned char*>(arena_.get()));
    for (auto const& block : chosen) run_block(block);
    if (chosen.empty())
      for (unsigned z = 0; z < launch.grid.z; ++z)
        for (unsigned y = 0; y < launch.grid.y; ++y)
          for (unsigned x = 0; x < launch.grid.x; ++x) run_block({.block = {x, y, z}});
    if (monitor_ != nullptr) monitor_->end_launch();
  }

  void sync_block(void const* pc) {
    fiber& self = *current_;
    if (monitor_ != nullptr) monitor_->wait_for_block(pc);
    turn_->at_barrier.push(self);
    ++at_barrier_;
    wait(self);
  }

  void sync_warp(std::uint32_t mask, std::uint64_t value, bool exchanges, void const* pc) {
    fiber& self = *current_;
    auto const lane = self.thread.lane;
    if (monitor_ != nullptr) monitor_->wait_for_warp(mask, exchanges, pc);
    warp& w = *turn_;
    w.waiting |= 1u << lane;
    w.who[lane] = &self;
    w.mask[lane] = mask;
    w.value[lane] = value;
    w.exchanges = exchanges ? w.exchanges | 1u << lane : w.exchanges & ~(1u << lane);
    release_lanes(w, mask);
    wait(self);
  }

  std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, unsigned source, void const* pc) {
    sync_warp(mask, value, true, pc);
    fiber const& self = *current_;
    if ((self.received_from >> source & 1) != 0) return self.received[source];
    if (monitor_ != nullptr) monitor_->shuffle_from_outside(source, pc);
    return value;
  }

  std::uint32_t ballot(std::uint32_t mask, bool predicate, void const* pc) {
    sync_warp(mask, predicate ? 1 : 0, true, pc);
    fiber const& self = *current_;
    std::uint32_t votes = 0;
    for_each_lane(self.received_from,
                  [&](unsigned lane) { votes |= static_cast<std::uint32_t>(self.received[lane]) << lane; });
    return votes;
  }

  unsigned lane_index() const { return current_->thread.lane; }

  [[noreturn]] void abandon_thread() {
    fiber& self = *current_;
    exit_thread(self);
    abandoned_.push(self);
    switch_to(self, next());
    __builtin_unreachable();
  }

  // What a fiber does all its life; `from` is who started it.
  [[noreturn]] void live(context::detail::transfer_t from) {
    fiber& self = *current_;
    arrive(from);
    for (;;) {
      run_threads(self);
      idle_.push(self);
      if (fiber& then = next_or_origin(); &then != &self) switch_to(self, then);
    }
  }

  void* arena() const { return arena_.get(); }

  void* allocate_workspace(std::size_t bytes) {
    void* const workspace = ::operator new(bytes, workspace_alignment);
    std::memset(workspace, 0xff, bytes);
    std::lock_guard const lock(mutex_);
    if (monitor_ != nullptr) monitor_->add_workspace(workspace, bytes);
    return workspace;
  }

  void free_workspace(void* workspace) {
    {
      std::lock_guard const lock(mutex_);
      if (monitor_ != nullptr) monitor_->remove_workspace(workspace);
    }
    ::operator delete(workspace, workspace_alignment);
  }

 private:
  struct free_aligned {
    void operator()(void* p) const { ::operator delete(p, arena_alignment); }
  };
  static constexpr std::align_val_t arena_alignment{128};
  static constexpr std::align_val_t workspace_alignment{256};  // cudaMalloc's

  void prepare(kernel_launch const& launch) {
    auto const &grid = launch.grid, &block = launch.block;
    auto const threads = std::uint64_t{block.x} * block.y * block.z;
    auto const describe = [&] {
      return fmt::format("simt: grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic shared memory", grid.x, grid.y,
                         grid.z, block.x, block.y, block.z, launch.dynamic_bytes);
    };
    // The limits of every GPU since compute capability 3.0, so that a launch that passes here passes there; of shared
    // memory a GPU of 9.0 has most.
    constexpr std::size_t most_shared = 227 * 1024;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
        launch.dynamic_bytes > most_shared || threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
        threads > 1024)
      throw error(errc::device, describe() + ": not a launch that a GPU takes");
    try {
      prepare_fibers(threads);
      arena_.reset(::operator new(launch.dynamic_bytes, arena_alignment));
    } catch (std::bad_alloc const&) {
      throw error(errc::out_of_memory, describe() + ": no memory for it or for the threads' stacks");
    }
    body_ = launch.body;
    arguments_ = launch.arguments;
    thread_count_ = static_cast<unsigned>(threads);
    block_size = block;
    grid_size = grid;
  }

  // The stacks are kept for good. The fibers on them belong to the system thread that made them (the C++ run time and
  // AddressSanitizer keep state a thread), so another caller makes them anew.
  void prepare_fibers(std::size_t count) {
    context::protected_fixedsize_stack allocator(stack_bytes);
    while (fibers_.size() < count) {
      fibers_.push_back(std::make_unique<fiber>());
      try {
        auto const stack = allocator.allocate();
        // Stacks start at different places of a page: 1024 of them with the same low address bits would take turns in
        // the few cache sets that those bits select.
        auto const shift = fibers_.size() % 16 * 256;
        fibers_.back()->thread.stack = {static_cast<char*>(stack.sp) - shift, stack.size - shift};
      } catch (...) {
        fibers_.pop_back();
        throw;
      }
      make(*fibers_.back());
    }
    if (made_by_ == thread_number()) return;
    idle_ = {};
    origin_.sanitizer.adopt_thread();
    for (auto const& f : fibers_) make(*f);
    made_by_ = thread_number();
  }

  void make(fiber& f) {
    f.sanitizer.renew(f.thread.stack);
    f.resume = context::detail::make_fcontext(f.thread.stack.top, f.thread.stack.size, enter);
    idle_.push(f);
  }

  void run_block(block_class const& block) {
    block_index = block.block;
    next_index_ = {0, 0, 0};
    live_ = thread_count_;
    at_barrier_ = 0;
    warps_.resize((thread_count_ + warp_size - 1) / warp_size);
    for (unsigned first = 0; warp & w : warps_) {
      w.lanes = std::min(thread_count_ - first, warp_size);
      w.live = ~0u >> (warp_size - w.lanes);
      w.started = 0;
      first += w.lanes;
    }
    turn_ = warps_.data();
    if (monitor_ != nullptr) monitor_->begin_block(block);
    switch_to(origin_, next());
    if (failure_) {
      made_by_ = 0;  // its fibers stand somewhere inside the kernel
      warps_.clear();
      abandoned_ = {};
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    while (!abandoned_.empty()) make(abandoned_.pop());
    if (monitor_ != nullptr) monitor_->end_block();
  }

  // Starts the threads of the warp whose turn it is.
  void run_threads(fiber& self) {
    warp& w = *turn_;
    auto const index = static_cast<unsigned>(turn_ - warps_.data());
    while (w.started < w.lanes && !failure_) {
      self.index = next_index_;
      self.thread.lane = w.started++;
      self.thread.warp = index;
      self.thread.thread = index * warp_size + self.thread.lane;
      if (++next_index_.x == block_size.x) {
        next_index_.x = 0;
        if (++next_index_.y == block_size.y) next_index_.y = 0, ++next_index_.z;
      }
      resume(self);
      try {
        body_(arguments_);
      } catch (...) {
        failure_ = std::current_exception();
      }
      exit_thread(self);
    }
  }

  void resume(fiber& self) {
    thread_index = self.index;
    if (monitor_ != nullptr) monitor_->resume(self.thread);
  }

  void exit_thread(fiber& self) {
    if (monitor_ != nullptr) monitor_->exit_thread();
    warp& w = *turn_;
    w.live &= ~(1u << self.thread.lane);
    --live_;
    for_each_lane(w.waiting, [&](unsigned lane) { release_lanes(w, w.mask[lane]); });
  }

  void wait(fiber& self) {
    if (fiber& then = next(); &then != &self) switch_to(self, then);
    resume(self);
  }

  // Lets the lanes of `mask` go on if all of them that have not exited wait for just these.
  void release_lanes(warp& w, std::uint32_t mask) {
    auto const lanes = mask & w.live & w.waiting;
    if (lanes != (mask & w.live)) return;
    bool together = true;
    for_each_lane(lanes, [&](unsigned lane) { together = together && w.mask[lane] == mask; });
    if (!together) return;
    w.waiting &= ~lanes;
    for_each_lane(lanes, [&](unsigned lane) {
      fiber& f = *w.who[lane];
      for_each_lane(lanes, [&](unsigned from) { f.received[from] = w.value[from]; });
      f.received_from = lanes;
      w.released.push(f);
    });
    if (monitor_ != nullptr && lanes != 0)
      monitor_->warp_synced(static_cast<unsigned>(&w - warps_.data()), lanes, w.live, (lanes & w.exchanges) != 0);
  }

  // Nothing may be thrown out of a fiber's first function.
  fiber& next_or_origin() {
    try {
      if (!failure_) return next();
    } catch (...) {
      failure_ = std::current_exception();
    }
    return origin_;
  }

  // Who runs next: a thread of this warp that has not started or is ready, then the next warps, then, when all wait at
  // the barrier, the first warp again; the launching thread when none is left.
  fiber& next() {
    if (turn_->started < turn_->lanes) return idle_.pop();
    if (!turn_->ready.empty()) return turn_->ready.pop();
    return next_round();
  }

  [[gnu::noinline]] fiber& next_round() {
    for (;;) {
      if (monitor_ != nullptr) monitor_->warp_stopped(static_cast<unsigned>(turn_ - warps_.data()));
      turn_->ready = std::exchange(turn_->released, {});
      if (!turn_->ready.empty()) return turn_->ready.pop();
      if (++turn_ < warps_.data() + warps_.size()) {
        if (turn_->started < turn_->lanes) return idle_.pop();
        if (!turn_->ready.empty()) return turn_->ready.pop();
        continue;
      }
      if (live_ == 0) return origin_;
      if (at_barrier_ != live_) {
        if (monitor_ != nullptr) monitor_->deadlock();
        failure_ = std::make_exception_ptr(error(
            errc::device,
            fmt::format("simt: block ({}, {}, {}): {} threads wait at a barrier and {} for lanes of their warp that do "
                        "not come",
                        block_index.x, block_index.y, block_index.z, at_barrier_, live_ - at_barrier_)));
        return origin_;
      }
      if (monitor_ != nullptr) monitor_->block_synced();
      for (warp& each : warps_) each.ready = std::exchange(each.at_barrier, {});
      at_barrier_ = 0;
      turn_ = warps_.data();
      if (!turn_->ready.empty()) return turn_->ready.pop();
    }
  }

  void switch_to(fiber& from, fiber& to) {
    current_ = &to;
    from.sanitizer.leave(to.sanitizer, to.thread.stack);
    arrive(context::detail::jump_fcontext(to.resume, &from));
  }

  void arrive(context::detail::transfer_t from) {
    auto& left = *static_cast<fiber*>(from.data);
    left.resume = from.fctx;
    current_->sanitizer.arrive(&left == &origin_ ? &origin_.thread.stack : nullptr);
  }

  std::recursive_mutex mutex_;
  monitor_events* monitor_ = nullptr;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::uint64_t made_by_ = 0;
  fiber origin_;  // the launching thread
  fiber* current_ = nullptr;
  fiber_list idle_, abandoned_;

  void (*body_)(void const*) = nullptr;
  void const* arguments_ = nullptr;
  std::unique_ptr<void, free_aligned> arena_;
  unsigned thread_count_ = 0;
  unsigned live_ = 0;        // threads of the block that have not exited
  unsigned at_barrier_ = 0;  // of which wait for the block
  std::vector<warp> warps_;
  warp* turn_ = nullptr;  // the warp that runs
  index3 next_index_ = {};
  std::exception_ptr failure_;
};

// Never destroyed: a launch may still come from another object's destructor at the end of the program.
executor& the_executor() {
  static executor& one = *new executor;
  return one;
}

void enter(context::detail::transfer_t from) { the_executor().live(from); }

}  // namespace

void run_grid(kernel_launch const& launch) { the_executor().run(launch); }

void sync_block() { the_executor().sync_block(__builtin_return_address(0)); }

void sync_warp(std::uint32_t mask) { the_executor().sync_warp(mask, 0, false, __builtin_return_address(0)); }

std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, unsigned source) {
  return the_executor().shuffle(mask, value, source, __builtin_return_address(0));
}

std::uint32_t ballot(std::uint32_t mask, bool predicate) {
  return the_executor().ballot(mask, predicate, __builtin_return_address(0));
}

unsigned lane_index() { return the_executor().lane_index(); }

void* dynamic_arena() { return the_executor().arena(); }

void* allocate_workspace(std::size_t bytes) { return the_executor().allocate_workspace(bytes); }

void free_workspace(void* workspace) noexcept { the_executor().free_workspace(workspace); }

std::recursive_mutex& executor_mutex() { return the_executor().mutex(); }

void watch_with(monitor_events* monitor) { the_executor().watch_with(monitor); }

bool is_watched() { return the_executor().is_watched(); }

void abandon_thread() { the_executor().abandon_thread(); }

}  // namespace tandem::simt
