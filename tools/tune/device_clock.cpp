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

}  // namespace

device_clock::device_clock(shape const& s) : shape_(s), operands_(cold_operands(s)) {}

void device_clock::run(kernel const& row) {
  auto const at = operands_.next;
  operands_.next = (at + operands_.stride()) % operands_.bytes();
  auto const operand = [&](std::size_t i) { return static_cast<char*>(operands_.data(0, i)) + at; };
  row.run(place(shape_, operand(0), operand(1), operand(2)), {.stream = stream_.get()});
}

double device_clock::operator()(kernel const& row, int calls) {
  {
    // The device stands still until the host has enqueued everything: small kernels end before the next one is there.
    std::optional<gpu::stream_gate> gate;
    if (calls > 1) {
      gate.emplace(stream_.get(), std::chrono::milliseconds(100));
      run(row);
    }
    start_.record(stream_.get());
    for (int i = 0; i < calls; ++i) run(row);
    stop_.record(stream_.get());
  }
  return stop_.since(start_) * 1e3 / calls;
}

}  // namespace tandem::tune
