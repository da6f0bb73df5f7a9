// What a thread keeps from call to call.
#pragma once

namespace tandem {

/// The calling thread's T, made when it is first asked for and destroyed when the thread ends; nullptr from then on,
/// since destructors that run later may still multiply. Not in the thread's static storage, which is part of its stack.
template <class T>
T* thread_own() {
  thread_local T* own = nullptr;
  thread_local bool has_ended = false;
  if (own == nullptr && !has_ended) {
    struct end_of_thread {
      end_of_thread() { own = new T; }
      ~end_of_thread() {
        delete own;
        own = nullptr;
        has_ended = true;
      }
    };
    thread_local end_of_thread const end;
  }
  return own;
}

}  // namespace tandem
