// A problem's operands in guarded memory, and a call of a kernel on them.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tandem/harness/problem.hpp>
#include <tandem/kernel.hpp>
#include <tandem/matrix_view.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/device_guard.hpp"
#include "harness/fill.hpp"
#include "harness/guard.hpp"

namespace tandem::harness {

/// The three operands in one memory: what they are to hold, and regions that hold it.
template <element T, class Region>
class guarded_operands {
 public:
  guarded_operands(test_case const& t, operands<T> const& data)
      : t_(t), stored_{storage_a(t), storage_b(t), storage_c(t)} {
    using bits = nan_bits<T>;
    std::vector<T> const nothing;
    bool const read = reads_operands(t);  // if not, A and B hold NaN only
    for (auto const i : stored_operands(t)) {
      if constexpr (std::is_same_v<Region, host_region>)
        where_[i] = place_on_host(stored_[i], sizeof(T), lies_at_end(t.seed, i));
      else
        where_[i] = place_on_device(stored_[i], sizeof(T));
      regions_[i] = Region(where_[i].region);
    }
    images_[0] = make_image<T>(stored_[0], where_[0], read ? data.a : nothing, bits::gap_a, bits::unread_a);
    if (!t.b_is_a)
      images_[1] = make_image<T>(stored_[1], where_[1], read ? data.b : nothing, bits::gap_b, bits::unread_b);
    images_[2] = make_image<T>(stored_[2], where_[2], data.c, bits::gap_c, bits::poison);
    for (auto const i : stored_operands(t)) write(i);
  }

  /// Fresh C, then the kernel; finished on return.
  void call(kernel const& row, tandem::memory memory, int threads) {
    write(2);
    gemm_options const options{.alpha = t_.alpha, .beta = t_.beta};
    auto const stored_a = t_.trans_a ? std::pair(t_.k, t_.m) : std::pair(t_.m, t_.k);
    auto const stored_b = t_.trans_b ? std::pair(t_.n, t_.k) : std::pair(t_.k, t_.n);
    matrix_view<T const> a(pointer(0), stored_a.first, stored_a.second, t_.lda, t_.layout_a, memory);
    matrix_view<T const> b(pointer(t_.b_is_a ? 0 : 1), stored_b.first, stored_b.second, t_.ldb, t_.layout_b, memory);
    matrix_view<T> const c(pointer(2), t_.m, t_.n, t_.ldc, t_.layout_c, memory);
    if (t_.trans_a) a = a.transposed();
    if (t_.trans_b) b = b.transposed();
    gemm_with(row, a, b, c, options, threads);
    if (memory == memory::device) gpu::synchronize();
  }

  /// What the call damaged, each operand's first damage; empty when nothing. Inputs that were damaged are restored.
  /// `finished` false: the call threw, so C must be as it was.
  std::string inspect(std::vector<T>& c, bool finished) {
    static constexpr std::array names{"A", "B", "C"};
    std::string damage;
    for (auto const i : stored_operands(t_)) {
      auto const now = contents(i);
      auto const found = find_damage<T>(now, images_[i], stored_[i], where_[i], names[i], i < 2 || !finished);
      if (i == 2) read_elements<T>(now, stored_[i], where_[i], c);
      if (found.empty()) continue;
      damage += (damage.empty() ? "" : "; ") + found;
      if (i < 2) write(i);
    }
    return damage;
  }

 private:
  T* pointer(std::size_t i) const { return reinterpret_cast<T*>(regions_[i].data() + where_[i].begin); }

  void write(std::size_t i) {
    if constexpr (std::is_same_v<Region, host_region>)
      std::memcpy(regions_[i].data(), images_[i].data(), images_[i].size());
    else
      regions_[i].write(images_[i]);
  }

  std::span<std::byte const> contents(std::size_t i) {
    if constexpr (std::is_same_v<Region, host_region>)
      return regions_[i].bytes();
    else
      return regions_[i].read();
  }

  test_case const& t_;
  std::array<storage, 3> stored_;
  std::array<placement, 3> where_;
  std::array<std::vector<std::byte>, 3> images_;
  std::array<Region, 3> regions_;
};

}  // namespace tandem::harness
