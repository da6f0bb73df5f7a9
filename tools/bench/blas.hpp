// A BLAS behind CBLAS's or the Fortran interface as a subject.
#pragma once

#include <string>

#include "tools/bench/shared_object.hpp"
#include "tools/bench/subject.hpp"

namespace tandem::bench {

/// gemm and, where the library has it, axpy of this type by their usual names, or gemm by `symbol` if that is not
/// empty: cblas_?gemm, or ?gemm_ for Fortran's interface. Throws std::invalid_argument for a symbol that is not there.
subject blas_subject(std::string name, shared_object const& library, dtype type, std::string symbol = "");

/// Why a library whose integers are 32 bits wide does not take this problem; empty when it does.
std::string beyond_int(problem const& p);

}  // namespace tandem::bench
