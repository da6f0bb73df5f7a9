// Problem by problem: draws the data, computes what is wanted, runs each kernel on guarded operands, judges.
#include <tandem/harness/bound.hpp>
#include <tandem/harness/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <tandem/error.hpp>
#include <tandem/kernels.hpp>
#include <tandem/matrix_view.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/compare.hpp"
#include "harness/expectation.hpp"
#include "harness/fill.hpp"
#include "harness/guarded_operands.hpp"
#include "harness/rounded.hpp"

namespace tandem::harness {
namespace {

/// One kernel on one memory.
struct run {
  kernel const* row = nullptr;
  tandem::memory memory = tandem::memory::host;
  bool peer = false;
  bool reported = true;  ///< a peer that is not among the kernels to check gives no result
};

/// A kernel that turned out to be unavailable, and on which memory.
using absent_kernels = std::set<std::pair<std::string, tandem::memory>>;

/// Whether neither the kernel nor its backend says that it is not there.
bool is_there(kernel const& row) {
  if (row.unavailable && !row.unavailable().empty()) return false;
  auto const all = backends();
  auto const info = std::ranges::find(all, row.backend, &backend_info::backend);
  return info == all.end() || info->available;
}

/// The kernel's tiling of t; none where it does not say or throws, which `tile_shapes` reports, and none of a product
/// that dispatch settles without a kernel.
tandem::plan plan_of(kernel const& row, test_case const& t) {
  if (!row.plan || t.m == 0 || t.n == 0 || t.k == 0) return {};
  try {
    return row.plan(canonical(t));
  } catch (...) {
    return {};
  }
}

result begin_result(test_case const& t, run const& r) {
  result out;
  out.kernel = r.row->name;
  out.backend = r.row->backend;
  out.memory = r.memory;
  out.test = t;
  out.flops = flops(t);
  return out;
}

/// What is wrong with C, in words; empty if nothing is.
template <element T>
std::string complaint(test_case const& t, result const& r, comparison const& found, std::int64_t wrong_rows,
                      std::span<T const> got) {
  if (found.wrong == 0 && wrong_rows == 0) return {};
  std::string text = fmt::format("{} of {} elements {}", found.wrong, found.checked,
                                 t.fill == fill::integer ? "differ from the exact product" : "exceed the bound");
  if (r.method == method::freivalds) text += fmt::format(" in {} wrong rows of {}", wrong_rows, t.m);
  if (r.method == method::sampled) text += fmt::format(" in {} of {} rows", r.rows_checked, t.m);
  if (found.nans > 0) text += fmt::format(", {} are NaN", found.nans);
  if (t.beta == 0) {
    auto const poison = count_poison<T>(got);
    if (poison.untouched > 0) text += fmt::format("; {} elements untouched", poison.untouched);
    if (poison.read > 0) text += "; C was read although beta = 0";
  }
  if (auto const origin = nan_origin<T>(got); !origin.empty()) text += fmt::format("; a NaN comes from {}", origin);
  return text;
}

/// One problem on all its kernels.
template <element T>
class problem_check {
 public:
  problem_check(test_case const& t, check_options const& options, absent_kernels& absent, std::vector<result>& results)
      : t_(rounded<T>(t)), reported_(t), options_(options), absent_(absent), results_(results) {}

  void operator()(std::vector<run> runs) {
    std::erase_if(runs, [this](run const& r) { return absent_.contains({r.row->name, r.memory}) || skipped(r); });
    if (runs.empty()) return;
    data_ = draw<T>(t_);
    std::vector<tandem::plan> plans;
    for (auto const& r : runs) plans.push_back(plan_of(*r.row, t_));
    wanted_.emplace(t_, data_, plans, options_);
    for (auto const& r : runs) {
      if (r.memory == memory::host) {
        if (!host_) host_.emplace(t_, data_);
        execute(r, *host_);
      } else {
        execute_on_device(r);
      }
    }
  }

 private:
  struct peer_output {
    std::string name;
    std::vector<T> c;
  };

