// Kernels on the device that begin before the one before them ends.
#pragma once

#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::tests {

/// Launches a kernel of so many blocks again and again, none of which ends before all have begun: the most blocks that
/// one multiprocessor had, of each launch.
std::vector<int> most_blocks_together(int launches, int blocks, int threads, int dynamic_bytes);

/// C = A B, untransposed, by a row whose kernel waits for the one before it, or forgets to.
kernel early_row(dtype of, bool waits);

}  // namespace tandem::tests
