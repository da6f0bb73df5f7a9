// tandem bench: Tandem's calls and their peers measured in one run, their calls interleaved A B A B, beside what the
// machine can do.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tandem/harness/shapes.hpp>
#include <tandem/tandem.hpp>

#include "tools/bench/bandwidth.hpp"
#include "tools/bench/contender.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/ours.hpp"
#include "tools/bench/peers.hpp"
#include "tools/bench/plain_copy.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/verify.hpp"
#include "tools/commands.hpp"
#include "tools/names.hpp"

namespace tandem::tools {
namespace {

struct bench_arguments {
  std::string kernels = "tandem", against, operands = "hot", lines = "contender", json;
  std::vector<std::string> shapes, dtypes{"f32"};
  std::vector<std::int64_t> m, n, k;
  std::vector<int> threads{0};
  std::vector<double> betas{0};
  std::int64_t pad = 0;
  double max_flop = 2e10;
  int rounds = 7, callers = 1;
  bool every_dtype = false;
};

std::vector<dtype> wanted_types(bench_arguments const& o) {
  std::vector<dtype> types;
  for (auto const& name : o.dtypes) types.push_back(parse_dtype(name));
  return types;
}

/// The sizes of every problem, each once; those of shape files that are over the budget or of no type that is measured
/// are counted.
struct wanted_problems {
  std::vector<harness::shape> shapes = {};
  int too_large = 0, other_types = 0;
};

wanted_problems read_files(bench_arguments const& o) {
  wanted_problems out;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, dtype, bool, bool>> seen;
  auto const types = wanted_types(o);
  for (auto const& file : o.shapes)
    for (auto s : harness::read_shapes(file)) {
      if (2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) > o.max_flop) {
        ++out.too_large;
        continue;
      }
      auto const own = o.every_dtype ? types : std::vector{s.dtype};
      for (auto const type : own) {
        s.dtype = type;
        if (std::ranges::find(types, type) == types.end())
          ++out.other_types;
        else if (seen.emplace(s.m, s.n, s.k, type, s.trans_a, s.trans_b).second)
          out.shapes.push_back(s);
      }
    }
  return out;
}

wanted_problems wanted(bench_arguments const& o, operation op) {
  if (!o.shapes.empty()) {
    if (op == operation::axpy) throw std::invalid_argument("--shapes: an axpy has no shape; --n gives its lengths");
    return read_files(o);
  }
  wanted_problems out;
  for (auto const type : wanted_types(o)) {
    if (op == operation::axpy) {
      for (auto const n : o.n.empty() ? std::vector<std::int64_t>{1'000, 100'000, 10'000'000} : o.n)
        out.shapes.push_back({.m = 1, .n = n, .k = 1, .dtype = type});
      continue;
    }
    auto const m = o.m.empty() ? std::vector<std::int64_t>{512, 1024, 2048} : o.m;
    for (auto const& [name, other] : {std::pair{"--n", &o.n}, {"--k", &o.k}})
      if (other->size() > 1 && other->size() != m.size())
        throw std::invalid_argument(
            fmt::format("{} has {} sizes, --m has {}: they go in step", name, other->size(), m.size()));
    for (std::size_t i = 0; i < m.size(); ++i) {
      auto const pick = [&](std::vector<std::int64_t> const& other) {
        return other.empty() ? m[i] : other.size() == 1 ? other[0] : other[i];
      };
      out.shapes.push_back({.m = m[i], .n = pick(o.n), .k = pick(o.k), .dtype = type});
    }
  }
  return out;
}

/// The subjects of one element type: Tandem's first, then the peers.
std::vector<bench::subject> subjects_of(bench_arguments const& o, operation op, dtype type) {
  std::vector<bench::subject> all;
  auto const has = [&](std::string const& name) {
    return std::ranges::find(all, name, &bench::subject::name) != all.end();
  };
  auto const add_rows = [&](std::string const& globs) {
    for (auto const* row : find_kernels(globs, op))
      if (row->dtype == type && !has(row->name)) all.push_back(bench::row_subject(*row));
  };
  for (auto const& name : split(o.kernels)) {
    if (name == "tandem")
      all.push_back(bench::plain_call());
    else if (name == "tandem_plan" && op == operation::gemm)
      all.push_back(bench::plan_handle());
    else if (name == "tandem_gpu")
      all.push_back(bench::plain_call(memory::device));
    else
      add_rows(name);
  }
  auto const measured = all.size();
  for (auto const& name : split(o.against)) {
    if (bench::is_peer(name)) {
      if (!has(name)) all.push_back(bench::make_peer(name, type));
      continue;
    }
    try {
      add_rows(name);
    } catch (std::invalid_argument const&) {
      throw std::invalid_argument(
          fmt::format("'{}' is no peer ({}, or a path such as ./libblas.so:sgemm_) and no {} kernel", name,
                      fmt::join(bench::peer_names(), ", "), to_string(op)));
    }
  }
  for (auto i = measured; i < all.size(); ++i) all[i].ours = false;
  if (op == operation::axpy) all.push_back(bench::plain_copy());
  return all;
}

std::size_t elements(std::int64_t height, std::int64_t ld) { return static_cast<std::size_t>(height * ld); }

/// One run of the command: subjects, operands and the report that grows.
class run {
 public:
  run(bench_arguments const& o, operation op, nlohmann::json head, std::size_t last_level_bytes)
      : o_(o),
        op_(op),
        ring_bytes_(o.operands == "rotating" ? 2 * last_level_bytes : 0),
        out_(o.lines == "shape" ? bench::report::lines::match : bench::report::lines::contender, std::move(head)) {}

