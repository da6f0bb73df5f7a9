// What a thread keeps from call to call.
#pragma once

namespace tandem {

/// The calling thread's T, if it has one by now.
template <class T>
T*& made_thread_own() {
  thread_local T* own = nullptr;
  return own;
}

/// The calling thread's T, made when it is first asked for and destroyed when the thread ends; nullptr from then on,
/// since destructors that run later may still multiply. Not in the thread's static storage, which is part of its stack.
template <class T>
T* thread_own() {
  auto*& own = made_thread_own<T>();
  thread_local bool has_ended = false;
  if (own == nullptr && !has_ended) {
    struct end_of_thread {
      end_of_thread() { made_thread_own<T>() = new T; }
      ~end_of_thread() {
        delete made_thread_own<T>();
        made_thread_own<T>() = nullptr;
        has_ended = true;
      }
    };
    thread_local end_of_thread const end;
  }
  return own;
}

}  // namespace tandem
