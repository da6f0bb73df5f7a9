// Climbs the ladder: one rung after the other, each with its own report.
#include <tandem/harness/judge.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "harness/context.hpp"
#include "harness/diagnose.hpp"
#include "harness/rungs/budget.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

template <element T>
struct step {
  harness::rung rung;
  void (*climb)(context<T>&);
};

// L7 before L2, whose sizes follow the K-blocks that it finds.
template <element T>
constexpr std::array<step<T>, rungs> steps{{{rung::interface, climb_interface<T>},
                                            {rung::memory, climb_memory<T>},
                                            {rung::accumulation, climb_accumulation<T>},
                                            {rung::exact, climb_exact<T>},
                                            {rung::precision, climb_precision<T>},
                                            {rung::error, climb_error<T>},
                                            {rung::grade, climb_grade<T>},
                                            {rung::special_values, climb_special_values<T>},
                                            {rung::determinism, climb_determinism<T>},
                                            {rung::scale, climb_scale<T>}}};

bool asked_for(judge_options const& options, rung r) {
  return options.only.empty() || std::ranges::find(options.only, r) != options.only.end();
}

template <element T>
void climb(candidate const& asked, judge_options const& options, judgement& out) {
  auto kernel = asked;  // which the context sees, and whose budget may yet change
  context<T> x(kernel, options);
  out.unavailable = x.open();
  if (!out.unavailable.empty()) return;
  for (auto const& s : steps<T>) {
    if (!asked_for(options, s.rung)) continue;
    auto const begin = std::chrono::steady_clock::now();
    x.begin_rung(s.rung);
    x.gives_addresses = s.rung != rung::interface;
    if (kernel.budget_follows_speed) {
      auto const measured = measure_budget(x);
      kernel.flop_budget = measured.flop;
      kernel.budget_follows_speed = false;
      x.add_fact("flop budget of a problem", measured.told);
    }
    if (x.hangs()) {
      x.leave_out("not tried: the kernel hung too often");
      continue;
    }
    s.climb(x);
    x.end_rung();
    x.report().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options.stop_at_failure && x.enough()) break;
  }
  out.rungs = x.take();
}

void check_candidate(candidate const& kernel) {
  if (!kernel.run) throw std::invalid_argument(fmt::format("{} has no function to run", kernel.name));
  if (kernel.dtype != dtype::f32 && kernel.dtype != dtype::f64)
    throw std::invalid_argument(
        fmt::format("{} computes {}; there are f32 and f64", kernel.name, to_string(kernel.dtype)));
}

template <element T>
std::optional<failure> run_alone(candidate const& kernel, test_case const& t, judge_options const& options,
                                 std::optional<test_case> const& before) {
  if (t.callers > 1 && !kernel.concurrent)
    throw std::invalid_argument(
        fmt::format("{} does not promise anything to several callers at once (@concurrent=yes declares that it does)",
                    kernel.name));
  context<T> x(kernel, options);
  if (auto const why = x.open(); !why.empty()) throw std::runtime_error(fmt::format("{}: {}", kernel.name, why));
  x.begin_rung(rung::exact);
  if (before) x.check(*before);
  x.forget();
  x.check(t);
  if (x.report().unsupported > 0)
    throw std::invalid_argument(fmt::format("{} does not take {}", kernel.name, to_string(t)));
  auto reports = x.take();
  std::optional<failure> worst;
  for (auto& r : reports)
    if (r.witness && !worst) worst = std::move(r.witness);
  return worst;
}

}  // namespace

judgement judge(candidate const& kernel, judge_options const& options) {
  check_candidate(kernel);
  judgement out;
  out.kernel = kernel.name;
  out.dtype = kernel.dtype;
  out.memory = kernel.memory;
  out.precision = kernel.precision;
  out.level = options.level;
  out.seed = options.seed;
  kernel.dtype == dtype::f32 ? climb<float>(kernel, options, out) : climb<double>(kernel, options, out);
  for (auto& r : out.rungs)
    if (r.witness) diagnose(kernel, options, *r.witness);
  return out;
}

std::optional<failure> replay(candidate const& kernel, test_case const& t, judge_options const& options,
                              std::optional<test_case> const& before) {
  check_candidate(kernel);
  if (t.dtype != kernel.dtype)
    throw std::invalid_argument(
        fmt::format("{} computes {}, not {}", kernel.name, to_string(kernel.dtype), to_string(t.dtype)));
  auto found = kernel.dtype == dtype::f32 ? run_alone<float>(kernel, t, options, before)
                                          : run_alone<double>(kernel, t, options, before);
  if (found && before) found->after = to_string(*before);
  if (found) diagnose(kernel, options, *found);
  return found;
}

}  // namespace tandem::harness
