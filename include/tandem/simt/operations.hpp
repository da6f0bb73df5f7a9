// What CUDA's words over the SIMT executor call besides memory accesses: operations whose accesses a session must see
// as one. Without a session each does its plain work at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::simt {

/// An atomic operation at `p` is about to be done by the caller of the function that calls this.
void note_atomic(void const* p, unsigned bytes, void const* pc);

/// __threadfence().
void note_fence();

/// cp.async: copies `from_source` bytes and fills up to `bytes` (4, 8 or 16) with zero. In a session the copy happens
/// at the wait, and touching the target before it is a defect.
void copy_async(void* to, void const* from, unsigned bytes, unsigned from_source);
void commit_async();
/// Waits for all groups that this thread has committed but the last `groups`.
void wait_async(unsigned groups);

/// A texture of `count` elements, all in one line.
struct linear_texture_data {
  void const* data;
  std::size_t count;
};

/// Element i, or zeros where i is not below the count. `bytes` is the element's size.
void fetch_texture(linear_texture_data const& texture, std::int64_t i, unsigned bytes, void* to);

/// Memory for the launches of one call, as gpu/runtime/workspace.hpp has it on the device: every byte 0xff, so that a
/// number that is read before it is written is NaN. A session of this thread takes it for an operand. Throws
/// std::bad_alloc.
void* allocate_workspace(std::size_t bytes);
void free_workspace(void* workspace) noexcept;

/// 32 pointers, one for each lane, by which the lanes of the running thread's warp find what the others have; they stay
/// as they are while the warp waits.
void const** warp_pointers();

/// How many fused multiply-adds have run in instrumented kernels.
extern "C" {
extern std::uint64_t tandem_simt_ffma, tandem_simt_dfma;
}

}  // namespace tandem::simt
