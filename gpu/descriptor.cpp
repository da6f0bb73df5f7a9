// The GPU backend's rows.
#include "gpu/descriptor.hpp"

namespace tandem::gpu {

backend_descriptor const& descriptor() {
  static backend_descriptor const d{
      .backend = backend::gpu, .unavailable = {}, .version = {}, .scale = {}, .kernels = {}};
  return d;
}

}  // namespace tandem::gpu
