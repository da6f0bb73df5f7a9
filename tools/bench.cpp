// tandem bench: kernels and their peers measured in one run, their calls interleaved A B A B.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <unistd.h>
#include <tandem/harness/shapes.hpp>
#include <tandem/tandem.hpp>

#include <nlohmann/json.hpp>

#include "gpu/runtime/device.hpp"
#include "tools/commands.hpp"
#include "tools/names.hpp"
#include "tools/table.hpp"

namespace tandem::tools {
namespace {

struct size {
  std::int64_t m = 0, n = 0, k = 0;
  dtype type = dtype::f32;
  bool trans_a = false, trans_b = false;
};

struct bench_options {
  std::string kernels, against, shapes, dtype = "f32", json;
  std::vector<std::int64_t> m, n, k;
  std::vector<int> threads{0};
  int rounds = 7;
  double beta = 0;
};

// One operand on the host, and on the device where a device kernel is measured.
template <class T>
class operand {
 public:
  operand(std::int64_t count, std::mt19937_64& random, bool on_device) : host_(static_cast<std::size_t>(count)) {
    std::normal_distribution<T> normal;
    for (auto& x : host_) x = normal(random);
    if (!on_device) return;
    device_ = gpu::device_buffer(host_.size() * sizeof(T));
    gpu::copy_to_device(device_.data(), host_.data(), host_.size() * sizeof(T));
  }
  T* data(memory where) { return where == memory::host ? host_.data() : static_cast<T*>(device_.data()); }

