// tandem check --kernel-lib and tandem replay on functions of somebody's shared object.
#include <doctest/doctest.h>

#include <string>

#include "tests/support.hpp"

using namespace tandem;
using tests::run_tandem;

namespace {

std::string const library = TANDEM_EXTERNAL_KERNELS;

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

tests::command_result check(std::string const& symbol, std::string const& more = "") {
  return run_tandem("check --kernel-lib '" + library + ":" + symbol + "' --level quick --time-limit 2 " + more);
}

}  // namespace

TEST_SUITE_BEGIN("kernel libraries");

TEST_CASE("right functions pass, in float and in double") {
  for (auto const* symbol : {"right_sgemm", "right_dgemm"}) {
    auto const r = check(symbol);
    CAPTURE(r.out);
    CAPTURE(r.err);
    CHECK(r.exit_code == 0);
    CHECK(contains(r.out, "pass"));
  }
}

TEST_CASE("wrong functions fail, whatever is wrong with them") {
  for (auto const* symbol :
       {"long_sgemm", "short_sgemm", "eights_sgemm", "crashing_sgemm", "hanging_sgemm", "ending_sgemm"}) {
    auto const r = check(symbol);
    CAPTURE(symbol);
    CAPTURE(r.out);
    CHECK(r.exit_code == 1);
    CHECK(contains(r.out, "tandem replay '"));
  }
}

TEST_CASE("Fortran's functions get small letters and the lengths of words, and leave their arguments alone") {
  auto const right = check("right_sgemm_", "--rungs L0");
  CAPTURE(right.out);
  CHECK(right.exit_code == 0);
  CHECK(check("capital_sgemm_", "--rungs L0").exit_code == 1);
  auto const counting = check("counting_sgemm_", "--rungs L0");
  CHECK(counting.exit_code == 1);
  CHECK(contains(counting.out, "it wrote to an argument that it gets by its address"));
}

#if defined(__x86_64__)
TEST_CASE("registers that belong to the caller are kept, and the direction flag is clear on return") {
  auto const clobbering = check("clobbering_sgemm", "--rungs L0");
  CHECK(clobbering.exit_code == 1);
  CHECK(contains(clobbering.out, "did not keep r12"));
  auto const backward = check("backward_sgemm", "--rungs L0");
  CHECK(backward.exit_code == 1);
  CHECK(contains(backward.out, "left the direction flag set"));
}
#endif

TEST_CASE("what is outside declared limits is unsupported, and a kernel that is right within them passes") {
  auto const r = check("eights_sgemm", "--only k_multiple_of=8");
  CAPTURE(r.out);
  CHECK(r.exit_code == 0);
}

TEST_CASE("--concurrent makes a workspace that callers share a failure; without it, it is a fact") {
  auto const shy = check("static_sgemm", "--rungs L8");
  CAPTURE(shy.out);
  CHECK(shy.exit_code == 0);
  CHECK(contains(shy.out, "belongs there; nothing else is promised"));
  auto const promised = check("static_sgemm", "--rungs L8 --concurrent");
  CAPTURE(promised.out);
  CHECK(promised.exit_code == 1);
  CHECK(contains(promised.out, ":static_sgemm@concurrent=yes'"));
  CHECK(check("right_sgemm", "--rungs L8 --concurrent").exit_code == 0);
}

TEST_CASE("CblasConjTrans and the flop budget are told") {
  auto const r = check("right_sgemm", "--rungs L0");
  CHECK(contains(r.out, "CblasConjTrans: is taken as a transpose"));
  CHECK(contains(r.out, "flop budget of a problem: "));
  CHECK_FALSE(contains(check("right_sgemm", "--rungs L0 --flop-budget 1e8").out, "flop budget of a problem: "));
}

TEST_CASE("bad input is named, with exit code 2") {
  auto const none = check("no_sgemm");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.err, "has no symbol 'no_sgemm'"));
  CHECK(contains(check("product").err, "the symbol 'product' does not say sgemm or dgemm"));
  CHECK(check("product", "--dtype f32").exit_code == 0);
  CHECK(contains(run_tandem("check --kernel-lib /nowhere.so:sgemm").err, "cannot load /nowhere.so"));
  CHECK(contains(run_tandem("check --kernel-lib nothing").err, "'nothing' is not LIB.so:SYMBOL"));
  CHECK(contains(check("right_sgemm", "--tile 128x128").err, "'128x128' is no tile"));
  CHECK(contains(check("right_sgemm", "--only squares").err, "'squares' is no limit"));
  CHECK(contains(run_tandem("check --level quick --tile 8x8x8 --kernels cpu.baseline.f32.4x8").err,
                 "--tile belongs to --kernel-lib"));
  CHECK(contains(run_tandem("check --level quick --concurrent --kernels cpu.baseline.f32.4x8").err,
                 "--concurrent belongs to --kernel-lib"));
  CHECK(contains(run_tandem("replay 'f32:nn:9x9x9:callers=2:kernel=" + library + ":right_sgemm'").err,
                 "@concurrent=yes"));
  CHECK(contains(check("right_sgemm", "--rungs L12").err, "'L12' is no rung"));
}

