// tandem bench: Tandem's calls and their peers measured in one run, their calls interleaved A B A B, beside what the
// machine can do.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <tandem/harness/shapes.hpp>
#include <tandem/tandem.hpp>

#include "tools/bench/bandwidth.hpp"
#include "tools/bench/contender.hpp"
#include "tools/bench/device.hpp"
#include "tools/bench/gpu_monitor.hpp"
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
  std::string kernels = "tandem", against, operands, lines = "contender", json;
  std::vector<std::string> shapes, dtypes{"f32"};
  std::vector<std::int64_t> m, n, k;
  std::vector<int> threads{0};
  std::vector<double> betas{0};
  std::int64_t pad = 0;
  double max_flop = 0, max_seconds = 1;
  int rounds = 7, callers = 1;
  bool every_dtype = false, enqueue = false, power = false, once = false;

  /// Host operands stay hot, as a caller's mostly are; the device's are cold, unless it is said otherwise.
  std::string operands_in(memory where) const {
    return !operands.empty() ? operands : where == memory::host ? "hot" : "rotating";
  }
};

// Of the larger shapes in files: a second and more on a processor, less on a device.
constexpr double most_flop_on_host = 2e10, most_flop_on_device = 1e13;

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
  if (op == operation::axpy) {
    auto const any = [&](memory where) {
      return std::ranges::any_of(all, [&](auto const& s) { return s.missing.empty() && s.where() == where; });
    };
    bool const host = any(memory::host), device = any(memory::device);
    if (host) all.push_back(bench::plain_copy());
    if (device) {
      all.push_back(bench::device_copy());
      all.push_back(bench::device_copy_kernel());
    }
  }
  return all;
}

/// The operands of one match in one memory, and what a result is judged by there. The last operand is the result's.
class side {
 public:
  side(memory where, std::vector<std::int64_t> const& counts, dtype type, std::size_t cache, int callers)
      : where_(where), space_(where == memory::host ? bench::host_space() : bench::device_space()) {
    auto const sets = [&](std::size_t stride) {
      // On the device, what is left is for copies of results and the kernels' workspaces.
      auto const memory_bytes =
          where == memory::host ? std::numeric_limits<std::size_t>::max() : bench::free_device_memory() / 2;
      return bench::sets_over(cache, stride, memory_bytes);
    };
    for (int caller = 0; caller < callers; ++caller) rings.emplace_back(counts, type, where, sets);
    result_ = rings[0].data(0, counts.size() - 1);
    bytes_ = static_cast<std::size_t>(counts.back()) * size_of(type);
    before_ = space_.keep(result_, bytes_);
  }

  bench::check_space const& space() const noexcept { return space_; }
  void const* operand(std::size_t i) const { return rings[0].data(0, i); }
  void* before() const noexcept { return const_cast<void*>(before_.get()); }  ///< what the result held at first

  /// One call on the first set of operands, its result judged. The result's place holds what it held at first, or NaN
  /// where it must not be read.
  template <class Judge>
  std::string checked(bench::contender const& c, bool unread, Judge const& judge) {
    if (where_ == memory::host)
      unread ? std::memset(result_, 0xff, bytes_) : std::memcpy(result_, before_.get(), bytes_);
    else
      unread ? bench::set_on_device(result_, 0xff, bytes_) : bench::copy_on_device(result_, before_.get(), bytes_);
    rings[0].next = 0;
    try {
      c.callers[0](1);
      if (where_ == memory::device) gpu::synchronize();
    } catch (error const& e) {
      return std::string("the call failed: ") + e.what();
    }
    return judge(static_cast<void const*>(result_));
  }

  std::vector<bench::operand_ring> rings;  ///< one a caller

 private:
  memory where_;
  bench::check_space const& space_;
  void* result_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<void const> before_;
};

/// One run of the command: subjects, operands and the report that grows.
class run {
 public:
  run(bench_arguments const& o, operation op, nlohmann::json head, std::size_t last_level_bytes,
      bench::gpu_monitor const* monitor)
      : o_(o),
        op_(op),
        last_level_bytes_(last_level_bytes),
        monitor_(monitor),
        out_(o.lines == "shape" ? bench::report::lines::match : bench::report::lines::contender, std::move(head)) {}

  void measure(harness::shape const& s, std::vector<bench::subject> const& subjects) {
    if (op_ == operation::gemm)
      for (auto const beta : o_.betas) measure_gemm(s, beta, subjects);
    else
      measure_axpy(s, subjects);
  }

