// A guarded region in device memory: canaries instead of unmapped pages, which a device cannot offer.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/runtime/device.hpp"

namespace tandem::harness {

class device_region {
 public:
  device_region() = default;
  /// Throws errc::out_of_memory with the size asked for.
  explicit device_region(std::size_t bytes) : buffer_(bytes), copy_(bytes) {}

  std::byte* data() const noexcept { return static_cast<std::byte*>(buffer_.data()); }

  void write(std::span<std::byte const> image) { gpu::copy_to_device(buffer_.data(), image.data(), image.size()); }

  /// What the region holds now; valid until the next call.
  std::span<std::byte const> read() {
    gpu::copy_to_host(copy_.data(), buffer_.data(), copy_.size());
    return copy_;
  }

 private:
  gpu::device_buffer buffer_;
  std::vector<std::byte> copy_;
};

}  // namespace tandem::harness
