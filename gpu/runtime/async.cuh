// cp.async under the names that tandem/simt/words.hpp gives it on the host. Before compute capability 8.0 the copies
// are plain ones, done at once.
#pragma once

namespace TANDEM_KERNEL_NAMESPACE {

/// An address in shared memory, which takes one register.
struct shared_address {
  unsigned at;
};
__device__ __forceinline__ shared_address operator+(shared_address a, int bytes) {
  return {a.at + static_cast<unsigned>(bytes)};
}
__device__ __forceinline__ shared_address address_in_shared(void const* shared) {
  return {static_cast<unsigned>(__cvta_generic_to_shared(shared))};
}

/// From here on the compiler does not know how x came about, and keeps it where it would find it again.
__device__ __forceinline__ void keep(int& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void keep(shared_address& x) { asm volatile("" : "+r"(x.at)); }
template <class T>
__device__ __forceinline__ void keep(T const*& x) {
  asm volatile("" : "+l"(x));
}

/// Starts to copy `bytes` (4, 8 or 16) to shared memory, both addresses multiples of as many: the first `from_source`
/// of them from global memory, the others 0. Nothing is read if from_source is 0, whatever the address is.
template <int bytes>
__device__ __forceinline__ void copy_async(shared_address to, void const* global, int from_source = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  auto const from = __cvta_generic_to_global(global);
  if constexpr (bytes == 16)  // past the first-level cache, which only copies of 16 bytes can be
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to.at), "l"(from), "r"(from_source) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to.at), "l"(from), "n"(bytes), "r"(from_source)
                 : "memory");
#else
  auto* const shared = static_cast<char*>(__cvta_shared_to_generic(to.at));
  for (int i = 0; i < bytes; ++i) shared[i] = i < from_source ? static_cast<char const*>(global)[i] : char{0};
#endif
}
template <int bytes>
__device__ __forceinline__ void copy_async(void* shared, void const* global, int from_source = bytes) {
  copy_async<bytes>(address_in_shared(shared), global, from_source);
}

/// The same of all bytes or none, as `there` says, which takes an instruction, where a number takes a dozen.
template <int bytes>
__device__ __forceinline__ void copy_async_or_zero(shared_address to, void const* global, bool there) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  auto const from = __cvta_generic_to_global(global);
  int const ignore = there ? 0 : 1;
  if constexpr (bytes == 16)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }" ::"r"(to.at),
                 "l"(from), "r"(ignore)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; cp.async.ca.shared.global [%0], [%1], %2, p; }" ::"r"(to.at),
                 "l"(from), "n"(bytes), "r"(ignore)
                 : "memory");
#else
  copy_async<bytes>(to, global, there ? bytes : 0);
#endif
}
template <int bytes>
__device__ __forceinline__ void copy_async_or_zero(void* shared, void const* global, bool there) {
  copy_async_or_zero<bytes>(address_in_shared(shared), global, there);
}

/// Ends the group of the copies that this thread has started since the last one.
__device__ __forceinline__ void commit_async() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups that this thread has committed but the last `groups`. Other threads see the copies after a
/// barrier.
template <int groups>
__device__ __forceinline__ void wait_async() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

}  // namespace TANDEM_KERNEL_NAMESPACE
