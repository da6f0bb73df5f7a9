// The hypotheses, each of which proposes what it finds.
#pragma once

#include "harness/hypotheses/evidence.hpp"

namespace tandem::harness {

// scalars.cpp
template <element T>
void try_stale(evidence<T>& e);
template <element T>
void try_scalars(evidence<T>& e);
template <element T>
void try_fitted_scalars(evidence<T>& e);

// places.cpp
template <element T>
void try_strides(evidence<T>& e);
template <element T>
void try_result_places(evidence<T>& e);
template <element T>
void try_displacements(evidence<T>& e);

// precision.cpp
template <element T>
void try_precision(evidence<T>& e);
template <element T>
void try_lost_bits(evidence<T>& e);

// terms.cpp
template <element T>
void try_panels(evidence<T>& e);
template <element T>
void try_intervals(evidence<T>& e);
template <element T>
void try_old_panels(evidence<T>& e);

}  // namespace tandem::harness
