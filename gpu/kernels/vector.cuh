// The 16 bytes that one access of a thread can move, as neighbours of an array.
#pragma once

#include <cstdint>

namespace TANDEM_KERNEL_NAMESPACE {

/// How many elements a vector has.
template <class T>
inline constexpr int vector_width = 16 / int{sizeof(T)};

/// `count` neighbours as one access.
template <class T, int count = vector_width<T>>
struct vector_of;
template <class T>
struct vector_of<T, 1> {
  using type = T;
};
template <>
struct vector_of<float, 2> {
  using type = float2;
};
template <>
struct vector_of<float, 4> {
  using type = float4;
};
template <>
struct vector_of<double, 2> {
  using type = double2;
};

/// Reads `count` elements as one access. `from` is a multiple of as many.
template <int count, class T>
__device__ __forceinline__ void load_vector(T* to, T const* from) {
  auto const v = *reinterpret_cast<typename vector_of<T, count>::type const*>(from);
  if constexpr (count == 1) {
    to[0] = v;
  } else {
    to[0] = v.x;
    to[1] = v.y;
    if constexpr (count == 4) {
      to[2] = v.z;
      to[3] = v.w;
    }
  }
}

/// Reads a vector as one access. `from` is a multiple of 16 bytes.
template <class T>
__device__ __forceinline__ void load_vector(T* to, T const* from) {
  load_vector<vector_width<T>>(to, from);
}

/// The same of what nobody reads again: caches keep other lines.
template <class T>
__device__ __forceinline__ void load_vector_once(T* to, T const* from) {
  auto const v = __ldcs(reinterpret_cast<typename vector_of<T>::type const*>(from));
  to[0] = v.x;
  to[1] = v.y;
  if constexpr (vector_width<T> == 4) {
    to[2] = v.z;
    to[3] = v.w;
  }
}

/// Writes a vector as one access. `to` is a multiple of 16 bytes.
template <class T>
__device__ __forceinline__ void store_vector(T* to, T const* from) {
  using vector = typename vector_of<T>::type;
  if constexpr (vector_width<T> == 4)
    *reinterpret_cast<vector*>(to) = vector{from[0], from[1], from[2], from[3]};
  else
    *reinterpret_cast<vector*>(to) = vector{from[0], from[1]};
}

/// Whether the base and each line of a matrix begin at a multiple of 16 bytes.
template <class T>
bool begins_with_vectors(void const* base, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && ld % vector_width<T> == 0;
}

/// The same, and no line ends within a vector.
template <class T>
bool consists_of_vectors(void const* base, std::int64_t ld, std::int64_t length) {
  return begins_with_vectors<T>(base, ld) && length % vector_width<T> == 0;
}

}  // namespace TANDEM_KERNEL_NAMESPACE
