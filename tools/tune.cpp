// tandem tune: measures the GPU's kernels on this card, fits the models by which dispatch chooses, and judges them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"
#include "gpu/tuning.hpp"
#include "tools/commands.hpp"
#include "tools/table.hpp"
#include "tools/tune/device_clock.hpp"
#include "tools/tune/fit.hpp"
#include "tools/tune/measurements.hpp"
#include "tools/tune/sweep.hpp"

namespace tandem::tools {
namespace {

struct tune_arguments {
  std::string measure, table;
  std::vector<std::string> fit;
  std::vector<std::string> shapes;
  bool check = false;
  int held_out = 200;
  double seconds = 600;
};

/// The rows that are timed: the GPU's, and cuBLAS for information where it is there.
std::vector<kernel const*> measured_rows() {
  std::vector<kernel const*> rows;
  auto const infos = kernels();
  auto const& table = kernel_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (infos[i].available && table[i].operation() == operation::gemm &&
        (table[i].backend == backend::gpu || table[i].backend == backend::cublas))
      rows.push_back(&table[i]);
  return rows;
}

std::vector<gpu::gemm_row const*> fitted_rows() {
  std::vector<gpu::gemm_row const*> rows;
  auto const& table = gpu::device_rows();
  for (int i = 0; i < table.gemm_count; ++i) rows.push_back(&table.gemm[i]);
  return rows;
}

constexpr dtype types[] = {dtype::f32, dtype::f64};

/// Measures in stages, until the time is up.
class stopwatch_run {
 public:
  explicit stopwatch_run(tune_arguments const& o) : options_(o) {
    into.device = gpu::device_name();
    into.multiprocessors = gpu::multiprocessors();
    into.library = version();
  }

  void measure(std::vector<tune::shape> const& shapes) {
    if (shapes.empty() || !complete) return;
    auto const sweep = [&](tune::shape const& s) {
      tune::device_clock clock(s);
      return tune::sweep(s, rows_, clock);
    };
    // Not kept: a device's clock rises only when it has work. The row that was timed first took five times its time.
    if (into.all.empty()) sweep(shapes.front());
    for (std::size_t i = 0; i < shapes.size() && complete; ++i) {
      into.all.push_back({shapes[i], sweep(shapes[i])});
      if (terminal_)
        fmt::print(stderr, "\r{} {}: {} of {} shapes, {:.0f} s ", shapes[i].set, to_string(shapes[i].p.dtype), i + 1,
                   shapes.size(), elapsed());
      if (i % 25 == 24) save();
      complete = elapsed() < options_.seconds;
    }
    if (terminal_) fmt::print(stderr, "\n");
    save();
  }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  tune::measurements into;
  bool complete = true;

 private:
  void save() const {
    if (!options_.measure.empty()) tune::write_measurements(into, options_.measure);
  }

