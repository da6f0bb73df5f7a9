// Aligned memory for packed panels, kept between calls.
#pragma once

#include <cstddef>

namespace tandem::cpu {

class workspace {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

  workspace() = default;
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;
  ~workspace();

  /// At least `bytes` bytes, whose old content is lost. Throws `error` with `errc::out_of_memory`.
  void* reserve(std::size_t bytes);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The calling thread's, so that two callers never share one.
workspace& thread_workspace();

}  // namespace tandem::cpu
