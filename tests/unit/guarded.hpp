// Memory between unmapped pages: what reads or writes past its end, or before its beginning, is ended by the system.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace tandem::tests {

/// `size` elements with an unmapped page directly behind (at_end) or before them.
template <class T>
class guarded {
 public:
  guarded(std::int64_t size, bool at_end) {
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t const bytes = static_cast<std::size_t>(size) * sizeof(T), body = (bytes + page - 1) / page * page;
    length_ = body + 2 * page;
    void* const base = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
    REQUIRE(mprotect(base_, page, PROT_NONE) == 0);
    REQUIRE(mprotect(base_ + page + body, page, PROT_NONE) == 0);
    data_ = static_cast<T*>(static_cast<void*>(base_ + page + (at_end ? body - bytes : 0)));
  }
  guarded(guarded const&) = delete;
  guarded& operator=(guarded const&) = delete;
  ~guarded() { munmap(base_, length_); }
  T* data() const { return data_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t length_ = 0;
  T* data_ = nullptr;
};

}  // namespace tandem::tests
