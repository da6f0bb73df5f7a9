// Lays operands out, calls, inspects, and keeps the reports.
#include "harness/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <tandem/harness/report.hpp>

#include "harness/arithmetic.hpp"
#include "harness/compare.hpp"
#include "harness/expectation.hpp"
#include "harness/fills/special.hpp"
#include "harness/guard.hpp"
#include "harness/random.hpp"
#include "harness/rounded.hpp"

namespace tandem::harness {
namespace {

constexpr std::array operand_names{"A", "B", "C"};
constexpr int most_hangs = 3;              // of all rungs: each costs the time limit
constexpr std::int64_t most_failures = 8;  // of a rung: more tell nothing new, and a broken kernel is judged at once

/// How telling a witness is: what ends the process before what writes where it must not, and that before wrong numbers;
/// then by how wrong they are, and the smaller problem first.
struct weight {
  int severity;
  double ratio;
  double size;
  bool operator>(weight const& other) const {
    return std::tuple(severity, ratio, -size) > std::tuple(other.severity, other.ratio, -other.size);
  }
};

weight weigh(failure const& f) {
  auto const severity = [](failure_class c) {
    switch (c) {
      case failure_class::crash: return 6;
      case failure_class::read_outside:
      case failure_class::written_outside: return 5;
      case failure_class::hang: return 4;
      case failure_class::defect: return 3;
      case failure_class::not_a_number:
      case failure_class::untouched: return 2;
      case failure_class::refused:
      case failure_class::accepted: return 1;
      case failure_class::wrong_value:
      case failure_class::stale:
      case failure_class::disturbed:
      case failure_class::swapped_index: return 1;
    }
    return 0;
  };
  return {severity(f.what), f.worst.row >= 0 ? ratio(f.worst) : 0, flops(f.test)};
}

/// What a fault on unmapped memory was, in words.
std::string describe_fault(call_outcome const& how, storage const& s, placement const& where) {
  auto const begin = static_cast<std::ptrdiff_t>(where.begin);
  auto const end = begin + static_cast<std::ptrdiff_t>(where.bytes);
  auto const verb = how.wrote ? "written" : "read";
  auto const name = operand_names[static_cast<std::size_t>(how.touched)];
  std::string const shape = fmt::format("{} ({} x {}, ld {})", name, s.rows, s.cols, s.ld);
  if (how.touched_at >= begin && how.touched_at < end)
    return fmt::format("{}, which is only read, written at its byte {}", shape, how.touched_at - begin);
  if (how.touched_at < begin)
    return fmt::format("unmapped memory {}, {} bytes before the start of {}", verb, begin - how.touched_at, shape);
  return fmt::format("unmapped memory {}, byte {} past the end of {}", verb, how.touched_at - end + 1, shape);
}

/// Whether a rung's operands are what their fill says. Those of the others may hold subnormal numbers of their own.
bool draws_by_fill(rung r) { return r <= rung::exact || r == rung::scale; }

}  // namespace

template <element T>
context<T>::context(candidate const& kernel, judge_options const& options)
    : kernel_(kernel), options_(options), sandbox_(kernel, options.time_limit), reports_(rungs), begun_(rungs, false) {
  for (std::size_t r = 0; r < rungs; ++r) reports_[r].rung = static_cast<rung>(r);
}

template <element T>
context<T>::~context() = default;

template <element T>
std::uint64_t context<T>::seed(std::uint64_t purpose, std::uint64_t index) const noexcept {
  auto const r = current_ == nullptr ? rungs : static_cast<std::size_t>(current_->rung);
  return derive(derive(derive(options_.seed, 100 + r), purpose), index);
}

template <element T>
std::string context<T>::open() {
  return sandbox_.open();
}

template <element T>
void context<T>::restart() {
  sandbox_.restart();
  flushed_ = false;
}

template <element T>
bool context<T>::flushes(test_case const& t) const noexcept {
  constexpr std::uint64_t once_in = 8;
  bool const has_none = current_ != nullptr && draws_by_fill(current_->rung) && is_exact(t.fill);
  return has_none && kernel_.memory == memory::host && derive(t.seed, 12) % once_in == 0;
}

template <element T>
test_case context<T>::plain(std::int64_t m, std::int64_t n, std::int64_t k, harness::fill fill,
                            std::uint64_t seed) const {
  test_case t;
  t.dtype = kernel_.dtype;
  t.m = m, t.n = n, t.k = k;
  t.lda = tight_lda(t), t.ldb = tight_ldb(t), t.ldc = tight_ldc(t);
  t.fill = fill;
  t.seed = seed;
  return adapted(t);
}

template <element T>
trial<T> context<T>::call(test_case const& t, operands<T> const& data, call_options const& options) {
  using bits = nan_bits<T>;
  trial<T> out;
  test_case const& told = options.as ? *options.as : t;
  std::string why = outside(kernel_.limits, t);
  if (why.empty() && kernel_.refuses && !options.as) why = kernel_.refuses(t);
  if (!why.empty()) {
    ++report().unsupported;
    out.how.status = call_status::refused;
    out.how.reason = std::move(why);
    return out;
  }

  std::array const stored{storage_a(t), t.b_is_a ? storage() : storage_b(t), storage_c(t)};
  std::array<placement, 3> where;
  auto const alignment = std::max(usual_alignment, static_cast<std::size_t>(kernel_.limits.alignment));
  call_arguments arguments;
  arguments.test = told;
  arguments.conjugated = options.conjugated;
  arguments.amid = options.amid;
  arguments.amid.flushes |= flushes(t);
  if (t.fill == fill::subnormal && flushed_) restart();
  flushed_ |= arguments.amid.flushes;
  arguments.threads = options.threads > 0 ? options.threads : t.threads;
  arguments.own_stream = options.own_stream.value_or(t.seed % 2 == 0);
  auto const laid_out = stored_operands(t);
  sandbox_.region(1, 0);  // of a B that is A
  for (auto const i : laid_out) {
    arguments.at_end[i] = options.at_end.value_or(lies_at_end(t.seed, i));
    where[i] = place_on_host(stored[i], sizeof(T), arguments.at_end[i], alignment);
    arguments.begin[i] = where[i].begin;
  }
  bool const read = reads_operands(t);  // if not, A and B hold NaN only
  std::vector<T> const nothing;
  auto const unread = [&options](typename bits::word nan) {
    return options.infinite ? std::bit_cast<typename bits::word>(std::numeric_limits<T>::infinity()) : nan;
  };
  std::array<operand_image<T>, 3> const images{
      operand_image<T>(stored[0], where[0], read ? data.a : nothing, bits::gap_a, unread(bits::unread_a)),
      operand_image<T>(stored[1], where[1], read && !t.b_is_a ? data.b : nothing, bits::gap_b, unread(bits::unread_b)),
      operand_image<T>(stored[2], where[2], t.beta != 0 ? data.c : nothing, bits::gap_c, unread(bits::poison))};
  bool const sparse = std::ranges::any_of(images, &operand_image<T>::sparse);
  if (sparse) sandbox_.release();  // what earlier calls left between the rows
  for (auto const i : laid_out) images[i].write(sandbox_.region(i, where[i].region));

  out.how = sandbox_.call(arguments);
  if (out.how.status == call_status::refused && out.how.reason.empty()) out.how.reason = "refused without a reason";
  out.how.status == call_status::refused ? ++report().unsupported : ++report().calls;
  if (options_.progress) options_.progress(report().rung, report().calls);
  if (out.how.status == call_status::died && out.how.touched >= 0) {
    auto const touched = static_cast<std::size_t>(out.how.touched);
    out.how.reason = describe_fault(out.how, stored[touched], where[touched]) + "; " + out.how.reason;
  }

  if (out.how.status != call_status::died && out.how.status != call_status::hung) {
    for (auto const i : laid_out) {
      auto const now = sandbox_.region(i, where[i].region);
      // Of C, elements may differ after a right call that finished; any other writes nothing.
      bool const elements = i < 2 || !out.finished() || options.as;
      auto const present = images[i].sparse() ? sandbox_.present(i) : std::vector<extent>();
      auto const found = images[i].find_damage(now, present, operand_names[i], elements);
      if (i == 2 && out.finished()) read_elements<T>(now, stored[i], where[i], out.c);
      if (!found.empty()) out.damage += (out.damage.empty() ? "" : "; ") + found;
    }
    if (!out.how.damage.empty()) out.damage += (out.damage.empty() ? "" : "; ") + out.how.damage;
  }
  constexpr std::size_t kept = std::size_t{1} << 28;
  if (sparse || where[0].bytes + where[1].bytes + where[2].bytes > kept) sandbox_.release();
  if (!options.quiet) note(t, out);
  return out;
}

/// Records what was noticed about a call apart from its numbers.
template <element T>
void context<T>::note(test_case const& t, trial<T> const& x) {
  failure f;
  f.test = t;
  if (!x.damage.empty()) {
    f.what = failure_class::written_outside;
    f.reason = x.damage;
    if (x.how.status == call_status::threw) f.reason += ", by a call that failed: " + x.how.reason;
    fail(f, rung::memory);
  }
  if (!x.how.defects.empty()) {
    f.what = failure_class::defect;
    f.reason = x.how.defects;
    fail(f, rung::memory);
  }
  f.reason = x.how.disturbed;
  if (!f.reason.empty()) {
    f.what = failure_class::disturbed;
    fail(f);
  }
  f.reason = x.how.reason;
  switch (x.how.status) {
    case call_status::finished:
    case call_status::refused: break;
    case call_status::threw:
      f.what = failure_class::refused;
      fail(f);
      break;
    case call_status::hung:
      ++hangs_;
      f.what = failure_class::hang;
      fail(f);
      break;
    case call_status::died:
      // A fault on a device does not say where, so memory is to blame all the same.
      f.what = x.how.touched < 0 ? failure_class::crash
               : x.how.wrote     ? failure_class::written_outside
                                 : failure_class::read_outside;
      if ((x.how.touched >= 0 || kernel_.memory == memory::device) && report().rung != rung::memory)
        fail(f, rung::memory);
      fail(f);
      break;
  }
}

template <element T>
bool context<T>::check(test_case const& asked, call_options const& options) {
  auto t = rounded<T>(asked);
  if (gives_addresses && !reads_operands(t)) t.seed -= t.seed % 2;
  auto const data = draw<T>(t, kernel_.precision);
  // A kernel may clear NaN alone of what it must not read. Not where infinities are right in C.
  constexpr std::uint64_t once_in = 4;
  bool const unread = t.beta == 0 || !reads_operands(t);
  auto how = options;
  how.amid.flushes |= flushes(t);
  how.infinite = unread && !is_special(t.fill) && t.fill != fill::nan_all && derive(t.seed, 11) % once_in == 0;
  auto const x = call(t, data, how);
  if (!x.finished()) return x.how.status == call_status::refused;
  std::vector<tandem::plan> plans;
  if (kernel_.plan && t.m > 0 && t.n > 0 && t.k > 0) plans.push_back(kernel_.plan(canonical(t)));
  check_options budgets{.precision = kernel_.precision};
  if (options.soon_judged) budgets.oracle_budget_f32 = budgets.oracle_budget_f64 = 2e6;
  expectation<T> const wanted(t, data, plans, budgets);
  std::int64_t wrong_rows = 0;
  auto const found = wanted.judge(x.c, wrong_rows);
  // The poison is NaN, and would do where NaN is wanted.
  auto const poison = t.beta == 0 ? count_poison<T>(x.c) : poison_count{};
  bool const written = poison.untouched == 0 && poison.read == 0;
  bool const right = written && found.wrong == 0 && wrong_rows == 0;
  // The error term of a compensated sum is Inf - Inf: the one way to NaN for an infinity that is nobody's mistake.
  if (right || (written && wrong_rows == 0 && found.wrong == found.nans_for_infinity && is_compensated()))
    return x.damage.empty() && x.how.defects.empty();
  if (options.quiet) return false;
  failure f;
  f.test = t;
  if (options.after) f.after = to_string(*options.after);
  f.wrong = std::max({found.wrong, wrong_rows, poison.untouched + poison.read});
  f.checked = found.checked;
  f.worst = found.worst;
  f.what = found.nans > 0 ? failure_class::not_a_number : failure_class::wrong_value;
  if (poison.untouched > 0) f.what = failure_class::untouched;
  f.reason = fmt::format("{} of {} elements {}", f.wrong, f.checked,
                         is_exact(t.fill) ? "differ from the exact product" : "exceed the bound");
  if (how.infinite) f.reason += "; what must not be read held infinities";
  if (auto const amid = describe(how.amid); !amid.empty()) f.reason += ", " + amid;
  if (poison.untouched > 0) f.reason += fmt::format("; {} were not written", poison.untouched);
  if (poison.read > 0) f.reason += fmt::format("; {} hold the NaN of a C that beta = 0 must not read", poison.read);
  if (is_special(t.fill) && f.worst.row >= 0)
    if (auto const why = explain_special<T>(t, data, f.worst.row, f.worst.col, f.worst.got, f.worst.wanted);
        !why.empty())
      f.reason += "; " + why;
  if (auto const origin = nan_origin<T>(x.c); !origin.empty()) {
    f.reason += fmt::format("; a NaN comes from {}", origin);
    f.what = failure_class::read_outside;
    if (report().rung != rung::memory) fail(f, rung::memory);
  }
  fail(f);
  return false;
}

template <element T>
bool context<T>::is_compensated() {
  if (!compensated_) compensated_ = probe_compensation(*this);
  return *compensated_;
}

template <element T>
void context<T>::fail(failure f, rung where) {
  auto& r = reports_[static_cast<std::size_t>(where)];
  begun_[static_cast<std::size_t>(where)] = true;
  r.verdict = rung_verdict::fail;
  if (&r != current_) r.summary.clear();  // it has ended, and said that all was well
  ++r.failed;
  if (!r.witness || weigh(f) > weigh(*r.witness)) r.witness = std::move(f);
}

template <element T>
bool context<T>::enough() const noexcept {
  std::int64_t failed = 0;
  for (auto const& r : reports_) failed += r.failed;
  if (options_.stop_at_failure) return failed > 0;
  if (hangs_ >= most_hangs) return true;
  return current_->failed + failed / 4 >= most_failures;
}

template <element T>
void context<T>::begin_rung(rung r) {
  current_ = &reports_[static_cast<std::size_t>(r)];
  begun_[static_cast<std::size_t>(r)] = true;
  if (flushed_ && !draws_by_fill(r)) restart();
}

template <element T>
void context<T>::end_rung() {
  if (current_->failed > 0)
    current_->verdict = rung_verdict::fail;
  else
    current_->verdict = current_->calls > 0 ? rung_verdict::pass : rung_verdict::not_applicable;
  if (current_->calls == 0 && current_->failed == 0 && current_->summary.empty())
    current_->summary = fmt::format("nothing within the kernel's limits ({} problems outside)", current_->unsupported);
}

template <element T>
bool context<T>::hangs() const noexcept {
  return hangs_ >= most_hangs;
}

template <element T>
void context<T>::leave_out(std::string why) {
  report().summary = std::move(why);
  report().verdict = rung_verdict::not_applicable;
}

template <element T>
std::vector<rung_report> context<T>::take() {
  std::vector<rung_report> out;
  for (std::size_t r = 0; r < rungs; ++r)
    if (begun_[r]) out.push_back(std::move(reports_[r]));
  return out;
}

template <element T>
void context<T>::forget() {
  for (auto& r : reports_) {
    auto const which = r.rung;
    r = {};
    r.rung = which;
  }
}

template class context<float>;
template class context<double>;

}  // namespace tandem::harness
