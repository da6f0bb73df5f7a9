// A build without CUDA: nothing here is reached but by mistake, since every device subject says that it is missing.
#include <tandem/error.hpp>

#include "gpu/runtime/device.hpp"
#include "tools/bench/device.hpp"

namespace tandem::bench {
namespace {

[[noreturn]] void refuse() { throw error(errc::unavailable, "gpu: " + gpu::unavailable()); }

}  // namespace

device_facts const& this_device() { refuse(); }
std::size_t free_device_memory() { refuse(); }
void fill_normal(void*, dtype, std::int64_t, std::uint64_t) { refuse(); }
void copy_on_device(void*, void const*, std::size_t) { refuse(); }
void set_on_device(void*, int, std::size_t) { refuse(); }
check_space const& device_space() { refuse(); }
double device_fma_peak(dtype) { refuse(); }
byte_rates const& device_bytes(std::size_t) { refuse(); }
subject device_copy() { refuse(); }
subject device_copy_kernel() { refuse(); }
void launch_nothing() { refuse(); }
void mark_launches(int) { refuse(); }

}  // namespace tandem::bench
