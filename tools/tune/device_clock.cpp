#include "tools/tune/device_clock.hpp"

#include <chrono>
#include <optional>

#include "gpu/runtime/gate.hpp"
#include "tools/bench/device.hpp"

namespace tandem::tune {
namespace {

bench::operand_ring cold_operands(shape const& s) {
  auto const e = extents_of(s);
  return {{e.a, e.b, e.c}, s.p.dtype, memory::device, [](std::size_t stride) {
            return bench::sets_over(bench::this_device().l2_bytes, stride, bench::free_device_memory());
          }};
}

// The device stands still until the host has enqueued everything: small kernels end before the next one is there.
constexpr std::chrono::milliseconds enqueuing(100);

}  // namespace

device_clock::device_clock(shape const& s) : shape_(s), operands_(cold_operands(s)), marks_(2) {}

void device_clock::run(kernel const& row) {
  auto const at = operands_.next;
  operands_.next = (at + operands_.stride()) % operands_.bytes();
  auto const operand = [&](std::size_t i) { return static_cast<char*>(operands_.data(0, i)) + at; };
  row.run(place(shape_, operand(0), operand(1), operand(2)), {.stream = stream_.get()});
}

double device_clock::in_a_row(kernel const& row, int calls) {
  {
    std::optional<gpu::stream_gate> gate;
    if (calls > 1) {
      gate.emplace(stream_.get(), enqueuing);
      run(row);
    }
    marks_[0].record(stream_.get());
    for (int i = 0; i < calls; ++i) run(row);
    marks_[1].record(stream_.get());
  }
  return marks_[1].since(marks_[0]) * 1e3 / calls;
}

std::vector<double> device_clock::in_turn(std::span<kernel const* const> rows) {
  if (marks_.size() <= rows.size()) marks_.resize(rows.size() + 1);
  {
    gpu::stream_gate const gate(stream_.get(), enqueuing);
    run(*rows.back());
    marks_[0].record(stream_.get());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      run(*rows[i]);
      marks_[i + 1].record(stream_.get());
    }
  }
  std::vector<double> times;
  for (std::size_t i = 0; i < rows.size(); ++i) times.push_back(marks_[i + 1].since(marks_[i]) * 1e3);
  return times;
}

}  // namespace tandem::tune
