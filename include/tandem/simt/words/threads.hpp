// Barriers, fences, and what the lanes of a warp do together.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

__forceinline__ void __syncthreads() { simt::sync_block(); }
__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) { simt::sync_warp(mask); }
__forceinline__ void __threadfence() { simt::note_fence(); }
__forceinline__ void __threadfence_block() {}

/// The value of the lane that `source` makes of this lane's index in its segment of `width` lanes; its own where that
/// lies outside the segment.
template <class T, class Source>
__forceinline__ T shuffle(unsigned mask, T value, int width, Source const& source) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffle moves up to 8 bytes");
  int const lane = static_cast<int>(simt::lane_index()), first = lane & ~(width - 1);
  int const wanted = source(lane - first);
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = simt::shuffle(mask, bits, static_cast<unsigned>(wanted < 0 || wanted >= width ? lane : first + wanted));
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return shuffle(mask, value, width, [=](int) { return source & (width - 1); });
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane - static_cast<int>(delta); });
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane + static_cast<int>(delta); });
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane ^ lane_mask; });
}
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) { return simt::ballot(mask, predicate != 0); }
__forceinline__ int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
__forceinline__ int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

}  // namespace TANDEM_KERNEL_NAMESPACE
