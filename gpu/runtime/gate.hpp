// A stream that stands still for a while, so that what does not keep to its turn there shows.
#pragma once

#include <atomic>
#include <chrono>

struct CUstream_st;

namespace tandem::gpu {

/// Holds up what is enqueued on a stream from now on until it is opened or destroyed, or its time is over: whoever
/// waits for the stream meanwhile is found out and does not hang.
class stream_gate {
 public:
  /// Throws errc::device.
  stream_gate(CUstream_st* stream, std::chrono::milliseconds longest);
  /// Opens, and waits for the stream.
  ~stream_gate();
  stream_gate(stream_gate const&) = delete;
  stream_gate& operator=(stream_gate const&) = delete;

  void open() noexcept { open_ = true; }
  /// Whether its time was over before it was opened.
  bool expired() const noexcept { return expired_; }

 private:
  static void wait(void* gate);

  CUstream_st* stream_;
  std::chrono::milliseconds longest_;
  std::atomic<bool> open_ = false, expired_ = false;
};

}  // namespace tandem::gpu
