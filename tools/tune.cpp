// tandem tune: measures the GPU's kernels on this card.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"
#include "tools/commands.hpp"
#include "tools/table.hpp"
#include "tools/tune/device_clock.hpp"
#include "tools/tune/fit.hpp"
#include "tools/tune/measurements.hpp"
#include "tools/tune/sweep.hpp"

namespace tandem::tools {
namespace {

struct tune_arguments {
  std::string measure, fit;
  std::vector<std::string> shapes;
  bool check = false, table = false;
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
    tune::device_clock clock(shapes.front().p.dtype, shapes);
    tune::stopwatch const time = [&](kernel const& row, tune::shape const& s, int calls) {
      return clock(row, s, calls);
    };
    for (std::size_t i = 0; i < shapes.size() && complete; ++i) {
      into.all.push_back({shapes[i], tune::sweep(shapes[i], rows_, time)});
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

void judge(tune::measurements const& m, std::vector<tune::fitted_row> const& models) {
  for (auto const* set : {"calibration", "held_out", "file"})
    for (auto const type : types) print_choices(set, type, tune::choices(m, set, type, fitted_rows(), models));
}

int fit(tune_arguments const& o) {
  auto const m = tune::read_measurements(o.fit);
  auto const models = tune::fit(m, fitted_rows());
  print_models(models);
  judge(m, models);
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

int tune_card(tune_arguments const& o) {
  if (!o.fit.empty()) return fit(o);
  if (auto const why = gpu::unavailable(); !why.empty()) {
    fmt::print(stderr, "tandem tune: gpu: {}\n", why);
    return backend_missing;
  }
  return measure(o);
}

}  // namespace

action add_tune(CLI::App& app) {
  auto const o = std::make_shared<tune_arguments>();
  app.add_option("--measure", o->measure, "time every GPU kernel on many shapes and write this file (JSON)");
  app.add_option("--shapes", o->shapes, "the shapes of these files instead")->delimiter(',');
  app.add_option("--fit", o->fit, "no GPU needed: fit the models to such a file and judge them");
  app.add_option("--held-out", o->held_out, "so many random shapes of each type besides those for the model")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "stop measuring after so long")->capture_default_str();
  return [o] { return tune_card(*o); };
}

}  // namespace tandem::tools
