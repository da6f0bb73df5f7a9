// Functions of the CUDA driver, which the runtime finds; nothing is linked for them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/check.hpp"

namespace tandem::gpu {

/// A driver function that is there since CUDA 10.2 or before.
template <class Function>
Function* driver_function(char const* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  auto const status = cudaGetDriverEntryPointByVersion(name, &address, 10020, cudaEnableDefault, &found);
  check(status, [&] { return fmt::format("cudaGetDriverEntryPointByVersion of {}", name); });
  if (address == nullptr || found != cudaDriverEntryPointSuccess)
    throw error(errc::device, fmt::format("the CUDA driver has no {}", name));
  return reinterpret_cast<Function*>(address);
}

}  // namespace tandem::gpu
