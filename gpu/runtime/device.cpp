// The device runtime over CUDA's.
#include "gpu/runtime/device.hpp"

#include <array>
#include <atomic>
#include <utility>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/compiled.hpp"

namespace tandem::gpu {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string error_text(cudaError_t status) {
  return fmt::format("{} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
}

// Codes of a kernel's or copy's own failure, after which every call returns them: whichever call that is, it is not its
// fault.
bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice: return true;
    default: return false;
  }
}

struct device_state {
  std::string unavailable;
  std::string name;
  int multiprocessors = 0;
};

device_state find_device() {
  auto const none = [](std::string reason) {
    cudaGetLastError();  // what went wrong here must not surface in somebody else's call
    return device_state{.unavailable = std::move(reason), .name = {}, .multiprocessors = 0};
  };
  int driver = 0, runtime = 0, count = 0, device = 0, code = 0;
  if (auto const s = cudaDriverGetVersion(&driver); s != cudaSuccess) return none(error_text(s));
  if (driver == 0) return none("no CUDA driver");
  if (auto const s = cudaRuntimeGetVersion(&runtime); s != cudaSuccess) return none(error_text(s));
  auto const found = cudaGetDeviceCount(&count);
  if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0)) return none("no CUDA device");
  if (found == cudaErrorInsufficientDriver)
    return none(
        fmt::format("the CUDA driver, {}, is too old for runtime {}", version_text(driver), version_text(runtime)));
  if (found != cudaSuccess) return none(error_text(found));

  cudaDeviceProp properties;
  if (auto const s = cudaGetDevice(&device); s != cudaSuccess) return none(error_text(s));
  if (auto const s = cudaGetDeviceProperties(&properties, device); s != cudaSuccess) return none(error_text(s));
  if (auto const s = find_device_code(code); s != cudaSuccess)
    return none(fmt::format("this build's code does not run on {}, compute capability {}.{}: {}", properties.name,
                            properties.major, properties.minor, error_text(s)));
  return {.unavailable = {},
          .name = fmt::format("{}, compute capability {}.{}, driver {}, runtime {}", properties.name, properties.major,
                              properties.minor, version_text(driver), version_text(runtime)),
          .multiprocessors = properties.multiProcessorCount};
}

device_state const& state() {
  static auto const& found = *new device_state(find_device());
  return found;
}

void require_device() {
  if (!state().unavailable.empty()) throw error(errc::unavailable, "gpu: " + state().unavailable);
}

std::atomic<std::size_t> buffers_so_far = 0;  // bytes

}  // namespace

void throw_cuda_error(cudaError_t status, std::string const& call) {
  cudaGetLastError();  // reported here, so that the next call does not report it again
  if (is_sticky(status))
    throw error(errc::device, fmt::format("an earlier asynchronous error came out of {}: {}; CUDA refuses all further "
                                          "work of this process",
                                          call, error_text(status)));
  throw error(status == cudaErrorMemoryAllocation ? errc::out_of_memory : errc::device,
              fmt::format("{}: {}", call, error_text(status)));
}

void check_earlier_work() {
  if (auto const status = cudaPeekAtLastError(); is_sticky(status))
    throw_cuda_error(status, "cudaPeekAtLastError, before anything was enqueued");
}

std::string unavailable() { return state().unavailable; }
std::string device_name() { return state().name; }
int multiprocessors() { return state().multiprocessors; }

int code_version() {
  static std::array<std::atomic<int>, 64> known = {};  // by device
  int device = 0, version = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  auto const slot = static_cast<std::size_t>(device);
  if (slot < known.size() && (version = known[slot].load(std::memory_order_relaxed)) != 0) return version;
  if (find_device_code(version) != cudaSuccess) return 0;
  if (slot < known.size()) known[slot].store(version, std::memory_order_relaxed);
  return version;
}

// Destructors drop the status: an error that a kernel left behind comes out of `synchronize`, and they must not throw.
device_buffer::device_buffer(std::size_t bytes) : size_(bytes) {
  require_device();
  if (bytes == 0) return;
  check(cudaMalloc(&data_, bytes), [&] { return fmt::format("cudaMalloc of {} bytes", bytes); });
  buffers_so_far.fetch_add(bytes, std::memory_order_relaxed);
}

device_buffer::~device_buffer() { cudaFree(data_); }

std::size_t bytes_of_buffers_so_far() { return buffers_so_far.load(std::memory_order_relaxed); }

device_buffer::device_buffer(device_buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

device_buffer& device_buffer::operator=(device_buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void copy_to_device(void* device, void const* host, std::size_t bytes, CUstream_st* stream) {
  require_device();
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream),
        [&] { return fmt::format("cudaMemcpyAsync of {} bytes to the device", bytes); });
  synchronize(stream);
}

void copy_to_host(void* host, void const* device, std::size_t bytes, CUstream_st* stream) {
  require_device();
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream),
        [&] { return fmt::format("cudaMemcpyAsync of {} bytes to the host", bytes); });
  synchronize(stream);
}

void synchronize(CUstream_st* stream) {
  require_device();
  check(cudaStreamSynchronize(stream), [] { return "cudaStreamSynchronize"; });
}

stream::stream(bool blocking) {
  require_device();
  check(cudaStreamCreateWithFlags(&stream_, blocking ? cudaStreamDefault : cudaStreamNonBlocking),
        [] { return "cudaStreamCreateWithFlags"; });
}

stream::~stream() { cudaStreamDestroy(stream_); }

event::event() {
  require_device();
  check(cudaEventCreate(&event_), [] { return "cudaEventCreate"; });
}

event::~event() { cudaEventDestroy(event_); }

void event::record(CUstream_st* stream) {
  check(cudaEventRecord(event_, stream), [] { return "cudaEventRecord"; });
}

double event::since(event const& start) const {
  float milliseconds = 0;
  check(cudaEventSynchronize(event_), [] { return "cudaEventSynchronize"; });
  check(cudaEventElapsedTime(&milliseconds, start.event_, event_), [] { return "cudaEventElapsedTime"; });
  return milliseconds;
}

}  // namespace tandem::gpu