  bench::report& out() { return out_; }
  nlohmann::json const& launches() const { return launches_; }

 private:
  using sides = std::map<memory, side>;

  std::size_t cache(memory where) const {
    if (o_.operands_in(where) == "hot") return 0;
    return where == memory::host ? last_level_bytes_ : bench::this_device().l2_bytes;
  }

  /// In each memory that a subject needs.
  sides operands(std::vector<std::int64_t> const& counts, dtype type,
                 std::vector<bench::subject> const& subjects) const {
    sides all;
    for (auto const& s : subjects)
      if (auto const where = s.where(); s.missing.empty() && !all.contains(where))
        all.try_emplace(where, where, counts, type, cache(where), s.device ? 1 : o_.callers);
    return all;
  }

  /// The subjects that take part on so many threads, by `why_not`; what is left out is noted. Those on the device have
  /// no threads: they take part once.
  template <class WhyNot>
  std::vector<bench::subject const*> takers(std::vector<bench::subject> const& subjects, int threads,
                                            WhyNot const& why_not) {
    std::vector<bench::subject const*> all;
    for (auto const& s : subjects) {
      if (!s.missing.empty() || (s.device && threads != o_.threads.front())) continue;
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
    auto data = operands({height_a * p.lda, height_b * p.ldb, s.m * p.ldc}, s.dtype, subjects);
    auto const why_not = [&](bench::subject const& x) {
      return !x.bind ? "it has no gemm" : x.refuses ? x.refuses(p) : std::string();
    };
    if (o_.once) {
      for (auto const* who : takers(subjects, o_.threads.front(), why_not)) call_once(*who, p, data.at(who->where()));
      return;
    }
    std::map<memory, bench::product_check> checks;
    for (auto const& [where, side] : data) {
      p.a = side.operand(0), p.b = side.operand(1), p.c = side.before();
      checks.try_emplace(where, p, side.space());
    }
    for (int const threads : o_.threads) {
      auto const taking = takers(subjects, threads, why_not);
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
                     .set = std::filesystem::path(s.where.substr(0, s.where.rfind(':'))).filename().string()};
      set_limits(m, data, taking,
                 [&](double peak, bench::byte_rates const& rates) { return bench::gemm_limit(p, peak, rates); });
      for (auto const* who : taking) {
        auto& side = data.at(who->where());
        auto c = bench::gemm_contender(*who, p, threads, side.rings);
        if (who->set_threads) who->set_threads(threads);
        c.wrong =
            side.checked(c, beta == 0, [&](void const* got) { return checks.at(who->where()).wrong(got, who->name); });
        m.them.push_back(std::move(c));
      }
      finish(std::move(m));
    }
  }

  void measure_axpy(harness::shape const& s, std::vector<bench::subject> const& subjects) {
    auto data = operands({s.n, s.n}, s.dtype, subjects);
    // A small alpha keeps y finite over any number of calls.
    axpy_problem p{.dtype = s.dtype, .n = s.n, .alpha = 1e-6};
    p.alpha = s.dtype == dtype::f32 ? static_cast<double>(static_cast<float>(p.alpha)) : p.alpha;
    for (int const threads : o_.threads) {
      auto const taking =
          takers(subjects, threads, [](auto const& x) { return std::string(x.bind_axpy ? "" : "it has no axpy"); });
      bench::match m{.operation = operation::axpy, .dtype = s.dtype, .n = s.n, .threads = threads};
      set_limits(m, data, taking,
                 [&](double peak, bench::byte_rates const& rates) { return bench::axpy_limit(p, peak, rates); });
      for (auto const* who : taking) {
        auto& side = data.at(who->where());
        auto c = bench::axpy_contender(*who, p, threads, side.rings);
        if (who->set_threads) who->set_threads(threads);
        auto judged = p;
        judged.x = side.operand(0), judged.y = side.before();
        if (!who->copies)
          c.wrong =
              side.checked(c, false, [&](void const* got) { return bench::wrong_axpy(judged, got, side.space()); });
        m.them.push_back(std::move(c));
      }
      finish(std::move(m));
    }
  }