 private:
  std::vector<T> host_;
  gpu::device_buffer device_;
};

// One kernel under measurement: a call of it, and the seconds a call took, one entry a round.
struct contender {
  kernel const* row;
  int threads;
  std::function<void()> call;
  std::vector<double> seconds;
};

double seconds_of(contender const& c, int calls) {
  if (c.row->device) {
    gpu::event start, stop;
    start.record();
    for (int i = 0; i < calls; ++i) c.call();
    stop.record();
    return stop.since(start) * 1e-3 / calls;
  }
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) c.call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

// Warm-up apart; then rounds of all contenders in turn, each long enough for the clock.
void measure(std::vector<contender>& contenders, int rounds) {
  constexpr double sample_seconds = 2e-3;
  std::vector<int> calls;
  for (auto& c : contenders) {
    c.call();
    double const once = std::max(seconds_of(c, 1), 1e-8);
    calls.push_back(static_cast<int>(std::clamp(sample_seconds / once, 1.0, 1e5)));
    seconds_of(c, calls.back());
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      contenders[i].seconds.push_back(seconds_of(contenders[i], calls[i]));
  for (auto& c : contenders) std::ranges::sort(c.seconds);
}

double median(contender const& c) { return c.seconds[c.seconds.size() / 2]; }

// Adds a contender for every row and thread count; a row that cannot run here is an error when it was named.
std::vector<contender> make_contenders(std::vector<kernel const*> const& rows, std::vector<int> const& threads,
                                       std::function<std::function<void()>(kernel const&, int)> const& call) {
  std::vector<contender> all;
  for (auto const* row : rows) {
    for (int const count : row->threaded ? threads : std::vector<int>{1})
      all.push_back({row, count, call(*row, count), {}});
  }
  return all;
}

template <class T>
std::vector<contender> gemm_contenders(size const& s, std::vector<kernel const*> const& rows, bench_options const& o) {
  bool const on_device = std::ranges::any_of(rows, [](auto const* row) { return row->device; });
  std::mt19937_64 random(1);
  auto a = std::make_shared<operand<T>>(s.m * s.k, random, on_device);
  auto b = std::make_shared<operand<T>>(s.k * s.n, random, on_device);
  auto c = std::make_shared<operand<T>>(s.m * s.n, random, on_device);
  return make_contenders(rows, o.threads, [=, beta = o.beta](kernel const& row, int threads) {
    auto const where = row.device ? memory::device : memory::host;
    auto const view = [&](T const* data, std::int64_t rows_, std::int64_t cols, bool trans) {
      return trans ? matrix_view<T const>(data, cols, rows_, rows_, layout::row_major, where).transposed()
                   : matrix_view<T const>(data, rows_, cols, cols, layout::row_major, where);
    };
    auto const va = view(a->data(where), s.m, s.k, s.trans_a);
    auto const vb = view(b->data(where), s.k, s.n, s.trans_b);
    matrix_view<T> const vc(c->data(where), s.m, s.n, s.n, layout::row_major, where);
    return [=, &row, keep = std::tuple(a, b, c)] { gemm_with(row, va, vb, vc, {.beta = beta}, threads); };
  });
}

template <class T>
std::vector<contender> axpy_contenders(size const& s, std::vector<kernel const*> const& rows, bench_options const& o) {
  bool const on_device = std::ranges::any_of(rows, [](auto const* row) { return row->device; });
  std::mt19937_64 random(1);
  auto x = std::make_shared<operand<T>>(s.n, random, on_device);
  auto y = std::make_shared<operand<T>>(s.n, random, on_device);
  return make_contenders(rows, o.threads, [=](kernel const& row, int threads) {
    auto const where = row.device ? memory::device : memory::host;
    vector_view<T const> const vx(x->data(where), s.n, 1, where);
    vector_view<T> const vy(y->data(where), s.n, 1, where);
    // A small alpha keeps y finite over any number of calls.
    return [=, &row, keep = std::pair(x, y)] { axpy_with(row, 1e-6, vx, vy, {}, threads); };
  });
}

std::vector<size> wanted_sizes(bench_options const& o, operation op) {
  std::vector<size> sizes;
  auto const type = parse_dtype(o.dtype);
  if (!o.shapes.empty()) {
    for (auto const& s : harness::read_shapes(o.shapes))
      if (s.dtype == type) sizes.push_back({s.m, s.n, s.k, type, s.trans_a, s.trans_b});
  } else if (op == operation::axpy) {
    for (auto const n : o.n.empty() ? std::vector<std::int64_t>{1'000, 100'000, 10'000'000} : o.n)
      sizes.push_back({1, n, 1, type});
  } else {
    auto const& squares = o.m.empty() ? std::vector<std::int64_t>{512, 1024, 2048} : o.m;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      auto const pick = [&](std::vector<std::int64_t> const& other) {
        return other.empty() ? squares[i] : other[std::min(i, other.size() - 1)];
      };
      sizes.push_back({squares[i], pick(o.n), pick(o.k), type});
    }
  }
  return sizes;
}

// The rows to measure. Without --kernels: what dispatch would take on each backend of ours that is there.
std::vector<kernel const*> wanted_kernels(bench_options const& o, operation op, dtype type) {
  std::vector<kernel const*> rows;
  auto const infos = kernels();
  auto const is_there = [&](kernel const& row) {
    return std::ranges::any_of(infos, [&](auto const& i) { return i.name == row.name && i.available; });
  };
  if (!o.kernels.empty()) {
    for (auto const* row : find_kernels(o.kernels, op))
      if (row->dtype == type && is_there(*row)) rows.push_back(row);
    return rows;
  }
  for (auto const id : {backend::cpu, backend::gpu}) {
    kernel const* best = nullptr;
    problem p;
    p.dtype = type;
    p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 1024;
    for (auto const& row : kernel_table()) {
      if (row.backend != id || row.operation() != op || row.dtype != type || !is_there(row)) continue;
      if (op == operation::gemm && !row.cost) continue;
      if (best == nullptr || (row.cost && row.cost(p) < best->cost(p))) best = &row;
    }
    if (best != nullptr) rows.push_back(best);
  }
  return rows;
}

std::vector<kernel const*> wanted_peers(bench_options const& o, operation op, dtype type) {
  std::vector<kernel const*> rows;
  auto const infos = kernels();
  for (auto const& name : split(o.against))
    for (auto const* row : find_kernels(name, op)) {
      if (row->dtype != type) continue;
      auto const info = std::ranges::find(infos, row->name, &kernel_info::name);
      if (info->available)
        rows.push_back(row);
      else
        fmt::print(stderr, "tandem: peer {} is left out: {}\n", row->name, info->reason);
    }
  return rows;
}

std::string label(contender const& c) {
  return c.row->threaded && c.threads > 0 ? fmt::format("{} ({} threads)", c.row->name, c.threads) : c.row->name;
}

void print_machine() {
  std::string model = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  fmt::print("processor: {}\n", model);
  for (auto const& b : backends())
    if (b.available && !b.version.empty()) fmt::print("{:<9}  {}\n", to_string(b.backend), b.version);
  fmt::print("\n");
}

int bench(bench_options const& o, operation op) {
  auto const type = parse_dtype(o.dtype);
  auto const ours = wanted_kernels(o, op, type), peers = wanted_peers(o, op, type);
  auto rows = ours;
  for (auto const* peer : peers)
    if (std::ranges::find(rows, peer) == rows.end()) rows.push_back(peer);
  if (rows.empty()) {
    fmt::print(stderr, "tandem: no kernel to measure is there on this machine\n");
    return nothing_run;
  }
  print_machine();

  bool const is_gemm = op == operation::gemm;
  bool const progress = isatty(STDERR_FILENO) != 0;
  std::vector<std::vector<std::string>> table{
      {is_gemm ? "m x n x k" : "n", "kernel", is_gemm ? "GFLOP/s" : "GB/s", "median us", "min us", "max us"}};
  for (auto const* peer : peers) table[0].push_back(fmt::format("/ {}", to_string(peer->backend)));
  auto report = nlohmann::json::array();
  auto const sizes = wanted_sizes(o, op);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto const& s = sizes[i];
    if (progress) fmt::print(stderr, "\r{}/{} shapes", i + 1, sizes.size());
    auto contenders =
        is_gemm ? type == dtype::f32 ? gemm_contenders<float>(s, rows, o) : gemm_contenders<double>(s, rows, o)
        : type == dtype::f32 ? axpy_contenders<float>(s, rows, o)
                             : axpy_contenders<double>(s, rows, o);
    measure(contenders, o.rounds);
    // flop of a product; bytes of an axpy, which reads x and y and writes y
    double const work = is_gemm ? 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k)
                                : 3.0 * static_cast<double>(s.n) * static_cast<double>(size_of(type));
    for (auto const& c : contenders) {
      double const rate = work / median(c) * 1e-9;
      std::vector<std::string> line{is_gemm ? fmt::format("{}x{}x{}", s.m, s.n, s.k) : std::to_string(s.n),
                                    label(c),
                                    fmt::format("{:.2f}", rate),
                                    fmt::format("{:.2f}", median(c) * 1e6),
                                    fmt::format("{:.2f}", c.seconds.front() * 1e6),
                                    fmt::format("{:.2f}", c.seconds.back() * 1e6)};
      auto ratios = nlohmann::json::object();
      for (auto const* peer : peers) {
        // Against the peer at the same thread count, where it has one.
        auto match =
            std::ranges::find_if(contenders, [&](auto const& p) { return p.row == peer && p.threads == c.threads; });
        if (match == contenders.end())
          match = std::ranges::find_if(contenders, [&](auto const& p) { return p.row == peer; });
        double const ratio = median(*match) / median(c);
        line.push_back(fmt::format("{:.3f}", ratio));
        ratios[peer->name] = ratio;
      }
      table.push_back(line);
      report.push_back({{"operation", to_string(op)},
                        {"kernel", c.row->name},
                        {"backend", to_string(c.row->backend)},
                        {"dtype", to_string(type)},
                        {"m", s.m},
                        {"n", s.n},
                        {"k", s.k},
                        {"trans_a", s.trans_a ? "t" : "n"},
                        {"trans_b", s.trans_b ? "t" : "n"},
                        {"beta", o.beta},
                        {"threads", c.threads},
                        {"rounds", o.rounds},
                        {is_gemm ? "gflops" : "gbytes_per_second", rate},
                        {"median_seconds", median(c)},
                        {"min_seconds", c.seconds.front()},
                        {"max_seconds", c.seconds.back()},
                        {"ratio_to", ratios}});
    }
  }
  if (progress) fmt::print(stderr, "\r{:<30}\r", "");
  fmt::print("{}", text_table(table));
  if (!o.json.empty()) {
    std::ofstream out(o.json);
    out << report.dump(1) << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + o.json);
  }
  return ok;
}

}  // namespace

action add_bench(CLI::App& app) {
  auto o = std::make_shared<bench_options>();
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
  app.add_option("--threads", o->threads, "thread counts of host kernels, by commas; 0: all")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--beta", o->beta, "beta of each product")->capture_default_str();
  app.add_option("--rounds", o->rounds, "measured rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--json", o->json, "write the figures there");
  return [o, what] { return bench(*o, *what == "gemm" ? operation::gemm : operation::axpy); };
}

}  // namespace tandem::tools
