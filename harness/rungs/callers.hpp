// Several callers at once, a part of L8.
#pragma once

#include "harness/context.hpp"

namespace tandem::harness {

/// Products of 2 and of 4 callers at once, of sizes that take the several paths of a kernel, on one thread each and on
/// more. What comes of them is a fact, "callers at once"; a failure only where the kernel promises that it bears them.
template <element T>
void try_callers(context<T>& x);

}  // namespace tandem::harness
