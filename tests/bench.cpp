// tandem bench: what it prints, what its JSON holds, and what it says of bad input.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support.hpp"

using tandem::tests::run_tandem;

namespace {

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

std::string const blas = TANDEM_EXTERNAL_BLAS;

// A file that is gone with its owner.
struct temporary_file {
  explicit temporary_file(std::string const& name, std::string const& text = "")
      : path((std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string()) {
    std::ofstream(path) << text;
  }
  ~temporary_file() { std::filesystem::remove(path); }
  nlohmann::json json() const { return nlohmann::json::parse(std::ifstream(path)); }

  std::string path;
};

}  // namespace

TEST_SUITE_BEGIN("bench: command");

TEST_CASE("its JSON holds the machine, the contenders, the figures and their summary") {
  temporary_file const file("tandem_bench_");
  auto const run = run_tandem(
      "bench gemm --against eigen --m 33 --n 17 --k 9 --dtype f32,f64 --beta 0,1 --threads 1,2 "
      "--rounds 3 --json " +
      file.path);
  CAPTURE(run.out);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  for (auto const* word : {"processor", "clock", "FMA peak", "33x17x9", "eigen", "geometric mean", "bound by"})
    CHECK(contains(run.out, word));
  auto const json = file.json();
  CHECK(json["machine"]["cores"] > 0);
  CHECK(json["clock_hz"].size() == 2);
  CHECK(json["fma_peak"].size() == 4);
  CHECK(json["contenders"][0]["name"] == "tandem");
  CHECK(contains(json["contenders"][1]["about"], "Eigen 3."));
  CHECK(json["rows"].size() == 2 * 2 * 2 * 2);
  for (auto const& row : json["rows"]) {
    CHECK(row["gflops"] > 0);
    CHECK(row["min_seconds"] <= row["median_seconds"]);
    CHECK(row["median_seconds"] <= row["max_seconds"]);
    CHECK(row["percent_of_limit"] > 0);
    CHECK(row["ratio_to"]["eigen"] > 0);
    CHECK(row.contains("ratio_to_best_peer") == row["ours"]);
  }
  CHECK(json["summary"].size() == 2 * 2);
}

TEST_CASE("shapes come from several files, each once; those over the budget or of another type are counted") {
  std::string const heading = "m,n,k,dtype,trans_a,trans_b,source\n";
  temporary_file const one("tandem_shapes_1_", heading + "3,4,5,f32,n,t,a\n9,9,9,f64,n,n,b\n");
  temporary_file const two("tandem_shapes_2_", heading + "3,4,5,f32,n,t,a\n100,100,100,f32,n,n,c\n");
  temporary_file const file("tandem_bench_");
  auto const shapes =
      "bench gemm --shapes " + one.path + "," + two.path + " --max-flop 1e6 --rounds 1 --json " + file.path;
  auto const run = run_tandem(shapes);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "1 shapes over 1e+06 flop"));
  auto json = file.json();
  CHECK(json["shapes_over_max_flop"] == 1);
  CHECK(json["shapes_of_other_types"] == 1);
  REQUIRE(json["rows"].size() == 1);
  CHECK(json["rows"][0]["trans_b"] == "t");
  CHECK(json["rows"][0]["source"] == "a");
  CHECK(run_tandem(shapes + " --dtype f32,f64 --every-dtype").exit_code == 0);
  CHECK(file.json()["rows"].size() == 4);
}

TEST_CASE("the peers' shapes are there, in float and in double") {
  temporary_file const file("tandem_bench_");
  CHECK(
      run_tandem("bench gemm --shapes shapes/peers.csv --max-flop 1e4 --dtype f32,f64 --rounds 1 --threads 1 --json " +
                 file.path)
          .exit_code == 0);
  auto const json = file.json();
  CHECK(json["rows"].size() == 2 * 3);
  CHECK(json["shapes_over_max_flop"] == 2 * 26);
}

