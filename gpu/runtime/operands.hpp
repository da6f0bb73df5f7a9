// Whether operands lie where their views say: asked of CUDA before anything is enqueued.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// What `scale` has of a problem: C alone.
enum class operands { abc, c };

/// For views of device memory: that each operand's data lies in memory of the current device, managed or pinned; costs
/// about a microsecond, and is allowed while a stream is captured. For views of host memory: that none lies in a
/// device's. Throws errc::mixed_memory with the operand and both devices, or errc::device where a failure of somebody's
/// earlier work has ended the use of the device.
void check_operands(problem const& p, CUstream_st* stream, operands which = operands::abc);
void check_operands(axpy_problem const& p, CUstream_st* stream);

/// Whether pinned, or registered, host memory holds all bytes from `first` to `last`: copies need no memory between.
bool is_pinned(void const* first, void const* last);

}  // namespace tandem::gpu
