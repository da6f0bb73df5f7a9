#include "reference/descriptors.hpp"

namespace tandem::reference {

backend_descriptor const& eigen() {
  static backend_descriptor const d{.backend = backend::eigen, .unavailable = {}, .version = {}, .scale = {}, .kernels = {}};
  return d;
}

}  // namespace tandem::reference