  /// What host and device can do at the operands' size, as far as somebody takes part there.
  template <class Limit>
  static void set_limits(bench::match& m, sides const& data, std::vector<bench::subject const*> const& taking,
                         Limit const& limit) {
    auto const any = [&](memory where) {
      return std::ranges::any_of(taking, [&](auto const* s) { return s->where() == where; });
    };
    if (any(memory::host)) {
      m.loops = bench::measured_bytes(data.at(memory::host).rings[0].bytes(), m.threads);
      m.bound = limit(bench::known_fma_peak(m.dtype, m.threads), m.loops);
    }
    if (any(memory::device)) {
      m.device_loops = bench::device_bytes(data.at(memory::device).rings[0].bytes());
      m.device_bound = limit(bench::device_fma_peak(m.dtype), m.device_loops);
    }
  }

  /// For a profiler: a marker and the call.
  void call_once(bench::subject const& who, problem const& p, side& side) {
    auto const c = bench::gemm_contender(who, p, 1, side.rings);
    auto const index = static_cast<int>(launches_.size()) + 1;
    bench::mark_launches(index);
    c.callers[0](1);
    gpu::synchronize();
    launches_.push_back(
        {{"marker", index}, {"kernel", who.name}, {"dtype", to_string(p.dtype)}, {"m", p.m}, {"n", p.n}, {"k", p.k}});
  }

  void finish(bench::match m) {
    if (m.them.empty()) return;
    std::vector<bench::contender*> on_host, on_device;
    for (auto& c : m.them)
      if (c.wrong.empty()) (c.who->device ? on_device : on_host).push_back(&c);
    if (!on_host.empty()) bench::measure_on_host(on_host, m.threads, o_.rounds);
    bench::measure_on_device(on_device, {.rounds = o_.rounds, .max_seconds = o_.max_seconds});
    if (o_.enqueue && !on_device.empty()) bench::measure_enqueue(on_device);
    constexpr double power_seconds = 1.5;  // the counter moves some ten times a second
    if (monitor_ != nullptr)
      for (auto* c : on_device) c->power = bench::measure_power(*c, *monitor_, power_seconds);
    out_.add(m);
  }

  bench_arguments const& o_;
  operation op_;
  std::size_t last_level_bytes_;
  bench::gpu_monitor const* monitor_;  ///< where power is wanted
  nlohmann::json launches_ = nlohmann::json::array();
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

/// The device, as NVML and the runtime tell of it.
class watched_device {
 public:
  watched_device() : monitor(bench::this_device().pci_bus) {
    if (monitor.missing().empty()) before_ = monitor.read();
  }

  /// Reads clocks and power again. To be called while the device is still warm.
  void print(nlohmann::json& json) {
    auto const& device = bench::this_device();
    fmt::print("device      {}; {} multiprocessors, L2 {} MiB, memory {} MiB\n", device.name, device.multiprocessors,
               device.l2_bytes >> 20, device.memory_bytes >> 20);
    json = {{"name", device.name},
            {"multiprocessors", device.multiprocessors},
            {"l2_bytes", device.l2_bytes},
            {"memory_bytes", device.memory_bytes}};
    if (!monitor.missing().empty()) {
      fmt::print("note        the device's clocks and power are not known: {}\n", monitor.missing());
      json["no_monitor"] = monitor.missing();
      return;
    }
    auto const text = [](bench::gpu_reading const& r) {
      return fmt::format("SM {} MHz, memory {} MHz, {:.0f} W", r.sm_mhz, r.memory_mhz, r.watts);
    };
    fmt::print("GPU clock   {} before; {} after; SM at most {} MHz, power limit {:.0f} W; driver {}\n", text(before_),
               text(after), monitor.most_sm_mhz(), monitor.power_limit(), monitor.driver());
    json["driver"] = monitor.driver();
    json["most_sm_mhz"] = monitor.most_sm_mhz();
    json["power_limit_watts"] = monitor.power_limit();
    json["sm_mhz"] = {before_.sm_mhz, after.sm_mhz};
    json["memory_mhz"] = {before_.memory_mhz, after.memory_mhz};
    json["watts"] = {before_.watts, after.watts};
  }

  bench::gpu_monitor monitor;
  bench::gpu_reading after = {};  ///< as the last measurement ended

