// Where the lanes of a warp leave pointers for each other, for operations that shuffles would take many rounds for.
#include <array>

#include <tandem/simt/executor.hpp>
#include <tandem/simt/operations.hpp>

namespace tandem::simt {

void const** warp_pointers() {
  // One block runs at a time, of at most 1024 threads.
  static std::array<std::array<void const*, 32>, 32> of_warp;
  return of_warp[(thread_index.x + block_size.x * (thread_index.y + block_size.y * thread_index.z)) / 32].data();
}

}  // namespace tandem::simt
