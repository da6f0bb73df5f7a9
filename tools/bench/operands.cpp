// One arena holds all sets.
#include "tools/bench/operands.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

namespace tandem::bench {
namespace {

constexpr std::size_t line = 64, page = 4096;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

template <class T>
void fill(void* data, std::int64_t count, std::mt19937_64& random) {
  std::normal_distribution<T> normal;
  for (auto* x = static_cast<T*>(data); count > 0; --count) *x++ = normal(random);
}

}  // namespace

operand_ring::operand_ring(std::vector<std::int64_t> const& counts, dtype type, std::size_t ring_bytes, bool on_device)
    : host_(nullptr, std::free) {
  for (auto const count : counts) {
    offsets_.push_back(stride_);
    stride_ += rounded_up(static_cast<std::size_t>(count) * size_of(type), line);
  }
  sets_ = std::max<std::size_t>(1, (ring_bytes + stride_ - 1) / stride_);
  host_.reset(static_cast<char*>(std::aligned_alloc(page, rounded_up(bytes(), page))));
  if (!host_) throw std::bad_alloc();
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < counts.size(); ++i)
    type == dtype::f32 ? fill<float>(host_.get() + offsets_[i], counts[i], random)
                       : fill<double>(host_.get() + offsets_[i], counts[i], random);
  for (std::size_t set = 1; set < sets_; ++set) std::memcpy(host_.get() + set * stride_, host_.get(), stride_);
  if (!on_device) return;
  device_ = gpu::device_buffer(bytes());
  gpu::copy_to_device(device_.data(), host_.get(), bytes());
}

void* operand_ring::data(std::size_t set, std::size_t operand, memory where) const noexcept {
  auto* const base = where == memory::host ? host_.get() : static_cast<char*>(device_.data());
  return base + set * stride_ + offsets_[operand];
}

}  // namespace tandem::bench
