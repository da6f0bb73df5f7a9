// Problem by problem: draws the data, computes what is wanted, runs each kernel on guarded operands, judges.
#include <tandem/harness/bound.hpp>
#include <tandem/harness/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <tandem/error.hpp>
#include <tandem/matrix_view.hpp>

#include "gpu/runtime/device.hpp"
#include "harness/compare.hpp"
#include "harness/device_guard.hpp"
#include "harness/fill.hpp"
#include "harness/freivalds.hpp"
#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "reference/oracle.hpp"

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

// As a kernel sees it: alpha and beta are values of the element type.
template <element T>
test_case rounded(test_case t) {
  t.alpha = static_cast<double>(static_cast<T>(t.alpha));
  t.beta = static_cast<double>(static_cast<T>(t.beta));
  return t;
}

bool reads_operands(test_case const& t) { return t.alpha != 0 && t.k != 0; }

/// The kernel's tiling of t; none where it does not say or throws, which `tile_shapes` reports.
tandem::plan plan_of(kernel const& row, test_case const& t) {
  if (!row.plan) return {};
  try {
    return row.plan(canonical(t));
  } catch (...) {
    return {};
  }
}

/// What C is to be, computed once a problem: rows of the oracle, and Freivalds' right-hand side where it decides.
template <element T>
class expectation {
 public:
  expectation(test_case const& t, operands<T> const& data, std::span<run const> runs, check_options const& options)
      : t_(t), data_(data), n_(static_cast<std::size_t>(t.n)) {
    factor_ = t.fill == fill::integer ? 0 : gamma(reads_operands(t) ? static_cast<double>(t.k) + 2 : 2, t.dtype);
    double const budget = t.dtype == dtype::f32 ? options.oracle_budget_f32 : options.oracle_budget_f64;
    if (!reads_operands(t) || flops(t) <= budget) {
      method_ = method::full;
      rows_.resize(static_cast<std::size_t>(t.m));
      std::iota(rows_.begin(), rows_.end(), 0);
    } else if (t.fill == fill::integer) {
      method_ = method::freivalds;
      freivalds_.emplace(t, data);
      most_rows_ = rows_within(budget);
      return;
    } else {
      method_ = method::sampled;
      rows_ = sample(rows_within(budget), runs);
    }
    wide_ = wide_rows(rows_);
  }

  harness::method method() const noexcept { return method_; }
  std::int64_t rows_checked() const noexcept { return method_ == method::freivalds ? 0 : std::ssize(rows_); }

  /// Compares; `located` becomes the number of wrong rows where Freivalds found some.
  comparison judge(std::span<T const> got, std::int64_t& wrong_rows) const {
    wrong_rows = 0;
    if (method_ != method::freivalds) return compare<T>(got, t_.n, rows_, wide_, factor_);
    auto rows = freivalds_->wrong_rows(got);
    wrong_rows = std::ssize(rows);
    if (rows.empty()) return {};
    if (std::ssize(rows) > most_rows_) rows.resize(static_cast<std::size_t>(most_rows_));
    return compare<T>(got, t_.n, rows, wide_rows(rows), factor_);
  }

  /// The first element in which two outputs differ by more than twice the bound of each, if any.
  std::optional<std::pair<std::int64_t, std::int64_t>> disagreement(std::span<T const> x, std::span<T const> y) const {
    auto const bounds = peer_bounds();
    for (std::size_t at = 0; at < x.size(); ++at) {
      double const difference = std::abs(static_cast<double>(x[at]) - static_cast<double>(y[at]));
      if (x[at] == y[at] || (factor_ > 0 && difference <= 2 * bounds(at))) continue;
      if (std::isnan(x[at]) && std::isnan(y[at])) continue;
      return std::pair(static_cast<std::int64_t>(at / n_), static_cast<std::int64_t>(at % n_));
    }
    return std::nullopt;
  }

