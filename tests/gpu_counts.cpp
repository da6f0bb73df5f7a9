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
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
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

using count_of = std::function<double(json const& counts)>;

count_of member(std::string kind, std::string name) {
  return [=](json const& counts) { return counts.at(kind).at(name).get<double>(); };
}
count_of member(std::string name) {
  return [=](json const& counts) { return counts.at(name).get<double>(); };
}

// A counter of the GPU must lie between two counts, mostly the same one.
struct metric {
  std::string name;
  count_of least, most;
  metric(std::string name_, count_of both) : name(std::move(name_)), least(both), most(both) {}
  metric(std::string name_, count_of least_, count_of most_)
      : name(std::move(name_)), least(std::move(least_)), most(std::move(most_)) {}
};

// Of all that reads global memory: at least each sector once, at most each request's sectors.
double sectors_read_once(json const& counts) { return counts.at("grid_sectors_loaded").get<double>(); }
double sectors_requested(json const& counts) {
  double sum = 0;
  for (auto const* const kind : {"global_load", "global_atomic", "async_copy", "texture_load"})
    sum += counts.at(kind).at("sectors").get<double>();
  return sum;
}

// DRAM also brings what the counts do not know, instructions and page tables among it, and two sectors for one.
constexpr double dram_bytes_beside = 1 << 20;
double least_dram_bytes(json const& counts) { return sectors_read_once(counts) * 32; }
double most_dram_bytes(json const& counts) { return sectors_requested(counts) * 64 + dram_bytes_beside; }

double shared_wavefronts(json const& counts) {
  double sum = 0;
  for (auto const* const kind : {"shared_load", "shared_store", "shared_atomic"})
    sum += counts.at(kind).at("wavefronts").get<double>();
  return sum;
}

std::vector<metric> const& metrics() {
  static std::vector<metric> const all = {
      {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", member("global_load", "requests")},
      {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", member("global_store", "requests")},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", member("global_load", "sectors")},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", member("global_store", "sectors")},
      {"smsp__inst_executed_op_shared_ld.sum", member("shared_load", "requests")},
      {"smsp__inst_executed_op_shared_st.sum", member("shared_store", "requests")},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", member("shared_load", "wavefronts")},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", member("shared_store", "wavefronts")},
      {"memory_l1_wavefronts_shared", shared_wavefronts},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", member("shared_load", "conflicts")},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", member("ffma")},
      {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", member("dfma")},
      {"lts__t_sectors_srcunit_tex_op_read.sum", sectors_read_once, sectors_requested},
      {"dram__bytes_read.sum", least_dram_bytes, most_dram_bytes},
  };
  return all;
}

// Why a counter may read otherwise, and by how much. Only what has been understood is named here.
struct explanation {
  std::string_view metric;
  std::string_view kernel;  // how its name starts; empty: any
  double lower, higher;     // than the count, at most, as shares of `of`
  double (*of)(json const& counts);
  std::string_view reason;
};
constexpr std::string_view arbitration =
    "counts passes repeated after losing the arbitration against stores, too; memory_l1_wavefronts_shared does not";
constexpr explanation explanations[] = {
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "", 0, 0.02, shared_wavefronts, arbitration},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "", 0, 0.005, shared_wavefronts, arbitration},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", 0, 0.005, shared_wavefronts, arbitration},
    {"lts__t_sectors_srcunit_tex_op_read.sum", "gpu.thread_tile.f32.128x128x8", 0, 0.1, sectors_requested,
     "the kernel spills registers to local memory, which is read back through L2"},
    {"dram__bytes_read.sum", "", 1, 0, least_dram_bytes, "some of it was in L2"},
};

std::string_view explain(std::string const& metric, std::string const& kernel, json const& counts, double excess) {
  auto const* const found = std::ranges::find_if(explanations, [&](explanation const& e) {
    return e.metric == metric && kernel.starts_with(e.kernel) && -e.lower * e.of(counts) <= excess &&
           excess <= e.higher * e.of(counts);
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

// The function that was counted must be the one measured: a launch too many or too few would shift all that follow.
void require_same_kernel(json const& entry, std::string const& measured) {
  auto const counted = entry.at("sites").at(0).at("kernel").get<std::string>();
  auto const name = counted.substr(0, counted.find('<')) + "<";
  // Nsight Compute prints the function with its namespace or without.
  auto const at = measured.find(name);
  if (at == std::string::npos || (at != 0 && measured[at - 1] != ':' && measured[at - 1] != ' '))
    throw std::runtime_error(
        fmt::format("{} was counted, {}, but {} measured", entry.at("kernel").get<std::string>(), counted, measured));
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

  int equal = 0, explained = 0, wrong = 0;
  std::size_t first = 0;  // of the entry's launches
  for (auto const& entry : entries) {
    auto const kernel = entry.at("kernel").get<std::string>();
    require_same_kernel(entry, measured.cell(first, "Kernel Name"));
    auto const end = first + launches_of(entry);
    for (auto const& metric : metrics()) {
      double const least = metric.least(entry.at("counts")), most = metric.most(entry.at("counts"));
      auto const value = measured.sum(first, end, metric.name);
      if (value && least <= *value && *value <= most) {
        ++equal;
        continue;
      }
      auto const reason =
          value ? explain(metric.name, kernel, entry.at("counts"), *value - (*value > most ? most : least))
                : std::string_view();
      reason.empty() ? ++wrong : ++explained;
      fmt::print("{} {} {}x{}x{} {}{}: {} counted {}, measured {}{}\n", reason.empty() ? "WRONG    " : "explained",
                 kernel, entry.at("m").get<std::int64_t>(), entry.at("n").get<std::int64_t>(),
                 entry.at("k").get<std::int64_t>(), entry.at("trans_a").get<std::string>(),
                 entry.at("trans_b").get<std::string>(), metric.name, bounds_text(least, most),
                 value ? fmt::format("{:.0f}", *value) : "nothing", reason.empty() ? "" : fmt::format(" ({})", reason));
    }
    first = end;
  }
  fmt::print("{} launches, {} counters each: {} as counted, {} explained, {} wrong\n", launches, metrics().size(),
             equal, explained, wrong);
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
