// The language's own words: qualifiers of functions and variables, and the built-in variables.
#pragma once

#include <tandem/simt/executor.hpp>
#include <tandem/types.hpp>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__ const  // of what the source initialises; the compiler knows that no thread writes it
// __noinline__ is no macro: libstdc++ spells an attribute so. __attribute__((noinline)) is for both compilers.
#ifdef TANDEM_SIMT_INSTRUMENTED
// `used`: or the compiler puts zeros in place of the loads from what nobody writes.
#define __shared__ static __attribute__((section("tandem_shared"), used))
// A function that stands for one operation of the hardware: its own accesses are not the kernel's.
#define TANDEM_SIMT_OPERATION __attribute__((noinline, no_sanitize("thread", "coverage")))
// The calls of two branches stay two calls: a session tells them apart.
#define TANDEM_SIMT_CONVERGENT [[clang::nomerge]]
#else
#define __shared__ static  // one block runs at a time, and as a plain object it is guarded by AddressSanitizer
#define TANDEM_SIMT_OPERATION __attribute__((noinline))
#define TANDEM_SIMT_CONVERGENT
#endif

namespace TANDEM_KERNEL_NAMESPACE {

namespace simt = ::tandem::simt;  // kernels may be in any namespace

using uint3 = simt::index3;

// CUDA's built-in variables: the executor's, as constants that a compiler need not read again after every call. clang
// takes numbers for constants, not structures.
extern unsigned const thread_index_values[3] __asm__("tandem_simt_thread_index");
extern unsigned const block_index_values[3] __asm__("tandem_simt_block_index");
extern unsigned const block_size_values[3] __asm__("tandem_simt_block_size");
extern unsigned const grid_size_values[3] __asm__("tandem_simt_grid_size");
struct built_in_index {
  unsigned const &x, &y, &z;
  constexpr explicit built_in_index(unsigned const (&of)[3]) : x(of[0]), y(of[1]), z(of[2]) {}
  operator uint3() const { return {x, y, z}; }
};
static constexpr built_in_index threadIdx(thread_index_values), blockIdx(block_index_values),
    blockDim(block_size_values), gridDim(grid_size_values);
inline constexpr int warpSize = 32;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned size_x = 1, unsigned size_y = 1, unsigned size_z = 1) : x(size_x), y(size_y), z(size_z) {}
  constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
};

}  // namespace TANDEM_KERNEL_NAMESPACE
