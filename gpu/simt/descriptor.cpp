// The SIMT backend's rows.
#include "gpu/simt/descriptor.hpp"

namespace tandem::simt {

backend_descriptor const& descriptor() {
  static backend_descriptor const d{
      .backend = backend::simt, .unavailable = {}, .version = {}, .scale = {}, .kernels = {}};
  return d;
}

}  // namespace tandem::simt
