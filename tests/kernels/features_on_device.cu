// The kernels of tests/kernels compiled for the device.
#define TANDEM_KERNEL_NAMESPACE tandem::tests::on_device

#include <string>

#include "gpu/runtime/launch.cuh"
#include "gpu/runtime/wmma.cuh"

#include "tests/kernels/divergence.cuh"
#include "tests/kernels/features.cuh"

namespace tandem::tests {

feature_table const& device_features() { return on_device::feature_table; }

feature_table const& device_divergences() { return on_device::divergence_table; }

namespace on_device {
__global__ void mark() {}
}  // namespace on_device

void start_mark() { on_device::launch(on_device::mark, 1, 1, 0, nullptr); }

std::string why_no_device_features() {
  cudaFuncAttributes attributes;
  auto const status = cudaFuncGetAttributes(&attributes, on_device::sum_of_first);
  cudaGetLastError();
  return status == cudaSuccess ? "" : cudaGetErrorString(status);
}

}  // namespace tandem::tests
