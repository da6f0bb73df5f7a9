// CUDA texture objects over linear memory, which outlive the kernels that read them.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace tandem::gpu {

struct held_texture {
  cudaTextureObject_t object;
  int device;
};

/// The object for these elements of the current device's memory, held until it is released. Throws errc::device with
/// the values if the address is not aligned to the device's texture alignment (512 bytes on NVIDIA GPUs so far) or
/// there are more elements than a linear texture can have (2^27 or 2^28).
///
/// An object must live until the kernels launched with it are done, and nobody is to wait for that: so released objects
/// are kept, and found again. When there are 1024, those that nobody holds are destroyed after a wait for the device:
/// a program that makes textures of ever new memory waits once in 1024 of them. While `stream`, the kernels', is being
/// captured nothing is destroyed, and what was held for a graph never is: who knows when it is launched.
held_texture hold_texture(void const* data, std::size_t count, cudaChannelFormatDesc format, CUstream_st* stream);
void release_texture(held_texture held) noexcept;

}  // namespace tandem::gpu
