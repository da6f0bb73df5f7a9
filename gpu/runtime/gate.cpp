// A gate is a function of the host's in the stream's order.
#include "gpu/runtime/gate.hpp"

#include <thread>

#include <cuda_runtime_api.h>

#include "gpu/runtime/check.hpp"

namespace tandem::gpu {

stream_gate::stream_gate(CUstream_st* stream, std::chrono::milliseconds longest) : stream_(stream), longest_(longest) {
  check(cudaLaunchHostFunc(stream, wait, this), [] { return "cudaLaunchHostFunc"; });
}

// The status is dropped: what went wrong on the stream comes out of whoever synchronizes next.
stream_gate::~stream_gate() {
  open();
  cudaStreamSynchronize(stream_);
}

void stream_gate::wait(void* gate) {
  auto& me = *static_cast<stream_gate*>(gate);
  auto const until = std::chrono::steady_clock::now() + me.longest_;
  while (!me.open_ && !me.expired_) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    me.expired_ = !me.open_ && std::chrono::steady_clock::now() > until;
  }
}

}  // namespace tandem::gpu
