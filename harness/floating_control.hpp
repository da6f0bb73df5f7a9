// The processor's register of rounding, flushing and traps, on the architectures that have one we know.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tandem::harness::floating_control {

#if defined(__SSE2__)
constexpr char const* name = "MXCSR";
constexpr std::uint64_t flush_to_zero = 0x8000;
constexpr unsigned kept = 0xffc0;  // all but the exception flags, which a call may raise
inline std::uint64_t read() noexcept { return _mm_getcsr() & kept; }
inline void write(std::uint64_t bits) noexcept { _mm_setcsr((_mm_getcsr() & ~kept) | static_cast<unsigned>(bits)); }
/// The older unit's, which long double goes by.
inline std::uint16_t read_x87() noexcept {
  std::uint16_t bits;
  asm volatile("fnstcw %0" : "=m"(bits));
  return bits;
}
inline void write_x87(std::uint16_t bits) noexcept { asm volatile("fldcw %0" ::"m"(bits)); }
#elif defined(__aarch64__)
constexpr char const* name = "FPCR";
constexpr std::uint64_t flush_to_zero = 1 << 24;
inline std::uint64_t read() noexcept {
  std::uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
inline void write(std::uint64_t bits) noexcept { asm volatile("msr fpcr, %0" ::"r"(bits)); }
inline std::uint16_t read_x87() noexcept { return 0; }
inline void write_x87(std::uint16_t) noexcept {}
#else
constexpr char const* name = "no register";
constexpr std::uint64_t flush_to_zero = 0;
inline std::uint64_t read() noexcept { return 0; }
inline void write(std::uint64_t) noexcept {}
inline std::uint16_t read_x87() noexcept { return 0; }
inline void write_x87(std::uint16_t) noexcept {}
#endif

}  // namespace tandem::harness::floating_control
