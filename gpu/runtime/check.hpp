// Every CUDA call goes through `check`: a failure becomes a tandem::error that names the call, its sizes and CUDA's
// own name of what went wrong.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace tandem::gpu {

/// Throws errc::out_of_memory if that is the status, errc::device for any other.
[[noreturn]] void throw_cuda_error(cudaError_t status, std::string const& call);

/// `describe` gives the call as text, with its sizes; it is only asked on failure.
template <class F>
void check(cudaError_t status, F const& describe) {
  if (status != cudaSuccess) throw_cuda_error(status, describe());
}

}  // namespace tandem::gpu
