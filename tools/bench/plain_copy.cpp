// One memcpy a thread.
#include "tools/bench/plain_copy.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace tandem::bench {

subject plain_copy() {
  subject s;
  s.name = "copy";
  s.about = "memcpy, y = x";
  s.copies = true;
  s.bind_axpy = [](axpy_problem const& p, int threads) -> axpy_call {
    auto const bytes = static_cast<std::size_t>(p.n) * size_of(p.dtype);
    return [bytes, threads](void const* x, void* y) {
      if (threads == 1) {
        std::memcpy(y, x, bytes);
        return;
      }
#pragma omp parallel num_threads(threads)
      {
        auto const count = static_cast<std::size_t>(omp_get_num_threads());
        auto const share = (bytes + count - 1) / count, first = share * static_cast<std::size_t>(omp_get_thread_num());
        if (first < bytes)
          std::memcpy(static_cast<char*>(y) + first, static_cast<char const*>(x) + first,
                      std::min(share, bytes - first));
      }
    };
  };
  return s;
}

}  // namespace tandem::bench
