// Arithmetic and bits of single numbers. C's functions (sqrtf, fminf, abs, ...) are the host's own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

// An instrumented file counts its fused multiply-adds; assembly, as a counter in C++ would be watched too.
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

// Of separate operations, which no compiler may fuse.
__forceinline__ float __fadd_rn(float a, float b) { return a + b; }
__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ double __dadd_rn(double a, double b) { return a + b; }
__forceinline__ double __dmul_rn(double a, double b) { return a * b; }

using std::abs;  // of any type; C's, which is the global one, would make an int of a float

// As in CUDA, mixed types meet in the one that + would give, and of a number and a NaN the number is taken.
template <class A, class B>
__forceinline__ constexpr auto min(A a, B b) {
  using common = std::common_type_t<A, B>;
  common const x = static_cast<common>(a), y = static_cast<common>(b);
  return y < x || x != x ? y : x;
}
template <class A, class B>
__forceinline__ constexpr auto max(A a, B b) {
  using common = std::common_type_t<A, B>;
  common const x = static_cast<common>(a), y = static_cast<common>(b);
  return x < y || x != x ? y : x;
}

__forceinline__ int __float_as_int(float x) { return std::bit_cast<int>(x); }
__forceinline__ unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
__forceinline__ float __int_as_float(int x) { return std::bit_cast<float>(x); }
__forceinline__ float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
__forceinline__ long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
__forceinline__ double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
__forceinline__ int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
__forceinline__ int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
__forceinline__ double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}

__forceinline__ int __popc(unsigned x) { return std::popcount(x); }
__forceinline__ int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
/// The place of the lowest bit that is set, counted from 1; 0 without one.
__forceinline__ int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

}  // namespace TANDEM_KERNEL_NAMESPACE