 private:
  std::int64_t rows_within(double budget) const {
    double const row = 2.0 * static_cast<double>(t_.n) * static_cast<double>(t_.k);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(budget / row), 1, t_.m);
  }

  /// First and last row, the rows around the first and the last edge of every tile level, then random ones.
  std::vector<std::int64_t> sample(std::int64_t count, std::span<run const> runs) const {
    std::vector<std::int64_t> wanted{0, t_.m - 1};
    for (auto const& r : runs) {
      for (auto const& level : plan_of(*r.row, t_).levels) {
        std::int64_t const edge = t_.layout_c == layout::row_major ? level.m : level.n;
        if (edge <= 0 || edge >= t_.m) continue;
        std::int64_t const last = (t_.m - 1) / edge * edge;
        wanted.insert(wanted.end(), {edge - 1, edge, last - 1, last});
      }
    }
    random r(derive(t_.seed, 5));
    std::set<std::int64_t> rows;
    for (auto const row : wanted)
      if (std::ssize(rows) < count) rows.insert(row);
    while (std::ssize(rows) < count) rows.insert(static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(t_.m))));
    return {rows.begin(), rows.end()};
  }

  reference::wide_product wide_rows(std::vector<std::int64_t> const& rows) const {
    if (reads_operands(t_)) {
      problem p;
      p.dtype = t_.dtype;
      p.m = t_.m, p.n = t_.n, p.k = t_.k;
      p.alpha = t_.alpha, p.beta = t_.beta;
      p.a = data_.a.data(), p.lda = t_.k;
      p.b = data_.b.data(), p.ldb = t_.n;
      // The oracle reads C, and only if beta != 0.
      p.c = const_cast<T*>(data_.c.data()), p.ldc = t_.n;
      return reference::multiply_wide(p, rows);
    }
    // Nothing of A and B: beta C in two doubles, the second the product's rounding error.
    reference::wide_product out;
    std::size_t const count = rows.size() * n_;
    out.hi.assign(count, 0), out.lo.assign(count, 0), out.magnitude.assign(count, 0);
    if (t_.beta == 0) return out;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t j = 0; j < n_; ++j) {
        auto const c = static_cast<double>(data_.c[static_cast<std::size_t>(rows[r]) * n_ + j]);
        out.hi[r * n_ + j] = t_.beta * c;
        out.lo[r * n_ + j] = std::fma(t_.beta, c, -out.hi[r * n_ + j]);
        out.magnitude[r * n_ + j] = std::abs(t_.beta * c);
      }
    return out;
  }

  /// The bound of any element by its index: from the oracle where it saw every row, otherwise, by Cauchy-Schwarz, from
  /// the norms of A's rows and B's columns.
  auto peer_bounds() const {
    if (method_ == method::sampled && row_norms_.empty()) {
      row_norms_.assign(static_cast<std::size_t>(t_.m), 0);
      column_norms_.assign(n_, 0);
      auto const k = static_cast<std::size_t>(t_.k);
      auto const square = [](T x) { return static_cast<double>(x) * static_cast<double>(x); };
      for (std::size_t i = 0; i < row_norms_.size(); ++i)
        for (std::size_t p = 0; p < k; ++p) row_norms_[i] += square(data_.a[i * k + p]);
      for (std::size_t p = 0; p < k; ++p)
        for (std::size_t j = 0; j < n_; ++j) column_norms_[j] += square(data_.b[p * n_ + j]);
      // The norms are rounded themselves, by far less than this.
      constexpr double slack = 1 + 1e-6;
      for (auto& x : row_norms_) x = std::sqrt(x) * slack;
      for (auto& x : column_norms_) x = std::sqrt(x) * slack;
    }
    return [this](std::size_t at) {
      if (method_ == method::full) return factor_ * wide_.magnitude[at];
      double const old = data_.c.empty() ? 0 : std::abs(t_.beta * static_cast<double>(data_.c[at]));
      return factor_ * (std::abs(t_.alpha) * row_norms_[at / n_] * column_norms_[at % n_] + old);
    };
  }

  test_case const& t_;
  operands<T> const& data_;
  std::size_t n_;
  harness::method method_ = method::none;
  double factor_ = 0;           // bound = factor * magnitude; 0 in the exact lane
  std::int64_t most_rows_ = 0;  // that the oracle's budget lets it locate errors in
  std::vector<std::int64_t> rows_;
  reference::wide_product wide_;
  std::optional<freivalds_check> freivalds_;
  mutable std::vector<double> row_norms_, column_norms_;  // made when a peer first asks
};

/// The three operands in one memory: what they are to hold, and regions that hold it.
template <element T, class Region>
class guarded_operands {
 public:
  guarded_operands(test_case const& t, operands<T> const& data)
      : t_(t), stored_{storage_a(t), storage_b(t), storage_c(t)} {
    using bits = nan_bits<T>;
    std::vector<T> const nothing;
    bool const read = reads_operands(t);  // if not, A and B hold NaN only
    for (std::size_t i = 0; i < 3; ++i) {
      if constexpr (std::is_same_v<Region, host_region>)
        where_[i] = place_on_host(stored_[i], sizeof(T), lies_at_end(t.seed, i));
      else
        where_[i] = place_on_device(stored_[i], sizeof(T));
      regions_[i] = Region(where_[i].region);
    }
    images_[0] = make_image<T>(stored_[0], where_[0], read ? data.a : nothing, bits::gap_a, bits::unread_a);
    images_[1] = make_image<T>(stored_[1], where_[1], read ? data.b : nothing, bits::gap_b, bits::unread_b);
    images_[2] = make_image<T>(stored_[2], where_[2], data.c, bits::gap_c, bits::poison);
    write(0), write(1);
  }

