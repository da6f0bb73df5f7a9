// Aligned memory for packed panels, kept between calls: fresh pages cost a small product a tenth of its time.
#include "cpu/workspace.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <new>
#include <string>
#include <utility>

#include <tandem/error.hpp>
#include <tandem/thread_own.hpp>

namespace tandem::cpu {

workspace::~workspace() { ::operator delete(data_, std::align_val_t(alignment)); }

void* workspace::reserve(std::size_t bytes) {
  if (bytes <= size_) return data_;
  ::operator delete(std::exchange(data_, nullptr), std::align_val_t(alignment));
  size_ = 0;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  data_ = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  if (!data_) throw error(errc::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of packed panels");
  size_ = bytes;
#ifdef __linux__
  madvise(data_, bytes, MADV_HUGEPAGE);  // only advice; small pages cost a product of 2048 squares some percent
#endif
  return data_;
}

workspace& thread_workspace() {
  if (auto* const own = thread_own<workspace>()) return *own;
  thread_local auto& of_last_calls = *new workspace;  // by destructors at the thread's end; never destroyed
  return of_last_calls;
}

}  // namespace tandem::cpu
