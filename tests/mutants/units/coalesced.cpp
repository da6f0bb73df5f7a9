// gpu/kernels/coalesced.cuh on the SIMT executor, one tile of it.
#define TANDEM_KERNEL_NAMESPACE tandem::mutants::unit
#include <tandem/simt/words.hpp>

#include "gpu/kernels/coalesced.cuh"
#include "tests/mutants/units/simt.hpp"

void tandem_plugin(std::vector<tandem::kernel>& rows) {
  namespace unit = tandem::mutants::unit;
  static constexpr tandem::gpu::gemm_row row = {
      "coalesced", tandem::dtype::f32, {8, 32, 0, 1, 32, 1, 1}, 1e7, unit::launch_coalesced<float, 8, 32>};
  tandem::mutants::append_simt_row(rows, row);
}
