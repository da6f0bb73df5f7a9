// Device memory, copies, events: what the GPU kernels, cuBLAS and the harness need of a device; no arithmetic, and no
// CUDA header. Built without CUDA, `unavailable()` says so and every other call throws errc::unavailable.
#pragma once

#include <cstddef>
#include <string>

struct CUstream_st;
struct CUevent_st;

namespace tandem::gpu {

/// Why no device can be used ("no CUDA driver", "built without CUDA"); empty when one can. Asked once a process.
std::string unavailable();

/// "NVIDIA H200, compute capability 9.0, driver 13.0, runtime 13.0"; empty when unavailable.
std::string device_name();

/// The current device's number of multiprocessors; 0 when unavailable.
int multiprocessors();

/// The compute capability, as 90, for which the code that the current device runs was compiled: kernels find there what
/// it had, whatever the device itself has. 0 when unavailable.
int code_version();

/// Device memory, freed with its owner. Throws errc::out_of_memory with the size asked for.
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t bytes);
  ~device_buffer();
  device_buffer(device_buffer&& other) noexcept;
  device_buffer& operator=(device_buffer&& other) noexcept;

  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Bytes that this process has taken for device buffers until now, given back or not.
std::size_t bytes_of_buffers_so_far();

/// Copies between host and device on a stream; finished on return.
void copy_to_device(void* device, void const* host, std::size_t bytes, CUstream_st* stream = nullptr);
void copy_to_host(void* host, void const* device, std::size_t bytes, CUstream_st* stream = nullptr);

/// Waits until the stream has done its work; throws errc::device with what went wrong on it.
void synchronize(CUstream_st* stream = nullptr);

/// Throws errc::device where a kernel or copy of earlier has failed so that CUDA refuses all further work of the
/// process, as far as this thread has been told. It waits for nothing.
void check_earlier_work();

/// A stream of its own, destroyed with its owner. A blocking one and the default stream wait for each other.
class stream {
 public:
  explicit stream(bool blocking = true);
  ~stream();
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  CUstream_st* get() const noexcept { return stream_; }

 private:
  CUstream_st* stream_ = nullptr;
};

/// A point in a stream's work whose time can be read.
class event {
 public:
  event();
  ~event();
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  void record(CUstream_st* stream = nullptr);
  /// Milliseconds from `start` to this event; waits for both.
  double since(event const& start) const;

 private:
  CUevent_st* event_ = nullptr;
};

}  // namespace tandem::gpu
