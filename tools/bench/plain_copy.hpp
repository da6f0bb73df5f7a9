// memcpy as a subject beside axpy.
#pragma once

#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// `copy`: y = x by memcpy, cut among the threads. It moves two thirds of axpy's bytes.
subject plain_copy();

}  // namespace tandem::bench
