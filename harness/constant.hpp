// A value on a page that cannot be written, as compilers keep constants.
#pragma once

#include <new>

#include <sys/mman.h>

namespace tandem::harness {

/// The page of this thread's constant, by which a fault there is told; null: it has none.
inline thread_local void const* constant_page = nullptr;

/// One a thread at a time.
template <class Value>
class constant {
 public:
  /// Throws std::bad_alloc.
  explicit constant(Value const& value) {
    void* const page = mmap(nullptr, sizeof value, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    value_ = new (page) Value(value);
    mprotect(page, sizeof value, PROT_READ);
    constant_page = page;
  }
  constant(constant const&) = delete;
  constant& operator=(constant const&) = delete;
  ~constant() {
    constant_page = nullptr;
    munmap(const_cast<Value*>(value_), sizeof *value_);
  }
  Value const& operator*() const noexcept { return *value_; }

 private:
  Value const* value_;
};

}  // namespace tandem::harness
