// A vector is a view: data, size, stride, memory. It owns nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <tandem/types.hpp>

namespace tandem {

/// A view of `size` elements; element i is data[i * stride], so a negative stride runs downwards from data[0].
template <class T>
class vector_view {
 public:
  constexpr vector_view() noexcept = default;

  constexpr vector_view(T* data, std::int64_t size, std::int64_t stride = 1,
                        tandem::memory memory = tandem::memory::host) noexcept
      : data_(data), size_(size), stride_(stride), memory_(memory) {}

  /// A view of constant elements from a view of mutable ones.
  template <class U>
    requires(std::same_as<U const, T> && !std::is_const_v<U>)
  constexpr vector_view(vector_view<U> other) noexcept
      : vector_view(other.data(), other.size(), other.stride(), other.memory()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::int64_t size() const noexcept { return size_; }
  constexpr std::int64_t stride() const noexcept { return stride_; }
  constexpr tandem::memory memory() const noexcept { return memory_; }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t stride_ = 1;
  tandem::memory memory_ = tandem::memory::host;
};

}  // namespace tandem
