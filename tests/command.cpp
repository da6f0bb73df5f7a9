// The command line: exit codes, messages, JSON.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>
#include <tandem/simt/kernels.hpp>
#include <tandem/tandem.hpp>

#include "tests/support.hpp"

using namespace tandem;
using tests::run_tandem;

namespace {

// A file that is gone with its owner.
class temporary_file {
 public:
  explicit temporary_file(std::string const& text = "")
      : path_(std::filesystem::temp_directory_path() /
              ("tandem_test_" + std::to_string(getpid()) + "_" + std::to_string(count_++))) {
    std::ofstream(path_) << text;
  }
  ~temporary_file() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("command");

TEST_CASE("bad usage exits with 2 and says what is wrong") {
  CHECK(run_tandem("").exit_code == 2);
  CHECK(run_tandem("frobnicate").exit_code == 2);
  CHECK(run_tandem("tiles 1 2").exit_code == 2);
  CHECK(run_tandem("tiles 0 2 3").exit_code == 2);
  auto const unknown = run_tandem("check --kernels 'no.such*'");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.err, "no gemm kernel matches 'no.such*'"));
  auto const type = run_tandem("check --dtype f31");
  CHECK(type.exit_code == 2);
  CHECK(contains(type.err, "'f31' is no element type"));
  CHECK(run_tandem("check --m 3 --n 3").exit_code == 2);
  CHECK(contains(run_tandem("check --level quick --m 3 --n 3 --k 3").err, "--m excludes --level"));
  CHECK(contains(run_tandem("check --kernels cpu --rungs L0 --jobs 2").err, "--jobs excludes --rungs"));
  CHECK(run_tandem("check --require nowhere --m 1 --n 1 --k 1").exit_code == 2);
}

TEST_CASE("--help and --version exit with 0, and --version names the libraries") {
  CHECK(run_tandem("--help").exit_code == 0);
  auto const version = run_tandem("--version");
  CHECK(version.exit_code == 0);
  for (auto const* word : {"tandem 0.", "compiler", "cuda", "openblas", "eigen", "cublas"}) {
    CAPTURE(word);
    CHECK(contains(version.out, word));
  }
}

TEST_CASE("check exits with 0 when all pass, and its JSON has every field") {
  temporary_file const json;
  auto const run = run_tandem("check --kernels cpu --m 33 --n 31 --k 29 --json " + json.path());
  CAPTURE(run.out);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "verdict: pass"));
  CHECK(run.err.empty());
  auto const rows = nlohmann::json::parse(json.text());
  REQUIRE(rows.is_array());
  REQUIRE(!rows.empty());
  for (auto const* field : {"backend",  "kernel",   "dtype",    "m",           "n",     "k",   "trans_a", "trans_b",
                            "layout_a", "layout_b", "layout_c", "lda",         "ldb",   "ldc", "alpha",   "beta",
                            "fill",     "verdict",  "reason",   "worst_error", "bound", "row", "col"}) {
    CAPTURE(field);
    CHECK(rows[0].contains(field));
  }
  std::set<std::string> transposes;
  for (auto const& row : rows) transposes.insert(row["trans_a"].get<std::string>() + row["trans_b"].get<std::string>());
  CHECK(transposes == std::set<std::string>{"nn", "nt", "tn", "tt"});
}

TEST_CASE("check --case runs the one problem that a failure names") {
  temporary_file const json;
  std::string const line =
      "f32:nt:rrc:129x127x33:lda=146:ldb=33:ldc=129:offsets=0,1,3:alpha=1:beta=0.5:fill=normal:seed=42";
  CHECK(run_tandem("check --kernels cpu --case " + line + " --json " + json.path()).exit_code == 0);
  for (auto const& row : nlohmann::json::parse(json.text())) CHECK(row["case"] == line);
  auto const wrong = run_tandem("check --case f32:nt:129x127");
  CHECK(wrong.exit_code == 2);
}

TEST_CASE("check names the peers that were not there") {
  auto const run = run_tandem("check --kernels oracle --against eigen --m 3 --n 3 --k 3");
  CHECK(contains(run.out, "compared with eigen.gemm.f32"));
}

