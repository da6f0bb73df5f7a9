// Work that has nothing to do with a graph, beside one that is being captured.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/runtime/check.hpp"

namespace tandem::gpu {

/// While it lives this thread may allocate and wait although one of its streams, or another thread's, is being
/// captured.
class outside_captures {
 public:
  outside_captures() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), [] { return "cudaThreadExchangeStreamCaptureMode"; });
  }
  ~outside_captures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  outside_captures(outside_captures const&) = delete;
  outside_captures& operator=(outside_captures const&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tandem::gpu