  void measure(harness::shape const& s, std::vector<bench::subject> const& subjects) {
    if (op_ == operation::gemm)
      for (auto const beta : o_.betas) measure_gemm(s, beta, subjects);
    else
      measure_axpy(s, subjects);
  }

  bench::report& out() { return out_; }

 private:
  std::vector<bench::operand_ring> rings(std::vector<std::int64_t> const& counts, dtype type,
                                         std::vector<bench::subject> const& subjects) const {
    bool const device = std::ranges::any_of(subjects, [](auto const& s) { return s.device && s.missing.empty(); });
    std::vector<bench::operand_ring> all;
    for (int caller = 0; caller < o_.callers; ++caller) all.emplace_back(counts, type, ring_bytes_, device);
    return all;
  }

  /// The subjects that take part on so many threads, by `why_not`; what is left out is noted.
  template <class WhyNot>
  std::vector<bench::subject const*> takers(std::vector<bench::subject> const& subjects, int threads,
                                            WhyNot const& why_not) {
    std::vector<bench::subject const*> all;
    for (auto const& s : subjects) {
      if (!s.missing.empty()) continue;
      auto why = why_not(s);
      if (why.empty() && s.only_threads != 0 && s.only_threads != threads)
        why = fmt::format("its number of threads cannot be set, so it runs on all {} only", s.only_threads);
      if (why.empty() && s.device && o_.callers > 1) why = "several callers are for host kernels";
      if (why.empty())
        all.push_back(&s);
      else
        out_.leave_out(s.name, why);
    }
    return all;
  }

