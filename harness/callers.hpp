// Threads that call a kernel again and again, at once, so that what it keeps from call to call shows, and what it
// shares between its callers.
#pragma once

#include <string>

#include <tandem/harness/candidate.hpp>

namespace tandem::harness {

/// `alone.test.callers` threads of this process, one or several at once, call a kernel again and again: 24 calls each
/// and for 10 ms at least, unless that takes longer than a second. `alone` is a call that has finished, with beta = 0
/// and exact data, its operands in host memory whatever the kernel takes. Each caller has A times a power of two of its
/// own and B times another, so that no two callers' products are the same and each has to be alone's C times both; now
/// and then every second caller computes half the rows only, if the kernel takes that. Where the kernel takes device
/// memory each caller has a stream of its own, on which it makes 8 calls before it looks at what became of them.
///
/// Returns the first thing that went wrong, "caller 2 of 4, call 7: C(3, 5) is 12, -24 belongs there"; empty if
/// nothing. Throws errc::device with that where the device cannot be used any more.
std::string call_at_once(candidate const& kernel, gemm_call const& alone);

}  // namespace tandem::harness
