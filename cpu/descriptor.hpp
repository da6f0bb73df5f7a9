// The CPU backend's descriptor: its kernels, and the scaling of host matrices.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::cpu {

backend_descriptor const& descriptor();

}  // namespace tandem::cpu
