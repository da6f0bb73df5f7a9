// Linear textures under the names that tandem/simt/words.hpp gives them on the host.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cuda_runtime.h>

#include "gpu/runtime/texture.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// A texture over `count` elements of the current device's memory (gpu/runtime/texture.hpp has the limits); an index
/// outside gives zeros. The memory must last until the kernels launched with the object are done; this need not.
template <class T>
class linear_texture {
 public:
  /// For kernels launched on this stream.
  linear_texture(T const* data, std::size_t count, CUstream_st* stream)
      : held_(gpu::hold_texture(data, count, cudaCreateChannelDesc<channels>(), stream)) {}
  ~linear_texture() { gpu::release_texture(held_); }
  linear_texture(linear_texture const&) = delete;
  linear_texture& operator=(linear_texture const&) = delete;

  cudaTextureObject_t object() const { return held_.object; }

 private:
  using channels = std::conditional_t<std::is_same_v<T, double>, int2, T>;  // there is no channel of 64 bits
  gpu::held_texture held_;
};

/// Element i of a texture over T, also for double, which is made of two int.
template <class T>
__device__ __forceinline__ T fetch_element(cudaTextureObject_t texture, int i) {
  if constexpr (std::is_same_v<T, double>) {
    int2 const halves = tex1Dfetch<int2>(texture, i);
    return __hiloint2double(halves.y, halves.x);
  } else {
    return tex1Dfetch<T>(texture, i);
  }
}

}  // namespace TANDEM_KERNEL_NAMESPACE
