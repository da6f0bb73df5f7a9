// Device memory that the launches of one call hand each other: partial products above all.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace tandem::gpu {

/// Device memory in the order of a stream: there for what is enqueued on it from the constructor to the destructor.
///
/// It comes from one pool of the driver's for each device (cudaMallocFromPoolAsync), so that
/// - nothing waits: neither the host, nor a stream for another one. A stream finds what it has used before; memory of
///   another stream is taken only when that stream is known to be through with it;
/// - in steady state nothing is allocated: the pool keeps up to `most_kept` bytes when they are not in use;
/// - any number of host threads may use any streams, also one together;
/// - in a stream that is being captured it becomes a node of the graph, whose memory belongs to the graph: replays
///   share nothing with later calls. As for any graph with such nodes, only one executable graph of it may exist at a
///   time.
///
/// Throws errc::out_of_memory with the size, before anything is enqueued; errc::device for a device without pools.
class workspace_memory {
 public:
  static constexpr std::size_t most_kept = std::size_t{256} << 20;

  workspace_memory(std::size_t bytes, CUstream_st* stream);
  ~workspace_memory();
  workspace_memory(workspace_memory const&) = delete;
  workspace_memory& operator=(workspace_memory const&) = delete;

  void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  CUstream_st* stream_ = nullptr;
};

/// Bytes of the device that the current device's pool has, in use or kept.
std::size_t bytes_of_workspaces();

/// Gives what the current device's pool keeps, and nothing uses, back to the device.
void trim_workspaces();

}  // namespace tandem::gpu
