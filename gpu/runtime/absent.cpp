// The device runtime of a build without CUDA: it says so, and every other call throws.
#include <tandem/error.hpp>

#include "gpu/row.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/gate.hpp"
#include "gpu/runtime/operands.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/window.hpp"
#include "gpu/simt/rows.hpp"

namespace tandem::gpu {
namespace {

[[noreturn]] void refuse() { throw error(errc::unavailable, "gpu: " + unavailable()); }

void refuse_scale(problem const&, CUstream_st*) { refuse(); }

}  // namespace

std::string unavailable() { return "built without CUDA"; }
std::string device_name() { return {}; }
int multiprocessors() { return 0; }
int code_version() { return 0; }

// The rows are listed all the same, by the executor's compilation of the table; nobody gets to launch them.
row_table const& device_rows() {
  static row_table const table = [] {
    auto rows = simt::plain_rows();
    rows.scale = refuse_scale;
    return rows;
  }();
  return table;
}

device_buffer::device_buffer(std::size_t) { refuse(); }
device_buffer::~device_buffer() = default;
device_buffer::device_buffer(device_buffer&&) noexcept = default;
device_buffer& device_buffer::operator=(device_buffer&&) noexcept = default;

void copy_to_device(void*, void const*, std::size_t, CUstream_st*) { refuse(); }
void copy_to_host(void*, void const*, std::size_t, CUstream_st*) { refuse(); }
void synchronize(CUstream_st*) { refuse(); }
void check_earlier_work() { refuse(); }

void check_operands(problem const&, CUstream_st*, operands) { refuse(); }
void check_operands(axpy_problem const&, CUstream_st*) { refuse(); }

device_window::device_window(std::size_t) { refuse(); }
device_window::~device_window() { static_cast<void>(handle_); }
device_window::device_window(device_window&&) noexcept = default;
device_window& device_window::operator=(device_window&&) noexcept = default;

stream::stream(bool) { refuse(); }
stream::~stream() = default;

stream_gate::stream_gate(CUstream_st* stream, std::chrono::milliseconds longest) : stream_(stream), longest_(longest) {
  refuse();
}
stream_gate::~stream_gate() { static_cast<void>(stream_); }

event::event() { refuse(); }
event::~event() { static_cast<void>(event_); }  // clang warns of a member that no function of a class uses
void event::record(CUstream_st*) { refuse(); }
double event::since(event const&) const { refuse(); }

void run_staged(problem const&, CUstream_st*, std::function<void(problem const&, CUstream_st*)> const&) { refuse(); }
void run_staged(axpy_problem const&, CUstream_st*, std::function<void(axpy_problem const&, CUstream_st*)> const&) {
  refuse();
}

}  // namespace tandem::gpu
