// CUDA's words for the host, so that a kernel file compiles as it stands. Everything here belongs to the namespace of
// one compilation, TANDEM_KERNEL_NAMESPACE: the linker must never merge what two compilations make of it.
// TANDEM_SIMT_INSTRUMENTED is set where clang instruments the file for a session (tandem/simt/session.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tandem/simt/executor.hpp>
#include <tandem/simt/operations.hpp>
#include <tandem/types.hpp>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifdef TANDEM_SIMT_INSTRUMENTED
#define __shared__ static __attribute__((section("tandem_shared")))
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

// CUDA's built-in variables: the executor's, as constants that a compiler need not read again after every call and
// whose reads are no accesses of the kernel.
extern unsigned const thread_index_values[3] __asm__("tandem_simt_thread_index");
extern unsigned const block_index_values[3] __asm__("tandem_simt_block_index");
extern unsigned const block_size_values[3] __asm__("tandem_simt_block_size");
extern unsigned const grid_size_values[3] __asm__("tandem_simt_grid_size");
struct built_in_index {
  unsigned const &x, &y, &z;
  constexpr explicit built_in_index(unsigned const (&of)[3]) : x(of[0]), y(of[1]), z(of[2]) {}
};
static constexpr built_in_index threadIdx(thread_index_values), blockIdx(block_index_values),
    blockDim(block_size_values), gridDim(grid_size_values);
inline constexpr int warpSize = 32;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned size_x, unsigned size_y = 1, unsigned size_z = 1) : x(size_x), y(size_y), z(size_z) {}
};

// Vectors. One that is copied is one access, as wide as the vector: in an instrumented file the compiler must not see
// through that, or it would access the members one by one.
#ifdef TANDEM_SIMT_INSTRUMENTED
template <class Vector, class T, std::size_t bytes>
struct vector_access {
  typedef T lanes __attribute__((vector_size(bytes), may_alias));
  __forceinline__ static lanes load(Vector const& v) { return *reinterpret_cast<lanes const volatile*>(&v); }
  __forceinline__ static void store(Vector& v, lanes l) { *reinterpret_cast<lanes volatile*>(&v) = l; }
};
#endif

template <class T>
struct alignas(2 * sizeof(T)) vector2 {
  T x, y;
#ifdef TANDEM_SIMT_INSTRUMENTED
  vector2() = default;
  __forceinline__ constexpr vector2(T x_, T y_) : x(x_), y(y_) {}
  __forceinline__ vector2(vector2 const& v) {
    auto const lanes = access::load(v);
    x = lanes[0], y = lanes[1];
  }
  __forceinline__ vector2& operator=(vector2 const& v) {
    access::store(*this, access::load(v));
    return *this;
  }

 private:
  using access = vector_access<vector2, T, 2 * sizeof(T)>;
#endif
};

template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) vector4 {
  T x, y, z, w;
#ifdef TANDEM_SIMT_INSTRUMENTED
  vector4() = default;
  __forceinline__ constexpr vector4(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
  __forceinline__ vector4(vector4 const& v) {
    auto const lanes = access::load(v);
    x = lanes[0], y = lanes[1], z = lanes[2], w = lanes[3];
  }
  __forceinline__ vector4& operator=(vector4 const& v) {
    access::store(*this, access::load(v));
    return *this;
  }

 private:
  using access = vector_access<vector4, T, 4 * sizeof(T)>;
#endif
};

using float2 = vector2<float>;
using float4 = vector4<float>;
using double2 = vector2<double>;
using int2 = vector2<int>;
using int4 = vector4<int>;
using uint2 = vector2<unsigned>;
using uint4 = vector4<unsigned>;

__forceinline__ float2 make_float2(float x, float y) { return {x, y}; }
__forceinline__ float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
__forceinline__ double2 make_double2(double x, double y) { return {x, y}; }

// Arithmetic. An instrumented file counts its fused multiply-adds; assembly, as a counter in C++ would be watched too.
#if defined(TANDEM_SIMT_INSTRUMENTED) && defined(__x86_64__)
__forceinline__ void count(std::uint64_t& counter) { __asm__("incq %0" : "+m"(counter)); }
#elif defined(TANDEM_SIMT_INSTRUMENTED)
TANDEM_SIMT_OPERATION inline void count(std::uint64_t& counter) { ++counter; }
#else
__forceinline__ void count(std::uint64_t&) {}
#endif
__forceinline__ float fma(float a, float b, float c) {
  count(simt::tandem_simt_ffma);
  return __builtin_fmaf(a, b, c);
}
__forceinline__ double fma(double a, double b, double c) {
  count(simt::tandem_simt_dfma);
  return __builtin_fma(a, b, c);
}
__forceinline__ float fmaf(float a, float b, float c) { return fma(a, b, c); }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return fma(a, b, c); }
__forceinline__ double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

template <class T>
__forceinline__ T __ldg(T const* p) {
  return *p;
}

