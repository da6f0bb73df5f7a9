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

/// By what the gpu backend chooses among its kernels where a call names none.
struct tuning_info {
  std::string path = {};     ///< of the file that `tandem tune` writes and the library looks for; empty: nowhere
  bool used = false;         ///< whether the choice goes by that file
  std::string ignored = {};  ///< why not ("not there", "for another device …"); empty when it is used
  std::string models = {};   ///< whose figures the choice goes by
};

/// Asks the device, and reads the file, at the first call or the first product on the gpu backend; then stays as it is.
tuning_info tuning();

}  // namespace tandem
