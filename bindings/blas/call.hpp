// What every entry does: counts the call, knows the backend asked for, and lets no exception out.
#pragma once

#include <atomic>
#include <cstdlib>
#include <exception>

#include <tandem/types.hpp>

namespace tandem::blas {

enum class routine { cblas_sgemm, cblas_dgemm, cblas_saxpy, cblas_daxpy, sgemm, dgemm, saxpy, daxpy };
inline constexpr int routine_count = 8;

/// The backend of calls that nobody counts; below 0 until the first call has read the environment, and where calls are
/// counted.
inline std::atomic<int> backend_of_uncounted = -1;

/// The same where that is not known: reads the environment, once; counts the call where TANDEM_BLAS_TRACE is set. A
/// value of TANDEM_BACKEND that names no backend ends the program.
tandem::backend enter_with_care(routine which);

/// What every call begins with: returns the backend that TANDEM_BACKEND chose, or `automatic`.
inline tandem::backend enter(routine which) {
  int const known = backend_of_uncounted.load(std::memory_order_relaxed);
  return known >= 0 ? static_cast<tandem::backend>(known) : enter_with_care(which);
}

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
