// The GPU backend's descriptor: its kernels, and the scaling of device matrices. Built without CUDA, the same rows
// are there, unavailable.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::gpu {

backend_descriptor const& descriptor();

}  // namespace tandem::gpu
