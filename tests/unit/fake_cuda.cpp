#include "tests/unit/fake_cuda.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <tandem/error.hpp>

#include "gpu/runtime/workspace.hpp"

namespace {

struct operation {
  std::function<void()> run;
  CUevent_st* waits_for = nullptr;
  std::int64_t version = 0;
  bool is_work = false;                       // a kernel or a copy
  void const *to = nullptr, *from = nullptr;  // of a copy
};

}  // namespace

struct CUstream_st {
  std::deque<operation> queue;
};

struct CUevent_st {
  std::int64_t recorded = 0, done = 0;
};

namespace {

std::recursive_mutex mutex;
std::set<CUstream_st*> streams;
struct memory_range {
  std::size_t bytes;
  fake_cuda::kind kind;
  int device;
};
std::map<std::uintptr_t, memory_range> known_memory;
bool is_captured = false;
std::map<void*, std::size_t> sizes_of_workspaces;
std::mt19937 random_order;
std::size_t free_memory = std::size_t{1} << 40;
std::int64_t calls_to_failure = -1;
std::int64_t work_to_failure = -1;
bool failed = false, is_dead = false;
std::int64_t misuse_count = 0;

// After work that failed everything does, with its code.
cudaError_t planted_failure() {
  if (is_dead) return cudaErrorIllegalAddress;
  if (calls_to_failure-- != 0) return cudaSuccess;
  failed = true;
  return cudaErrorUnknown;
}

// What a call of the runtime's does, unless it is to fail.
cudaError_t call(auto const& body) {
  std::lock_guard const lock(mutex);
  if (auto const status = planted_failure(); status != cudaSuccess) return status;
  body();
  return cudaSuccess;
}

// Does one operation of a stream that may go on; false when there is none.
bool do_one() {
  std::vector<CUstream_st*> ready;
  for (auto* stream : streams) {
    if (stream->queue.empty()) continue;
    auto const& first = stream->queue.front();
    if (first.waits_for == nullptr || first.waits_for->done >= first.version) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  auto* const stream = ready[random_order() % ready.size()];
  auto const first = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (first.is_work && work_to_failure-- == 0) failed = is_dead = true;
  if (first.run && !(first.is_work && is_dead)) first.run();
  return true;
}

// A failure of what is waited for comes out behind it.
cudaError_t do_until(std::function<bool()> const& is_done) {
  std::lock_guard const lock(mutex);
  while (!is_done())
    if (!do_one()) return cudaErrorLaunchTimeout;  // streams that wait for each other
  return planted_failure();
}

CUresult pointer_attributes(unsigned count, CUpointer_attribute* names, void** values, CUdeviceptr pointer) {
  std::lock_guard const lock(mutex);
  auto const after = known_memory.upper_bound(pointer);
  auto const at = after == known_memory.begin() ? known_memory.end() : std::prev(after);
  bool const is_known = at != known_memory.end() && pointer < at->first + at->second.bytes;
  for (unsigned i = 0; i < count; ++i) {
    auto& value = *static_cast<int*>(values[i]);
    value = 0;
    if (!is_known) continue;
    auto const& is = at->second;
    switch (names[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        value = is.kind == fake_cuda::kind::pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: value = is.kind == fake_cuda::kind::managed; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: value = is.device; break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

void copy_rows(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch, std::size_t width,
               std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(static_cast<char*>(to) + i * to_pitch, static_cast<char const*>(from) + i * from_pitch, width);
}

}  // namespace

namespace fake_cuda {

void seed(unsigned value) { random_order.seed(value); }

void enqueue(CUstream_st* stream, std::function<void()> work) {
  std::lock_guard const lock(mutex);
  stream->queue.push_back({.run = std::move(work), .is_work = true});
}

void set_free_memory(std::size_t bytes) { free_memory = bytes; }

void fail_call(std::int64_t n) { calls_to_failure = n, failed = false; }
void fail_work(std::int64_t n) { work_to_failure = n, failed = is_dead = false; }
bool has_failed() { return failed; }

void know(void const* data, std::size_t bytes, kind what, int device) {
  known_memory[reinterpret_cast<std::uintptr_t>(data)] = {bytes, what, device};
}
void forget(void const* data) { known_memory.erase(reinterpret_cast<std::uintptr_t>(data)); }

void capture(bool on) { is_captured = on; }

std::size_t pending() {
  std::lock_guard const lock(mutex);
  std::size_t all = 0;
  for (auto const* stream : streams) all += stream->queue.size();
  return all;
}

std::int64_t misuses() { return misuse_count; }

}  // namespace fake_cuda

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  return call([&] { *device = 0; });
}
cudaError_t cudaSetDevice(int) {
  return call([&] {});
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call([&] { *free = *total = free_memory; });
}
cudaError_t cudaGetDriverEntryPointByVersion(char const* name, void** address, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  bool const is_known = std::strcmp(name, "cuPointerGetAttributes") == 0;
  *address = is_known ? reinterpret_cast<void*>(pointer_attributes) : nullptr;
  *found = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return call([&] {});
}
cudaError_t cudaStreamIsCapturing(CUstream_st*, cudaStreamCaptureStatus* status) {
  return call([&] { *status = is_captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone; });
}

cudaError_t cudaStreamCreateWithFlags(CUstream_st** stream, unsigned) {
  return call([&] { streams.insert(*stream = new CUstream_st); });
}
cudaError_t cudaStreamDestroy(CUstream_st* stream) {
  std::lock_guard const lock(mutex);
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
// Of the default stream: nothing is ever there.
cudaError_t cudaStreamSynchronize(CUstream_st* stream) {
  return do_until([&] { return stream == nullptr || stream->queue.empty(); });
}
cudaError_t cudaStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  return call([&] { stream->queue.push_back({.run = {}, .waits_for = event, .version = event->recorded}); });
}

cudaError_t cudaEventCreateWithFlags(CUevent_st** event, unsigned) {
  return call([&] { *event = new CUevent_st; });
}
cudaError_t cudaEventDestroy(CUevent_st* event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(CUevent_st* event, CUstream_st* stream) {
  return call([&] {
    auto const version = ++event->recorded;
    stream->queue.push_back({.run = [=] { event->done = std::max(event->done, version); }});
  });
}
cudaError_t cudaEventSynchronize(CUevent_st* event) {
  return do_until([=] { return event->done >= event->recorded; });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call([&] { *memory = std::malloc(bytes); });
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind, CUstream_st* stream) {
  return call([&] {
    stream->queue.push_back({.run = [=] { std::memcpy(to, from, bytes); }, .is_work = true, .to = to, .from = from});
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                              std::size_t width, std::size_t rows, cudaMemcpyKind, CUstream_st* stream) {
  return call([&] {
    stream->queue.push_back({.run = [=] { copy_rows(to, to_pitch, from, from_pitch, width, rows); },
                             .is_work = true,
                             .to = to,
                             .from = from});
  });
}

}  // extern "C"

namespace tandem::gpu {

// Memory with NaN everywhere from where the stream gets there; gone when it gets there, and no copy may be left then.
workspace_memory::workspace_memory(std::size_t bytes, CUstream_st* stream) : stream_(stream) {
  std::lock_guard const lock(mutex);
  if (planted_failure() != cudaSuccess) throw error(errc::device, "planted");
  if (bytes > free_memory) throw error(errc::out_of_memory, "workspace of " + std::to_string(bytes) + " bytes");
  data_ = std::malloc(bytes);
  sizes_of_workspaces[data_] = bytes;
  stream->queue.push_back({.run = [data = data_, bytes] { std::memset(data, 0xff, bytes); }});
}

workspace_memory::~workspace_memory() {
  std::lock_guard const lock(mutex);
  stream_->queue.push_back({.run = [data = static_cast<char*>(data_)] {
    auto const is_inside = [&](void const* x) { return data <= x && x < data + sizes_of_workspaces[data]; };
    for (auto const* stream : streams)
      for (auto const& left : stream->queue) misuse_count += is_inside(left.to) || is_inside(left.from);
    sizes_of_workspaces.erase(data);
    std::free(data);
  }});
}

}  // namespace tandem::gpu
