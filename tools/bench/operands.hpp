// Operands under measurement: one set that stays hot, or a ring of sets so large that every call finds cold ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tandem/types.hpp>

#include "gpu/runtime/device.hpp"

namespace tandem::bench {

/// Sets of operands of normally distributed elements, each set the same numbers at places of its own; in host memory,
/// and a copy in device memory where that is asked for. Every operand starts at a multiple of 64 bytes.
class operand_ring {
 public:
  /// Sets with operands of these numbers of elements; as many sets as make at least `ring_bytes`, at least one.
  operand_ring(std::vector<std::int64_t> const& counts, dtype type, std::size_t ring_bytes, bool on_device);

  std::size_t sets() const noexcept { return sets_; }
  std::size_t bytes() const noexcept { return sets_ * stride_; }               ///< of all sets
  std::size_t stride() const noexcept { return stride_; }                      ///< from one set to the next, in bytes
  std::size_t offset(std::size_t operand) const { return offsets_[operand]; }  ///< from its set's start, in bytes
  void* data(std::size_t set, std::size_t operand, memory where) const noexcept;

 private:
  std::vector<std::size_t> offsets_;
  std::size_t stride_ = 0, sets_ = 1;
  std::unique_ptr<char[], void (*)(void*)> host_;
  gpu::device_buffer device_;
};

}  // namespace tandem::bench
