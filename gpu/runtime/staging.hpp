// Runs a problem with host operands on the device: copies in what is read, computes, copies out what is written.
#pragma once

#include <functional>

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// Finished on return, or thrown, with every stream that was used done. Throws errc::mixed_memory if an operand lies in
/// a device's memory; errc::out_of_memory, with C untouched, if there is not enough on the device or too little pinned
/// memory; errc::unsupported if the stream is being captured, or TANDEM_GPU_MEMORY is no number of bytes. What was
/// enqueued on the stream before comes first. The gaps between C's rows, or y's elements, are left alone; C is not read
/// if beta = 0.
///
/// A product may run in several tiles (gpu/runtime/host_tiles.hpp), at most TANDEM_GPU_MEMORY's bytes or 7/8 of the
/// free device memory on the device at once: `enqueue` then gets several problems with device operands, which it must
/// enqueue on the stream that it gets. An error between two tiles leaves those before it written. docs/host-views.md.
void run_staged(problem const& p, CUstream_st* stream,
                std::function<void(problem const&, CUstream_st*)> const& enqueue);
void run_staged(axpy_problem const& p, CUstream_st* stream,
                std::function<void(axpy_problem const&, CUstream_st*)> const& enqueue);

}  // namespace tandem::gpu
