// Atomic operations.
#pragma once

#include <type_traits>

#include <tandem/simt/operations.hpp>
#include <tandem/simt/words/language.hpp>

namespace TANDEM_KERNEL_NAMESPACE {

// One thread runs at a time, so that the plain update is one.
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
__forceinline__ T atomicAnd(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return static_cast<T>(old & value); });
}
template <class T>
__forceinline__ T atomicOr(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return static_cast<T>(old | value); });
}
template <class T>
__forceinline__ T atomicXor(T* p, typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return static_cast<T>(old ^ value); });
}
template <class T>
__forceinline__ T atomicCAS(T* p, typename std::type_identity<T>::type expected,
                            typename std::type_identity<T>::type value) {
  return atomic_update(p, [=](T old) { return old == expected ? value : old; });
}
__forceinline__ unsigned atomicInc(unsigned* p, unsigned limit) {
  return atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}

}  // namespace TANDEM_KERNEL_NAMESPACE
