// Operands in device memory for a kernel in the sandbox: each region in a window between unmapped addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/window.hpp"

namespace tandem::harness {

class device_operands {
 public:
  /// Copies a region's bytes into operand i's window: against its end if `at_end`, otherwise against its start. What is
  /// left of the window holds canaries. Returns where the region's first byte lies on the device.
  std::byte* place(std::size_t i, std::span<std::byte const> region, bool at_end) {
    auto& w = windows_[i];
    if (w.size() < region.size() || w.size() > 2 * region.size() + smallest) w = gpu::device_window(region.size());
    offset_[i] = at_end ? w.size() - region.size() : 0;
    image_.assign(w.size(), canary);
    std::copy(region.begin(), region.end(), image_.begin() + static_cast<std::ptrdiff_t>(offset_[i]));
    gpu::copy_to_device(w.data(), image_.data(), image_.size());
    return static_cast<std::byte*>(w.data()) + offset_[i];
  }

  /// Copies operand i back into its region. Returns what happened to the canaries; empty when nothing.
  std::string collect(std::size_t i, std::span<std::byte> region) {
    auto const& w = windows_[i];
    image_.resize(w.size());
    gpu::copy_to_host(image_.data(), w.data(), image_.size());
    std::span<std::byte const> const all(image_);
    auto const before = all.first(offset_[i]), after = all.subspan(offset_[i] + region.size());
    std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(offset_[i]), region.size(), region.begin());
    auto const touched = [](std::byte b) { return b != canary; };
    if (auto const at = std::ranges::find_if(after, touched); at != after.end())
      return fmt::format("device memory overwritten far past the end of {}", "ABC"[i]);
    if (auto const at = std::ranges::find_if(before, touched); at != before.end())
      return fmt::format("device memory overwritten far before the start of {}", "ABC"[i]);
    return {};
  }

  /// Whether operand i is no longer what was placed there from its region; does not wait for `stream`.
  bool changed(std::size_t i, std::span<std::byte const> region) {
    image_.resize(region.size());
    gpu::copy_to_host(image_.data(), static_cast<std::byte*>(windows_[i].data()) + offset_[i], image_.size());
    return !std::ranges::equal(image_, region);
  }

  /// A stream of one's own, which the default stream does not wait for.
  CUstream_st* stream() {
    if (!stream_) stream_.emplace(false);
    return stream_->get();
  }

 private:
  static constexpr std::byte canary{0xc5};
  static constexpr std::size_t smallest = std::size_t{4} << 20;  // below this a window is never too large

  std::array<gpu::device_window, 3> windows_;
  std::array<std::size_t, 3> offset_ = {};
  std::vector<std::byte> image_;
  std::optional<gpu::stream> stream_;
};

}  // namespace tandem::harness
