// What a product of host views works with beside device memory: streams, events and chunks of pinned memory, kept from
// call to call.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include <cuda_runtime_api.h>

namespace tandem::gpu {

struct stream_deleter {
  void operator()(CUstream_st* stream) const noexcept { cudaStreamDestroy(stream); }
};
struct event_deleter {
  void operator()(CUevent_st* event) const noexcept { cudaEventDestroy(event); }
};
struct pinned_deleter {
  void operator()(std::byte* memory) const noexcept { cudaFreeHost(memory); }
};

/// A stream that waits for no other, not even the default one.
class own_stream {
 public:
  own_stream();
  CUstream_st* get() const noexcept { return stream_.get(); }
  void wait() const;  ///< of the host, for all of its work

 private:
  std::unique_ptr<CUstream_st, stream_deleter> stream_;
};

/// A point in a stream's work. One that has not been recorded yet lies behind.
class own_event {
 public:
  own_event();
  void record(own_stream const& stream);
  void delay(own_stream const& stream) const;  ///< what is enqueued there from now on
  void wait() const;                           ///< of the host

 private:
  std::unique_ptr<CUevent_st, event_deleter> event_;
};

/// Pinned memory for one copy at a time.
struct chunk {
  static constexpr std::size_t bytes = std::size_t{4} << 20;
  std::unique_ptr<std::byte, pinned_deleter> memory;
  own_event copied;  ///< recorded behind its last copy
};

/// Chunks in turns. They are allocated when they are needed first.
class chunk_ring {
 public:
  static constexpr std::size_t count = 4;
  /// The next chunk, once its last copy is done. Throws errc::out_of_memory if there is no more pinned memory.
  chunk& next();

 private:
  std::array<chunk, count> chunks_;
  std::size_t next_ = 0;
};

struct staging_area {
  own_stream in, compute, out;
  chunk_ring chunks_in, chunks_out;
  own_event loaded;                      ///< a step's operands
  std::array<own_event, 2> computed;     ///< of the even and the odd steps
  std::array<own_event, 2> written_out;  ///< of the even and the odd tiles of C
};

/// An area of the current device for one call. There are at most `most_areas` for each device, each with up to 32 MiB
/// of pinned memory; a call that finds them all in use waits. Whoever uses `in` and `out` waits for them; the lease's
/// end waits for `compute`.
class leased_area {
 public:
  static constexpr int most_areas = 4;

  leased_area();
  ~leased_area();
  leased_area(leased_area const&) = delete;
  leased_area& operator=(leased_area const&) = delete;
  staging_area& operator*() const noexcept { return *area_; }

 private:
  int device_ = 0;
  std::unique_ptr<staging_area> area_;
};

}  // namespace tandem::gpu
