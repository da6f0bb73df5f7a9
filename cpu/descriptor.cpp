// The CPU backend's rows.
#include "cpu/descriptor.hpp"

namespace tandem::cpu {

backend_descriptor const& descriptor() {
  static backend_descriptor const d{
      .backend = backend::cpu, .unavailable = {}, .version = {}, .scale = {}, .kernels = {}};
  return d;
}

}  // namespace tandem::cpu