 private:
  bench::gpu_reading before_ = {};
};

std::string operands_text(bench_arguments const& o, bool host, bool device) {
  std::string text;
  if (host) text = fmt::format("{}{}", o.operands_in(memory::host), device ? " (host)" : "");
  if (device) {
    bool const hot = o.operands_in(memory::device) == "hot";
    text += fmt::format("{}{}{}", host ? ", " : "", o.operands_in(memory::device), host ? " (device)" : "");
    text += hot ? ": each call on the same set"
                : fmt::format(": each call on another set, with at least {} MiB (twice the L2 cache) between two uses",
                              2 * bench::this_device().l2_bytes >> 20);
  }
  return text + (o.callers > 1 ? fmt::format(", {} callers at once", o.callers) : "");
}

void print_peaks(bench_arguments const& o, bool host, bool device, nlohmann::json& peaks) {
  peaks = nlohmann::json::array();
  for (auto const type : wanted_types(o)) {
    for (int const threads : host ? o.threads : std::vector<int>()) {
      double const peak = bench::known_fma_peak(type, threads);
      fmt::print("FMA peak    {}, {} thread{}: {:.1f} GFLOP/s\n", to_string(type), threads, threads == 1 ? "" : "s",
                 peak * 1e-9);
      peaks.push_back({{"memory", "host"}, {"dtype", to_string(type)}, {"threads", threads}, {"flops", peak}});
    }
    if (!device) continue;
    double const peak = bench::device_fma_peak(type);
    fmt::print("FMA peak    {}, device, without tensor cores: {:.1f} GFLOP/s\n", to_string(type), peak * 1e-9);
    peaks.push_back({{"memory", "device"}, {"dtype", to_string(type)}, {"threads", 0}, {"flops", peak}});
  }
}

int bench_command(bench_arguments o, operation op) {
  auto const corrected = bench::correct_openblas_core();
  auto const machine = bench::this_machine();
  for (auto& threads : o.threads)
    if (threads == 0) threads = machine.cores;

  std::map<dtype, std::vector<bench::subject>> subjects;
  auto described = nlohmann::json::array();
  bool ours = false, peers = split(o.against).empty(), host = false, device = false;
  for (auto const type : wanted_types(o)) {
    subjects[type] = subjects_of(o, op, type);
    for (auto const& s : subjects[type]) {
      if (!s.missing.empty())
        fmt::print(stderr, "tandem: {} is left out ({}): {}\n", s.name, to_string(type), s.missing);
      ours = ours || (s.ours && s.missing.empty());
      peers = peers || (!s.ours && !s.copies && s.missing.empty());
      host = host || (!s.device && s.missing.empty());
      device = device || (s.device && s.missing.empty());
      auto const same = [&](auto const& d) { return d["name"] == s.name; };
      if (auto const at = std::ranges::find_if(described, same); at == described.end())
        described.push_back({{"name", s.name}, {"ours", s.ours}, {"about", s.about}, {"missing", s.missing}});
      else if (s.missing.empty())
        *at = {{"name", s.name}, {"ours", s.ours}, {"about", s.about}, {"missing", ""}};
    }
  }
  if (!host) o.threads = {1};  // the device has no number of threads
  if (o.max_flop == 0) o.max_flop = host ? most_flop_on_host : most_flop_on_device;
  auto const problems = wanted(o, op);
  if (!ours || !peers || problems.shapes.empty()) {
    fmt::print(stderr, "tandem: nothing to measure: {}\n",
               problems.shapes.empty() ? "no shape of these types within --max-flop"
               : !ours                 ? "no kernel that is there"
                                       : "no peer that is there");
    return nothing_run;
  }
  if (o.once && (host || op != operation::gemm))
    throw std::invalid_argument("--once: for a profiler of the device, so it takes gemm's device kernels only");
  if (o.enqueue && !device)
    throw std::invalid_argument("--enqueue: a device kernel's calls are enqueued, and none takes part");

  std::optional<watched_device> watched;
  if (device) watched.emplace();
  std::string no_power;
  if (o.power)
    no_power = !watched                              ? "no device takes part"
               : !watched->monitor.missing().empty() ? watched->monitor.missing()
               : !watched->monitor.joules()          ? "the device does not tell its energy"
                                                     : "";
  bool const power = o.power && no_power.empty();
  double const clock_before = bench::clock_hz();
  auto const load_before = bench::load_average();
  run all(o, op,
          {{"tandem", version()},
           {"operation", to_string(op)},
           {"operands", o.operands_in(host ? memory::host : memory::device)},
           {"device_operands", device ? o.operands_in(memory::device) : ""},
           {"callers", o.callers},
           {"rounds", o.rounds},
           {"max_flop", o.max_flop},
           {"enqueue", o.enqueue},
           {"power", power},
           {"machine", bench::to_json(machine)},
           {"note", corrected},
           {"contenders", described},
           {"shapes_over_max_flop", problems.too_large},
           {"shapes_of_other_types", problems.other_types}},
          machine.last_level_bytes(), power ? &watched->monitor : nullptr);
  bool const progress = isatty(STDERR_FILENO) != 0;
  for (std::size_t i = 0; i < problems.shapes.size(); ++i) {
    if (progress) fmt::print(stderr, "\r{}/{} shapes", i + 1, problems.shapes.size());
    all.measure(problems.shapes[i], subjects[problems.shapes[i].dtype]);
    if (!o.json.empty() && !o.once)
      write_json(o.json, all.out().json());  // a long run that is ended leaves its figures
  }
  if (progress) fmt::print(stderr, "\r\x1b[K");
  if (o.once) {
    for (auto const& launch : all.launches())
      fmt::print("{} {} {}x{}x{}\n", launch["marker"].get<int>(), launch["kernel"].get<std::string>(),
                 launch["m"].get<std::int64_t>(), launch["n"].get<std::int64_t>(), launch["k"].get<std::int64_t>());
    if (!o.json.empty()) write_json(o.json, all.launches());
    return all.launches().empty() ? nothing_run : ok;
  }
  if (watched && watched->monitor.missing().empty()) watched->after = watched->monitor.read();
  double const clock_after = bench::clock_hz();
  auto const load_after = bench::load_average();

  nlohmann::json on_device, peaks;
  print_machine(machine);
  if (watched) watched->print(on_device);
  fmt::print("clock       {:.2f} GHz before, {:.2f} after; load average {} before, {} after\n", clock_before * 1e-9,
             clock_after * 1e-9, load_before, load_after);
  print_peaks(o, host, device, peaks);
  for (auto const& d : described)
    if (d["missing"] == "" && d["about"] != "")
      fmt::print("{:<10}  {}\n", d["name"].get<std::string>(), d["about"].get<std::string>());
  if (!corrected.empty()) fmt::print("note        {}\n", corrected);
  if (host && std::atof(load_before.c_str()) > 0.5)
    fmt::print("note        others used this machine (load average {}): figures of several threads suffer most\n",
               load_before);
  if (!no_power.empty()) fmt::print("note        no power is measured: {}\n", no_power);
  fmt::print("operands    {}\n", operands_text(o, host, device));
  if (problems.too_large > 0) fmt::print("left out    {} shapes over {:g} flop\n", problems.too_large, o.max_flop);
  if (problems.other_types > 0) fmt::print("left out    {} shapes of other types\n", problems.other_types);
  fmt::print("\n{}", all.out().text());
  all.out().note("clock_hz", {clock_before, clock_after});
  all.out().note("load_average", {load_before, load_after});
  all.out().note("fma_peak", peaks);
  if (device) all.out().note("device", on_device);
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
  app.add_option("--max-flop", o->max_flop,
                 fmt::format("leave out the files' larger shapes (default: {:g}; {:g} where only device kernels run)",
                             most_flop_on_host, most_flop_on_device))
      ->check(CLI::PositiveNumber);
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
  app.add_option("--operands", o->operands,
                 "hot: each call on the same; rotating: on a ring larger than the caches (default: hot on the host, "
                 "rotating on the device)")
      ->check(CLI::IsMember({"hot", "rotating"}));
  app.add_option("--lines", o->lines, "a printed line a contender or a shape")
      ->check(CLI::IsMember({"contender", "shape"}))
      ->capture_default_str();
  app.add_option("--rounds", o->rounds, "measured rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--max-seconds", o->max_seconds, "of timed calls a device contender and shape")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--enqueue", o->enqueue,
               "also time what the host takes to enqueue a call on the device, beside a launch of an empty kernel");
  app.add_flag("--power", o->power, "also run each device contender for 1.5 s without a pause, for its watts");
  app.add_flag("--once", o->once, "call each device kernel once behind a marker, for a profiler; no times");
  app.add_option("--json", o->json, "write the figures there");
  return [o, what] { return bench_command(*o, *what == "gemm" ? operation::gemm : operation::axpy); };
}

}  // namespace tandem::tools
