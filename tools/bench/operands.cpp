// One arena holds all sets.
#include "tools/bench/operands.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "tools/bench/device.hpp"

namespace tandem::bench {
namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Drawn once a process; operands are pieces of it from different places. Its length is odd, so that no line of a usual
// length repeats itself in another's place.
template <class T>
std::vector<T> const& normals() {
  static std::vector<T> const all = [] {
    std::vector<T> out((std::size_t{1} << 22) - 3);
    std::mt19937_64 random(1);
    std::normal_distribution<T> normal;
    for (auto& x : out) x = normal(random);
    return out;
  }();
  return all;
}

template <class T>
void fill(void* data, std::int64_t count, std::size_t from) {
  auto const& all = normals<T>();
  auto left = static_cast<std::size_t>(count);
  for (auto* to = static_cast<T*>(data); left > 0; from = 0) {
    auto const piece = std::min(left, all.size() - from);
    to = std::copy_n(all.data() + from, piece, to);
    left -= piece;
  }
}

}  // namespace

std::size_t sets_over(std::size_t cache, std::size_t stride, std::size_t memory) {
  if (cache == 0) return 1;
  auto const wanted = 1 + (2 * cache + stride - 1) / stride;
  return std::clamp<std::size_t>(memory / stride, 1, wanted);
}

operand_ring::operand_ring(std::vector<std::int64_t> const& counts, dtype type, memory where,
                           std::function<std::size_t(std::size_t)> const& sets_for)
    : where_(where), host_(nullptr, std::free) {
  std::size_t const line = where == memory::host ? 64 : 256;
  for (auto const count : counts) {
    offsets_.push_back(stride_);
    stride_ += rounded_up(static_cast<std::size_t>(count) * size_of(type), line);
  }
  sets_ = sets_for(stride_);
  where == memory::host ? fill_host(counts, type) : fill_device(counts, type);
}

void operand_ring::fill_host(std::vector<std::int64_t> const& counts, dtype type) {
  constexpr std::size_t page = 4096;
  host_.reset(static_cast<char*>(std::aligned_alloc(page, rounded_up(bytes(), page))));
  if (!host_) throw std::bad_alloc();
  for (std::size_t i = 0; i < counts.size(); ++i)
    (type == dtype::f32 ? fill<float> : fill<double>)(data(0, i), counts[i], i * 1'000'003);
  for (std::size_t set = 1; set < sets_; ++set) std::memcpy(host_.get() + set * stride_, host_.get(), stride_);
}

void operand_ring::fill_device(std::vector<std::int64_t> const& counts, dtype type) {
  device_ = gpu::device_buffer(bytes());
  for (std::size_t i = 0; i < counts.size(); ++i) fill_normal(data(0, i), type, counts[i], i << 48);
  // In ever longer pieces: small operands have a hundred thousand sets.
  for (std::size_t there = 1; there < sets_; there *= 2)
    copy_on_device(data(there, 0), data(0, 0), std::min(there, sets_ - there) * stride_);
  gpu::synchronize();
}

void* operand_ring::data(std::size_t set, std::size_t operand) const noexcept {
  auto* const base = where_ == memory::host ? host_.get() : static_cast<char*>(device_.data());
  return base + set * stride_ + offsets_[operand];
}

}  // namespace tandem::bench