  /// Fresh C, then the kernel; finished on return.
  void call(kernel const& row, tandem::memory memory, int threads) {
    write(2);
    gemm_options const options{.alpha = t_.alpha, .beta = t_.beta};
    auto const stored_a = t_.trans_a ? std::pair(t_.k, t_.m) : std::pair(t_.m, t_.k);
    auto const stored_b = t_.trans_b ? std::pair(t_.n, t_.k) : std::pair(t_.k, t_.n);
    matrix_view<T const> a(pointer(0), stored_a.first, stored_a.second, t_.lda, t_.layout_a, memory);
    matrix_view<T const> b(pointer(1), stored_b.first, stored_b.second, t_.ldb, t_.layout_b, memory);
    matrix_view<T> const c(pointer(2), t_.m, t_.n, t_.ldc, t_.layout_c, memory);
    if (t_.trans_a) a = a.transposed();
    if (t_.trans_b) b = b.transposed();
    gemm_with(row, a, b, c, options, threads);
    if (memory == memory::device) gpu::synchronize();
  }

  /// What the call damaged, each operand's first damage; empty when nothing. Inputs that were damaged are restored.
  /// `finished` false: the call threw, so C must be as it was.
  std::string inspect(std::vector<T>& c, bool finished) {
    static constexpr std::array names{"A", "B", "C"};
    std::string damage;
    for (std::size_t i = 0; i < 3; ++i) {
      auto const now = contents(i);
      auto const found = find_damage<T>(now, images_[i], stored_[i], where_[i], names[i], i < 2 || !finished);
      if (i == 2) read_elements<T>(now, stored_[i], where_[i], c);
      if (found.empty()) continue;
      damage += (damage.empty() ? "" : "; ") + found;
      if (i < 2) write(i);
    }
    return damage;
  }

 private:
  T* pointer(std::size_t i) const { return reinterpret_cast<T*>(regions_[i].data() + where_[i].begin); }

  void write(std::size_t i) {
    if constexpr (std::is_same_v<Region, host_region>)
      std::memcpy(regions_[i].data(), images_[i].data(), images_[i].size());
    else
      regions_[i].write(images_[i]);
  }

  std::span<std::byte const> contents(std::size_t i) {
    if constexpr (std::is_same_v<Region, host_region>)
      return regions_[i].bytes();
    else
      return regions_[i].read();
  }

  test_case const& t_;
  std::array<storage, 3> stored_;
  std::array<placement, 3> where_;
  std::array<std::vector<std::byte>, 3> images_;
  std::array<Region, 3> regions_;
};

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
    wanted_.emplace(t_, data_, runs, options_);
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
    try {
      if (auto reason = gpu::unavailable(); !reason.empty()) throw error(errc::unavailable, reason);
      if (!device_) device_.emplace(t_, data_);
      execute(r, *device_);
    } catch (error const& e) {
      result out = begin_result(reported_, r);
      blame(out, e);
      results_.push_back(std::move(out));
    }
  }

  void blame(result& out, error const& e) {
    out.verdict = e.code() == errc::unsupported   ? verdict::unsupported
                  : e.code() == errc::unavailable ? verdict::unavailable
                                                  : verdict::error;
    out.reason = e.what();
    if (out.reason.starts_with(out.kernel + ": ")) out.reason.erase(0, out.kernel.size() + 2);  // it stands beside
    if (out.verdict == verdict::unavailable) absent_.emplace(out.kernel, out.memory);
  }

  template <class Region>
  void execute(run const& r, guarded_operands<T, Region>& operands) {
    result out = begin_result(reported_, r);
    bool finished = false;
    auto const start = std::chrono::steady_clock::now();
    try {
      operands.call(*r.row, r.memory, options_.threads);
      finished = true;
    } catch (error const& e) {
      blame(out, e);
    } catch (std::exception const& e) {
      out.reason = e.what();
    } catch (...) {
      out.reason = "threw something that is no std::exception";
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    std::string damage = operands.inspect(got_, finished);
    if (finished) judge(out, damage);
    if (!finished && !damage.empty()) {
      out.verdict = verdict::fail;
      out.reason = fmt::format("{}, after it threw: {}", damage, out.reason);
    }
    if (out.verdict == verdict::fail) out.plan = plan_of(*r.row, t_);
    if (r.peer && out.verdict == verdict::pass) peers_.push_back({r.row->name, got_});
    if (r.reported) results_.push_back(std::move(out));
  }

  void judge(result& out, std::string const& damage) {
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
    out.verdict = out.reason.empty() ? verdict::pass : verdict::fail;
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
