// The kernel files compiled for the device.
#define TANDEM_KERNEL_NAMESPACE tandem::gpu::on_device

#include "gpu/runtime/launch.cuh"

#include "gpu/rows.cuh"
#include "gpu/runtime/compiled.hpp"

namespace tandem::gpu {

row_table const& device_rows() { return on_device::table; }

cudaError_t find_device_code(int& version) {
  cudaFuncAttributes attributes = {};
  auto const status = cudaFuncGetAttributes(&attributes, on_device::axpy<float>);
  version = attributes.ptxVersion;
  return status;
}

}  // namespace tandem::gpu
