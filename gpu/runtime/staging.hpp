// Runs a problem with host operands on the device: copies in what is read, computes, copies out what is written.
#pragma once

#include <functional>

#include <tandem/kernel.hpp>

namespace tandem::gpu {

/// `enqueue` gets the same problem with device operands. The gaps between C's rows, or y's elements, are left alone;
/// C is not read if beta = 0. Finished on return, or thrown: with errc::out_of_memory if the device cannot hold the
/// operands, and C is then untouched.
void run_staged(problem const& p, CUstream_st* stream,
                std::function<void(problem const&, CUstream_st*)> const& enqueue);
void run_staged(axpy_problem const& p, CUstream_st* stream,
                std::function<void(axpy_problem const&, CUstream_st*)> const& enqueue);

}  // namespace tandem::gpu
