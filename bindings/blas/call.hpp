// What every entry does: counts the call, knows the backend asked for, and lets no exception out.
#pragma once

#include <cstdlib>
#include <exception>

#include <tandem/types.hpp>

namespace tandem::blas {

enum class routine { cblas_sgemm, cblas_dgemm, cblas_saxpy, cblas_daxpy, sgemm, dgemm, saxpy, daxpy };
inline constexpr int routine_count = 8;

/// Counts the call where TANDEM_BLAS_TRACE is set. The first call reads the environment; a value of TANDEM_BACKEND that
/// names no backend ends the program.
void enter(routine which);

/// The backend that TANDEM_BACKEND chose, or `automatic`.
tandem::backend chosen_backend();

/// Prints the routine and the reason to stderr and ends the program: for errors that BLAS has no argument number for.
[[noreturn]] void end_program(routine which, char const* reason);

/// Runs `work`; an exception ends the program. In line, since a tiny product would feel another call.
template <class F>
[[gnu::always_inline]] inline void guard(routine which, F&& work) noexcept {
  try {
    work();
  } catch (std::exception const& e) {
    end_program(which, e.what());
  }
}

}  // namespace tandem::blas