TEST_CASE("check --trans keeps to one pair of transposes") {
  temporary_file const json;
  CHECK(run_tandem("check --kernels cpu --trans tn --m 5 --n 6 --k 7 --json " + json.path()).exit_code == 0);
  for (auto const& row : nlohmann::json::parse(json.text())) {
    CHECK(row["trans_a"] == "t");
    CHECK(row["trans_b"] == "n");
  }
}

TEST_CASE("check exits with 77 when nothing was run") {
  CHECK(run_tandem("check --kernels oracle.gemm.f32 --dtype f64 --m 3 --n 3 --k 3").exit_code == 77);
}

TEST_CASE("check --require exits with 3, and the reason, when the backend is missing") {
  for (auto const& info : backends()) {
    std::string const name(to_string(info.backend));
    CAPTURE(name);
    auto const run = run_tandem("check --kernels oracle --m 3 --n 3 --k 3 --require " + name);
    CHECK(run.exit_code == (info.available ? 0 : 3));
    CHECK(contains(run.err, info.reason));
  }
}

TEST_CASE("an unreadable shape file is an error with its file and line") {
  temporary_file const shapes("m,n,k,dtype,trans_a,trans_b,source\n1,2,3,f32,n,n,fine\n1,two,3,f32,n,n,odd\n");
  auto const run = run_tandem("check --kernels cpu --shapes " + shapes.path());
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, shapes.path() + ":3"));
  CHECK(contains(run.err, "two"));
  CHECK(run_tandem("check --shapes /does/not/exist.csv").exit_code == 2);
}

TEST_CASE("bf16 shapes are reported as unsupported, not passed") {
  temporary_file const shapes("m,n,k,dtype,trans_a,trans_b,source\n3,4,5,bf16,n,t,half\n");
  temporary_file const json;
  auto const run = run_tandem("check --kernels cpu --shapes " + shapes.path() + " --json " + json.path());
  CHECK(run.exit_code == 77);
  auto const rows = nlohmann::json::parse(json.text());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["verdict"] == "unsupported");
  CHECK(rows[0]["dtype"] == "bf16");
}

TEST_CASE("check --jobs gives what one process does, but for the seconds") {
  temporary_file const one, several;
  std::string const arguments = "check --kernels cpu,simt --against '' --m 1,33 --n 31 --k 29,8 --json ";
  auto const alone = run_tandem(arguments + one.path());
  auto const shared = run_tandem(arguments + several.path() + " --jobs 3");
  CHECK(shared.exit_code == 0);
  CHECK(shared.out == alone.out);
  auto const without_seconds = [](std::string const& text) {
    auto rows = nlohmann::json::parse(text);
    for (auto& row : rows) row.erase("seconds");
    return rows.dump(1);
  };
  CHECK(without_seconds(several.text()) == without_seconds(one.text()));
  CHECK(run_tandem("check --jobs -1 --m 1 --n 1 --k 1").exit_code == 2);
}

TEST_CASE("check --jobs refuses rows that need the device that is there") {
  if (!tests::has_backend(backend::gpu)) return;
  auto const run = run_tandem("check --kernels cpu,gpu --against '' --m 3 --n 3 --k 3 --jobs 2");
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, "CUDA does not survive a fork"));
  CHECK(run_tandem("check --kernels cpu --against eigen --m 3 --n 3 --k 3 --jobs 2").exit_code == 0);
}

TEST_CASE("check --simt checked watches the simt kernels, or says why it cannot") {
  auto const run = run_tandem("check --kernels 'simt.smem_tile.*,cpu' --simt checked --m 17 --n 3 --k 5");
  auto const why = simt::checked_unavailable();
  CHECK(run.exit_code == (why.empty() ? 0 : 3));
  CHECK(contains(why.empty() ? run.out : run.err, why.empty() ? "verdict: pass" : "--simt checked: " + why));
  CHECK(run_tandem("check --simt often --m 1 --n 1 --k 1").exit_code == 2);
}

TEST_CASE("a larger budget lets a kernel have a problem that is skipped else") {
  std::string const arguments =
      "check --kernels simt.coalesced.f32.8x32 --against '' --trans nn --m 200 --n 200 --k 200";
  CHECK(run_tandem(arguments).exit_code == 77);
  CHECK(run_tandem(arguments + " --flop-budget 2e7").exit_code == 0);
  CHECK(run_tandem(arguments + " --flop-budget -1").exit_code == 2);
}

