// Counts of the SIMT executor against Nsight Compute's counters: launches what COUNTS.json counts, one row an entry and
// in its order, and compares the CSV that `ncu` makes of that run with the counts. `tests/gpu_counts.sh` does both.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"

using namespace tandem;
using nlohmann::json;

namespace {

json read_counts(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  return json::parse(in);
}

// --- launch ---

// An operand in device memory, whose bases are aligned to 256 bytes, as are the executor's: sectors depend on it.
template <class T>
gpu::device_buffer device_operand(std::int64_t rows, std::int64_t ld) {
  std::vector<T> host(static_cast<std::size_t>(rows * ld));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(static_cast<int>(i * 7919 % 17) - 8) / 8;
  gpu::device_buffer device(host.size() * sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(device.data()) % 256 != 0) throw std::runtime_error("a base is not aligned");
  gpu::copy_to_device(device.data(), host.data(), device.size());
  return device;
}

template <class T>
void launch(kernel const& row, json const& entry) {
  auto const size = [&](char const* name) { return entry.at(name).get<std::int64_t>(); };
  std::int64_t const m = size("m"), n = size("n"), k = size("k"), lda = size("lda"), ldb = size("ldb"),
                     ldc = size("ldc");
  bool const trans_a = entry.at("trans_a") == "t", trans_b = entry.at("trans_b") == "t";
  auto const a = device_operand<T>(trans_a ? k : m, lda), b = device_operand<T>(trans_b ? n : k, ldb);
  auto const c = device_operand<T>(m, ldc);
  auto const view = [](gpu::device_buffer const& x, std::int64_t rows, std::int64_t cols, std::int64_t ld, bool trans) {
    auto const* const data = static_cast<T const*>(x.data());
    return trans ? matrix_view<T const>(data, cols, rows, ld, layout::row_major, memory::device).transposed()
                 : matrix_view<T const>(data, rows, cols, ld, layout::row_major, memory::device);
  };
  gemm_with(row, view(a, m, k, lda, trans_a), view(b, k, n, ldb, trans_b),
            matrix_view<T>(static_cast<T*>(c.data()), m, n, ldc, layout::row_major, memory::device),
            {.alpha = entry.at("alpha").get<double>(), .beta = entry.at("beta").get<double>()});
  gpu::synchronize();
}

// Nothing but the entries' kernels is launched: operands come by copies, which are no kernels, the first allocation
// makes the context, and Nsight Compute repeats a launch by itself, caches emptied, so nothing needs to warm up.
int launch_all(std::string const& counts_path) {
  for (auto const& entry : read_counts(counts_path)) {
    auto const name = entry.at("kernel").get<std::string>();
    auto const* const row = find_kernel(name);
    if (row == nullptr || row->backend != backend::gpu) throw std::runtime_error(name + " is no kernel of the GPU");
    row->dtype == dtype::f64 ? launch<double>(*row, entry) : launch<float>(*row, entry);
  }
  return 0;
}

// --- compare ---

using count_of = std::function<double(json const& entry)>;

using kinds = std::vector<char const*>;
double sum_of(json const& entry, char const* name, kinds const& all) {
  double sum = 0;
  for (auto const* const kind : all) sum += entry.at("counts").at(kind).at(name).get<double>();
  return sum;
}
count_of member(char const* name, kinds const& all) {
  return [=](json const& entry) { return sum_of(entry, name, all); };
}
count_of member(std::string name) {
  return [=](json const& entry) { return entry.at("counts").at(name).get<double>(); };
}

// cp.async of 16 bytes goes past the first-level cache.
double wide_copies(json const& entry, char const* name) {
  double sum = 0;
  for (auto const& site : entry.at("sites"))
    if (site.at("kind") == "async_copy" && site.at("bytes") == 16) sum += site.at("counts").at(name).get<double>();
  return sum;
}
double wide_sectors(json const& entry) { return wide_copies(entry, "sectors"); }
bool copies_narrowly(json const& entry) { return wide_copies(entry, "wavefronts") == 0; }
bool always(json const&) { return true; }

// A counter of the GPU must lie between two counts, mostly the same one, in the entries in which it is compared.
struct metric {
  std::string name;
  count_of least, most;
  bool (*compared)(json const& entry) = always;
  metric(std::string name_, count_of both, bool (*compared_)(json const&) = always)
      : name(std::move(name_)), least(both), most(both), compared(compared_) {}
  metric(std::string name_, count_of least_, count_of most_)
      : name(std::move(name_)), least(std::move(least_)), most(std::move(most_)) {}
};

// Of all that reads global memory: at least each sector once, at most each request's sectors.
double sectors_read_once(json const& entry) { return entry.at("counts").at("grid_sectors_loaded").get<double>(); }
double sectors_requested(json const& entry) {
  return sum_of(entry, "sectors", {"global_load", "global_atomic", "async_copy", "texture_load"});
}
// To the first-level cache at least what goes past it comes.
double least_sectors_to_l1(json const& entry) { return std::max(sectors_read_once(entry), wide_sectors(entry)); }

// DRAM also brings what the counts do not know, instructions and page tables among it, and two sectors for one.
constexpr double dram_bytes_beside = 1 << 20;
double least_dram_bytes(json const& entry) { return sectors_read_once(entry) * 32; }
double most_dram_bytes(json const& entry) { return sectors_requested(entry) * 64 + dram_bytes_beside; }

double shared_load_requests(json const& entry) { return sum_of(entry, "requests", {"shared_load"}); }
double shared_load_wavefronts(json const& entry) { return sum_of(entry, "wavefronts", {"shared_load"}); }
double all_wavefronts(json const& entry) {
  return sum_of(entry, "wavefronts", {"shared_load", "shared_store", "shared_atomic", "async_copy"});
}
// What the vectors of store_scaled take besides where all of them are stored by elements.
double split_vectors(json const& entry, char const* name) {
  auto const kernel = entry.at("kernel").get<std::string>();
  double sum = 0;
  for (auto const& site : entry.at("sites"))
    if (site.at("file") == "gpu/kernels/along_rows.cuh" && site.at("kind") == "shared_store" && site.at("bytes") == 16)
      sum += site.at("counts").at(name).get<double>();
  return sum * (kernel.find(".f64.") != std::string::npos ? 1 : 3);
}
double requests_of_split(json const& entry) { return split_vectors(entry, "requests"); }
double wavefronts_of_split(json const& entry) { return split_vectors(entry, "wavefronts"); }
double stores_and_arbitration(json const& entry) { return wavefronts_of_split(entry) + 0.03 * all_wavefronts(entry); }
double copy_wavefronts(json const& entry) { return sum_of(entry, "wavefronts", {"async_copy"}); }

std::vector<metric> const& metrics() {
  // Those of instrumented code, smsp__sass_…, tell cp.async apart. Others of the kind count instructions that no thread
  // executes, too: ptxas puts loads of shared memory of that sort beside cp.async and __syncwarp.
  static std::vector<metric> const all = {
      {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", member("requests", {"global_load", "async_copy"})},
      {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", member("requests", {"global_store"})},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", member("sectors", {"global_load", "async_copy"})},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", member("sectors", {"global_store"})},
      {"smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum", member("requests", {"async_copy"})},
      {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", member("sectors", {"global_load"})},
      {"smsp__sass_inst_executed_op_shared_ld.sum", member("requests", {"shared_load"})},
      {"smsp__sass_inst_executed_op_shared_st.sum", member("requests", {"shared_store"})},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", member("wavefronts", {"shared_load"})},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", member("wavefronts", {"shared_store"})},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", member("wavefronts", {"shared_load"})},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", member("wavefronts", {"shared_store"})},
      // Of copies of 16 bytes it misses whole instructions: all of small.f32.16x16x64's, which the hardware counts.
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", copy_wavefronts, copies_narrowly},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", member("conflicts", {"shared_load"})},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", member("ffma")},
      {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", member("dfma")},
      {"l1tex__m_xbar2l1tex_read_sectors.sum", least_sectors_to_l1, sectors_requested},
      {"lts__t_sectors_srcunit_tex_op_read.sum", sectors_read_once, sectors_requested},
      {"dram__bytes_read.sum", least_dram_bytes, most_dram_bytes},
  };
  return all;
}

// Why a counter may read otherwise, and by how much. Only what has been understood is named here, and one counter that
// contradicts itself.
struct explanation {
  std::string_view metric;
  std::string_view kernels;  // how one of their names starts, between commas; empty: any
  double lower, higher;      // than the count, at most, as shares of `of`
  double (*of)(json const& entry);
  std::string_view reason;
};
constexpr std::string_view arbitration =
    "counts passes repeated after losing the arbitration against stores and copies, too; what is counted by "
    "instruction does not";
constexpr std::string_view unsteady =
    "differs between launches of one kernel on one problem, 3524, 3619 and 3714 where 3456 are counted, 6079, 6100 and "
    "6326 where 5632 are";
constexpr std::string_view split =
    "nvcc stores vectors of store_scaled by elements, four or two accesses, which meet in banks as often";
constexpr std::string_view spills = "the kernel spills registers to local memory, which is read back through L2";
constexpr std::string_view dropped =
    "of what is read behind a tile's last step, for nobody, nvcc drops the single elements: two loads a warp";
constexpr std::string_view narrow_tail = "gpu.persistent.f32.112x128x8";
constexpr std::string_view thin = "gpu.persistent.f32.24x64x64,gpu.persistent.f32.32x64x64";
constexpr std::string_view narrow_tails =
    "gpu.persistent.f32.36x40x64,gpu.persistent.f32.24x64x64,gpu.persistent.f32.40x64x64";
constexpr explanation explanations[] = {
    {"smsp__sass_inst_executed_op_shared_ld.sum", narrow_tail, 0.006, 0, shared_load_requests, dropped},
    {"smsp__sass_inst_executed_op_shared_ld.sum", narrow_tails, 0.036, 0, shared_load_requests, dropped},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", narrow_tail, 0.003, 0, shared_load_wavefronts,
     dropped},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", narrow_tails, 0.02, 0, shared_load_wavefronts,
     dropped},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", narrow_tail, 0.003, 0, shared_load_wavefronts, dropped},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", narrow_tails, 0.02, 0, shared_load_wavefronts, dropped},
    {"smsp__sass_inst_executed_op_shared_st.sum", "", 0, 1, requests_of_split, split},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "", 0, 1, wavefronts_of_split, split},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "", 0, 0.03, all_wavefronts, arbitration},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "", 0, 1, stores_and_arbitration, split},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "", 0, 0.01, all_wavefronts, arbitration},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "gpu.pe", 0, 0.03, all_wavefronts, arbitration},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", 0, 0.01, all_wavefronts, arbitration},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "gpu.pe", 0, 0.03, all_wavefronts, arbitration},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "", 0.25, 0, wide_sectors,
     "counts a sector that a copy of 16 bytes moves in parts once a line of shared memory; to L1 they come one by one"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", thin, 0, 0.15, copy_wavefronts, unsteady},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", "gpu.persistent.f32.", 0.002, 0.05,
     copy_wavefronts, unsteady},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", "gpu.peeled.f32.", 0, 0.08, copy_wavefronts,
     unsteady},
    {"l1tex__m_xbar2l1tex_read_sectors.sum", "gpu.thread_tile.f32.128x128x8", 0, 0.04, sectors_requested, spills},
    {"lts__t_sectors_srcunit_tex_op_read.sum", "gpu.thread_tile.f32.128x128x8", 0, 0.04, sectors_requested, spills},
    {"dram__bytes_read.sum", "", 1, 0, least_dram_bytes, "some of it was in L2"},
};

