// Aligned memory for packed panels, kept between calls: fresh pages cost a small product a tenth of its time.
#include "cpu/workspace.hpp"

#include <new>
#include <string>
#include <utility>

#include <tandem/error.hpp>

namespace tandem::cpu {

workspace::~workspace() { ::operator delete(data_, std::align_val_t(alignment)); }

void* workspace::reserve(std::size_t bytes) {
  if (bytes <= size_) return data_;
  ::operator delete(std::exchange(data_, nullptr), std::align_val_t(alignment));
  size_ = 0;
  data_ = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  if (!data_) throw error(errc::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of packed panels");
  size_ = bytes;
  return data_;
}

workspace& thread_workspace() {
  thread_local workspace instance;
  return instance;
}

}  // namespace tandem::cpu