TEST_CASE("count says what is wrong, with the values") {
  auto const complaint = [](std::string const& arguments) {
    auto const run = run_tandem("count " + arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(contains(complaint("3 4 5"), "--kernels is required"));
  CHECK(contains(complaint("--kernel no.such 3 4 5"), "no gemm kernel matches 'no.such'"));
  CHECK(contains(complaint("--kernel cpu 3 4 5"), "'cpu' matches no kernel of the gpu or simt backend"));
  CHECK(contains(complaint("--kernel gpu"), "either M N K or --cases is needed"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --alpha 0"), "alpha 0"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --trans xy"), "--trans"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --sampling some"), "--sampling"));
  CHECK(contains(complaint("--kernel gpu 3 0 5"), "n 0 < 1"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --lda 4"), "lda 4 < k 5"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --trans tn --lda 2"), "lda 2 < m 3"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --ldb -1"), "ldb -1 < n 4"));
  CHECK(contains(complaint("--kernel gpu 3 4 5 --ldc 3"), "ldc 3 < n 4"));

  std::string const heading = "m,n,k,trans,lda,ldb,ldc\n";
  for (auto const& [text, what] : {std::pair{std::string("m,n,k\n3,4,5\n"), ":1: the heading is not"},
                                   {heading + "3,4,5,nn,0,0\n", ":2: 6 fields where there are 7 columns"},
                                   {heading + "3,4,5,nx,0,0,0\n", ":2: trans is not nn, nt, tn or tt"},
                                   {heading + "3,4,5,nn,0,0,0\n3,four,5,nn,0,0,0\n", ":3: 'four' is no size"},
                                   {heading, "no case in this file"}}) {
    temporary_file const cases(text);
    auto const said = complaint("--kernel gpu --cases " + cases.path());
    CHECK(contains(said, cases.path()));
    CHECK(contains(said, what));
  }
  CHECK(contains(complaint("--kernel gpu --cases nowhere.csv"), "nowhere.csv: cannot be read"));
}

TEST_CASE("count gives one JSON object a kernel, under the GPU's name, or exits with 3") {
  std::string const arguments =
      "count --kernel 'simt.naive.*,gpu.naive.f32.*' 33 17 5 --trans nt --ldc 20 --beta 1 --json ";
  auto const run = run_tandem(arguments);  // as with "-"
  if (auto const why = simt::checked_unavailable(); !why.empty()) {
    CHECK(run.exit_code == 3);
    CHECK(contains(run.err, why));
    return;
  }
  CHECK(run.exit_code == 0);
  auto const rows = nlohmann::json::parse(run.out);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["kernel"] == "gpu.naive.f32.32x8");
  CHECK(rows[1]["kernel"] == "gpu.naive.f64.32x8");
  for (auto const& row : rows) {
    CHECK(row["trans_a"] == "n");
    CHECK(row["trans_b"] == "t");
    CHECK(row["lda"] == 5);
    CHECK(row["ldb"] == 5);
    CHECK(row["ldc"] == 20);
    CHECK(row["beta"] == 1);
    CHECK(row["sampling"] == "classes");
    CHECK(row["blocks"] == 6);
    CHECK(row["blocks_run"] == 4);
    CHECK(row["counts"]["global_store"]["lanes"] == 33 * 17);
    CHECK(!row["sites"].empty());
  }
  temporary_file const json, cases("m,n,k,trans,lda,ldb,ldc\n33,17,5,nt,0,0,20\n");
  CHECK(contains(run_tandem(arguments + "/does/not/exist").err, "cannot write /does/not/exist"));
  CHECK(run_tandem(arguments + json.path()).exit_code == 0);
  CHECK(json.text() == run.out);
  CHECK(run_tandem("count --kernels 'gpu.naive.*' --cases " + cases.path() + " --beta 1 --json -").out == run.out);
  auto const all = run_tandem("count --kernel gpu.naive.f32.32x8 33 17 5 --sampling all --json -");
  CHECK(nlohmann::json::parse(all.out)[0]["blocks_run"] == 6);
}

TEST_CASE("the library starts without any CUDA library") {
  auto const needed = tests::run_command("ldd $(dirname " TANDEM_COMMAND ")/libtandem.so");
  REQUIRE(needed.exit_code == 0);
  for (auto const* name : {"libcuda", "libcublas", "libnv"}) CHECK(!contains(needed.out, name));
}

TEST_SUITE_END();
