// What a program without handlers of its own meets: how errors end it, what the environment chooses, what is exported.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support.hpp"

using namespace tandem::tests;

namespace {

command_result run_client(std::string const& arguments, std::string const& environment = "", bool int64 = false) {
  return run_command(environment + " " + (int64 ? TANDEM_BLAS_CLIENT64 : TANDEM_BLAS_CLIENT) + " " + arguments);
}

// The program made a mistake, which ended it with this line.
void check_end(command_result const& end, std::string const& line) {
  CHECK(end.out == "");
  CHECK(end.err == line + "\n");
  CHECK(end.exit_code == 255);
}

std::string read(std::string const& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The names that a library defines for others, one a line.
std::string exports(std::string const& library) {
  auto const all = run_command("nm -D --defined-only " + library + " | awk '{print $NF}' | LC_ALL=C sort");
  REQUIRE(all.exit_code == 0);
  return all.out;
}

}  // namespace

TEST_CASE("a C99 program gets right products with 32-bit and with 64-bit integers") {
  for (bool const int64 : {false, true}) {
    auto const result = run_client("multiply", "", int64);
    CHECK(result.out == "right\n");
    CHECK(result.err == "");
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a wrong argument ends the program with the reference's line, with 32-bit and with 64-bit integers") {
  for (bool const int64 : {false, true}) {
    check_end(run_client("fortran_size", "", int64), " ** On entry to SGEMM parameter number  4 had an illegal value");
    check_end(run_client("row_major_m", "", int64), "Parameter 4 to routine cblas_sgemm was incorrect");
    check_end(run_client("row_major_lda", "", int64), "Parameter 9 to routine cblas_sgemm was incorrect");
    check_end(run_client("layout", "", int64),
              "Parameter 1 to routine cblas_sgemm was incorrect\nIllegal layout setting, 7");
  }
}

TEST_CASE("a program's own xerbla_ and cblas_xerbla are called instead, and the call returns to it") {
  auto const run = [](std::string const& mistake) { return run_command(TANDEM_BLAS_CLIENT_HANDLER " " + mistake).out; };
  CHECK(run("fortran_size") == "xerbla_ SGEMM  4\nreturned\n");
  CHECK(run("row_major_m") == "xerbla_ SGEMM  4\nreturned\n");  // as the reference: cblas_xerbla is xerbla_'s to call
  CHECK(run("layout") == "cblas_xerbla cblas_sgemm 1\nreturned\n");
}

TEST_CASE("what BLAS has no number for ends the program with the reason") {
  check_end(run_client("overlap"), "tandem_blas: cblas_sgemm: C overlaps A");
  check_end(run_client("null"), "tandem_blas: cblas_saxpy: x has elements, but its data is null");
}

TEST_CASE("TANDEM_BACKEND chooses the backend, and a wrong value is an error") {
  CHECK(run_client("multiply", "TANDEM_BACKEND=cpu").out == "right\n");
  CHECK(run_client("multiply", "TANDEM_BACKEND=").out == "right\n");
  check_end(run_client("multiply", "TANDEM_BACKEND=fpga"),
            "tandem_blas: sgemm_: TANDEM_BACKEND is 'fpga'; it may be cpu or gpu");
}

TEST_CASE("TANDEM_BACKEND=gpu multiplies on the GPU, or ends the program where there is none") {
  auto const result = run_client("multiply", "TANDEM_BACKEND=gpu");
  if (has_backend(tandem::backend::gpu)) {
    CHECK(result.out == "right\n");
  } else {
    CHECK(result.out == "");
    CHECK(result.err.starts_with("tandem_blas: sgemm_: gpu: "));
    CHECK(result.exit_code == 255);
  }
}

TEST_CASE("TANDEM_BLAS_TRACE counts the calls of each routine, and adds to the file") {
  auto const trace = (std::filesystem::temp_directory_path() / "tandem_blas_exits.trace").string();
  std::filesystem::remove(trace);
  std::string const once =
      "cblas_sgemm 1\ncblas_dgemm 1\ncblas_saxpy 1\ncblas_daxpy 1\nsgemm_ 1\ndgemm_ 1\nsaxpy_ 1\ndaxpy_ 1\n";
  CHECK(run_client("multiply", "TANDEM_BLAS_TRACE=" + trace).exit_code == 0);
  CHECK(read(trace) == once);
  CHECK(run_client("multiply", "TANDEM_BLAS_TRACE=" + trace).exit_code == 0);
  CHECK(read(trace) == once + once);
  std::filesystem::remove(trace);
  CHECK(run_client("multiply", "TANDEM_BLAS_TRACE=/no/such/folder/trace").err ==
        "tandem_blas: TANDEM_BLAS_TRACE=/no/such/folder/trace: No such file or directory\n");
}

TEST_CASE("the libraries export the BLAS's names and nothing else") {
  CHECK(exports(TANDEM_BLAS_LIBRARY) ==
        "CBLAS_CallFromC\nRowMajorStrg\ncblas_daxpy\ncblas_dgemm\ncblas_saxpy\ncblas_sgemm\ndaxpy_\ndgemm_\nsaxpy_\n"
        "sgemm_\n");
  CHECK(exports(TANDEM_BLAS64_LIBRARY) ==
        "CBLAS_CallFromC\nRowMajorStrg\n"
        "cblas_daxpy\ncblas_daxpy64_\ncblas_daxpy_64\ncblas_dgemm\ncblas_dgemm64_\ncblas_dgemm_64\n"
        "cblas_saxpy\ncblas_saxpy64_\ncblas_saxpy_64\ncblas_sgemm\ncblas_sgemm64_\ncblas_sgemm_64\n"
        "daxpy_\ndaxpy_64_\ndgemm_\ndgemm_64_\nsaxpy_\nsaxpy_64_\nsgemm_\nsgemm_64_\n");
}
