// The SIMT executor's descriptor: the GPU's kernel files, run on the CPU.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::simt {

backend_descriptor const& descriptor();

}  // namespace tandem::simt
