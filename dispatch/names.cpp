// The names of the enumerators, as the command line, the table and the reports spell them.
#include <tandem/types.hpp>

namespace tandem {

std::string_view to_string(backend b) noexcept {
  switch (b) {
    case backend::automatic: return "automatic";
    case backend::cpu: return "cpu";
    case backend::gpu: return "gpu";
    case backend::simt: return "simt";
    case backend::oracle: return "oracle";
    case backend::eigen: return "eigen";
    case backend::openblas: return "openblas";
    case backend::cublas: return "cublas";
  }
  return "unknown";
}

std::string_view to_string(layout l) noexcept { return l == layout::row_major ? "row_major" : "col_major"; }

std::string_view to_string(memory m) noexcept { return m == memory::host ? "host" : "device"; }

std::string_view to_string(dtype t) noexcept {
  switch (t) {
    case dtype::f32: return "f32";
    case dtype::f64: return "f64";
    case dtype::f16: return "f16";
    case dtype::bf16: return "bf16";
  }
  return "unknown";
}

std::string_view to_string(operation o) noexcept { return o == operation::gemm ? "gemm" : "axpy"; }

}  // namespace tandem