// Barriers and operations of a warp.
__forceinline__ void __syncthreads() { TANDEM_SIMT_CONVERGENT simt::sync_block(); }
__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) { TANDEM_SIMT_CONVERGENT simt::sync_warp(mask); }
__forceinline__ void __threadfence() { simt::note_fence(); }
__forceinline__ void __threadfence_block() {}

/// The value of the lane that `source` makes of this lane's index in its segment of `width` lanes; its own where that
/// lies outside the segment.
template <class T, class Source>
__forceinline__ T shuffle(unsigned mask, T value, int width, Source const& source) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffle moves up to 8 bytes");
  int const lane = static_cast<int>(simt::lane_index()), first = lane & ~(width - 1);
  int const wanted = source(lane - first);
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  TANDEM_SIMT_CONVERGENT bits =
      simt::shuffle(mask, bits, static_cast<unsigned>(wanted < 0 || wanted >= width ? lane : first + wanted));
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return shuffle(mask, value, width, [=](int) { return source & (width - 1); });
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane - static_cast<int>(delta); });
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane + static_cast<int>(delta); });
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return shuffle(mask, value, width, [=](int lane) { return lane ^ lane_mask; });
}
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  TANDEM_SIMT_CONVERGENT return simt::ballot(mask, predicate != 0);
}
__forceinline__ int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
__forceinline__ int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

// Atomic operations. One thread runs at a time, so that the plain update is one.
template <class T, class Update>
TANDEM_SIMT_OPERATION T atomic_update(T* p, Update update) {
  simt::note_atomic(p, sizeof(T), __builtin_return_address(0));
  T const old = *p;
  *p = update(old);
  return old;
}
template <class T>
__forceinline__ T atomicAdd(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return static_cast<T>(old + value); });
}
template <class T>
__forceinline__ T atomicSub(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return static_cast<T>(old - value); });
}
template <class T>
__forceinline__ T atomicExch(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T) { return value; });
}
template <class T>
__forceinline__ T atomicMax(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return old < value ? value : old; });
}
template <class T>
__forceinline__ T atomicMin(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return value < old ? value : old; });
}
template <class T>
__forceinline__ T atomicCAS(T* p, typename std::type_identity<T>::type expected,
                            typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return old == expected ? value : old; });
}
__forceinline__ unsigned atomicInc(unsigned* p, unsigned limit) {
  return atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}

// cp.async (gpu/runtime/launch.cuh has the device's side).
template <int bytes>
__forceinline__ void copy_async(void* shared, void const* global, int from_source = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  simt::copy_async(shared, global, bytes, static_cast<unsigned>(from_source));
}
__forceinline__ void commit_async() { simt::commit_async(); }
template <int groups>
__forceinline__ void wait_async() {
  simt::wait_async(groups);
}

// Textures of one line.
using cudaTextureObject_t = simt::linear_texture_data const*;
template <class T>
__forceinline__ T tex1Dfetch(cudaTextureObject_t texture, int i) {
  T value;
  simt::fetch_texture(*texture, i, sizeof value, &value);
  return value;
}

/// A texture over `count` elements of memory, which must outlive it; it must outlive the launches that read it.
template <class T>
class linear_texture {
 public:
  linear_texture(T const* data, std::size_t count) : data_{data, count} {}
  cudaTextureObject_t object() const { return &data_; }

 private:
  simt::linear_texture_data data_;
};

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_arena());
}

#ifdef TANDEM_SIMT_INSTRUMENTED
// Where the linker put this program's `__shared__` arrays, and the list of them (cmake/instrument.awk makes it).
extern "C" {
extern char const __start_tandem_shared[] __attribute__((weak, visibility("hidden")));
extern char const __stop_tandem_shared[] __attribute__((weak, visibility("hidden")));
extern simt::shared_array const __start_tandem_arrays[] __attribute__((weak, visibility("hidden")));
extern simt::shared_array const __stop_tandem_arrays[] __attribute__((weak, visibility("hidden")));
}
__attribute__((no_sanitize("thread"))) inline simt::shared_image const* image() {
  static simt::shared_image const all{__start_tandem_shared, __stop_tandem_shared, __start_tandem_arrays,
                                      __stop_tandem_arrays};
  return &all;
}
#else
inline simt::shared_image const* image() { return nullptr; }
#endif

/// Runs a kernel; finished on return. The stream orders nothing here.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t dynamic_bytes, CUstream_st*,
            typename std::type_identity<P>::type... arguments) {
  auto const thread = [&]() TANDEM_SIMT_OPERATION { kernel(arguments...); };
  simt::kernel_launch const all{.kernel = reinterpret_cast<void const*>(kernel),
                                .body = [](void const* body) { (*static_cast<decltype(thread)*>(body))(); },
                                .arguments = &thread,
                                .grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .dynamic_bytes = dynamic_bytes,
                                .image = image()};
  simt::run_grid(all);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
