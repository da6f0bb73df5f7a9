// gpu/kernels/naive.cuh on the SIMT executor, one tile of it.
#define TANDEM_KERNEL_NAMESPACE tandem::mutants::unit
#include <tandem/simt/words.hpp>

#include "gpu/kernels/naive.cuh"
#include "tests/mutants/units/simt.hpp"

void tandem_plugin(std::vector<tandem::kernel>& rows) {
  namespace unit = tandem::mutants::unit;
  static constexpr tandem::gpu::gemm_row row = {
      "naive", tandem::dtype::f32, {32, 8, 0, 32, 1, 1, 1}, 1e7, unit::launch_naive<float, 32, 8>};
  tandem::mutants::append_simt_row(rows, row);
}
