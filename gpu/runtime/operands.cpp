#include "gpu/runtime/operands.hpp"

#include <cuda.h>

#include <string>

#include <fmt/format.h>
#include <tandem/error.hpp>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/driver.hpp"

namespace tandem::gpu {
namespace {

struct location {
  unsigned type = 0;  // CU_MEMORYTYPE_…; 0: memory that CUDA does not know
  unsigned managed = 0;
  int device = 0;
};

// The driver's query: of all three attributes at once, and without an error for memory that it does not know.
CUresult query(location& found, void const* data) {
  static auto* const attributes = driver_function<decltype(cuPointerGetAttributes)>("cuPointerGetAttributes");
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&found.type, &found.managed, &found.device};
  return attributes(3, names, values, reinterpret_cast<CUdeviceptr>(data));
}

location locate(char const* name, void const* data) {
  location found;
  auto status = query(found, data);
  if (status == CUDA_ERROR_INVALID_CONTEXT || status == CUDA_ERROR_NOT_INITIALIZED) {
    // This thread has not used CUDA yet.
    int device = 0;
    check(cudaGetDevice(&device), [] { return "cudaGetDevice"; });
    check(cudaSetDevice(device), [&] { return fmt::format("cudaSetDevice({}), the current one", device); });
    status = query(found, data);
  }
  // The runtime's codes of what can come out here are the driver's.
  check(static_cast<cudaError_t>(status), [&] { return fmt::format("where {}'s data lies", name); });
  return found;
}

bool is_captured(CUstream_st* stream) {
  auto capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), [] { return "cudaStreamIsCapturing"; });
  return capture != cudaStreamCaptureStatusNone;
}

void check_device_operand(char const* name, void const* data, int current, CUstream_st* stream) {
  auto const at = locate(name, data);
  if (at.type == CU_MEMORYTYPE_DEVICE && at.device == current) return;
  if (at.type == CU_MEMORYTYPE_HOST || at.type == CU_MEMORYTYPE_UNIFIED || at.managed != 0) return;
  if (at.type == 0) {
    // Memory that the graph under construction allocates is not there yet.
    if (is_captured(stream)) return;
    throw error(errc::mixed_memory, fmt::format("{} is a view of device memory, but its data at {} is memory that CUDA "
                                                "does not know; the current device is {}",
                                                name, data, current));
  }
  // Addresses that are mapped to several devices' memory belong to none.
  if (at.device >= 0)
    throw error(errc::mixed_memory, fmt::format("{}'s data at {} lies in memory of device {}, but the current device "
                                                "is {}",
                                                name, data, at.device, current));
}

void check_host_operand(char const* name, void const* data) {
  auto const at = locate(name, data);
  if (at.type == CU_MEMORYTYPE_DEVICE && at.managed == 0)
    throw error(errc::mixed_memory,
                fmt::format("{} is a view of host memory, but its data at {} lies in memory of device {}", name, data,
                            at.device));
}

void check_operand(char const* name, void const* data, memory where, CUstream_st* stream) {
  if (where == memory::host) return check_host_operand(name, data);
  int current = 0;
  check(cudaGetDevice(&current), [] { return "cudaGetDevice"; });
  check_device_operand(name, data, current, stream);
}

}  // namespace

void check_operands(problem const& p, CUstream_st* stream, operands which) {
  check_earlier_work();
  if (which == operands::abc) {
    check_operand("A", p.a, p.memory, stream);
    check_operand("B", p.b, p.memory, stream);
  }
  check_operand("C", p.c, p.memory, stream);
}

void check_operands(axpy_problem const& p, CUstream_st* stream) {
  check_earlier_work();
  check_operand("x", p.x, p.memory, stream);
  check_operand("y", p.y, p.memory, stream);
}

bool is_pinned(void const* first, void const* last) {
  auto const begin = locate("a host view", first), end = locate("a host view", last);
  return begin.type == CU_MEMORYTYPE_HOST && end.type == CU_MEMORYTYPE_HOST && begin.managed == 0 && end.managed == 0;
}

}  // namespace tandem::gpu
