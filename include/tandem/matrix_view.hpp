// A matrix is a view: data, rows, cols, leading dimension, layout, memory. It owns nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <tandem/types.hpp>

namespace tandem {

/// A view of a rows x cols matrix. `ld` is the distance, in elements, between the starts of two neighbouring rows
/// (row_major, ld >= cols) or columns (col_major, ld >= rows). Nothing is checked here: `gemm` checks its arguments.
template <class T>
class matrix_view {
 public:
  constexpr matrix_view() noexcept = default;

  constexpr matrix_view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                        tandem::layout layout = tandem::layout::row_major,
                        tandem::memory memory = tandem::memory::host) noexcept
      : data_(data), rows_(rows), cols_(cols), ld_(ld), layout_(layout), memory_(memory) {}

  /// A view of constant elements from a view of mutable ones.
  template <class U>
    requires(std::same_as<U const, T> && !std::is_const_v<U>)
  constexpr matrix_view(matrix_view<U> other) noexcept
      : matrix_view(other.data(), other.rows(), other.cols(), other.ld(), other.layout(), other.memory()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::int64_t rows() const noexcept { return rows_; }
  constexpr std::int64_t cols() const noexcept { return cols_; }
  constexpr std::int64_t ld() const noexcept { return ld_; }
  constexpr tandem::layout layout() const noexcept { return layout_; }
  constexpr tandem::memory memory() const noexcept { return memory_; }

  /// The transposed matrix over the same data: rows and cols swapped, the other layout.
  constexpr matrix_view transposed() const noexcept {
    return {data_,
            cols_,
            rows_,
            ld_,
            layout_ == tandem::layout::row_major ? tandem::layout::col_major : tandem::layout::row_major,
            memory_};
  }

 private:
  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t ld_ = 0;
  tandem::layout layout_ = tandem::layout::row_major;
  tandem::memory memory_ = tandem::memory::host;
};

}  // namespace tandem
