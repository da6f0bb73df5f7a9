// The one table of backends and kernels.
#pragma once

#include <vector>

#include <tandem/kernel.hpp>

namespace tandem::dispatch {

/// Every backend's descriptor, in the order of the enumeration.
std::vector<backend_descriptor const*> const& backends();

backend_descriptor const& find_backend(tandem::backend id);

/// Why this row cannot run on this machine, its backend's reason first; empty when it can.
std::string unavailable(kernel const& row);

}  // namespace tandem::dispatch