bool starts_with_one_of(std::string_view name, std::string_view starts) {
  for (auto left = starts;;) {
    auto const comma = left.find(',');
    if (name.starts_with(left.substr(0, comma))) return true;
    if (comma == left.npos) return false;
    left.remove_prefix(comma + 1);
  }
}

std::string_view explain(std::string const& metric, std::string const& kernel, json const& entry, double excess) {
  auto const* const found = std::ranges::find_if(explanations, [&](explanation const& e) {
    return e.metric == metric && starts_with_one_of(kernel, e.kernels) && -e.lower * e.of(entry) <= excess &&
           excess <= e.higher * e.of(entry);
  });
  return found != std::end(explanations) ? found->reason : std::string_view();
}

using csv_row = std::vector<std::string>;

// Cells in quotes; a quote inside one is doubled.
csv_row parse_csv_row(std::string const& line) {
  csv_row cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else if (line[i] != '\r')
      cells.back() += line[i];
  }
  return cells;
}

// The launches in a CSV of `ncu`, among whose lines are its messages, a heading and a row of units.
struct measurements {
  csv_row heading;
  std::vector<csv_row> launches;

  std::string const& cell(std::size_t launch, std::string const& column) const {
    auto const at = static_cast<std::size_t>(std::ranges::find(heading, column) - heading.begin());
    if (at >= launches[launch].size()) throw std::runtime_error("the CSV has no " + column);
    return launches[launch][at];
  }
  /// "65,536"; nothing where it was not measured ("n/a").
  std::optional<double> number(std::size_t launch, std::string const& column) const {
    auto text = cell(launch, column);
    std::erase(text, ',');
    try {
      return std::stod(text);
    } catch (std::exception const&) {
      return {};
    }
  }
  /// Over the launches of one call.
  std::optional<double> sum(std::size_t first, std::size_t end, std::string const& column) const {
    double total = 0;
    for (auto launch = first; launch < end; ++launch) {
      auto const one = number(launch, column);
      if (!one) return {};
      total += *one;
    }
    return total;
  }
};

