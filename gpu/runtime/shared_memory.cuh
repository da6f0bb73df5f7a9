// How much dynamic shared memory a kernel is launched with: what it needs, or more, to keep blocks apart. In the
// kernels' namespace, since a library asks its own CUDA runtime about its own kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <tandem/thread_own.hpp>

#include "gpu/runtime/check.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// Of a kernel on a device.
struct shared_memory_limits {
  std::int64_t multiprocessors;
  std::int64_t multiprocessor_bytes;  // of shared memory
  std::int64_t block_bytes;           // that a block takes besides its dynamic shared memory
};

/// Of a kernel that may have all the dynamic shared memory that a block can have from then on.
inline shared_memory_limits find_limits(void const* kernel, int device) {
  auto const attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    gpu::check(cudaDeviceGetAttribute(&value, which, device), [] { return "cudaDeviceGetAttribute"; });
    return value;
  };
  cudaFuncAttributes function = {};
  gpu::check(cudaFuncGetAttributes(&function, kernel), [] { return "cudaFuncGetAttributes"; });
  int const fixed = static_cast<int>(function.sharedSizeBytes);
  int const most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - fixed;
  gpu::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
             [&] { return "cudaFuncSetAttribute of " + std::to_string(most) + " bytes of dynamic shared memory"; });
  return {.multiprocessors = attribute(cudaDevAttrMultiProcessorCount),
          .multiprocessor_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          .block_bytes = attribute(cudaDevAttrReservedSharedMemoryPerBlock) + fixed};
}

/// Found when a thread first launches the kernel.
inline shared_memory_limits limits_of(void const* kernel) {
  int device = 0;
  gpu::check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
  auto* const known = thread_own<std::map<std::pair<void const*, int>, shared_memory_limits>>();
  if (known == nullptr) return find_limits(kernel, device);
  auto const at = known->find({kernel, device});
  return at != known->end() ? at->second
                            : known->emplace(std::pair(kernel, device), find_limits(kernel, device)).first->second;
}

/// Lets the kernel have its dynamic shared memory, of which it must ask for more than 48 KiB, and returns the bytes to
/// launch `blocks` of it with, each of which needs `bytes`. Where they are to be `spread`, the bytes are so many that
/// no multiprocessor takes more blocks than its even share: blocks that come while those of the kernel before still run
/// would else crowd on the multiprocessors that happen to have room. Throws errc::device.
inline std::size_t dynamic_shared_bytes(void const* kernel, std::int64_t blocks, std::size_t bytes, bool spread) {
  // A few blocks have room enough; of many on each multiprocessor one more is no matter.
  constexpr std::int64_t few_blocks = 16, large_share = 8, granule = 128;
  constexpr std::size_t without_asking = 48 * 1024;
  bool const may_crowd = spread && blocks > few_blocks;
  if (!may_crowd && bytes <= without_asking) return bytes;
  auto const limit = limits_of(kernel);
  std::int64_t const share = (blocks + limit.multiprocessors - 1) / limit.multiprocessors;
  std::int64_t const kept_apart = (limit.multiprocessor_bytes / (share + 1) / granule + 1) * granule;
  if (!may_crowd || share > large_share || share * kept_apart > limit.multiprocessor_bytes) return bytes;
  return std::max(bytes, static_cast<std::size_t>(std::max(kept_apart - limit.block_bytes, std::int64_t{0})));
}

}  // namespace TANDEM_KERNEL_NAMESPACE
