// Revealing within a rung: on a context's kernel and its counters.
#pragma once

#include <tandem/harness/reveal.hpp>

#include "harness/context.hpp"
#include "harness/probes.hpp"

namespace tandem::harness {

/// `reveal` for a kernel that is open, within a budget. Throws probe_failed (see probes.hpp).
template <element T>
revelation reveal_in(context<T>& x, test_case const& shape, probing_budget const& budget);

extern template revelation reveal_in<float>(context<float>&, test_case const&, probing_budget const&);
extern template revelation reveal_in<double>(context<double>&, test_case const&, probing_budget const&);

}  // namespace tandem::harness