  /// Whether a run is over a budget; says so in a result.
  bool skipped(run const& r) {
    result out = begin_result(reported_, r);
    double const bytes =
        static_cast<double>(sizeof(T)) * (extent(storage_a(t_)) + extent(storage_b(t_)) + extent(storage_c(t_)));
    double const budget = std::min(r.row->flop_budget, options_.flop_budget);
    double const k = static_cast<double>(t_.k) + 2;
    if (out.flops > budget)
      out.reason = fmt::format("{:.3g} flop, over the budget of {:.3g}", out.flops, budget);
    else if (t_.callers > 0)
      out.reason = "callers that call again and again are tried by the ladder and by `tandem replay`";
    else if (bytes > options_.byte_budget)
      out.reason = fmt::format("{:.3g} bytes of operands, over the budget of {:.3g}", bytes, options_.byte_budget);
    else if (t_.fill == fill::normal && !std::isfinite(gamma(k, t_.dtype)))
      out.reason = fmt::format("no finite bound: (k + 2) u = {:.3g}", k * unit_roundoff(t_.dtype));
    else if (t_.fill == fill::integer && limits_of(t_.dtype, t_.k, t_.alpha, t_.beta).ab == 0)
      out.reason = "no integers whose sums are exact for this k, alpha and beta";
    else
      return false;
    out.verdict = verdict::skipped;
    if (r.reported) results_.push_back(std::move(out));
    return true;
  }

  // In double, since the sizes of a shape file may overflow an integer product.
  static double extent(storage const& s) { return static_cast<double>(s.outer()) * static_cast<double>(s.ld); }

  /// A device that is not there, is full or has failed is a verdict, too.
  void execute_on_device(run const& r) {
    if (auto reason = gpu::unavailable(); !reason.empty()) {
      result out = begin_result(reported_, r);
      out.verdict = verdict::unavailable;
      out.reason = std::move(reason);
      absent_.emplace(out.kernel, out.memory);
      results_.push_back(std::move(out));
      return;
    }
    try {
      if (!device_) device_.emplace(t_, data_);
      execute(r, *device_);
    } catch (error const& e) {
      result out = begin_result(reported_, r);
      blame(out, *r.row, e);
      results_.push_back(std::move(out));
    }
  }

  /// Only a kernel that says so before it runs is unavailable; one that throws it later has failed.
  void blame(result& out, kernel const& row, error const& e) {
    bool const absent = e.code() == errc::unavailable && !is_there(row);
    out.verdict = e.code() == errc::unsupported ? verdict::unsupported : absent ? verdict::unavailable : verdict::error;
    out.reason = e.what();
    if (out.reason.starts_with(out.kernel + ": ")) out.reason.erase(0, out.kernel.size() + 2);  // it stands beside
    if (absent) absent_.emplace(out.kernel, out.memory);
  }

