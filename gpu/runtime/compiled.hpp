// What the runtime asks of nvcc's compilation of the kernels.
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::gpu {

/// cudaSuccess if the library holds code that the current device can run; `version` is then the compute capability for
/// which that was compiled, as 90, and not the device's own.
cudaError_t find_device_code(int& version);

}  // namespace tandem::gpu
