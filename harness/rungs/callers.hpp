// Callers that call again and again, a part of L8.
#pragma once

#include "harness/context.hpp"

namespace tandem::harness {

/// Products of one caller that calls again and again, and of 2 and of 4 at once, of sizes that take the several paths
/// of a kernel, on one thread each and on more. What comes of them are facts, "calls in a row" and "callers at once";
/// of the latter a failure only where the kernel promises that it bears them.
template <element T>
void try_callers(context<T>& x);

}  // namespace tandem::harness
