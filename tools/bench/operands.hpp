// Operands under measurement: one set that stays hot, or a ring of sets so large that every call finds cold ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <tandem/types.hpp>

#include "gpu/runtime/device.hpp"

namespace tandem::bench {

/// How many sets of `stride` bytes make a ring over a cache: one that leaves at least twice the cache's bytes between
/// two uses of a set, as far as `memory` bytes hold so many, and one in any case. A cache of 0 bytes: one set.
std::size_t sets_over(std::size_t cache, std::size_t stride, std::size_t memory);

/// Sets of operands of normally distributed elements, each set the same numbers at places of its own, in host or in
/// device memory. Every operand starts at a multiple of 64 bytes (256 on the device).
class operand_ring {
 public:
  /// Sets with operands of these numbers of elements; `sets_for` tells how many by the bytes of one.
  operand_ring(std::vector<std::int64_t> const& counts, dtype type, memory where,
               std::function<std::size_t(std::size_t stride)> const& sets_for);

  memory where() const noexcept { return where_; }
  std::size_t sets() const noexcept { return sets_; }
  std::size_t bytes() const noexcept { return sets_ * stride_; }               ///< of all sets
  std::size_t stride() const noexcept { return stride_; }                      ///< from one set to the next, in bytes
  std::size_t offset(std::size_t operand) const { return offsets_[operand]; }  ///< from its set's start, in bytes
  void* data(std::size_t set, std::size_t operand) const noexcept;

  /// Where the next call's set lies, in bytes from the first. It belongs to the ring, so that a contender does not find
  /// what the one before it has just brought to the caches.
  std::size_t next = 0;

 private:
  void fill_host(std::vector<std::int64_t> const& counts, dtype type);
  void fill_device(std::vector<std::int64_t> const& counts, dtype type);

  memory where_;
  std::vector<std::size_t> offsets_;
  std::size_t stride_ = 0, sets_ = 1;
  std::unique_ptr<char[], void (*)(void*)> host_;
  gpu::device_buffer device_;
};

}  // namespace tandem::bench
