// `gpu_counts compare` on counts and a CSV made by hand: what agrees passes, each way to deviate is seen.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support.hpp"

using namespace tandem;
using tests::run_command;

namespace {

// tests/data/gpu_counts.csv with one part of it replaced, in a file that is gone with its owner.
class changed_csv {
 public:
  changed_csv(std::string const& part, std::string const& replacement)
      : path_(std::filesystem::temp_directory_path() / ("tandem_gpu_counts_" + std::to_string(getpid()) + ".csv")) {
    std::ifstream in("tests/data/gpu_counts.csv");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    auto const at = text.find(part);
    REQUIRE(at != std::string::npos);
    std::ofstream(path_) << text.replace(at, part.size(), replacement);
  }
  ~changed_csv() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

tests::command_result compare(std::string const& csv) {
  return run_command(TANDEM_GPU_COUNTS " compare tests/data/gpu_counts.json " + csv);
}
tests::command_result compare_changed(std::string const& part, std::string const& replacement) {
  return compare(changed_csv(part, replacement).path());
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

// A cell of the one row that has these neighbours, and how the count stands beside it when it is replaced by 31,337.
struct cell {
  std::string before, value, after, metric, counted;
};

}  // namespace

TEST_SUITE_BEGIN("gpu counts");

TEST_CASE("counters as counted pass") {
  auto const result = compare("tests/data/gpu_counts.csv");
  CHECK(result.exit_code == 0);
  CHECK(result.out == "2 launches, 14 counters each: 28 as counted, 0 explained, 0 wrong\n");
}

TEST_CASE("each counter that deviates fails and is named") {
  for (auto const& c : {
           cell{R"(,"9.0","8,448",")", "0", R"(","768")", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                "0"},
           cell{R"("0",")", "768", R"(",)", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "768"},
           cell{R"("64",")", "64", R"(","512")", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "64"},
           cell{R"(")", "512", R"(")", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "512"},
           cell{R"("512",")", "256", R"(",)", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "256"},
           cell{R"(")", "16,384", R"(")", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "16384"},
           cell{R"("16,384",")", "256", R"(",)", "lts__t_sectors_srcunit_tex_op_read.sum", "256"},
           cell{R"(")", "832", R"(",)", "memory_l1_wavefronts_shared", "832"},
           cell{R"("832",")", "256", R"(",)", "smsp__inst_executed_op_shared_ld.sum", "256"},
           cell{R"("832","256",")", "64", R"(",)", "smsp__inst_executed_op_shared_st.sum", "64"},
           cell{R"(")", "1,280", R"(")", "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "1280"},
           cell{R"(")", "131,072", R"(")", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "131072"},
       }) {
    CAPTURE(c.metric);
    auto const result = compare_changed(c.before + c.value + c.after, c.before + "31,337" + c.after);
    CHECK(result.exit_code == 1);
    CHECK(contains(result.out, c.metric + " counted " + c.counted + ", measured 31337\n"));
    CHECK(contains(result.out, "27 as counted, 0 explained, 1 wrong\n"));
  }
}

TEST_CASE("L2 and DRAM reads lie between each sector once and each request's sectors") {
  std::string const l2 = R"("256","104",)";
  CHECK(compare_changed(l2, R"("256","1,312",)").exit_code == 0);
  CHECK(compare_changed(l2, R"("256","103",)").exit_code == 1);
  CHECK(contains(compare_changed(l2, R"("256","1,313",)").out, "counted 104-1312, measured 1313\n"));
  CHECK(compare_changed(R"("3,584")", R"("1,132,544")").exit_code == 0);  // 1312 * 64 bytes and 1 MiB
  CHECK(compare_changed(R"("3,584")", R"("1,132,545")").exit_code == 1);
}

TEST_CASE("what is explained passes with its reason, in its direction and up to its size") {
  auto const stores = compare_changed(R"("768","64",)", R"("768","70",)");
  CHECK(stores.exit_code == 0);
  CHECK(contains(stores.out, "explained gpu.thread_tile.f32.128x128x8 128x128x8 nt: "));
  CHECK(contains(stores.out, "27 as counted, 1 explained, 0 wrong\n"));
  CHECK(compare_changed(R"("768","64",)", R"("768","63",)").exit_code == 1);
  CHECK(compare_changed(R"("768","64",)", R"("768","90",)").exit_code == 1);  // of 832 in all 3 %
  CHECK(compare_changed(R"("3,584")", R"("0")").exit_code == 0);
}

TEST_CASE(
    "a counter that was not measured is wrong; one that is not in the CSV, another kernel or number is an error") {
  CHECK(contains(compare_changed(R"("131,072")", R"("n/a")").out, "counted 131072, measured nothing\n"));
  CHECK(contains(compare_changed("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "other").err,
                 "the CSV has no smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"));
  CHECK(contains(compare_changed("thread_tile<float", "naive<float").err, "gpu.thread_tile.f32.128x128x8 was counted"));
  auto const fewer = compare_changed("\"1\",\"4242\"", "==PROF==");
  CHECK(fewer.exit_code == 2);
  CHECK(contains(fewer.err, "2 launches were counted, but 1 measured"));
  CHECK(run_command(TANDEM_GPU_COUNTS " compare tests/data/gpu_counts.json nowhere").exit_code == 2);
  CHECK(run_command(TANDEM_GPU_COUNTS " compare").exit_code == 2);
}

TEST_SUITE_END();
