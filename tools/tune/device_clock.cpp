#include "tools/tune/device_clock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "gpu/runtime/gate.hpp"

namespace tandem::tune {
namespace {

constexpr std::int64_t line = 256;  // bytes
constexpr std::size_t block_bytes = std::size_t{32} << 20;

std::int64_t rounded_up(std::int64_t elements, dtype type) {
  auto const bytes = elements * static_cast<std::int64_t>(size_of(type));
  return (bytes + line - 1) / line * line;
}

template <class T>
std::vector<T> normals() {
  std::vector<T> values(block_bytes / sizeof(T));
  std::mt19937_64 random(1);
  std::normal_distribution<T> normal;
  for (auto& x : values) x = normal(random);
  return values;
}

// Block by block, the same one: normals of gigabytes would take the host longer than the measuring takes.
template <class T>
void fill(gpu::device_buffer const& buffer) {
  auto const values = normals<T>();
  for (std::size_t at = 0; at < buffer.size(); at += block_bytes)
    gpu::copy_to_device(static_cast<char*>(buffer.data()) + at, values.data(),
                        std::min(block_bytes, buffer.size() - at));
}

}  // namespace

device_clock::device_clock(dtype type, std::vector<shape> const& shapes) {
  std::int64_t inputs = 0, outputs = 0;
  for (auto const& s : shapes) {
    auto const e = extents_of(s);
    inputs = std::max(inputs, rounded_up(e.a, type) + rounded_up(e.b, type));
    outputs = std::max(outputs, rounded_up(e.c, type));
  }
  inputs_ = gpu::device_buffer(static_cast<std::size_t>(inputs));
  outputs_ = gpu::device_buffer(static_cast<std::size_t>(outputs));
  type == dtype::f32 ? fill<float>(inputs_) : fill<double>(inputs_);
}

double device_clock::operator()(kernel const& row, shape const& s, int calls) {
  auto* const a = static_cast<char*>(inputs_.data());
  auto const p = place(s, a, a + rounded_up(extents_of(s).a, s.p.dtype), outputs_.data());
  execution const how{.stream = stream_.get()};
  {
    // The device stands still until the host has enqueued everything: small kernels end before the next one is there.
    std::optional<gpu::stream_gate> gate;
    if (calls > 1) {
      gate.emplace(stream_.get(), std::chrono::milliseconds(100));
      row.run(p, how);
    }
    start_.record(stream_.get());
    for (int i = 0; i < calls; ++i) row.run(p, how);
    stop_.record(stream_.get());
  }
  return stop_.since(start_) * 1e3 / calls;
}

}  // namespace tandem::tune
