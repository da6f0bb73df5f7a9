// Which kernels there are, and which of them this machine can run.
#pragma once

#include <string>
#include <vector>

#include <tandem/types.hpp>

namespace tandem {

struct kernel_info {
  std::string name = {};  ///< backend.technique.dtype[.tile], such as cpu.avx512.f32.14x32
  tandem::backend backend = tandem::backend::automatic;
  tandem::dtype dtype = tandem::dtype::f32;
  bool available = false;
  std::string reason = {};  ///< why it is not available; empty when it is
  tandem::operation operation = tandem::operation::gemm;
};

/// Every kernel of the table, in its order; asks the machine, so a driver that is not there shows as a reason.
std::vector<kernel_info> kernels();

struct backend_info {
  tandem::backend backend = tandem::backend::automatic;
  bool available = false;
  std::string reason = {};   ///< why it is not available; empty when it is
  std::string version = {};  ///< what stands behind it: a compiler, library or device with its version; may be empty
};

/// Every backend but `automatic`.
std::vector<backend_info> backends();

}  // namespace tandem