  tune_arguments const& options_;
  std::vector<kernel const*> rows_ = measured_rows();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

void print_models(std::vector<tune::fitted_row> const& models) {
  std::vector<std::vector<std::string>> lines{{"row", "shapes", "error", "90 %"}};
  for (auto const& p : gpu::parameters()) lines.front().push_back(p.name);
  for (auto const& f : models) {
    lines.push_back({f.name, std::to_string(f.shapes), fmt::format("{:.1f} %", 100 * f.median_error),
                     fmt::format("{:.1f} %", 100 * f.large_error)});
    for (auto const& p : gpu::parameters()) lines.back().push_back(fmt::format("{:.3g}", f.model.*p.member));
  }
  fmt::print("{}", text_table(lines));
}

std::string describe(tune::shape const& s) {
  auto const& p = s.p;
  return fmt::format("{}x{}x{} {}{} ld {},{},{} offset {},{},{}", p.m, p.n, p.k, p.trans_a ? 't' : 'n',
                     p.trans_b ? 't' : 'n', p.lda, p.ldb, p.ldc, s.offsets.a, s.offsets.b, s.offsets.c);
}

void print_choices(char const* set, dtype type, std::vector<tune::choice> all) {
  if (all.empty()) return;
  fmt::print("\n{} {}: {} shapes, {:.1f} % within 5 % of the best row, {:.1f} % within 10 %; 90th percentile {:.3f}\n",
             set, to_string(type), all.size(), 100 * tune::share_within(all, 1.05), 100 * tune::share_within(all, 1.1),
             tune::percentile(all, 0.9));
  std::ranges::sort(all, std::greater<>(), &tune::choice::ratio);
  if (all.size() > 12) all.resize(12);
  for (auto const& c : all)
    fmt::print("  {:.2f}  {}: {} {:.1f} us, {} {:.1f} us\n", c.ratio(), describe(c.of->shape), c.pick,
               c.pick_microseconds, c.best, c.best_microseconds);
}

/// False where the set is there and fewer than nine in ten of its choices are within 5 % of the best.
bool judge(tune::measurements const& m, char const* set, std::vector<tune::rated_row> const& rows) {
  bool good = true;
  for (auto const type : types) {
    auto const all = tune::choices(m, set, type, rows);
    print_choices(set, type, all);
    good = good && tune::share_within(all, 1.05) >= 0.9;
  }
  return good;
}

/// gpu/built_in_models.cpp.
void write_table(std::vector<tune::fitted_row> const& models, std::string const& device, std::string const& path) {
  std::ofstream file(path);
  file
      << R"(// The rows' models that the library brings, written by `tandem tune --fit FILES --table THIS`. In the order of
// row_model's members.
#include "gpu/model.hpp"

namespace tandem::gpu {
namespace {

struct entry {
  std::string_view row;
  row_model model;
};

// clang-format off
constexpr entry all[] = {
)";
  for (auto const& f : models) {
    std::string numbers;
    for (auto const& p : gpu::parameters())
      numbers += fmt::format("{}{:.4g}", numbers.empty() ? "" : ", ", f.model.*p.member);
    file << fmt::format("    {{\"{}\", {{{}}}}},\n", f.name, numbers);
  }
  file << fmt::format(R"(}};
// clang-format on

}}  // namespace

row_model const* built_in_model(std::string_view row) {{
  for (auto const& e : all)
    if (e.row == row) return &e.model;
  return nullptr;
}}

std::string_view built_in_device() {{ return "{}"; }}

}}  // namespace tandem::gpu
)",
                      device.substr(0, device.find(',')));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

int fit(tune_arguments const& o) {
  auto m = tune::read_measurements(o.fit.front());
  for (auto const& file : std::span(o.fit).subspan(1)) {
    auto more = tune::read_measurements(file);
    if (more.device != m.device || more.multiprocessors != m.multiprocessors || more.library != m.library)
      throw std::runtime_error(
          fmt::format("{}: of {} with {} multiprocessors and Tandem {}; {} is of {} with {} and {}", file, more.device,
                      more.multiprocessors, more.library, o.fit.front(), m.device, m.multiprocessors, m.library));
    std::ranges::move(more.all, std::back_inserter(m.all));
  }
  auto const models = tune::fit(m, fitted_rows());
  print_models(models);
  auto const rows = tune::rated(fitted_rows(), models, m.multiprocessors);
  for (auto const* set : {"calibration", "held_out", "file"}) judge(m, set, rows);
  if (!o.table.empty()) write_table(models, m.device, o.table);
  return ok;
}

/// What dispatch believes now.
std::vector<tune::rated_row> present_rows() {
  std::vector<tune::rated_row> rows;
  for (auto const& row : kernel_table())
    if (row.backend == backend::gpu && row.cost) rows.push_back({row.name, row.cost});
  return rows;
}

int check(tune_arguments const& o) {
  stopwatch_run run(o);
  for (auto const type : types) run.measure(tune::held_out_shapes(type, o.held_out));
  fmt::print("{} shapes in {:.0f} s; models: {}\n", run.into.all.size(), run.elapsed(), tuning().models);
  return judge(run.into, "held_out", present_rows()) ? ok : wrong;
}

/// Measures, fits, and leaves the file that the library reads.
int tune_device(tune_arguments const& o) {
  auto const path = gpu::tuning_path([](char const* name) -> char const* { return std::getenv(name); });
  if (path.empty())
    throw std::runtime_error("no place for the tuning file: TANDEM_TUNING, XDG_CACHE_HOME and HOME are not set");
  stopwatch_run run(o);
  for (auto const type : types) run.measure(tune::calibration_shapes(type));
  auto const models = tune::fit(run.into, fitted_rows());
  judge(run.into, "calibration", tune::rated(fitted_rows(), models, run.into.multiprocessors));
  if (!run.complete) {
    fmt::print(stderr, "tandem tune: --seconds {} were not enough for all shapes; nothing is written\n", o.seconds);
    return wrong;
  }
  gpu::row_models by_name;
  for (auto const& f : models) by_name[f.name] = f.model;
  gpu::write_tuning(path, gpu::this_key(), by_name);
  fmt::print("\n{} shapes in {:.0f} s, models of {} rows: {}\n", run.into.all.size(), run.elapsed(), models.size(),
             path);
  return ok;
}

int measure(tune_arguments const& o) {
  stopwatch_run run(o);
  if (o.shapes.empty()) {
    for (auto const type : types) run.measure(tune::calibration_shapes(type));
    for (auto const type : types) run.measure(tune::held_out_shapes(type, o.held_out));
  } else {
    for (auto const type : types) run.measure(tune::read_shapes(o.shapes, type));
  }
  fmt::print("{} shapes in {:.0f} s{}: {}\n", run.into.all.size(), run.elapsed(),
             run.complete ? "" : " (--seconds: not all of them)", o.measure);
  return ok;
}

int tune_command(tune_arguments const& o) {
  if (!o.fit.empty()) return fit(o);
  if (auto const why = gpu::unavailable(); !why.empty()) {
    fmt::print(stderr, "tandem tune: gpu: {}\n", why);
    return backend_missing;
  }
  return o.check ? check(o) : o.measure.empty() ? tune_device(o) : measure(o);
}

}  // namespace

action add_tune(CLI::App& app) {
  auto const o = std::make_shared<tune_arguments>();
  auto* const measure =
      app.add_option("--measure", o->measure, "only time every GPU kernel on all shapes, and write this file (JSON)");
  app.add_option("--shapes", o->shapes, "the shapes of these files instead")->delimiter(',')->needs(measure);
  auto* const fit = app.add_option("--fit", o->fit, "only fit the models to such files and judge them; needs no GPU")
                        ->delimiter(',')
                        ->excludes(measure);
  app.add_option("--table", o->table, "write the models there, as gpu/built_in_models.cpp has them")->needs(fit);
  app.add_flag("--check", o->check, "only judge the present choice, on shapes that no model was fitted to")
      ->excludes(fit)
      ->excludes(measure);
  app.add_option("--held-out", o->held_out, "so many such shapes of each type")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "stop measuring after so long")->capture_default_str();
  return [o] { return tune_command(*o); };
}

}  // namespace tandem::tools
