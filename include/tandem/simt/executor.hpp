// The SIMT executor: runs a CUDA grid on the CPU, one block after the other, with fibers as the block's threads.
// Kernel files do not see this file but CUDA's words over it, in tandem/simt/words.hpp.
//
// A barrier is CUDA's: it waits for every thread of the block that has not exited. A launch with no session
// (tandem/simt/session.hpp) runs plainly: which __syncthreads() a thread waits at is then not compared.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::simt {

struct index3 {
  unsigned x, y, z;
};

// CUDA's built-in variables, of the thread that runs now. One block runs at a time in a process. The kernels know these
// objects by the names given here, and as constants: while a thread of a kernel runs, they are.
extern index3 thread_index __asm__("tandem_simt_thread_index");
extern index3 block_index __asm__("tandem_simt_block_index");
extern index3 block_size __asm__("tandem_simt_block_size");
extern index3 grid_size __asm__("tandem_simt_grid_size");

/// One `__shared__` array of an instrumented file.
struct shared_array {
  void const* begin;
  std::uint64_t bytes;
  char const* symbol;  ///< mangled
};

/// The static shared memory of one instrumented program or shared object, arrays and the gaps between them.
struct shared_image {
  void const *begin, *end;
  shared_array const *arrays_begin, *arrays_end;
};

struct kernel_launch {
  void const* kernel;  ///< the kernel's address, by which reports name it
  void (*body)(void const* arguments);
  void const* arguments;
  std::size_t argument_bytes = 0;
  index3 grid, block;
  std::size_t dynamic_bytes;  ///< of shared memory for each block
  shared_image const* image;  ///< nullptr: the kernel is not instrumented
};

/// Runs body(arguments) once for each thread of each block and returns when all are done; a second caller waits for the
/// first. Throws errc::device for a grid or block that a GPU would not launch, and where threads wait for each other
/// for ever; errc::unsupported in a session, for a kernel that is not instrumented; errc::out_of_memory without memory
/// for the stacks; and whatever body throws.
void run_grid(kernel_launch const& launch);

/// __syncthreads().
void sync_block();

// Operations of a warp wait until all lanes of `mask` that have not exited have called one with this mask.

/// __syncwarp().
void sync_warp(std::uint32_t mask);
/// What lane `source` gave; this lane's own value if that lane takes no part.
std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, unsigned source);
/// The lanes whose predicate holds.
std::uint32_t ballot(std::uint32_t mask, bool predicate);
/// Which lane of its warp the running thread is.
unsigned lane_index();

/// The block's dynamic shared memory: exactly the size launched, aligned to 128 bytes.
void* dynamic_arena();

}  // namespace tandem::simt
