// The sizes of this processor's caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tandem::cpu {

/// Bytes of one core's L1 and L2 data caches and of the last-level cache.
struct cache_sizes {
  std::int64_t l1 = 32 << 10, l2 = 512 << 10, l3 = 8 << 20;  // a modest machine's, where nothing is known
  friend bool operator==(cache_sizes const&, cache_sizes const&) = default;
};

/// Intel's of late, 2 MiB and more, which are farther from L3 than AMD's of 1 MiB.
inline bool has_large_l2(cache_sizes const& caches) { return caches.l2 > (1 << 20); }

/// AMD's up to Zen 3, Intel's desktops of old, and what is unknown. Measured on a Zen 3 whose other hardware threads
/// work for others, so that a core has but a part of it.
inline bool has_small_l2(cache_sizes const& caches) { return caches.l2 <= (512 << 10); }

/// Those whose hardware goes on from row to row of a matrix in memory as fast as it comes, and which lose where rows
/// are asked for as well: Intel's of late and AMD's since Zen 5, both with an L1 of 48 KiB, and Zen 3. Zen 4, with 32
/// KiB and a larger L2, gains.
inline bool follows_rows(cache_sizes const& caches) {
  return caches.l1 > (32 << 10) || has_large_l2(caches) || has_small_l2(caches);
}

/// What one core may count on of an L3 that many share: Intel's of some hundred MiB is far from most of its cores.
inline std::int64_t near_l3(cache_sizes const& caches) { return std::min<std::int64_t>(caches.l3, 32 << 20); }

/// AMD's since Zen 5, by their caches: an L1 larger than before and an L2 as before.
inline bool is_like_zen5(cache_sizes const& caches) { return caches.l1 > (32 << 10) && !has_large_l2(caches); }

/// AMD's Zen 4, by its caches: an L1 as before it and an L2 as after it.
inline bool is_like_zen4(cache_sizes const& caches) {
  return !has_large_l2(caches) && !has_small_l2(caches) && !is_like_zen5(caches);
}

/// Reads L1, L2 and L3 as in "48K,1M,32M" (K, M, G or plain bytes). Any other text is an error, errc::unsupported.
cache_sizes parse_caches(std::string_view text);

/// `parse_caches` of TANDEM_CACHES, where it is set, else what the operating system says of the first processor.
cache_sizes read_caches();

/// `read_caches()`, read once.
cache_sizes const& host_caches();

}  // namespace tandem::cpu
