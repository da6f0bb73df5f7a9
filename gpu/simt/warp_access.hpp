// What one access or cp.async of a warp costs an NVIDIA GPU's memory system: 32-byte sectors of global memory, passes
// ("wavefronts") over the 32 banks of shared memory. Both follow from the lanes' addresses alone.
#pragma once

#include <array>
#include <cstdint>

namespace tandem::simt {

/// One load, store or atomic operation of a warp.
struct warp_access {
  std::uint32_t mask = 0;                   ///< the active lanes
  unsigned bytes = 0;                       ///< of each lane, 1 to 16
  std::array<std::uint64_t, 32> address{};  ///< by lane; those of inactive lanes mean nothing
};

/// Distinct 32-byte sectors in ascending order, by number: address / 32.
struct sector_list {
  unsigned size = 0;
  std::array<std::uint64_t, 64> number;  // two of each lane where all addresses are misaligned
  std::uint64_t const* begin() const { return number.data(); }
  std::uint64_t const* end() const { return begin() + size; }
};
sector_list sectors(warp_access const& access);

struct shared_cost {
  unsigned wavefronts = 0;
  unsigned conflicts = 0;  ///< wavefronts beyond those of conflict-free addresses in the same lanes
  bool operator==(shared_cost const&) const = default;
};

enum class direction { load, store };

/// The cost in shared memory, whose first byte lies at an address that is a multiple of 128.
shared_cost shared_wavefronts(warp_access const& access, direction way = direction::load);

/// A cp.async of one warp.
struct warp_copy {
  std::uint32_t mask = 0;                      ///< the active lanes
  std::uint32_t there = 0;                     ///< those of them that read; the others write zeros
  unsigned bytes = 0;                          ///< of each lane: 4, 8 or 16
  std::array<std::uint64_t, 32> from{}, to{};  ///< addresses in global and in shared memory
};

/// How many sectors it reads: of global memory where lanes copy 4 or 8 bytes, by way of the first-level cache; more
/// where 16, past it.
unsigned copied_sectors(warp_copy const& copy);

/// Its cost in shared memory.
shared_cost copy_wavefronts(warp_copy const& copy);

}  // namespace tandem::simt
