// Workspaces by CUDA's stream-ordered allocator.
#include "gpu/runtime/workspace.hpp"

#include <cstdint>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/captures.hpp"
#include "gpu/runtime/check.hpp"

namespace tandem::gpu {
namespace {

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
  return device;
}

cudaMemPool_t make_pool(int device) {
  outside_captures const relaxed;
  auto const describe = [&] { return fmt::format("memory pool of device {}", device); };
  int supported = 0;
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device), describe);
  if (supported == 0) throw error(errc::device, describe() + ": the device has none, and no workspace without one");

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties), describe);
  std::uint64_t kept = workspace_memory::most_kept;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), describe);
  int wait_for_other_streams = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &wait_for_other_streams), describe);
  return pool;
}

// Never destroyed: at the program's end CUDA may be gone first.
cudaMemPool_t pool_of(int device) {
  static std::mutex& mutex = *new std::mutex;
  static std::map<int, cudaMemPool_t>& pools = *new std::map<int, cudaMemPool_t>;
  std::lock_guard const lock(mutex);
  auto const found = pools.find(device);
  return found != pools.end() ? found->second : pools.emplace(device, make_pool(device)).first->second;
}

}  // namespace

workspace_memory::workspace_memory(std::size_t bytes, CUstream_st* stream) : stream_(stream) {
  if (bytes == 0) return;
  check(cudaMallocFromPoolAsync(&data_, bytes, pool_of(current_device()), stream),
        [&] { return fmt::format("workspace of {} bytes", bytes); });
}

// The status is dropped: what a kernel left behind comes out of the next call.
workspace_memory::~workspace_memory() {
  if (data_ != nullptr) cudaFreeAsync(data_, stream_);
}

std::size_t bytes_of_workspaces() {
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool_of(current_device()), cudaMemPoolAttrReservedMemCurrent, &bytes),
        [] { return "memory of the pool of workspaces"; });
  return bytes;
}

void trim_workspaces() {
  check(cudaMemPoolTrimTo(pool_of(current_device()), 0), [] { return "cudaMemPoolTrimTo"; });
}

}  // namespace tandem::gpu
