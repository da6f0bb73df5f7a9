#include "reference/descriptors.hpp"

namespace tandem::reference {

backend_descriptor const& openblas() {
  static backend_descriptor const d{.backend = backend::openblas, .unavailable = {}, .version = {}, .scale = {}, .kernels = {}};
  return d;
}

}  // namespace tandem::reference
