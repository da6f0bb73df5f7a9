// Whether calls take memory from the device, on a card that other programs use too.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

namespace gpu_problems {

/// Of the whole card, in bytes: other programs change it as well.
inline std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}

/// Whether there is as much free after `calls` as before. A change may be another program's, so it counts only if it
/// is there each of twenty times. So calls that take memory only now and then are not found out.
template <class F>
bool leaves_memory_alone(F const& calls) {
  for (int i = 0; i < 20; ++i) {
    auto const before = free_memory();
    calls();
    if (free_memory() == before) return true;
  }
  return false;
}

}  // namespace gpu_problems
