// Matrix products of a warp on the device; the SIMT executor's side is tandem/simt/wmma.hpp. Shapes of tf32, bfloat16
// and double exist from compute capability 8.0 on.
#pragma once

#include <mma.h>

namespace TANDEM_KERNEL_NAMESPACE {

namespace wmma = nvcuda::wmma;

}  // namespace TANDEM_KERNEL_NAMESPACE
