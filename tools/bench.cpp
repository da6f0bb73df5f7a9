// tandem bench: kernels and their peers measured in one run, their calls interleaved A B A B.
#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>
#include <tandem/harness/shapes.hpp>
#include <tandem/tandem.hpp>

#include <nlohmann/json.hpp>

#include "tools/commands.hpp"
#include "tools/contender.hpp"
#include "tools/names.hpp"
#include "tools/table.hpp"

namespace tandem::tools {
namespace {

struct bench_arguments {
  std::string kernels, against, shapes, dtype = "f32", json;
  std::vector<std::int64_t> m, n, k;
  std::vector<int> threads{0};
  int rounds = 7;
  double beta = 0;
};

std::vector<bench_size> wanted_sizes(bench_arguments const& o, operation op) {
  std::vector<bench_size> sizes;
  auto const type = parse_dtype(o.dtype);
  if (!o.shapes.empty()) {
    for (auto const& s : harness::read_shapes(o.shapes))
      if (s.dtype == type) sizes.push_back({s.m, s.n, s.k, type, s.trans_a, s.trans_b});
  } else if (op == operation::axpy) {
    for (auto const n : o.n.empty() ? std::vector<std::int64_t>{1'000, 100'000, 10'000'000} : o.n)
      sizes.push_back({.n = n, .dtype = type});
  } else {
    auto const m = o.m.empty() ? std::vector<std::int64_t>{512, 1024, 2048} : o.m;
    for (auto const& [name, other] : {std::pair{"--n", &o.n}, {"--k", &o.k}})
      if (other->size() > 1 && other->size() != m.size())
        throw std::invalid_argument(
            fmt::format("{} has {} sizes, --m has {}: they go in step", name, other->size(), m.size()));
    for (std::size_t i = 0; i < m.size(); ++i) {
      auto const pick = [&](std::vector<std::int64_t> const& other) {
        return other.empty() ? m[i] : other.size() == 1 ? other[0] : other[i];
      };
      sizes.push_back({.m = m[i], .n = pick(o.n), .k = pick(o.k), .dtype = type});
    }
  }
  return sizes;
}

// The rows of this type that the globs name and this machine can run; the others are named on stderr with the reason.
std::vector<kernel const*> available_rows(std::string const& globs, operation op, dtype type) {
  std::vector<kernel const*> rows;
  auto const infos = kernels();
  for (auto const* row : globs.empty() ? std::vector<kernel const*>() : find_kernels(globs, op)) {
    if (row->dtype != type) continue;
    auto const info = std::ranges::find(infos, row->name, &kernel_info::name);
    if (info->available)
      rows.push_back(row);
    else
      fmt::print(stderr, "tandem: {} is left out: {}\n", row->name, info->reason);
  }
  return rows;
}

// What dispatch takes for this size on each backend of ours that is there.
std::vector<kernel const*> dispatched_rows(bench_size const& s, operation op) {
  if (op == operation::axpy) {
    std::string const type(to_string(s.dtype));
    return available_rows("cpu.axpy." + type + ",gpu.axpy." + type, op, s.dtype);
  }
  std::vector<kernel const*> rows;
  problem p;
  p.dtype = s.dtype;
  p.m = s.m, p.n = s.n, p.k = s.k;
  for (auto const& info : backends())
    if (info.available && (info.backend == backend::cpu || info.backend == backend::gpu))
      rows.push_back(select_kernel(p, {.backend = info.backend}));
  return rows;
}

std::string label(contender const& c) {
  return c.row->threaded && c.threads > 0 ? fmt::format("{} ({} threads)", c.row->name, c.threads) : c.row->name;
}

// flop of a product; bytes of an axpy, which reads x and y and writes y
double work(bench_size const& s, operation op) {
  auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return op == operation::gemm ? 2 * m * n * k : 3 * n * static_cast<double>(size_of(s.dtype));
}

// Against the peer on the same number of threads, where it has one.
double ratio_to(kernel const& peer, contender const& c, std::vector<contender> const& all) {
  auto match = std::ranges::find_if(all, [&](auto const& o) { return o.row == &peer && o.threads == c.threads; });
  if (match == all.end()) match = std::ranges::find_if(all, [&](auto const& o) { return o.row == &peer; });
  return match->median() / c.median();
}

void print_machine() {
  std::string model = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  fmt::print("processor  {}\n", model);
  for (auto const& b : backends())
    if (b.available) fmt::print("{:<9}  {}\n", to_string(b.backend), b.version);
  fmt::print("\n");
}

// The rows of the printed table and of the JSON file, side by side.
struct report {
  std::vector<std::vector<std::string>> table;
  nlohmann::json json = nlohmann::json::array();

