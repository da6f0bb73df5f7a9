// Other people's programs with the library preloaded: their results are right, and the calls were ours (the trace says
// so). The rest of BLAS and LAPACK is Netlib's, so that LAPACK's products come by way of dgemm_, too.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/support.hpp"

using namespace tandem::tests;

namespace {

std::string const netlib = TANDEM_NETLIB;  // the folder above blas/ and lapack/

// A program that has ended, and how often it called each routine of ours.
struct preloaded {
  command_result result;
  std::map<std::string, long> calls;
};

// An empty folder, for what a program leaves behind.
class folder {
 public:
  folder() : path_(std::filesystem::temp_directory_path() / ("tandem_blas_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;

  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Runs a simple command in an empty folder, for 400 s at most: a library that calls itself may wait for ever. `output`
// is a file that it writes: its text stands behind standard output's.
preloaded run_preloaded(std::string const& command, std::string const& environment = "",
                        std::string const& output = "") {
  folder const work;
  preloaded run;
  run.result = run_command("cd " + work / "" + " && LD_LIBRARY_PATH=" + netlib + "/blas:" + netlib +
                           "/lapack LD_PRELOAD=" TANDEM_BLAS_LIBRARY " TANDEM_BLAS_TRACE=" + work / "trace" + " " +
                           environment + " timeout 400 " + command);
  INFO(run.result.err);
  REQUIRE(run.result.err.find("cannot be preloaded") == std::string::npos);
  if (!output.empty()) {
    std::ostringstream text;
    text << std::ifstream(work / output).rdbuf();
    run.result.out += text.str();
  }
  std::ifstream trace(work / "trace");
  long count = 0;
  for (std::string name; trace >> name >> count;) run.calls[name] += count;
  return run;
}

// How an installed program answers to a question that it can answer: empty, or why it cannot be used.
std::string missing_unless(std::string const& command) {
  auto const answer = run_command(command);
  return answer.exit_code == 0 ? "" : "`" + command + "`: " + answer.out + answer.err;
}

bool has_netlib_tests() {
  return is_there("libblas-test", missing_unless("ls " + netlib + "/blas/xblat3s " + netlib + "/blas/libblas.so.3"));
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

// Netlib's programs say FAIL, FATAL, SUSPECT or ****** where something is wrong, and exit with 0 all the same.
void check_netlib(preloaded const& run) {
  INFO(run.result.out, run.result.err);
  CHECK(run.result.exit_code == 0);
  for (auto const* complaint : {"FAIL", "FATAL", "SUSPECT", "*****"}) CHECK_FALSE(contains(run.result.out, complaint));
}

std::string upper(std::string name) {
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

}  // namespace

TEST_CASE("Netlib's level 1 tests pass on our axpy, from Fortran and from C") {
  if (!has_netlib_tests()) return;
  for (std::string const letter : {"s", "d"})
    for (bool const fortran : {true, false}) {
      auto const run = run_preloaded(netlib + (fortran ? "/blas/xblat1" + letter : "/blas/x" + letter + "cblat1"));
      check_netlib(run);
      auto const name = fortran ? letter + "axpy_" : "cblas_" + letter + "axpy";
      // The line below a routine's name is its verdict.
      auto const at = run.result.out.find(upper(fortran ? letter + "axpy" : name));
      REQUIRE(at != std::string::npos);
      auto const verdict = run.result.out.find('\n', at) + 1;
      CHECK(contains(run.result.out.substr(verdict, run.result.out.find('\n', verdict) - verdict), "----- PASS -----"));
      CHECK(run.calls.at(name) == 16);
    }
}

TEST_CASE("Netlib's level 3 tests pass on our gemm from Fortran, error exits included") {
  if (!has_netlib_tests()) return;
  for (std::string const letter : {"s", "d"}) {
    auto const run = run_preloaded(netlib + "/blas/xblat3" + letter + " <" + netlib + "/blas/" + letter + "blat3.in",
                                   "", letter + "blat3.out");
    check_netlib(run);
    auto const name = upper(letter) + "GEMM ";
    CHECK(contains(run.result.out, name + " PASSED THE TESTS OF ERROR-EXITS"));
    CHECK(contains(run.result.out, name + " PASSED THE COMPUTATIONAL TESTS ( 17496 CALLS)"));
    CHECK(run.calls.at(letter + "gemm_") > 17496);
  }
}

TEST_CASE("Netlib's level 3 tests pass on our gemm from C in both layouts, error exits included") {
  if (!has_netlib_tests()) return;
  for (std::string const letter : {"s", "d"}) {
    auto const run = run_preloaded(netlib + "/blas/x" + letter + "cblat3 <" + netlib + "/blas/" + letter + "in3");
    check_netlib(run);
    auto const name = "cblas_" + letter + "gemm";
    CHECK(contains(run.result.out, name + "  PASSED THE TESTS OF ERROR-EXITS"));
    CHECK(contains(run.result.out, name + "  PASSED THE COLUMN-MAJOR COMPUTATIONAL TESTS ( 17496 CALLS)"));
    CHECK(contains(run.result.out, name + "  PASSED THE ROW-MAJOR    COMPUTATIONAL TESTS ( 17496 CALLS)"));
    CHECK(run.calls.at(name) > 2 * 17496);
  }
}

TEST_CASE("NumPy's tests of linear algebra and of products pass on our gemm and axpy") {
  if (!is_there("numpy", missing_unless("/usr/bin/python3 -c 'import hypothesis, numpy, pytest'"))) return;
  std::string tests = "numpy.linalg";
  for (auto const* products : {"TestMatmul", "TestMatmulOperator", "TestDot", "TestInner", "TestVdot"})
    tests += std::string(" numpy.core.tests.test_multiarray::") + products;
  // Left out: 2^31 elements, and two classes that repeat the others' products for half of the time.
  auto const run = run_preloaded("/usr/bin/python3 -m pytest -q -p no:cacheprovider --pyargs " + tests +
                                 " -k 'not huge and not TestCond and not TestPinv'");
  INFO(run.result.out, run.result.err);
  CHECK(run.result.exit_code == 0);
  CHECK(contains(run.result.out, " passed"));
  CHECK_FALSE(contains(run.result.out, " failed"));
  for (auto const* name : {"cblas_sgemm", "cblas_dgemm", "dgemm_", "cblas_saxpy", "cblas_daxpy", "daxpy_"}) {
    INFO(name);
    CHECK(run.calls.at(name) > 0);
  }
}

TEST_CASE("R's products, factorisations and solutions are right on our dgemm and daxpy") {
  if (!is_there("R", missing_unless("Rscript --version"))) return;
  auto const run = run_preloaded("Rscript --vanilla " TANDEM_R_CLIENT);
  INFO(run.result.err);
  CHECK(run.result.out == "right\n");
  CHECK(run.result.exit_code == 0);
  CHECK(run.calls.at("dgemm_") > 50);
  CHECK(run.calls.at("daxpy_") > 0);
}

TEST_CASE("preloading does not hide another library's error handler") {
  if (!is_there("R", missing_unless("Rscript --version"))) return;
  // R has an xerbla_ of its own, which makes an R error; with our handler in front the program would end.
  auto const run = run_preloaded("Rscript --vanilla " TANDEM_R_HANDLER);
  INFO(run.result.err);
  CHECK(run.result.out == "BLAS/LAPACK routine 'DGEMM ' gave error code -3\nstill here\n");
  CHECK(run.calls.at("dgemm_") == 1);
}

TEST_CASE("our own harness passes the library at level quick, by either interface") {
  for (std::string const symbol : {"cblas_sgemm", "cblas_dgemm", "sgemm_", "dgemm_"}) {
    auto const result = run_tandem("check --kernel-lib " TANDEM_BLAS_LIBRARY ":" + symbol + " --level quick");
    INFO(result.out, result.err);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.out, "level quick, seed 1: pass\n"));
  }
}

TEST_CASE("Tandem's OpenBLAS rows call OpenBLAS, not the preloaded library") {
  if (!has_backend(tandem::backend::openblas)) return;
  auto const run = run_preloaded(TANDEM_COMMAND " check --kernels 'openblas.gemm.*' --m 33 --n 17 --k 65 --against ''");
  INFO(run.result.out, run.result.err);
  CHECK(run.result.exit_code == 0);
  CHECK(contains(run.result.out, "openblas.gemm.f64"));
  CHECK(run.calls.empty());
}

TEST_CASE("a preloaded library that multiplies by way of OpenBLAS does not meet itself there") {
  if (!has_backend(tandem::backend::openblas) || !has_netlib_tests()) return;
  auto const run = run_preloaded(netlib + "/blas/xblat3d <" + netlib + "/blas/dblat3.in",
                                 "TANDEM_KERNEL=openblas.gemm.f64", "dblat3.out");
  check_netlib(run);
  CHECK(run.calls.at("dgemm_") == 17524);  // 17496 products and 28 wrong calls, none of them twice
}
