// Whether calls take memory from the device, by what this process has of it: other programs may use the card as well.
#pragma once

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/workspace.hpp"

namespace gpu_problems {

/// Whether none of `count` calls takes a device buffer, or has the pool of workspaces grow or shrink; call(i) enqueues
/// the call i on `stream`.
template <class F>
bool take_no_memory(int count, CUstream_st* stream, F const& call) {
  auto const buffers = tandem::gpu::bytes_of_buffers_so_far(), workspaces = tandem::gpu::bytes_of_workspaces();
  auto const is_as_before = [&] {
    return tandem::gpu::bytes_of_buffers_so_far() == buffers && tandem::gpu::bytes_of_workspaces() == workspaces;
  };
  for (int i = 0; i < count; ++i) {
    call(i);
    if (!is_as_before()) return false;
  }
  tandem::gpu::synchronize(stream);  // by which the pool may give back what the next call takes again
  return is_as_before();
}

}  // namespace gpu_problems
