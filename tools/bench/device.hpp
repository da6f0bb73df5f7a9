// What the benchmark asks of the device beside the kernels that it measures: facts, operands, the passes of its check,
// and what the device can do at most. Built without CUDA, every call throws errc::unavailable.
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/bandwidth.hpp"
#include "tools/bench/subject.hpp"
#include "tools/bench/verify.hpp"

namespace tandem::bench {

struct device_facts {
  std::string name;     ///< with compute capability, driver's and runtime's CUDA version
  std::string pci_bus;  ///< "00000000:01:00.0"
  int multiprocessors = 0;
  std::size_t l2_bytes = 0, memory_bytes = 0;
};

/// Of the current device.
device_facts const& this_device();

std::size_t free_device_memory();

/// Normally distributed elements, a function of the seed; in the default stream, not waited for.
void fill_normal(void* device, dtype type, std::int64_t count, std::uint64_t seed);
/// In the default stream, not waited for.
void copy_on_device(void* to, void const* from, std::size_t bytes);
void set_on_device(void* to, int byte, std::size_t bytes);

check_space const& device_space();

/// flop/s of independent multiply-adds on registers only, on all multiprocessors: the best of several samples of about
/// a millisecond. 2 flop a multiply-add; tensor cores take no part. Measured once for each type.
double device_fma_peak(dtype type);

/// Of plain kernels of 16-byte accesses past the L1 caches that walk over a working set of so many bytes; rounded up to
/// what occupies all threads (8 MiB on an H200), and cut off at 8 times the L2 cache, as more changes nothing. Measured
/// once for each.
byte_rates const& device_bytes(std::size_t working_set);

/// `copy_device`: y = x by cudaMemcpyAsync in device memory; `copy_kernel`: by a plain kernel.
subject device_copy();
subject device_copy_kernel();

/// Launches a kernel that does nothing, in the default stream, as `<<<1, 1>>>` does.
void launch_nothing();

/// A kernel that does nothing, named `rung_marker`, with a grid of `index` blocks: what a profiler lists after it
/// belongs to that index.
void mark_launches(int index);

}  // namespace tandem::bench
