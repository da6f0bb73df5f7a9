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

std::string read_csv() {
  std::ifstream in("tests/data/gpu_counts.csv");
  return {std::istreambuf_iterator<char>(in), {}};
}

// A text in a file that is gone with its owner.
class csv_file {
 public:
  explicit csv_file(std::string const& text)
      : path_(std::filesystem::temp_directory_path() / ("tandem_gpu_counts_" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~csv_file() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

tests::command_result compare(std::string const& csv) {
  return run_command(TANDEM_GPU_COUNTS " compare tests/data/gpu_counts.json " + csv);
}
// The CSV with one part of it replaced.
tests::command_result compare_changed(std::string const& part, std::string const& replacement) {
  auto text = read_csv();
  auto const at = text.find(part);
  REQUIRE(at != std::string::npos);
  return compare(csv_file(text.replace(at, part.size(), replacement)).path());
}
// The CSV with another value of a counter of a launch, counted from 0.
tests::command_result compare_with(int launch, std::string const& counter, std::string const& value) {
  std::string const between = "\",\"", text = read_csv();
  auto const find = [](std::string const& in, std::string const& what, std::size_t from) {
    auto const at = in.find(what, from);
    REQUIRE(at != std::string::npos);
    return at;
  };
  auto const heading = find(text, "\"ID\"", 0);
  auto const column = find(text, counter, heading);
  auto begin = find(text, "\n\"" + std::to_string(launch) + "\"", heading);
  for (auto i = heading; i < column; i = find(text, between, i) + between.size())
    begin = find(text, between, begin) + between.size();
  auto const end = text.find('"', begin);
  return compare(csv_file(text.substr(0, begin) + value + text.substr(end)).path());
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

struct counter {
  int launch;
  std::string name, counted;
};

}  // namespace

TEST_SUITE_BEGIN("gpu counts");

TEST_CASE("counters as counted pass, and of copies of 16 bytes those that are what is counted") {
  auto const result = compare("tests/data/gpu_counts.csv");
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out,
                 "explained gpu.split_k.f32.32x32x128 32x32x256 nn: "
                 "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum counted 208, measured 176 ("));
  CHECK(contains(result.out,
                 "3 calls of 4 launches, 19 counters each: 55 as counted, 1 explained, 0 wrong, 1 not compared\n"));
}

TEST_CASE("each counter that deviates fails and is named") {
  for (auto const& c : {
           counter{1, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "0"},
           counter{1, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "768"},
           counter{1, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "64"},
           counter{1, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "64"},
           counter{1, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "512"},
           counter{1, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "256"},
           counter{1, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "16384"},
           counter{1, "l1tex__m_xbar2l1tex_read_sectors.sum", "256"},
           counter{1, "lts__t_sectors_srcunit_tex_op_read.sum", "256"},
           counter{1, "smsp__sass_inst_executed_op_shared_ld.sum", "256"},
           counter{1, "smsp__sass_inst_executed_op_shared_st.sum", "64"},
           counter{1, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "768"},
           counter{1, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", "0"},
           counter{1, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "64"},
           counter{2, "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum", "8"},
           counter{1, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "256"},
           counter{0, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "1280"},
           counter{1, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "131072"},
       }) {
    CAPTURE(c.name);
    auto const result = compare_with(c.launch, c.name, "31,337");
    CHECK(result.exit_code == 1);
    CHECK(contains(result.out, c.name + " counted " + c.counted + ", measured 31337\n"));
    CHECK(contains(result.out, "54 as counted, 1 explained, 1 wrong, 1 not compared\n"));
  }
}

TEST_CASE("what L1, L2 and DRAM send lies between each sector once and each request's sectors") {
  for (std::string const counter : {"l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex_op_read.sum"}) {
    CHECK(compare_with(0, counter, "1,312").exit_code == 0);
    CHECK(compare_with(0, counter, "103").exit_code == 1);
    CHECK(contains(compare_with(0, counter, "1,313").out, "counted 104-1312, measured 1313\n"));
  }
  CHECK(compare_with(0, "dram__bytes_read.sum", "1,132,544").exit_code == 0);  // 1312 * 64 bytes and 1 MiB
  CHECK(compare_with(0, "dram__bytes_read.sum", "1,132,545").exit_code == 1);
  // Of what goes past L1 nothing was there before, whatever the sum of two launches hides.
  CHECK(compare_with(2, "l1tex__m_xbar2l1tex_read_sectors.sum", "176").exit_code == 0);
  CHECK(
      contains(compare_with(2, "l1tex__m_xbar2l1tex_read_sectors.sum", "175").out, "counted 192-208, measured 191\n"));
}

TEST_CASE("what is explained passes with its reason, in its direction and up to its size") {
  std::string const stored = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
  auto const stores = compare_with(1, stored, "70");
  CHECK(stores.exit_code == 0);
  CHECK(contains(stores.out, "explained gpu.thread_tile.f32.128x128x8 128x128x8 nt: "));
  CHECK(contains(stores.out, "54 as counted, 2 explained, 0 wrong, 1 not compared\n"));
  CHECK(compare_with(1, stored, "63").exit_code == 1);
  CHECK(compare_with(1, stored, "90").exit_code == 1);  // of 832 in all 3 %
  CHECK(compare_with(0, "dram__bytes_read.sum", "0").exit_code == 0);
  // Of four vectors of store_scaled each can be four stores.
  CHECK(compare_with(2, "smsp__sass_inst_executed_op_shared_st.sum", "16").exit_code == 0);
  CHECK(compare_with(2, "smsp__sass_inst_executed_op_shared_st.sum", "17").exit_code == 1);
  CHECK(compare_with(2, "smsp__sass_inst_executed_op_shared_st.sum", "3").exit_code == 1);
  // Of the 192 sectors that were copied by 16 bytes, a quarter.
  CHECK(compare_with(2, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "144").exit_code == 0);
  CHECK(compare_with(2, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "143").exit_code == 1);
}

TEST_CASE(
    "a counter that was not measured is wrong; one that is not in the CSV, another kernel or number is an error") {
  CHECK(contains(compare_changed(R"("131,072")", R"("n/a")").out, "counted 131072, measured nothing\n"));
  CHECK(contains(compare_changed("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "other").err,
                 "the CSV has no smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"));
  CHECK(contains(compare_changed("thread_tile<float", "naive<float").err, "gpu.thread_tile.f32.128x128x8 was counted"));
  CHECK(contains(compare_changed("sum_slices<float", "add_parts<float").err,
                 "was counted, split_k and sum_slices, but add_parts and split_k measured"));
  auto const fewer = compare_changed("\"1\",\"4242\"", "==PROF==");
  CHECK(fewer.exit_code == 2);
  CHECK(contains(fewer.err, "4 launches were counted, but 3 measured"));
  CHECK(run_command(TANDEM_GPU_COUNTS " compare tests/data/gpu_counts.json nowhere").exit_code == 2);
  CHECK(run_command(TANDEM_GPU_COUNTS " compare").exit_code == 2);
}

TEST_SUITE_END();
