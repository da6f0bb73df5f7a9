// Workspaces under the name that tandem/simt/words.hpp gives them on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/runtime/workspace.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// Memory for `count` elements, uninitialised, that the launches on this stream use while it lives
/// (gpu/runtime/workspace.hpp has how). None for a count of 0.
template <class T>
class workspace {
 public:
  workspace(std::int64_t count, CUstream_st* stream) : memory_(static_cast<std::size_t>(count) * sizeof(T), stream) {}
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  gpu::workspace_memory memory_;
};

}  // namespace TANDEM_KERNEL_NAMESPACE
