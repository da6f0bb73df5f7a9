// How fast plain loops move bytes, by the size of what they walk over.
#pragma once

#include <cstddef>

namespace tandem::bench {

/// bytes/s of a working set that is walked over again and again: the best of several samples.
struct byte_rates {
  double read = 0;    ///< loads
  double store = 0;   ///< stores, ordinary or streaming, whichever is faster
  double update = 0;  ///< each byte loaded and stored in place, counted once
};

/// For a working set of so many bytes (at least 1 KiB), cut among so many threads. Measured once for each pair.
byte_rates const& measured_bytes(std::size_t working_set, int threads);

}  // namespace tandem::bench
