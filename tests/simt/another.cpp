// A second instrumented file of one program, whose kernel and shared arrays bear the names of the first one's.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::planted::another

#include "tests/simt/planted.hpp"

#include <tandem/simt/words.hpp>

namespace tandem::simt::planted {
namespace {

using namespace another;

__global__ void plain_copy(operands g) { g.c[threadIdx.x] = g.a[threadIdx.x]; }

struct large {
  float values[512];
};
__global__ void large_argument(large by_value, operands g) { g.c[threadIdx.x] = by_value.values[threadIdx.x * 8]; }

__global__ void right_tile(operands g) {
  __shared__ float smem_a[8];
  smem_a[threadIdx.x] = g.a[threadIdx.x];
  __syncthreads();
  // BUG: access outside shared memory, thread (0, 0, 0)
  g.c[threadIdx.x] = smem_a[8 - threadIdx.x];
}

}  // namespace

void run_plain_copy(operands const& g) { launch(plain_copy, dim3(1), dim3(32), 0, nullptr, g); }
void run_large_argument(operands const& g) {
  large by_value = {};
  by_value.values[8] = 1;
  launch(large_argument, dim3(1), dim3(32), 0, nullptr, by_value, g);
}
void run_another_kernel(operands const& g) { launch(right_tile, dim3(1), dim3(8), 0, nullptr, g); }

}  // namespace tandem::simt::planted
