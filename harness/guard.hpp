// Operands that notice what a kernel must not do: stored matrices with NaN in the gaps between rows, canaries around
// them, and, on the host, unmapped pages on both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tandem/harness/problem.hpp>
#include <tandem/types.hpp>

namespace tandem::harness {

/// How a logical matrix is stored: `outer` runs of `inner` elements, `ld` apart; a run is a logical row if `by_rows`,
/// otherwise a logical column. There is no gap behind the last run.
struct storage {
  std::int64_t rows = 0, cols = 0;  ///< of the logical matrix
  std::int64_t ld = 0;
  std::int64_t offset = 0;  ///< elements past a 16-byte boundary
  bool by_rows = true;

  std::int64_t outer() const noexcept { return by_rows ? rows : cols; }
  std::int64_t inner() const noexcept { return by_rows ? cols : rows; }
  std::int64_t span() const noexcept { return outer() == 0 || inner() == 0 ? 0 : (outer() - 1) * ld + inner(); }
};

storage storage_a(test_case const& t) noexcept;  ///< of op(A), m x k
storage storage_b(test_case const& t) noexcept;  ///< of op(B), k x n
storage storage_c(test_case const& t) noexcept;

/// Which operands (0: A, 1: B, 2: C) have memory of their own: all but a B that is A.
std::vector<std::size_t> stored_operands(test_case const& t);

/// Bit patterns that no computation makes, so that a NaN tells where it was read. They are signalling: untouched memory
/// keeps the pattern, and arithmetic on it returns the same payload with the quiet bit set (on a CPU).
template <element T>
struct nan_bits;
template <>
struct nan_bits<float> {
  using word = std::uint32_t;
  static constexpr word quiet = 0x00400000;
  static constexpr word poison = 0x7f8ac0de, gap_a = 0x7f8a0aaa, gap_b = 0x7f8b0bbb, gap_c = 0x7f8c0ccc;
  static constexpr word unread_a = 0x7f8a1aaa, unread_b = 0x7f8b1bbb;
  /// What surrounds an operand with this gap.
  static constexpr word around(word gap) noexcept { return gap | 0x2000; }
};
template <>
struct nan_bits<double> {
  using word = std::uint64_t;
  static constexpr word quiet = 0x0008000000000000;
  static constexpr word poison = 0x7ff00badc0dec0de, gap_a = 0x7ff0000a0aaa0aaa, gap_b = 0x7ff0000b0bbb0bbb,
                        gap_c = 0x7ff0000c0ccc0ccc;
  static constexpr word unread_a = 0x7ff0000a1aaa1aaa, unread_b = 0x7ff0000b1bbb1bbb;
  static constexpr word around(word gap) noexcept { return gap | 0x2000; }
};

/// Where a stored matrix lies in a region of bytes; all others are canaries: NaN, too, so that a kernel that computes
/// with what it reads there is seen even where no page ends.
struct placement {
  std::size_t region = 0;  ///< bytes
  std::size_t begin = 0;   ///< of the matrix's first element
  std::size_t bytes = 0;   ///< of the matrix, gaps included
};

/// What kernels take for granted: the widest load that needs no alignment of its own, float4.
inline constexpr std::size_t usual_alignment = 16;

/// In host memory: whole pages, the matrix at their start or as near to their end as its offset allows (the end itself
/// when the sizes fit, at most 15 bytes before it otherwise). A larger alignment, a power of two, is for kernels that
/// ask for it: the offset then counts from such a boundary.
placement place_on_host(storage const& s, std::size_t element_size, bool at_end,
                        std::size_t alignment = usual_alignment) noexcept;
/// Whether this problem's operand (0: A, 1: B, 2: C) lies at the end of its pages; otherwise it lies at their start.
/// Seeds that only change the data of one operand (random.hpp) say the same.
bool lies_at_end(std::uint64_t seed, std::size_t operand) noexcept;
/// In device memory: 256 bytes of canaries on each side.
placement place_on_device(storage const& s, std::size_t element_size) noexcept;

/// Some bytes of a region.
struct extent {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

/// What a region is to hold: canaries, gaps, and the elements: `values` (packed, row-major), or the pattern `instead`
/// in every element if there are none.
template <element T>
std::vector<std::byte> make_image(storage const& s, placement const& where, std::vector<T> const& values,
                                  typename nan_bits<T>::word gap, typename nan_bits<T>::word instead);

/// The first difference between what a region holds and its image: an overwritten canary ("byte 3 past the end of A
/// overwritten"), gap or element; empty if there is none. `elements` false: elements may differ (C).
template <element T>
std::string find_damage(std::span<std::byte const> region, std::span<std::byte const> image, storage const& s,
                        placement const& where, std::string const& operand, bool elements);

/// The elements, packed, row-major.
template <element T>
void read_elements(std::span<std::byte const> region, storage const& s, placement const& where, std::vector<T>& out);

/// What an operand's region holds before a call, and what of it a call must leave. Where rows lie far apart in a region
/// that is larger than memory may be, this covers the pages around each row; all others are never written and hold
/// zeros.
template <element T>
class operand_image {
 public:
  /// The region itself starts at a page.
  operand_image(storage const& s, placement const& where, std::vector<T> const& values, typename nan_bits<T>::word gap,
                typename nan_bits<T>::word instead);

  /// Whether it leaves out most of the region, all of which must hold zeros when it is written.
  bool sparse() const noexcept { return sparse_; }
  void write(std::span<std::byte> region) const;
  /// As `find_damage`. `present`: where the region has memory at all; asked of a sparse image only.
  std::string find_damage(std::span<std::byte const> region, std::span<extent const> present,
                          std::string const& operand, bool elements) const;

 private:
  struct piece {
    std::size_t begin;  // in the region
    std::vector<std::byte> bytes;
  };

  std::string outside_of_pieces(std::span<std::byte const> region, extent const& present,
                                std::string const& operand) const;

  storage stored_;
  placement where_;
  bool sparse_;
  std::vector<piece> pieces_;  // one, or one a row
};

extern template class operand_image<float>;
extern template class operand_image<double>;

/// Pages of host memory with an unmapped page on each side. Mappings are kept and used again by size.
class host_region {
 public:
  host_region() = default;
  explicit host_region(std::size_t bytes);  ///< a multiple of the page size; throws std::bad_alloc
  ~host_region();
  host_region(host_region&& other) noexcept;
  host_region& operator=(host_region&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem::harness