TEST_CASE("replay runs the one problem, and says pass or what is wrong") {
  auto const right =
      run_tandem("replay 'f32:nt:129x127x33:lda=146:fill=int:seed=42:kernel=" + library + ":right_sgemm'");
  CHECK(right.exit_code == 0);
  auto const wrong =
      run_tandem("replay 'f32:nt:129x127x33:lda=146:fill=int:seed=42:kernel=" + library + ":short_sgemm'");
  CHECK(wrong.exit_code == 1);
  CHECK(contains(wrong.out, "the last"));
  CHECK(run_tandem("replay 'f32:nt:129x127x33'").exit_code == 2);
  CHECK(run_tandem("replay 'f32:nt:129x127x33:kernel=nobody'").exit_code == 2);
}

#ifdef TANDEM_EXTERNAL_DEVICE_KERNELS
namespace {

tests::command_result check_on_device(std::string const& symbol, std::string const& more = "") {
  return run_tandem("check --kernel-lib '" TANDEM_EXTERNAL_DEVICE_KERNELS ":" + symbol +
                    "' --abi cuda --tile 16x16x1 --level quick --time-limit 5 " + more);
}

}  // namespace

TEST_CASE("functions on device pointers: a right one passes, and a wrong, straying or endless one is a verdict") {
  if (!tests::has_backend(backend::gpu)) return;
  for (auto const* symbol : {"right_sgemm", "own_workspace_sgemm", "waiting_sgemm"}) {
    auto const r = check_on_device(symbol, "--concurrent");
    CAPTURE(symbol);
    CAPTURE(r.out);
    CAPTURE(r.err);
    CHECK(r.exit_code == 0);
    CHECK(contains(r.out, "each got its own"));
  }
  for (auto const* symbol :
       {"past_the_end_sgemm", "last_rows_sgemm", "hanging_sgemm", "far_write_sgemm", "same_memory_sgemm"}) {
    auto const r = check_on_device(symbol);
    CAPTURE(symbol);
    CAPTURE(r.out);
    CHECK(r.exit_code == 1);
    CHECK(contains(r.out, "tandem replay '"));
  }
  // The same function asked for more than it takes.
  CHECK(contains(run_tandem("replay 'f32:tn:3x4x5:kernel=" TANDEM_EXTERNAL_DEVICE_KERNELS ":right_sgemm@abi=cuda'").err,
                 "does not take"));
}

TEST_CASE("functions on device pointers that take B for A where both lie in one memory fail by that") {
  if (!tests::has_backend(backend::gpu)) return;
  auto const r = check_on_device("same_memory_sgemm", "--rungs L2");
  CAPTURE(r.out);
  CHECK(r.exit_code == 1);
  CHECK(contains(r.out, ":b=a"));
}

TEST_CASE("functions on device pointers that work on another stream than theirs fail by that") {
  if (!tests::has_backend(backend::gpu)) return;
  auto const r = check_on_device("default_stream_sgemm");
  CAPTURE(r.out);
  CHECK(r.exit_code == 1);
  CHECK(contains(r.out, "wrote C before its turn"));
}

TEST_CASE("functions on device pointers: a workspace that streams share is a fact, or breaks a promise") {
  if (!tests::has_backend(backend::gpu)) return;
  auto const shy = check_on_device("one_workspace_sgemm", "--rungs L8");
  CAPTURE(shy.out);
  CHECK(shy.exit_code == 0);
  CHECK(contains(shy.out, "belongs there; nothing else is promised"));
  auto const promised = check_on_device("one_workspace_sgemm", "--rungs L8 --concurrent");
  CAPTURE(promised.out);
  CHECK(promised.exit_code == 1);
  CHECK(contains(promised.out, ":callers="));
  CHECK(contains(promised.out, "@concurrent=yes'"));
}

TEST_CASE("the GPU's rows keep what they promise to several callers with streams of their own") {
  if (!tests::has_backend(backend::gpu)) return;
  for (auto const* name : {"thread_tile.f32", "split_k.f32", "stream_k.f32", "persistent.f32", "peeled.f32",
                           "maxas_64.f32", "tensor_core.f64"}) {
    auto const r = run_tandem("check --level quick --rungs L8 --kernels 'gpu." + std::string(name) + ".*'");
    CAPTURE(name);
    CAPTURE(r.out);
    CAPTURE(r.err);
    CHECK(r.exit_code == 0);
    CHECK(contains(r.out, "each got its own"));
    CHECK_FALSE(contains(r.out, "nothing else is promised"));
  }
}
#endif

TEST_SUITE_END();
