// A second instrumented file of one program, whose kernel and shared arrays bear the names of the first one's.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::planted::another

#include "tests/simt/planted.hpp"

#include <tandem/simt/words.hpp>

namespace tandem::simt::planted {
namespace {

using namespace another;

__global__ void right_tile(operands g) {
  __shared__ float smem_a[8];
  smem_a[threadIdx.x] = g.a[threadIdx.x];
  __syncthreads();
  // BUG: access outside shared memory, thread (0, 0, 0)
  g.c[threadIdx.x] = smem_a[8 - threadIdx.x];
}

}  // namespace

void run_another_kernel(operands const& g) { launch(right_tile, dim3(1), dim3(8), 0, nullptr, g); }

}  // namespace tandem::simt::planted
