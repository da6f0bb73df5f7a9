// Ways to memory besides plain loads and stores: cached loads, cp.async, textures, workspaces, dynamic shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/arithmetic.hpp>
#include <tandem/simt/words/vectors.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

// Loads and stores with a hint to the caches.
template <class T>
__forceinline__ T __ldg(T const* p) {
  return *p;
}
template <class T>
__forceinline__ T __ldcg(T const* p) {
  return *p;
}
template <class T>
__forceinline__ T __ldcs(T const* p) {
  return *p;
}
template <class T>
__forceinline__ void __stcg(T* p, T value) {
  *p = value;
}
template <class T>
__forceinline__ void __stcs(T* p, T value) {
  *p = value;
}

// cp.async (gpu/runtime/async.cuh has the device's side).
using shared_address = unsigned char*;
__forceinline__ shared_address address_in_shared(void* shared) { return static_cast<shared_address>(shared); }
/// On a device, keeps a value in registers.
template <class T>
__forceinline__ void keep(T&) {}
template <int bytes>
__forceinline__ void copy_async(void* shared, void const* global, int from_source = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  simt::copy_async(shared, global, bytes, static_cast<unsigned>(from_source));
}
template <int bytes>
__forceinline__ void copy_async_or_zero(void* shared, void const* global, bool there) {
  copy_async<bytes>(shared, global, there ? bytes : 0);
}
__forceinline__ void commit_async() { simt::commit_async(); }
template <int groups>
__forceinline__ void wait_async() {
  simt::wait_async(groups);
}

// Textures of one line.
using cudaTextureObject_t = simt::linear_texture_data const*;
template <class T>
__forceinline__ T tex1Dfetch(cudaTextureObject_t texture, int i) {
  T value;
  simt::fetch_texture(*texture, i, sizeof value, &value);
  return value;
}

/// A texture over `count` elements of memory, which must outlive it; it must outlive the launches that read it.
template <class T>
class linear_texture {
 public:
  linear_texture(T const* data, std::size_t count, CUstream_st*) : data_{data, count} {}
  cudaTextureObject_t object() const { return &data_; }

 private:
  simt::linear_texture_data data_;
};

/// Element i of a texture over T, also for double, which CUDA has no texture of: it is made of two int.
template <class T>
__forceinline__ T fetch_element(cudaTextureObject_t texture, int i) {
  if constexpr (std::is_same_v<T, double>) {
    int2 const halves = tex1Dfetch<int2>(texture, i);
    return __hiloint2double(halves.y, halves.x);
  } else {
    return tex1Dfetch<T>(texture, i);
  }
}

/// Memory for `count` elements that the launches of this thread use while it lives. None for a count of 0.
template <class T>
class workspace {
 public:
  workspace(std::int64_t count, CUstream_st*)
      : data_(count == 0 ? nullptr : simt::allocate_workspace(static_cast<std::size_t>(count) * sizeof(T))) {}
  ~workspace() {
    if (data_ != nullptr) simt::free_workspace(data_);
  }
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;
  T* data() const { return static_cast<T*>(data_); }

 private:
  void* data_;
};

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_arena());
}

}  // namespace TANDEM_KERNEL_NAMESPACE
