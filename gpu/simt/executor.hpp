// The SIMT executor, plain mode: runs a grid on the CPU, one block after the other, with fibers as the block's threads.
// Kernel files do not see this file but CUDA's words over it, in gpu/simt/words.hpp.
//
// A barrier is CUDA's: it waits for every thread of the block that has not exited. Which __syncthreads() a thread
// waits at is not compared: plain mode runs a divergent barrier as the hardware would, and does not report it.
#pragma once

#include <cstddef>

namespace tandem::simt {

struct index3 {
  unsigned x, y, z;
};

// CUDA's built-in variables, of the thread that runs now. One block runs at a time in a process.
extern index3 thread_index, block_index, block_size, grid_size;

/// Runs body(arguments) once for each thread of each block, with `dynamic_bytes` of shared memory for each block, and
/// returns when all are done; a second caller waits for the first. Throws errc::device for a grid or block that
/// a GPU would not launch, errc::out_of_memory without memory for the stacks, and whatever body throws.
void run_grid(void (*body)(void const*), void const* arguments, index3 grid, index3 block, std::size_t dynamic_bytes);

/// __syncthreads().
void wait_for_block();

/// The block's dynamic shared memory: exactly the size launched, aligned to 128 bytes.
void* dynamic_arena();

}  // namespace tandem::simt
