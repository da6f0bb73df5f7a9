#include "gpu/runtime/texture.hpp"

#include <cstdint>
#include <mutex>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/captures.hpp"
#include "gpu/runtime/check.hpp"

namespace tandem::gpu {
namespace {

// What a texture object is made of; equal ones share one.
struct texture_key {
  void const* data;
  std::size_t count;
  cudaChannelFormatDesc format;
  int device;
};

struct texture {
  texture_key key;
  cudaTextureObject_t object;
  int holders;
};

bool operator==(texture_key const& x, texture_key const& y) {
  auto const fields = [](texture_key const& k) {
    return std::tuple(k.data, k.count, k.device, k.format.x, k.format.y, k.format.z, k.format.w, k.format.f);
  };
  return fields(x) == fields(y);
}

cudaTextureObject_t create(texture_key const& key, std::size_t element_bytes) {
  outside_captures const relaxed;
  auto const describe = [&] {
    return fmt::format("texture of {} elements of {} bytes at {}", key.count, element_bytes, key.data);
  };
  int alignment = 0;
  check(cudaDeviceGetAttribute(&alignment, cudaDevAttrTextureAlignment, key.device), describe);
  if (auto const beyond = reinterpret_cast<std::uintptr_t>(key.data) % static_cast<unsigned>(alignment); beyond != 0)
    throw error(errc::device, fmt::format("{}: {} bytes past a multiple of {}, the device's texture alignment",
                                          describe(), beyond, alignment));
  std::size_t largest = 0;
  check(cudaDeviceGetTexture1DLinearMaxWidth(&largest, &key.format, key.device), describe);
  if (key.count > largest)
    throw error(errc::device, fmt::format("{}: the device takes {} of them", describe(), largest));

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(key.data);
  resource.res.linear.desc = key.format;
  resource.res.linear.sizeInBytes = key.count * element_bytes;
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  check(cudaCreateTextureObject(&object, &resource, &description, nullptr), describe);
  return object;
}

class texture_cache {
 public:
  held_texture hold(texture_key const& key, bool for_graph) {
    std::lock_guard const lock(mutex_);
    int const holders = for_graph ? 2 : 1;  // one of whom never releases it
    for (auto& t : textures_)
      if (t.key == key) return t.holders += holders, held_texture{t.object, key.device};
    if (textures_.size() >= most && !for_graph) destroy_unheld(key.device);
    auto const& f = key.format;
    auto const object = create(key, static_cast<std::size_t>(f.x + f.y + f.z + f.w) / 8);
    textures_.push_back({key, object, holders});
    return {object, key.device};
  }

  void release(held_texture held) {
    std::lock_guard const lock(mutex_);
    for (auto& t : textures_)
      if (t.object == held.object && t.key.device == held.device) --t.holders;
  }

 private:
  static constexpr std::size_t most = 1024;

  void destroy_unheld(int device) {
    check(cudaDeviceSynchronize(), [] { return "cudaDeviceSynchronize before texture objects are destroyed"; });
    std::erase_if(textures_, [&](texture const& t) {
      if (t.key.device != device || t.holders != 0) return false;
      cudaDestroyTextureObject(t.object);
      return true;
    });
  }

  std::mutex mutex_;
  std::vector<texture> textures_;
};

// Never destroyed: at the program's end CUDA may be gone first.
texture_cache& cache() {
  static texture_cache& one = *new texture_cache;
  return one;
}

}  // namespace

held_texture hold_texture(void const* data, std::size_t count, cudaChannelFormatDesc format, CUstream_st* stream) {
  int device = 0;
  check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), [] { return "cudaStreamIsCapturing"; });
  return cache().hold({data, count, format, device}, status != cudaStreamCaptureStatusNone);
}

void release_texture(held_texture held) noexcept { cache().release(held); }

}  // namespace tandem::gpu
