// Tells AddressSanitizer and ThreadSanitizer when a fiber leaves its stack and another arrives on its own; empty in
// a build without them.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TANDEM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_TSAN 1
#endif
#endif

#ifdef TANDEM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TANDEM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem::simt {

struct stack_bounds {
  void* top;  // one past the end: stacks grow downwards
  std::size_t size;
};

/// What the sanitizers know of one fiber.
class sanitizer_state {
 public:
  /// This is the calling thread's own stack.
  void adopt_thread() {
#ifdef TANDEM_TSAN
    tsan_fiber_ = __tsan_get_current_fiber();
#endif
  }

  /// A new fiber starts on the stack; what an old one left there is forgotten.
  void renew([[maybe_unused]] stack_bounds stack) {
#ifdef TANDEM_ASAN
    __asan_unpoison_memory_region(bottom(stack), stack.size);
    fake_stack_ = nullptr;
#endif
#ifdef TANDEM_TSAN
    if (tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
    tsan_fiber_ = __tsan_create_fiber(0);
#endif
  }

  /// Before the jump from this fiber to another. Always inlined: ThreadSanitizer would note the function's entry on
  /// the one fiber and its exit on the other.
  [[gnu::always_inline]] void leave([[maybe_unused]] sanitizer_state& to, [[maybe_unused]] stack_bounds stack) {
#ifdef TANDEM_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, bottom(stack), stack.size);
#endif
#ifdef TANDEM_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  }

  /// After a jump to this fiber; stores the bounds of the stack left, if asked.
  void arrive([[maybe_unused]] stack_bounds* left) {
#ifdef TANDEM_ASAN
    void const* left_bottom = nullptr;
    std::size_t left_size = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &left_bottom, &left_size);
    if (left != nullptr) *left = {static_cast<char*>(const_cast<void*>(left_bottom)) + left_size, left_size};
#endif
  }

 private:
#ifdef TANDEM_ASAN
  static void* bottom(stack_bounds stack) { return static_cast<char*>(stack.top) - stack.size; }
  void* fake_stack_ = nullptr;
#endif
#ifdef TANDEM_TSAN
  void* tsan_fiber_ = nullptr;
#endif
};

}  // namespace tandem::simt
