// The kernels of tests/kernels/features.cuh compiled for the SIMT executor.
#define TANDEM_KERNEL_NAMESPACE tandem::tests::on_host

#include <tandem/simt/wmma.hpp>
#include <tandem/simt/words.hpp>

#include "tests/kernels/features.cuh"

namespace tandem::tests {

feature_table const& host_features() { return on_host::feature_table; }

}  // namespace tandem::tests