  void add(bench_size const& s, operation op, double beta, contender const& c, std::vector<contender> const& all,
           std::vector<kernel const*> const& peers) {
    bool const is_gemm = op == operation::gemm;
    double const rate = work(s, op) / c.median() * 1e-9;
    std::vector<std::string> line{is_gemm ? fmt::format("{}x{}x{}", s.m, s.n, s.k) : std::to_string(s.n), label(c),
                                  fmt::format("{:.2f}", rate)};
    for (double const seconds : {c.median(), c.seconds.front(), c.seconds.back()})
      line.push_back(fmt::format("{:.2f}", seconds * 1e6));
    auto ratios = nlohmann::json::object();
    for (auto const* peer : peers) {
      double const ratio = ratio_to(*peer, c, all);
      line.push_back(fmt::format("{:.3f}", ratio));
      ratios[peer->name] = ratio;
    }
    table.push_back(std::move(line));
    json.push_back({{"operation", to_string(op)},
                    {"kernel", c.row->name},
                    {"backend", to_string(c.row->backend)},
                    {"dtype", to_string(s.dtype)},
                    {"m", s.m},
                    {"n", s.n},
                    {"k", s.k},
                    {"trans_a", s.trans_a ? "t" : "n"},
                    {"trans_b", s.trans_b ? "t" : "n"},
                    {"beta", beta},
                    {"threads", c.threads},
                    {"rounds", c.seconds.size()},
                    {is_gemm ? "gflops" : "gbytes_per_second", rate},
                    {"median_seconds", c.median()},
                    {"min_seconds", c.seconds.front()},
                    {"max_seconds", c.seconds.back()},
                    {"ratio_to", std::move(ratios)}});
  }
};

int bench(bench_arguments const& o, operation op) {
  bool const is_gemm = op == operation::gemm;
  auto const named = available_rows(o.kernels, op, parse_dtype(o.dtype));
  auto const peers = available_rows(o.against, op, parse_dtype(o.dtype));
  auto const sizes = wanted_sizes(o, op);

  report out;
  out.table.push_back(
      {is_gemm ? "m x n x k" : "n", "kernel", is_gemm ? "GFLOP/s" : "GB/s", "median us", "min us", "max us"});
  for (auto const* peer : peers) out.table[0].push_back("/ " + std::string(to_string(peer->backend)));
  bool const progress = isatty(STDERR_FILENO) != 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (progress) fmt::print(stderr, "\r{}/{} shapes", i + 1, sizes.size());
    auto rows = o.kernels.empty() ? dispatched_rows(sizes[i], op) : named;
    for (auto const* peer : peers)
      if (std::ranges::find(rows, peer) == rows.end()) rows.push_back(peer);
    auto contenders =
        is_gemm ? gemm_contenders(sizes[i], o.beta, rows, o.threads) : axpy_contenders(sizes[i], rows, o.threads);
    measure(contenders, o.rounds);
    for (auto const& c : contenders) out.add(sizes[i], op, o.beta, c, contenders, peers);
  }
  if (progress) fmt::print(stderr, "\r\x1b[K");
  if (out.json.empty() || (!o.kernels.empty() && named.empty())) {
    fmt::print(stderr, "tandem: nothing to measure: no kernel that is there, or no shape of {}\n", o.dtype);
    return nothing_run;
  }

  print_machine();
  fmt::print("{}", text_table(out.table));
  if (!o.json.empty()) {
    std::ofstream file(o.json);
    file << out.json.dump(1) << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write " + o.json);
  }
  return ok;
}

}  // namespace

action add_bench(CLI::App& app) {
  auto o = std::make_shared<bench_arguments>();
  auto what = std::make_shared<std::string>("gemm");
  app.add_option("operation", *what, "gemm or axpy")->check(CLI::IsMember({"gemm", "axpy"}))->capture_default_str();
  app.add_option("--kernels", o->kernels, "names, globs or backends (default: what dispatch takes on cpu and gpu)");
  app.add_option("--against", o->against, "peers, as --kernels: openblas,eigen,cublas");
  app.add_option("--shapes", o->shapes, "a CSV file of shapes (those of --dtype are measured)");
  app.add_option("--m", o->m, "rows of C, several by commas (default: squares of 512, 1024, 2048)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--n", o->n, "columns of C, or an axpy's length (default: as --m)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--k", o->k, "inner size (default: as --m)")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--dtype", o->dtype, "f32 or f64")->capture_default_str();
  app.add_option("--threads", o->threads, "thread counts of threaded host kernels, by commas; 0: all")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--beta", o->beta, "beta of each product")->capture_default_str();
  app.add_option("--rounds", o->rounds, "measured rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--json", o->json, "write the figures there");
  return [o, what] { return bench(*o, *what == "gemm" ? operation::gemm : operation::axpy); };
}

}  // namespace tandem::tools
