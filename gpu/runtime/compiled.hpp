// What the runtime asks of nvcc's compilation of the kernels.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu {

/// cudaSuccess if the library holds code that the current device can run.
cudaError_t find_device_code();

}  // namespace tandem::gpu