  template <class Region>
  void execute(run const& r, guarded_operands<T, Region>& operands) {
    result out = begin_result(reported_, r);
    bool finished = false;
    std::optional<std::string> defects;
    auto const start = std::chrono::steady_clock::now();
    try {
      operands.call(*r.row, r.memory, options_.threads);
      finished = true;
    } catch (kernel_defect const& e) {  // it has run to its end, so its C is judged as any
      finished = true;
      defects = e.what();
    } catch (error const& e) {
      blame(out, *r.row, e);
    } catch (std::exception const& e) {
      out.reason = e.what();
    } catch (...) {
      out.reason = "threw something that is no std::exception";
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    std::string damage = operands.inspect(got_, finished);
    if (finished) judge(out, damage, defects);
    if (!finished && !damage.empty()) {
      out.verdict = verdict::fail;
      out.reason = fmt::format("{}, after it threw: {}", damage, out.reason);
    }
    if (out.verdict == verdict::fail) out.plan = plan_of(*r.row, t_);
    if (r.peer && out.verdict == verdict::pass) peers_.push_back({r.row->name, got_});
    if (r.reported) results_.push_back(std::move(out));
  }

  void judge(result& out, std::string const& damage, std::optional<std::string> const& defects) {
    std::span<T const> const got = got_;
    std::int64_t wrong_rows = 0;
    auto const found = wanted_->judge(got, wrong_rows);
    out.method = wanted_->method();
    out.rows_checked = wanted_->rows_checked();
    out.wrong_elements = found.wrong;
    out.worst = found.worst;
    out.reason = complaint<T>(t_, out, found, wrong_rows, got);
    if (!damage.empty()) out.reason = damage + (out.reason.empty() ? "" : "; ") + out.reason;
    if (out.reason.empty()) compare_with_peers(out);
    out.verdict = out.reason.empty() && !defects ? verdict::pass : verdict::fail;
    if (defects) out.reason = *defects + (out.reason.empty() ? "" : "\nand C is wrong: ") + out.reason;
  }

  void compare_with_peers(result& out) {
    for (auto const& peer : peers_) {
      if (peer.name == out.kernel) continue;
      out.peers.push_back(peer.name);
      auto const at = wanted_->disagreement(got_, peer.c);
      if (!at) continue;
      auto const index = static_cast<std::size_t>(at->first * t_.n + at->second);
      out.reason = fmt::format("disagrees with {} at ({}, {}): {} against {}", peer.name, at->first, at->second,
                               got_[index], peer.c[index]);
      return;
    }
  }

  test_case const t_;  // with alpha and beta rounded
  test_case const& reported_;
  check_options const& options_;
  absent_kernels& absent_;
  std::vector<result>& results_;
  operands<T> data_;
  std::optional<expectation<T>> wanted_;
  std::optional<guarded_operands<T, host_region>> host_;
  std::optional<guarded_operands<T, device_region>> device_;
  std::vector<T> got_;
  std::vector<peer_output> peers_;
};

std::vector<run> runs_of(dtype type, std::span<kernel const> kernels, check_options const& options) {
  auto const fits = [type](kernel const& row) { return row.dtype == type && row.operation() == operation::gemm; };
  auto const named = [](std::span<kernel const> rows, std::string const& name) {
    return std::ranges::find(rows, name, &kernel::name) != rows.end();
  };
  bool const device = options.device_views && gpu::unavailable().empty();
  std::vector<run> runs;
  for (auto const& row : options.peers)
    if (fits(row) && row.host)
      runs.push_back({&row, memory::host, true, options.host_views && named(kernels, row.name)});
  for (auto const& row : kernels) {
    if (!fits(row)) continue;
    if (row.host && options.host_views && !(named(options.peers, row.name))) runs.push_back({&row, memory::host});
    // Where there is no device, a kernel of device memory only is still named, as unavailable.
    if (row.device && options.device_views && (device || !row.host)) runs.push_back({&row, memory::device});
  }
  return runs;
}

}  // namespace

std::string_view to_string(verdict v) noexcept {
  switch (v) {
    case verdict::pass: return "pass";
    case verdict::fail: return "fail";
    case verdict::unsupported: return "unsupported";
    case verdict::unavailable: return "unavailable";
    case verdict::skipped: return "skipped";
    case verdict::error: return "error";
  }
  return "error";
}

std::string_view to_string(method m) noexcept {
  switch (m) {
    case method::none: return "none";
    case method::full: return "full";
    case method::freivalds: return "freivalds";
    case method::sampled: return "sampled";
  }
  return "none";
}

std::string describe_method(result const& r) {
  if (r.method == method::none) return {};
  if (r.method == method::sampled) return fmt::format("sampled {} of {} rows", r.rows_checked, r.test.m);
  return std::string(to_string(r.method));
}

std::vector<result> check(std::span<test_case const> cases, std::span<kernel const> kernels,
                          check_options const& options) {
  std::vector<result> results;
  absent_kernels absent;
  std::array const runs{runs_of(dtype::f32, kernels, options), runs_of(dtype::f64, kernels, options)};
  std::size_t done = 0;
  for (auto const& t : cases) {
    if (t.dtype == dtype::f32) {
      problem_check<float>(t, options, absent, results)(runs[0]);
    } else if (t.dtype == dtype::f64) {
      problem_check<double>(t, options, absent, results)(runs[1]);
    } else {
      result out;
      out.test = t;
      out.flops = flops(t);
      out.verdict = verdict::unsupported;
      out.reason = fmt::format("no kernel computes {}", to_string(t.dtype));
      results.push_back(std::move(out));
    }
    if (options.progress) options.progress(++done, cases.size());
  }
  return results;
}

}  // namespace tandem::harness