TEST_CASE("a peer whose result is wrong is reported and not timed") {
  temporary_file const file("tandem_bench_");
  auto const run = run_tandem("bench gemm --threads 0 --m 20 --rounds 1 --against " + blas + ":cblas_sgemm," + blas +
                              ":sgemm_ --json " + file.path);
  CAPTURE(run.out);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, ":cblas_sgemm at 20x20x20 f32 beta 0"));
  CHECK(contains(run.out, "wrong: row 19 of C is wrong"));
  auto const rows = file.json()["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(contains(rows[1]["wrong"], "row 19"));
  CHECK(!rows[1].contains("gflops"));
  CHECK(rows[0]["best_peer"] == blas + ":sgemm_");
}

TEST_CASE("a library whose threads cannot be set is left out of other numbers of threads, with the reason") {
  auto const run = run_tandem("bench gemm --threads 99 --m 5 --rounds 1 --against " + blas + ":sgemm_");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "left out of 1 match: its number of threads cannot be set"));
}

TEST_CASE("several callers, more threads than cores, and cold operands") {
  temporary_file const file("tandem_bench_");
  auto const run = run_tandem(
      "bench gemm --against eigen --threads 1,5 --callers 2 --operands rotating --m 40 --rounds 1 "
      "--lines shape --json " +
      file.path);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "rotating, 2 callers at once"));
  auto const rows = file.json()["rows"];
  CHECK(rows.size() == 4);
  for (auto const& row : rows) {
    CHECK(row["callers"] == 2);
    CHECK(row["gflops"] > 0);
  }
}

