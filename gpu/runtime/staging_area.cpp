#include "gpu/runtime/staging_area.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/runtime/check.hpp"

namespace tandem::gpu {
namespace {

struct device_areas {
  std::vector<std::unique_ptr<staging_area>> idle;
  int in_use = 0;
};

struct all_areas {
  std::mutex mutex;
  std::condition_variable given_back;
  std::map<int, device_areas> of_device;
};

// Never destroyed: at the program's end CUDA may be gone first.
all_areas& areas() {
  static all_areas& all = *new all_areas;
  return all;
}

void give_back(int device, std::unique_ptr<staging_area> area) {
  {
    std::lock_guard const lock(areas().mutex);
    auto& here = areas().of_device[device];
    --here.in_use;
    if (area) here.idle.push_back(std::move(area));
  }
  areas().given_back.notify_all();
}

}  // namespace

own_stream::own_stream() {
  CUstream_st* stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), [] { return "cudaStreamCreateWithFlags"; });
  stream_.reset(stream);
}

void own_stream::wait() const {
  check(cudaStreamSynchronize(get()), [] { return "cudaStreamSynchronize"; });
}

own_event::own_event() {
  CUevent_st* event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), [] { return "cudaEventCreateWithFlags"; });
  event_.reset(event);
}

void own_event::record(own_stream const& stream) {
  check(cudaEventRecord(event_.get(), stream.get()), [] { return "cudaEventRecord"; });
}

void own_event::delay(own_stream const& stream) const {
  check(cudaStreamWaitEvent(stream.get(), event_.get(), 0), [] { return "cudaStreamWaitEvent"; });
}

void own_event::wait() const {
  check(cudaEventSynchronize(event_.get()), [] { return "cudaEventSynchronize"; });
}

chunk& chunk_ring::next() {
  auto& one = chunks_[next_++ % count];
  if (!one.memory) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, chunk::bytes, cudaHostAllocDefault),
          [] { return fmt::format("cudaHostAlloc of {} bytes of pinned memory", chunk::bytes); });
    one.memory.reset(static_cast<std::byte*>(memory));
  }
  one.copied.wait();
  return one;
}

leased_area::leased_area() {
  check(cudaGetDevice(&device_), [] { return "cudaGetDevice"; });
  {
    std::unique_lock lock(areas().mutex);
    auto& here = areas().of_device[device_];
    areas().given_back.wait(lock, [&] { return here.in_use < most_areas; });
    here.idle.reserve(most_areas);  // so that giving it back cannot fail
    ++here.in_use;
    if (!here.idle.empty()) {
      area_ = std::move(here.idle.back());
      here.idle.pop_back();
    }
  }
  if (area_) return;
  try {
    area_ = std::make_unique<staging_area>();
  } catch (...) {
    give_back(device_, nullptr);
    throw;
  }
}

// The status is dropped: who has to know has waited.
leased_area::~leased_area() {
  cudaStreamSynchronize(area_->compute.get());
  give_back(device_, std::move(area_));
}

}  // namespace tandem::gpu
