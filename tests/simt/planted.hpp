// Kernels with a planted bug, and right ones, as the tests of sessions launch them. What a session must say of a kernel
// stands in its source, before the line at fault: `// BUG: <defect>[, block (x, y, z)][, thread (x, y, z)]`. A kernel
// without such a mark is right.
#pragma once

#include <cstddef>
#include <span>

#include <tandem/simt/session.hpp>

namespace tandem::simt::planted {

/// C = A B, row-major and 256-byte aligned.
struct operands {
  int m, n, k, lda, ldb, ldc;
  float const *a, *b;
  float* c;
};

struct planted_kernel {
  char const* name;
  void (*kernel)(operands);
  index3 grid, block;
  std::size_t dynamic_bytes = 0;
  int m = 40, n = 36, k = 20, padding = 0;  ///< elements between the rows of each operand
};

/// Of the instrumented file planted.cpp.
std::span<planted_kernel const> kernels();
void run(planted_kernel const& p, operands const& g);

/// smem_tile, right; and the kernel of the same name in another instrumented file (another.cpp).
void run_right_kernel(operands const& g);
void run_another_kernel(operands const& g);

/// c[1] = 1 by a kernel with 2 KiB of arguments; c = a by one that nothing is inlined into, the first of another.cpp.
void run_large_argument(operands const& g);
void run_plain_copy(operands const& g);

/// c[i] = a[i] + b[i] for i < n of each of m rows, one block a row.
void run_add(operands const& g);

}  // namespace tandem::simt::planted