  void measure_gemm(harness::shape const& s, double beta, std::vector<bench::subject> const& subjects) {
    problem p{.dtype = s.dtype,
              .m = s.m,
              .n = s.n,
              .k = s.k,
              .lda = (s.trans_a ? s.m : s.k) + o_.pad,
              .trans_a = s.trans_a,
              .ldb = (s.trans_b ? s.k : s.n) + o_.pad,
              .trans_b = s.trans_b,
              .beta = beta,
              .ldc = s.n + o_.pad};
    auto const height_a = s.trans_a ? s.k : s.m, height_b = s.trans_b ? s.n : s.k;
    auto const data = rings({height_a * p.lda, height_b * p.ldb, s.m * p.ldc}, s.dtype, subjects);
    p.a = data[0].data(0, 0, memory::host);
    p.b = data[0].data(0, 1, memory::host);
    std::vector<char> const c0(
        static_cast<char const*>(data[0].data(0, 2, memory::host)),
        static_cast<char const*>(data[0].data(0, 2, memory::host)) + elements(s.m, p.ldc) * size_of(s.dtype));
    p.c = const_cast<char*>(c0.data());
    bench::product_check check(p);
    for (int const threads : o_.threads) {
      auto const& rates = bench::measured_bytes(data[0].bytes(), threads);
      bench::match m{.operation = operation::gemm,
                     .dtype = s.dtype,
                     .m = s.m,
                     .n = s.n,
                     .k = s.k,
                     .trans_a = s.trans_a,
                     .trans_b = s.trans_b,
                     .beta = beta,
                     .threads = threads,
                     .source = s.source,
                     .bound = bench::gemm_limit(p, bench::known_fma_peak(s.dtype, threads), rates),
                     .loops = rates};
      for (auto const* who : takers(subjects, threads, [&](auto const& x) {
             return !x.bind ? "it has no gemm" : x.refuses ? x.refuses(p) : std::string();
           })) {
        auto c = bench::gemm_contender(*who, p, threads, data);
        if (who->set_threads) who->set_threads(threads);
        c.wrong = checked(
            *who, data[0], 2, c0, [&] { c.callers[0](1); }, beta == 0,
            [&](void const* got) { return check.wrong(got, who->name); });
        m.them.push_back(std::move(c));
      }
      finish(std::move(m));
    }
  }

  void measure_axpy(harness::shape const& s, std::vector<bench::subject> const& subjects) {
    auto const data = rings({s.n, s.n}, s.dtype, subjects);
    std::vector<char> const y0(
        static_cast<char const*>(data[0].data(0, 1, memory::host)),
        static_cast<char const*>(data[0].data(0, 1, memory::host)) + elements(s.n, 1) * size_of(s.dtype));
    // A small alpha keeps y finite over any number of calls.
    axpy_problem p{.dtype = s.dtype, .n = s.n, .alpha = 1e-6, .x = data[0].data(0, 0, memory::host)};
    p.alpha = s.dtype == dtype::f32 ? static_cast<double>(static_cast<float>(p.alpha)) : p.alpha;
    p.y = const_cast<char*>(y0.data());
    for (int const threads : o_.threads) {
      auto const& rates = bench::measured_bytes(data[0].bytes(), threads);
      bench::match m{.operation = operation::axpy,
                     .dtype = s.dtype,
                     .n = s.n,
                     .threads = threads,
                     .bound = bench::axpy_limit(p, bench::known_fma_peak(s.dtype, threads), rates),
                     .loops = rates};
      for (auto const* who :
           takers(subjects, threads, [](auto const& x) { return std::string(x.bind_axpy ? "" : "it has no axpy"); })) {
        auto c = bench::axpy_contender(*who, p, threads, data);
        if (who->set_threads) who->set_threads(threads);
        if (!who->copies)
          c.wrong = checked(
              *who, data[0], 1, y0, [&] { c.callers[0](1); }, false,
              [&](void const* got) { return bench::wrong_axpy(p, got); });
        m.them.push_back(std::move(c));
      }
      finish(std::move(m));
    }
  }

  /// One call on the first set of operands, its result judged. The result's place holds what it held at first, or NaN
  /// where it must not be read.
  template <class Call, class Judge>
  static std::string checked(bench::subject const& who, bench::operand_ring const& data, std::size_t result,
                             std::vector<char> const& before, Call const& call, bool unread, Judge const& judge) {
    auto const where = who.device ? memory::device : memory::host;
    auto* const place = data.data(0, result, where);
    std::vector<char> got = before;
    if (unread) std::memset(got.data(), 0xff, got.size());  // NaN in float and double
    if (who.device)
      gpu::copy_to_device(place, got.data(), got.size());
    else
      std::memcpy(place, got.data(), got.size());
    call();
    if (who.device)
      gpu::copy_to_host(got.data(), place, got.size());
    else
      std::memcpy(got.data(), place, got.size());
    return judge(got.data());
  }

