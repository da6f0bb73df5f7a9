// The kernel compiled for the host; CMakeLists.txt has clang instrument this file. The namespace is any of one's own.
#define TANDEM_KERNEL_NAMESPACE my
#include <tandem/simt/words.hpp>

namespace my {

#include "my_kernel.cuh"

void launch_multiply(int n, float const* a, float const* b, float* c) {
  unsigned const tiles = (n + tile - 1) / tile;
  launch(multiply, dim3(tiles, tiles), dim3(tile, tile), 0, nullptr, n, a, b, c);
}

}  // namespace my
