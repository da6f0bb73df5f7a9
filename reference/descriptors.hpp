// The references' descriptors: the oracle and the adapters to other libraries.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::reference {

backend_descriptor const& oracle();
backend_descriptor const& eigen();
backend_descriptor const& openblas();
backend_descriptor const& cublas();

}  // namespace tandem::reference