  void finish(bench::match m) {
    if (m.them.empty()) return;
    bench::measure(m.them, m.threads, o_.rounds);
    out_.add(m);
  }

  bench_arguments const& o_;
  operation op_;
  std::size_t ring_bytes_;
  bench::report out_;
};

void write_json(std::string const& path, nlohmann::json const& json) {
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void print_machine(bench::machine const& m) {
  fmt::print("processor   {}\n", m.processor);
  fmt::print("cores       {}, instruction set {}, governor {}, huge pages {}\n", m.cores, m.instruction_set, m.governor,
             m.huge_pages);
  std::string caches;
  for (auto const& c : m.caches)
    caches +=
        fmt::format("{}L{} {} KiB (processors {})", caches.empty() ? "" : ", ", c.level, c.bytes / 1024, c.shared_by);
  fmt::print("caches      {}\n", caches.empty() ? "not readable" : caches);
}

int bench_command(bench_arguments o, operation op) {
  auto const corrected = bench::correct_openblas_core();
  auto const machine = bench::this_machine();
  for (auto& threads : o.threads)
    if (threads == 0) threads = machine.cores;
  auto const problems = wanted(o, op);

  std::map<dtype, std::vector<bench::subject>> subjects;
  auto described = nlohmann::json::array();
  bool ours = false, peers = split(o.against).empty();
  for (auto const type : wanted_types(o)) {
    subjects[type] = subjects_of(o, op, type);
    for (auto const& s : subjects[type]) {
      if (!s.missing.empty())
        fmt::print(stderr, "tandem: {} is left out ({}): {}\n", s.name, to_string(type), s.missing);
      ours = ours || (s.ours && s.missing.empty());
      peers = peers || (!s.ours && !s.copies && s.missing.empty());
      auto const same = [&](auto const& d) { return d["name"] == s.name; };
      if (auto const at = std::ranges::find_if(described, same); at == described.end())
        described.push_back({{"name", s.name}, {"ours", s.ours}, {"about", s.about}, {"missing", s.missing}});
      else if (s.missing.empty())
        *at = {{"name", s.name}, {"ours", s.ours}, {"about", s.about}, {"missing", ""}};
    }
  }
  if (!ours || !peers || problems.shapes.empty()) {
    fmt::print(stderr, "tandem: nothing to measure: {}\n",
               problems.shapes.empty() ? "no shape of these types within --max-flop"
               : !ours                 ? "no kernel that is there"
                                       : "no peer that is there");
    return nothing_run;
  }

  double const clock_before = bench::clock_hz();
  auto const load_before = bench::load_average();
  run all(o, op,
          {{"tandem", version()},
           {"operation", to_string(op)},
           {"operands", o.operands},
           {"callers", o.callers},
           {"rounds", o.rounds},
           {"machine", bench::to_json(machine)},
           {"note", corrected},
           {"contenders", described},
           {"shapes_over_max_flop", problems.too_large},
           {"shapes_of_other_types", problems.other_types}},
          machine.last_level_bytes());
  bool const progress = isatty(STDERR_FILENO) != 0;
  for (std::size_t i = 0; i < problems.shapes.size(); ++i) {
    if (progress) fmt::print(stderr, "\r{}/{} shapes", i + 1, problems.shapes.size());
    all.measure(problems.shapes[i], subjects[problems.shapes[i].dtype]);
    if (!o.json.empty()) write_json(o.json, all.out().json());  // so far: a long run that is ended leaves its figures
  }
  if (progress) fmt::print(stderr, "\r\x1b[K");
  double const clock_after = bench::clock_hz();
  auto const load_after = bench::load_average();

  print_machine(machine);
  fmt::print("clock       {:.2f} GHz before, {:.2f} after; load average {} before, {} after\n", clock_before * 1e-9,
             clock_after * 1e-9, load_before, load_after);
  auto peaks = nlohmann::json::array();
  for (auto const type : wanted_types(o))
    for (int const threads : o.threads) {
      double const peak = bench::known_fma_peak(type, threads);
      fmt::print("FMA peak    {}, {} thread{}: {:.1f} GFLOP/s\n", to_string(type), threads, threads == 1 ? "" : "s",
                 peak * 1e-9);
      peaks.push_back({{"dtype", to_string(type)}, {"threads", threads}, {"flops", peak}});
    }
  for (auto const& d : described)
    if (d["missing"] == "" && d["about"] != "")
      fmt::print("{:<10}  {}\n", d["name"].get<std::string>(), d["about"].get<std::string>());
  if (!corrected.empty()) fmt::print("note        {}\n", corrected);
  if (std::atof(load_before.c_str()) > 0.5)
    fmt::print("note        others used this machine (load average {}): figures of several threads suffer most\n",
               load_before);
  fmt::print("operands    {}{}\n", o.operands, o.callers > 1 ? fmt::format(", {} callers at once", o.callers) : "");
  if (problems.too_large > 0) fmt::print("left out    {} shapes over {:g} flop\n", problems.too_large, o.max_flop);
  if (problems.other_types > 0) fmt::print("left out    {} shapes of other types\n", problems.other_types);
  fmt::print("\n{}", all.out().text());
  all.out().note("clock_hz", {clock_before, clock_after});
  all.out().note("load_average", {load_before, load_after});
  all.out().note("fma_peak", peaks);
  if (!o.json.empty()) write_json(o.json, all.out().json());
  if (all.out().empty()) return nothing_run;
  return all.out().anything_wrong() ? wrong : ok;
}

}  // namespace

action add_bench(CLI::App& app) {
  auto o = std::make_shared<bench_arguments>();
  auto what = std::make_shared<std::string>("gemm");
  app.add_option("operation", *what, "gemm or axpy")->check(CLI::IsMember({"gemm", "axpy"}))->capture_default_str();
  app.add_option("--kernels", o->kernels,
                 "what of Tandem's: the plain calls tandem (host) and tandem_gpu, or rows by name, glob or backend")
      ->capture_default_str();
  app.add_option("--against", o->against,
                 "peers by commas: " + fmt::format("{}", fmt::join(bench::peer_names(), ", ")) +
                     "; /path/lib.so[:cblas_sgemm or :sgemm_]; or as --kernels: cublas");
  app.add_option("--shapes", o->shapes, "CSV files of shapes (those of --dtype are measured)")->delimiter(',');
  app.add_flag("--every-dtype", o->every_dtype, "measure the files' shapes in each --dtype, whatever their own");
  app.add_option("--max-flop", o->max_flop, "leave out the files' larger shapes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--m", o->m, "rows of C, several by commas (default: squares of 512, 1024, 2048)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--n", o->n, "columns of C, or an axpy's length (default: as --m)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--k", o->k, "inner size (default: as --m)")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--pad", o->pad, "elements between the rows of each operand")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--dtype", o->dtypes, "f32, f64 or both by a comma")->delimiter(',')->capture_default_str();
  app.add_option("--threads", o->threads, "thread counts by commas, more than there are cores allowed; 0: all cores")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--callers", o->callers, "host threads that call at once, each on operands of its own")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--beta", o->betas, "beta of the products, several by commas")->delimiter(',')->capture_default_str();
  app.add_option("--operands", o->operands, "hot: each call on the same; rotating: on a ring larger than the caches")
      ->check(CLI::IsMember({"hot", "rotating"}))
      ->capture_default_str();
  app.add_option("--lines", o->lines, "a printed line a contender or a shape")
      ->check(CLI::IsMember({"contender", "shape"}))
      ->capture_default_str();
  app.add_option("--rounds", o->rounds, "measured rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--json", o->json, "write the figures there");
  return [o, what] { return bench_command(*o, *what == "gemm" ? operation::gemm : operation::axpy); };
}

}  // namespace tandem::tools
