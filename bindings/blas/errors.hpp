// The reference's error exits: xerbla_ and cblas_xerbla, the program's own where it has one.
#pragma once

#include <tandem/blas.h>

namespace tandem::blas {

enum class interface { fortran, c_col_major, c_row_major };

/// Reports that an argument of a Fortran routine is wrong. `name` is the routine's in six characters, blank-padded;
/// `argument` counts as Fortran's list does, also for a call from C: there it is the column-major call's, which is
/// what the reference hands on. Returns where the program's handler does.
void report(interface caller, char const* name, tandem_blas_int argument);

/// Reports a wrong option of a C routine: `format` takes the option's value. Returns where the program's handler does.
void report_option(interface caller, char const* routine, tandem_blas_int argument, char const* format, int value);

}  // namespace tandem::blas
