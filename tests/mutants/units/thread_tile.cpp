// gpu/kernels/thread_tile.cuh on the SIMT executor, one tile of it.
#define TANDEM_KERNEL_NAMESPACE tandem::mutants::unit
#include <tandem/simt/words.hpp>

#include "gpu/kernels/thread_tile.cuh"
#include "tests/mutants/units/simt.hpp"

void tandem_plugin(std::vector<tandem::kernel>& rows) {
  namespace unit = tandem::mutants::unit;
  static constexpr tandem::gpu::gemm_row row = {"thread_tile",
                                                tandem::dtype::f32,
                                                {64, 64, 8, 8, 64, 4, 4},
                                                1e7,
                                                unit::launch_thread_tile<float, 64, 64, 8, 4, 4, 4>};
  tandem::mutants::append_simt_row(rows, row);
}
