// tandem tune: measures the GPU's kernels on this card.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <tandem/tandem.hpp>

#include "gpu/runtime/device.hpp"
#include "tools/commands.hpp"
#include "tools/tune/device_clock.hpp"
#include "tools/tune/measurements.hpp"
#include "tools/tune/sweep.hpp"

namespace tandem::tools {
namespace {

struct tune_arguments {
  std::string measure;
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

std::string gpu_missing() {
  for (auto const& b : backends())
    if (b.backend == backend::gpu) return b.reason;
  return "no such backend";
}

std::string device_text() {
  for (auto const& b : backends())
    if (b.backend == backend::gpu) return b.version;
  return {};
}

class stage {
 public:
  explicit stage(tune_arguments const& o) : options_(o) {}

  /// False when the time is up.
  bool measure(std::vector<tune::shape> const& shapes, tune::measurements& into) {
    if (shapes.empty()) return true;
    tune::device_clock clock(shapes.front().p.dtype, shapes);
    tune::stopwatch const time = [&](kernel const& row, tune::shape const& s, int calls) {
      return clock(row, s, calls);
    };
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (elapsed() > options_.seconds) return false;
      into.all.push_back({shapes[i], tune::sweep(shapes[i], rows_, time)});
      if (terminal_)
        fmt::print(stderr, "\r{} {}: {} of {} shapes, {:.0f} s ", shapes[i].set, to_string(shapes[i].p.dtype), i + 1,
                   shapes.size(), elapsed());
      if (i % 25 == 24) tune::write_measurements(into, options_.measure);
    }
    if (terminal_) fmt::print(stderr, "\n");
    tune::write_measurements(into, options_.measure);
    return true;
  }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  tune_arguments const& options_;
  std::vector<kernel const*> rows_ = measured_rows();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

int measure(tune_arguments const& o) {
  if (auto const why = gpu_missing(); !why.empty()) {
    fmt::print(stderr, "tandem tune: gpu: {}\n", why);
    return backend_missing;
  }
  tune::measurements m{device_text(), gpu::multiprocessors(), std::string(version()), {}};
  stage all(o);
  bool complete = true;
  for (auto const type : {dtype::f32, dtype::f64})
    complete = complete && all.measure(tune::calibration_shapes(type), m);
  for (auto const type : {dtype::f32, dtype::f64})
    complete = complete && all.measure(tune::held_out_shapes(type, o.held_out), m);
  tune::write_measurements(m, o.measure);
  fmt::print("{} shapes in {:.0f} s{}: {}\n", m.all.size(), all.elapsed(),
             complete ? "" : " (--seconds: not all of them)", o.measure);
  return ok;
}

}  // namespace

action add_tune(CLI::App& app) {
  auto const o = std::make_shared<tune_arguments>();
  app.add_option("--measure", o->measure, "time every GPU kernel on many shapes and write this file (JSON)")
      ->required();
  app.add_option("--held-out", o->held_out, "so many random shapes of each type besides those for the model")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "stop measuring after so long")->capture_default_str();
  return [o] { return measure(*o); };
}

}  // namespace tandem::tools
