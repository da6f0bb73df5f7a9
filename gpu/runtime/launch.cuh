// How kernels start on the device, and their dynamic shared memory; with cp.async, textures and workspaces, all that a
// kernel file finds besides CUDA's own words. The SIMT executor's side is tandem/simt/words.hpp.
#pragma once

#include <cstddef>
#include <string>

#include <cuda_runtime.h>

#include "gpu/runtime/async.cuh"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/mma.cuh"
#include "gpu/runtime/shared_memory.cuh"
#include "gpu/runtime/texture.cuh"
#include "gpu/runtime/workspace.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// The block's dynamic shared memory. One array of bytes for every T: arrays of one name and two types would collide.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char tandem_dynamic_shared[];
  return reinterpret_cast<T*>(tandem_dynamic_shared);
}

inline std::string describe_launch(dim3 grid, dim3 block, std::size_t dynamic_bytes) {
  auto const size = [](dim3 d) { return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z); };
  return "launch of grid " + size(grid) + ", block " + size(block) + ", " + std::to_string(dynamic_bytes) +
         " bytes of dynamic shared memory";
}

template <class T>
struct same {
  using type = T;
};

/// In a kernel that starts by `launch_after`: waits until the one before it in the stream has ended, and its writes are
/// there.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// In the kernel before it: when every block has come here, the next one's blocks may take the places that are free, up
/// to where they wait.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

enum class beginning { late, early, beside };  // of a kernel, and the end of the one before it

template <class... P>
void enqueue(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
             beginning when, typename same<P>::type... arguments) {
  auto const describe = [&] { return describe_launch(grid, block, dynamic_bytes); };
  std::int64_t const blocks = std::int64_t{grid.x} * grid.y * grid.z;
  bool const waits = when != beginning::late && gpu::code_version() >= 90;  // code for earlier devices does not
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared_bytes(reinterpret_cast<void const*>(kernel), blocks, dynamic_bytes,
                                                 waits && when == beginning::early);
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = waits ? 1 : 0;
  gpu::check(cudaLaunchKernelEx(&config, kernel, arguments...), describe);
}

/// Enqueues a kernel on the stream.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
            typename same<P>::type... arguments) {
  enqueue(kernel, grid, block, dynamic_bytes, stream, beginning::late, arguments...);
}

/// The same of a kernel that begins before the one before it ends, and then calls wait_for_kernel_before. Its blocks
/// are spread evenly over the multiprocessors.
template <class... P>
void launch_after(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
                  typename same<P>::type... arguments) {
  enqueue(kernel, grid, block, dynamic_bytes, stream, beginning::early, arguments...);
}

/// The same of a kernel that goes on beside the one before it, wherever that leaves room, and waits at its end.
template <class... P>
void launch_beside(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st* stream,
                   typename same<P>::type... arguments) {
  enqueue(kernel, grid, block, dynamic_bytes, stream, beginning::beside, arguments...);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
