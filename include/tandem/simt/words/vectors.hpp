// float4, double2 and the like.
#pragma once

#include <cstddef>

#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

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
  __forceinline__ constexpr vector2(T x_, T y_ = T()) : x(x_), y(y_) {}
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
  __forceinline__ constexpr vector4(T x_, T y_ = T(), T z_ = T(), T w_ = T()) : x(x_), y(y_), z(z_), w(w_) {}
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

/// Of 4-byte alignment, so that the hardware, too, accesses its members one by one.
struct float3 {
  float x, y, z;
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
__forceinline__ int2 make_int2(int x, int y) { return {x, y}; }
__forceinline__ int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
__forceinline__ uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
__forceinline__ uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

}  // namespace TANDEM_KERNEL_NAMESPACE