TEST_CASE("axpy stands beside a plain copy and plain loops over the same bytes") {
  temporary_file const file("tandem_bench_");
  auto const run = run_tandem("bench axpy --against eigen --n 1000 --rounds 1 --json " + file.path);
  CHECK(run.exit_code == 0);
  for (auto const* word : {"copy", "read loop", "store loop", "update loop"}) CHECK(contains(run.out, word));
  auto const rows = file.json()["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["best_peer"] == "eigen");
  auto const bytes = [](nlohmann::json const& row) {
    return row["gbytes_per_second"].get<double>() * 1e9 * row["median_seconds"].get<double>();
  };
  CHECK(bytes(rows[0]) == doctest::Approx(12 * 1000));
  CHECK(bytes(rows[2]) == doctest::Approx(8 * 1000));
}

TEST_CASE("bad input is named, with exit code 2") {
  auto const said = [](std::string const& arguments) {
    auto const run = run_tandem("bench " + arguments);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK(contains(said("gemm --against openblass"), "'openblass' is no peer (openblas, blis, eigen, onednn, libxsmm"));
  CHECK(contains(said("gemm --against ./no.so"), "./no.so: there is no such file"));
  CHECK(contains(said("gemm --against " + blas + ":no_sgemm_"), "has no symbol 'no_sgemm_'"));
  CHECK(contains(said("gemm --kernels no.such"), "no gemm kernel matches 'no.such'"));
  CHECK(contains(said("gemm --shapes nowhere.csv"), "nowhere.csv"));
  CHECK(contains(said("axpy --shapes shapes/odd.csv"), "an axpy has no shape"));
  CHECK(contains(said("gemm --dtype f16"), "'f16' is no element type"));
  CHECK(contains(said("gemm --m 100 --n 200,300"), "--n has 2 sizes, --m has 1"));
  CHECK(contains(said("gemm --operands warm"), "--operands"));
}

TEST_CASE("device kernels have cold operands and larger shapes by default, where they are there") {
  temporary_file const file("tandem_bench_");
  // The host's largest default is 2e10 flop.
  temporary_file const shapes("tandem_shapes_", "m,n,k,dtype,trans_a,trans_b,source\n3000,2000,2000,f32,n,n,a\n");
  auto const run =
      run_tandem("bench gemm --kernels tandem_gpu,gpu.naive.f32.32x8 --power --max-seconds 0.001 --shapes " +
                 shapes.path + " --json " + file.path);
  CAPTURE(run.out);
  CAPTURE(run.err);
  if (!tandem::tests::has_backend(tandem::backend::gpu)) {
    CHECK(run.exit_code == 77);
    CHECK(contains(run.err, "tandem_gpu is left out (f32): "));
    CHECK(contains(run.err, "no kernel that is there"));
    return;
  }
  CHECK(run.exit_code == 0);
  for (auto const* word : {"device      ", "without tensor cores", "rotating: each call on another set", "GPU clock"})
    CHECK(contains(run.out, word));
  auto const json = file.json();
  CHECK(json["operands"] == "rotating");
  CHECK(json["max_flop"] == 1e13);
  REQUIRE(json["rows"].size() == 2);
  for (auto const& row : json["rows"]) {
    CHECK(!row.contains("wrong"));
    CHECK(row["memory"] == "device");
    CHECK(row["percent_of_fma_peak"] > 0);
    CHECK(row["percent_of_fma_peak"] < 101);
    CHECK(row["percent_of_byte_limit"] > 0);
    CHECK((row.contains("watts") || json["device"].contains("no_monitor")));
  }
  CHECK(json["rows"][1]["rounds"] == 1);  // a naive product takes longer than its time
}

TEST_CASE("an axpy on the device stands beside copies there") {
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  temporary_file const file("tandem_bench_");
  CHECK(run_tandem("bench axpy --kernels tandem_gpu --n 1000003 --dtype f32,f64 --json " + file.path).exit_code == 0);
  auto const rows = file.json()["rows"];
  REQUIRE(rows.size() == 2 * 3);
  CHECK(rows[1]["kernel"] == "copy_device");
  CHECK(rows[0]["ratio_to_copy"] > 0.1);
}

TEST_CASE("--once marks each device kernel's call for a profiler") {
  CHECK(contains(run_tandem("bench gemm --once --m 5").err, "--once: for a profiler of the device"));
  if (!tandem::tests::has_backend(tandem::backend::gpu)) return;
  temporary_file const file("tandem_bench_");
  auto const run =
      run_tandem("bench gemm --once --kernels gpu.naive.f32.32x8,gpu.coalesced.f32.8x32 --m 5 --json " + file.path);
  CHECK(run.exit_code == 0);
  CHECK(run.out == "1 gpu.naive.f32.32x8 5x5x5\n2 gpu.coalesced.f32.8x32 5x5x5\n");
  CHECK(file.json()[1]["marker"] == 2);
}

TEST_CASE("the table of the rungs says what binds each kernel, by what a profiler wrote") {
  if (!tandem::tests::is_there("python3",
                               tandem::tests::run_command("python3 --version").exit_code == 0 ? "" : "not there"))
    return;
  auto const run = tandem::tests::run_command(
      "python3 tests/gpu_rungs.py tests/data/rungs/bench.json tests/data/rungs/once.json tests/data/rungs/ncu.csv");
  CHECK(run.err == "");
  std::ifstream golden("tests/golden/gpu_rungs.md");
  CHECK(run.out == std::string(std::istreambuf_iterator<char>(golden), {}));
  auto const none = tandem::tests::run_command(
      "python3 tests/gpu_rungs.py tests/data/rungs/bench.json tests/data/rungs/once.json shapes/odd.csv");
  CHECK(contains(none.err, "shapes/odd.csv: no table of ncu's in it"));
}

TEST_CASE("where no peer that was asked for is there, nothing is run") {
  auto const run = run_tandem("bench gemm --against onednn --dtype f64 --m 5");
  CHECK(run.exit_code == 77);
  CHECK(contains(run.err, "onednn is left out (f64): it multiplies in float only"));
  CHECK(contains(run.err, "no peer that is there"));
}

TEST_SUITE_END();