// The kernels that one call starts: its technique's, then those that finish what it began.
std::size_t launches_of(json const& entry) { return entry.value("launches", std::size_t{1}); }

measurements read_measurements(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  measurements result;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('"')) continue;
    auto row = parse_csv_row(line);
    if (row[0] == "ID")
      result.heading = std::move(row);
    else if (!row[0].empty())
      result.launches.push_back(std::move(row));
  }
  return result;
}

// "async_copy" of "void tandem::gpu::on_device::async_copy<float, 32>(…)": Nsight Compute prints a function with its
// namespace or without.
std::string function_name(std::string const& text) {
  auto const name = text.substr(0, text.find_first_of("<("));
  auto const before = name.find_last_of(": ");
  return before == std::string::npos ? name : name.substr(before + 1);
}

// The functions that were counted must be those measured: a launch too many or too few would shift all that follow.
void require_same_kernels(json const& entry, measurements const& measured, std::size_t first, std::size_t end) {
  std::set<std::string> counted, launched;
  for (auto const& site : entry.at("sites")) counted.insert(function_name(site.at("kernel").get<std::string>()));
  for (auto launch = first; launch < end; ++launch)
    launched.insert(function_name(measured.cell(launch, "Kernel Name")));
  if (counted != launched)
    throw std::runtime_error(fmt::format("{} was counted, {}, but {} measured", entry.at("kernel").get<std::string>(),
                                         fmt::join(counted, " and "), fmt::join(launched, " and ")));
}

