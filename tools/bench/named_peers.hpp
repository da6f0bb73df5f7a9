// The adapters behind `make_peer`, one library a file. Each loads its library, or says in `missing` why it cannot.
#pragma once

#include <string>

#include "tools/bench/subject.hpp"

namespace tandem::bench {

subject onednn_peer(dtype type);

/// libxsmm through its BLAS-like call, or through the function it generates for one problem.
enum class libxsmm_interface { call, kernel };
subject libxsmm_peer(dtype type, libxsmm_interface interface);

}  // namespace tandem::bench
