// gpu/kernels/smem_tile.cuh on the SIMT executor, one tile of it.
#define TANDEM_KERNEL_NAMESPACE tandem::mutants::unit
#include <tandem/simt/words.hpp>

#include "gpu/kernels/smem_tile.cuh"
#include "tests/mutants/units/simt.hpp"

void tandem_plugin(std::vector<tandem::kernel>& rows) {
  namespace unit = tandem::mutants::unit;
  static constexpr tandem::gpu::gemm_row row = {
      "smem_tile", tandem::dtype::f32, {16, 16, 16, 2, 16, 1, 1}, 1e7, unit::launch_smem_tile<float, 16>};
  tandem::mutants::append_simt_row(rows, row);
}
