// A stand-in for the parts of CUDA that staging uses, without a device: streams are queues whose work is done in a
// random order that their waits allow, and no earlier than somebody waits for it. What works here by luck only on a
// device, such as a wait that was forgotten, gives wrong results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

struct CUstream_st;

namespace fake_cuda {

/// Restarts the order at random.
void seed(unsigned value);

/// Enqueues anything, as a kernel is.
void enqueue(CUstream_st* stream, std::function<void()> work);

/// Whether all streams are being captured.
void capture(bool on);

/// Device memory that is left for workspaces.
void set_free_memory(std::size_t bytes);

/// The n-th call from now on (0: the next) fails; a negative n: none does.
void fail_call(std::int64_t n);
/// The n-th kernel or copy from now on fails when its turn comes: neither it nor later ones do anything, and all calls
/// fail, until this is called again.
void fail_work(std::int64_t n);
/// Whether it came to that.
bool has_failed();

/// What the driver says of this memory from now on, or, forgotten, not any more. The current device is 0.
enum class kind { pinned, device, managed };
void know(void const* data, std::size_t bytes, kind what, int device = 0);
void forget(void const* data);

/// Work that was enqueued and not done yet, on all streams.
std::size_t pending();

/// Copies that were still to be made when their memory was given back.
std::int64_t misuses();

}  // namespace fake_cuda
