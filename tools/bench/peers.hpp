// The peers that the benchmark knows by name, and any BLAS by the path of its shared object.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// "openblas", "blis", "eigen", "onednn", "libxsmm", "libxsmm_kernel".
std::vector<std::string> peer_names();

bool is_peer(std::string const& name);  ///< a name of `peer_names`, or a path

/// The peer of this name, or of "/path/lib.so", "/path/lib.so:cblas_sgemm" or "/path/lib.so:sgemm_" (CBLAS's or the
/// Fortran interface, with 32-bit integers). Without a symbol: CBLAS's if the library has it, else Fortran's. A library
/// that is not there says so in `missing`. Throws std::invalid_argument for a file that is not there or does not load,
/// and for a symbol that it has not got or whose interface its name does not tell.
subject make_peer(std::string const& name, dtype type);

/// Sets OPENBLAS_CORETYPE=SkylakeX for this process where its OpenBLAS takes a processor with AVX-512 for one without,
/// as 0.3.21 does with newer ones, unless the user has set it. To be called before anything loads OpenBLAS, and before
/// there are threads. Returns what was done ("OPENBLAS_CORETYPE=SkylakeX set: by itself it chose Haswell"), empty for
/// nothing.
std::string correct_openblas_core();

}  // namespace tandem::bench
