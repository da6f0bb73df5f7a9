// Error exits as the reference CBLAS has them: an error of the Fortran routine goes to xerbla_, which hands it on to
// cblas_xerbla where CBLAS_CallFromC is set; cblas_xerbla swaps the numbers of a row-major call, by RowMajorStrg.
#include "bindings/blas/errors.hpp"

#include <cctype>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
// Handlers read these, by the reference's names; a program that defines them has its own set.
int RowMajorStrg = 0;
int CBLAS_CallFromC = 0;

// Never defined here: preloaded, a definition would hide the one of a library (R's, NumPy's, another BLAS's).
[[gnu::weak]] void xerbla_(char const* name, tandem_blas_int const* argument, std::size_t name_length);
[[gnu::weak]] void cblas_xerbla(tandem_blas_int argument, char const* routine, char const* format, ...);
}

namespace tandem::blas {
namespace {

constexpr std::size_t name_length = 6;

// The place in the list of cblas_?gemm of what a row-major call swapped: m and n, lda and ldb.
tandem_blas_int place_in_c(tandem_blas_int argument) {
  if (RowMajorStrg == 0) return argument;
  switch (argument) {
    case 4: return 5;
    case 5: return 4;
    case 9: return 11;
    case 11: return 9;
    default: return argument;
  }
}

void print_in_c(tandem_blas_int argument, char const* routine) {
  std::fprintf(stderr, "Parameter %" PRId64 " to routine %s was incorrect\n",
               static_cast<std::int64_t>(place_in_c(argument)), routine);
}

void call_xerbla(char const* name, tandem_blas_int argument) {
  if (xerbla_ != nullptr) return xerbla_(name, &argument, name_length);
  std::string routine(name, name_length);
  routine.erase(routine.find_last_not_of(' ') + 1);
  if (CBLAS_CallFromC == 0) {
    std::fprintf(stderr, " ** On entry to %s parameter number %2" PRId64 " had an illegal value\n", routine.c_str(),
                 static_cast<std::int64_t>(argument));
    std::exit(-1);
  }
  for (char& letter : routine) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  routine.insert(0, "cblas_");
  if (cblas_xerbla == nullptr) {
    print_in_c(argument + 1, routine.c_str());
    std::exit(-1);
  }
  cblas_xerbla(argument + 1, routine.c_str(), "");
}

}  // namespace

void report(interface caller, char const* name, tandem_blas_int argument) {
  if (caller == interface::fortran) return call_xerbla(name, argument);
  CBLAS_CallFromC = 1;
  RowMajorStrg = caller == interface::c_row_major ? 1 : 0;
  call_xerbla(name, argument);
  CBLAS_CallFromC = 0;
  RowMajorStrg = 0;
}

void report_option(interface caller, char const* routine, tandem_blas_int argument, char const* format, int value) {
  CBLAS_CallFromC = 1;
  RowMajorStrg = caller == interface::c_row_major ? 1 : 0;
  if (cblas_xerbla == nullptr) {
    print_in_c(argument, routine);
    std::fprintf(stderr, format, value);
    std::exit(-1);
  }
  cblas_xerbla(argument, routine, format, value);
  CBLAS_CallFromC = 0;
  RowMajorStrg = 0;
}

}  // namespace tandem::blas
