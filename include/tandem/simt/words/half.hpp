// __half and __nv_bfloat16: storage, correctly rounded conversions, and arithmetic of single operations.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

template <class T>
concept number = std::is_arithmetic_v<T>;

/// A sign, 15 - fraction_bits bits of exponent and fraction_bits of fraction, with IEEE's subnormals, infinity and NaN.
/// The sum, difference, product or quotient of two is computed in float and rounded again, which gives the bits of
/// rounding once: a float has more than twice the fraction.
template <int fraction_bits>
class float16 {
 public:
  float16() = default;
  /// The nearest value, of two the even one; NaN becomes 0x7fff, as on the device.
  template <number T>
  float16(T x) : bits_(round(static_cast<double>(x))) {}

  operator float() const {
    unsigned const magnitude = bits_ & 0x7fffu, sign = static_cast<unsigned>(bits_ >> 15) << 31;
    if (magnitude > infinity) return std::numeric_limits<float>::quiet_NaN();
    if (magnitude == infinity) return std::bit_cast<float>(sign | 0x7f800000u);
    // The bits as those of a float, whose exponent is then off by the difference of the biases.
    float const value =
        std::bit_cast<float>(magnitude << (23 - fraction_bits)) * std::bit_cast<float>((127u + 127u - bias) << 23);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }

  friend float16 operator+(float16 a, float16 b) { return float{a} + float{b}; }
  friend float16 operator-(float16 a, float16 b) { return float{a} - float{b}; }
  friend float16 operator*(float16 a, float16 b) { return float{a} * float{b}; }
  friend float16 operator/(float16 a, float16 b) { return float{a} / float{b}; }

 private:
  static constexpr unsigned bias = (1u << (14 - fraction_bits)) - 1;
  static constexpr unsigned infinity = 0x7fffu >> fraction_bits << fraction_bits;

  static std::uint16_t round(double x) {
    if (x != x) return 0x7fff;
    auto const bits = std::bit_cast<std::uint64_t>(x);
    auto const sign = static_cast<unsigned>(bits >> 63) << 15;
    int const smallest = 1 - static_cast<int>(bias), wanted = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    if (wanted > static_cast<int>(bias)) return static_cast<std::uint16_t>(sign | infinity);
    int const exponent = wanted < smallest ? smallest : wanted;
    // In units of the last place. A normal number has its leading bit here, which adds 1 to the exponent's field, and
    // what rounding carries out of the fraction adds 1 too.
    auto const units = static_cast<unsigned>(std::nearbyint(std::ldexp(std::fabs(x), fraction_bits - exponent)));
    return static_cast<std::uint16_t>(sign | (units + (static_cast<unsigned>(exponent - smallest) << fraction_bits)));
  }

  std::uint16_t bits_;
};

using __half = float16<10>;
using half = __half;
using __nv_bfloat16 = float16<7>;
using nv_bfloat16 = __nv_bfloat16;

__forceinline__ __half __float2half(float x) { return x; }
__forceinline__ __half __float2half_rn(float x) { return x; }
__forceinline__ __half __double2half(double x) { return x; }
__forceinline__ float __half2float(__half x) { return x; }
__forceinline__ __nv_bfloat16 __float2bfloat16(float x) { return x; }
__forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
__forceinline__ __nv_bfloat16 __double2bfloat16(double x) { return x; }
__forceinline__ float __bfloat162float(__nv_bfloat16 x) { return x; }
__forceinline__ unsigned short __half_as_ushort(__half x) { return std::bit_cast<unsigned short>(x); }
__forceinline__ __half __ushort_as_half(unsigned short x) { return std::bit_cast<__half>(x); }
__forceinline__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return std::bit_cast<unsigned short>(x); }
__forceinline__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return std::bit_cast<__nv_bfloat16>(x); }

}  // namespace TANDEM_KERNEL_NAMESPACE
