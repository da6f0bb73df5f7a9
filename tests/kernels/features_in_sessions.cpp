// The kernels of tests/kernels compiled for sessions.
#define TANDEM_KERNEL_NAMESPACE tandem::tests::in_sessions

#include <tandem/simt/wmma.hpp>
#include <tandem/simt/words.hpp>

#include "tests/kernels/divergence.cuh"
#include "tests/kernels/features.cuh"

namespace tandem::tests {

feature_table const& watched_features() { return in_sessions::feature_table; }

feature_table const& watched_divergences() { return in_sessions::divergence_table; }

}  // namespace tandem::tests
