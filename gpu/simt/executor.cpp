// Fibers as the threads of a block. They switch by Boost.Context's jump, below its fiber class, because a fiber of ours
// is never unwound: kernels own nothing, so what a failed launch leaves behind is dropped with its stack's contents.
#include "gpu/simt/executor.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <tandem/error.hpp>

#include "gpu/simt/sanitizers.hpp"

namespace tandem::simt {

index3 thread_index, block_index, block_size, grid_size;

namespace {

namespace context = boost::context;

// Far more than a kernel's frame takes, also with a sanitizer's redzones; pages that are not touched cost nothing.
constexpr std::size_t stack_bytes = 256 * 1024;

struct fiber {
  context::detail::fcontext_t resume = nullptr;  // where it stopped
  fiber* next = nullptr;                         // in the queue or in the list of idle fibers
  index3 thread = {};                            // which thread of the block it runs
  stack_bounds stack = {};
  sanitizer_state sanitizer;
};

void enter(context::detail::transfer_t from);

// std::thread::id is given again to a later thread; this number is not.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last = 0;
  static thread_local std::uint64_t const mine = ++last;
  return mine;
}

// The threads of a block are started on one fiber, one after the other, until one waits at a barrier; its fiber stays
// with it, and an idle one starts the next threads. So a kernel without barriers runs as a plain loop. Waiting threads
// stand in one queue: a thread at its head finds that every other has arrived at the barrier or exited.
class executor {
 public:
  void run(void (*body)(void const*), void const* arguments, index3 grid, index3 block, std::size_t dynamic_bytes) {
    std::lock_guard const lock(mutex_);
    prepare(body, arguments, grid, block, dynamic_bytes);
    for (unsigned z = 0; z < grid.z; ++z)
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
          block_index = {x, y, z};
          started_ = 0;
          next_thread_ = {0, 0, 0};
          switch_to(origin_, next());
          if (failure_) {
            made_by_ = 0;  // its fibers stand somewhere inside the kernel
            std::rethrow_exception(std::exchange(failure_, nullptr));
          }
        }
  }

  void wait() {
    fiber& self = *current_;
    enqueue(self);
    fiber& then = next();
    if (&then == &self) return;
    switch_to(self, then);
    thread_index = self.thread;
  }

  // What a fiber does all its life; `from` is who started it.
  [[noreturn]] void live(context::detail::transfer_t from) {
    fiber& self = *current_;
    arrive(from);
    for (;;) {
      run_threads(self);
      self.next = idle_;
      idle_ = &self;
      switch_to(self, failure_ ? origin_ : next());
    }
  }

  void* arena() const { return arena_.get(); }

 private:
  struct free_aligned {
    void operator()(void* p) const { ::operator delete(p, arena_alignment); }
  };
  static constexpr std::align_val_t arena_alignment{128};

  void prepare(void (*body)(void const*), void const* arguments, index3 grid, index3 block, std::size_t dynamic_bytes) {
    auto const threads = std::uint64_t{block.x} * block.y * block.z;
    auto const describe = [&] {
      return fmt::format("simt: grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic shared memory", grid.x, grid.y,
                         grid.z, block.x, block.y, block.z, dynamic_bytes);
    };
    // The limits of every GPU since compute capability 3.0, so that a launch that passes here passes there.
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
        threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
      throw error(errc::device, describe() + ": not a launch that a GPU takes");
    try {
      prepare_fibers(threads);
      arena_.reset(dynamic_bytes == 0 ? nullptr : ::operator new(dynamic_bytes, arena_alignment));
    } catch (std::bad_alloc const&) {
      throw error(errc::out_of_memory, describe() + ": no memory for it or for the threads' stacks");
    }
    body_ = body;
    arguments_ = arguments;
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
        fibers_.back()->stack = {static_cast<char*>(stack.sp) - shift, stack.size - shift};
      } catch (...) {
        fibers_.pop_back();
        throw;
      }
      start(*fibers_.back());
    }
    if (made_by_ == thread_number()) return;
    idle_ = head_ = tail_ = nullptr;
    origin_.sanitizer.adopt_thread();
    for (auto const& f : fibers_) start(*f);
    made_by_ = thread_number();
  }

  void start(fiber& f) {
    f.sanitizer.renew(f.stack);
    f.resume = context::detail::make_fcontext(f.stack.top, f.stack.size, enter);
    f.next = idle_;
    idle_ = &f;
  }

  void run_threads(fiber& self) {
    while (started_ < thread_count_ && !failure_) {
      self.thread = thread_index = next_thread_;
      ++started_;
      if (++next_thread_.x == block_size.x) {
        next_thread_.x = 0;
        if (++next_thread_.y == block_size.y) next_thread_.y = 0, ++next_thread_.z;
      }
      try {
        body_(arguments_);
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
  }

  void enqueue(fiber& f) {
    f.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &f;
    tail_ = &f;
  }

  fiber& pop(fiber*& list) {
    fiber& first = *list;
    list = first.next;
    return first;
  }

  // Who runs next: a thread that has not started, then the one that waits longest, then the launch itself.
  fiber& next() {
    if (started_ < thread_count_) return pop(idle_);
    return head_ != nullptr ? pop(head_) : origin_;
  }

  void switch_to(fiber& from, fiber& to) {
    current_ = &to;
    from.sanitizer.leave(to.sanitizer, to.stack);
    arrive(context::detail::jump_fcontext(to.resume, &from));
  }

  void arrive(context::detail::transfer_t from) {
    auto& left = *static_cast<fiber*>(from.data);
    left.resume = from.fctx;
    current_->sanitizer.arrive(&left == &origin_ ? &origin_.stack : nullptr);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::uint64_t made_by_ = 0;
  fiber origin_;  // the launching thread
  fiber* current_ = nullptr;
  fiber* idle_ = nullptr;
  fiber* head_ = nullptr;  // of the waiting threads
  fiber* tail_ = nullptr;

  void (*body_)(void const*) = nullptr;
  void const* arguments_ = nullptr;
  std::unique_ptr<void, free_aligned> arena_;
  unsigned thread_count_ = 0;
  unsigned started_ = 0;
  index3 next_thread_ = {};
  std::exception_ptr failure_;
};

// Never destroyed: a launch may still come from another object's destructor at the end of the program.
executor& the_executor() {
  static executor& one = *new executor;
  return one;
}

void enter(context::detail::transfer_t from) { the_executor().live(from); }

}  // namespace

void run_grid(void (*body)(void const*), void const* arguments, index3 grid, index3 block, std::size_t dynamic_bytes) {
  the_executor().run(body, arguments, grid, block, dynamic_bytes);
}

void wait_for_block() { the_executor().wait(); }

void* dynamic_arena() { return the_executor().arena(); }

}  // namespace tandem::simt
