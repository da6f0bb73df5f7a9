// The argument checks. Each message carries the values that contradict each other.
#include "dispatch/check.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <tandem/error.hpp>

namespace tandem::dispatch {
namespace {

// Wide enough for every sum of a pointer and a product of two 64-bit sizes.
__extension__ using wide = __int128;

std::int64_t line_count(matrix_operand const& x) { return x.layout == layout::row_major ? x.rows : x.cols; }
std::int64_t line_width(matrix_operand const& x) { return x.layout == layout::row_major ? x.cols : x.rows; }

wide address(void const* data) { return static_cast<wide>(reinterpret_cast<std::uintptr_t>(data)); }

// In elements, since a product of two sizes and the element size may leave even 128 bits.
void check_span(char const* name, wide elements, dtype type) {
  if (elements > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(type)))
    throw error(errc::overflow, fmt::format("{} spans more than 2^63 - 1 bytes", name));
}

void check_pointer(char const* name, void const* data, dtype type) {
  if (data == nullptr) throw error(errc::null_data, fmt::format("{} has elements, but its data is null", name));
  auto const offset = reinterpret_cast<std::uintptr_t>(data) % size_of(type);
  if (offset != 0)
    throw error(errc::misaligned, fmt::format("{}'s data lies {} bytes past a multiple of its element size {}", name,
                                              offset, size_of(type)));
}

// row_extent and col_extent are the sizes' letters in C (m x n) = A (m x k) B (k x n).
void check_matrix(char const* name, matrix_operand const& x, char row_extent, char col_extent, dtype type) {
  auto const width = line_width(x);
  auto const extent = x.layout == layout::row_major ? col_extent : row_extent;
  if (x.ld < width)
    throw error(errc::leading_dimension,
                fmt::format("ld{} {} < {} {} ({} is {} x {}, {})", static_cast<char>(name[0] | 0x20), x.ld, extent,
                            width, name, x.rows, x.cols, to_string(x.layout)));
  if (x.rows == 0 || x.cols == 0) return;
  check_span(name, (static_cast<wide>(line_count(x)) - 1) * x.ld + width, type);
  check_pointer(name, x.data, type);
}

// Two sets of equally spaced lines of memory share a byte. Sub-matrices of one matrix are interleaved without sharing
// any, so the spans alone do not decide.
bool share_memory(matrix_operand const& x, matrix_operand const& y, dtype type) {
  if (x.rows == 0 || x.cols == 0 || y.rows == 0 || y.cols == 0) return false;
  if (line_count(x) > line_count(y)) return share_memory(y, x, type);
  auto const size = static_cast<wide>(size_of(type));
  wide const x_start = address(x.data), x_step = x.ld * size, x_width = line_width(x) * size;
  wide const y_start = address(y.data), y_step = y.ld * size, y_width = line_width(y) * size;
  wide const x_end = x_start + (line_count(x) - 1) * x_step + x_width;
  wide const y_end = y_start + (line_count(y) - 1) * y_step + y_width;
  if (x_end <= y_start || y_end <= x_start) return false;
  for (std::int64_t i = 0; i < line_count(x); ++i) {
    wide const start = x_start + i * x_step;
    // The first line of y that ends after this line of x begins.
    wide const line = start < y_start + y_width ? 0 : (start - y_start - y_width) / y_step + 1;
    if (line < line_count(y) && y_start + line * y_step < start + x_width) return true;
  }
  return false;
}

// An element of x is an element of y, and not at the same index: y[i] += x[i] on one and the same view is sound.
bool share_memory(vector_operand const& x, vector_operand const& y, dtype type) {
  if (x.size == 0 || (x.data == y.data && (x.size == 1 || x.stride == y.stride))) return false;
  wide const apart = (address(y.data) - address(x.data)) / static_cast<wide>(size_of(type));
  // Vectors of one stride meet at a multiple of it: the two halves of interleaved data need no search.
  if (x.stride == y.stride && x.stride != 0 && apart % x.stride != 0) return false;
  wide const x_last = static_cast<wide>(x.size - 1) * x.stride;
  wide const y_last = apart + static_cast<wide>(y.size - 1) * y.stride;
  if (std::max<wide>(0, x_last) < std::min(apart, y_last) || std::max(apart, y_last) < std::min<wide>(0, x_last))
    return false;
  for (std::int64_t i = 0; i < y.size; ++i) {
    wide const at = apart + static_cast<wide>(i) * y.stride;
    if (x.stride == 0 ? at == 0 : at % x.stride == 0 && at / x.stride >= 0 && at / x.stride < x.size) return true;
  }
  return false;
}

void check_vector(char const* name, vector_operand const& v, dtype type) {
  if (v.size == 0) return;
  auto const reach = (static_cast<wide>(v.size) - 1) * (v.stride < 0 ? -static_cast<wide>(v.stride) : v.stride) + 1;
  check_span(name, reach, type);
  check_pointer(name, v.data, type);
}

}  // namespace

void check_gemm(matrix_operand const& a, matrix_operand const& b, matrix_operand const& c, dtype type) {
  for (auto const& [name, x] : {std::pair{'A', &a}, {'B', &b}, {'C', &c}})
    if (x->rows < 0 || x->cols < 0)
      throw error(errc::negative_size, fmt::format("{} is {} x {}: a size below zero", name, x->rows, x->cols));
  if (a.cols != b.rows || c.rows != a.rows || c.cols != b.cols)
    throw error(errc::size_mismatch,
                fmt::format("C ({} x {}) = A ({} x {}) B ({} x {}): {}", c.rows, c.cols, a.rows, a.cols, b.rows, b.cols,
                            a.cols != b.rows   ? fmt::format("A has {} columns, B has {} rows", a.cols, b.rows)
                            : c.rows != a.rows ? fmt::format("C has {} rows, A has {}", c.rows, a.rows)
                                               : fmt::format("C has {} columns, B has {}", c.cols, b.cols)));
  if (a.memory != b.memory || a.memory != c.memory)
    throw error(errc::mixed_memory, fmt::format("A is in {} memory, B in {}, C in {}", to_string(a.memory),
                                                to_string(b.memory), to_string(c.memory)));
  check_matrix("A", a, 'm', 'k', type);
  check_matrix("B", b, 'k', 'n', type);
  check_matrix("C", c, 'm', 'n', type);
  if (share_memory(c, a, type)) throw error(errc::overlap, "C overlaps A");
  if (share_memory(c, b, type)) throw error(errc::overlap, "C overlaps B");
}

void check_axpy(vector_operand const& x, vector_operand const& y, dtype type) {
  if (x.size < 0 || y.size < 0)
    throw error(errc::negative_size, fmt::format("x has {} elements, y {}: a size below zero", x.size, y.size));
  if (x.size != y.size) throw error(errc::size_mismatch, fmt::format("x has {} elements, y {}", x.size, y.size));
  if (x.memory != y.memory)
    throw error(errc::mixed_memory,
                fmt::format("x is in {} memory, y in {}", to_string(x.memory), to_string(y.memory)));
  if (y.stride == 0 && y.size > 1)
    throw error(errc::zero_stride, fmt::format("y has stride 0: its {} elements are one", y.size));
  check_vector("x", x, type);
  check_vector("y", y, type);
  if (share_memory(x, y, type)) throw error(errc::overlap, "y overlaps x and is not the same view");
}

}  // namespace tandem::dispatch