std::string bounds_text(double least, double most) {
  return least == most ? fmt::format("{:.0f}", least) : fmt::format("{:.0f}-{:.0f}", least, most);
}

int compare_all(std::string const& counts_path, std::string const& csv_path) {
  auto const entries = read_counts(counts_path);
  auto const measured = read_measurements(csv_path);
  std::size_t launches = 0;
  for (auto const& entry : entries) launches += launches_of(entry);
  if (launches != measured.launches.size())
    throw std::runtime_error(
        fmt::format("{} launches were counted, but {} measured", launches, measured.launches.size()));

  int equal = 0, explained = 0, wrong = 0, left_out = 0;
  std::size_t first = 0;  // of the entry's launches
  for (auto const& entry : entries) {
    auto const kernel = entry.at("kernel").get<std::string>();
    auto const end = first + launches_of(entry);
    require_same_kernels(entry, measured, first, end);
    for (auto const& metric : metrics()) {
      if (!metric.compared(entry)) {
        ++left_out;
        continue;
      }
      double const least = metric.least(entry), most = metric.most(entry);
      auto const value = measured.sum(first, end, metric.name);
      if (value && least <= *value && *value <= most) {
        ++equal;
        continue;
      }
      auto const reason =
          value ? explain(metric.name, kernel, entry, *value - (*value > most ? most : least)) : std::string_view();
      reason.empty() ? ++wrong : ++explained;
      fmt::print("{} {} {}x{}x{} {}{}: {} counted {}, measured {}{}\n", reason.empty() ? "WRONG    " : "explained",
                 kernel, entry.at("m").get<std::int64_t>(), entry.at("n").get<std::int64_t>(),
                 entry.at("k").get<std::int64_t>(), entry.at("trans_a").get<std::string>(),
                 entry.at("trans_b").get<std::string>(), metric.name, bounds_text(least, most),
                 value ? fmt::format("{:.0f}", *value) : "nothing", reason.empty() ? "" : fmt::format(" ({})", reason));
    }
    first = end;
  }
  fmt::print("{} calls of {} launches, {} counters each: {} as counted, {} explained, {} wrong, {} not compared\n",
             entries.size(), launches, metrics().size(), equal, explained, wrong, left_out);
  return wrong == 0 ? 0 : 1;
}

int print_metrics() {
  for (auto const& metric : metrics()) fmt::print("{}{}", &metric == metrics().data() ? "" : ",", metric.name);
  fmt::print("\n");
  return 0;
}

int usage() {
  fmt::print(stderr, "usage: gpu_counts launch COUNTS.json | compare COUNTS.json NCU.csv | metrics\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  std::string const verb = arguments.empty() ? "" : arguments[0];
  if (verb == "launch" && arguments.size() == 2) return launch_all(arguments[1]);
  if (verb == "compare" && arguments.size() == 3) return compare_all(arguments[1], arguments[2]);
  if (verb == "metrics" && arguments.size() == 1) return print_metrics();
  return usage();
} catch (std::exception const& e) {
  fmt::print(stderr, "gpu_counts: {}\n", e.what());
  return 2;
}
