// L0: zero sizes, the rules of alpha and beta, and wrong arguments.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/compare.hpp"
#include "harness/random.hpp"
#include "harness/rungs/forms.hpp"
#include "harness/rungs/rungs.hpp"

namespace tandem::harness {
namespace {

// Both signs and both sides of 1: scalars have gone through integers, and through tests for 1 and for 0 that took more.
constexpr std::array alphas{1.0, -1.0, 2.0, 0.7, -2.7, 1e-3};
constexpr std::array betas{0.0, 1.0, -1.0, 2.0, 0.7, -1.6, 1e-3};
// Each as alpha and as beta, beside a few of the other: what a table of usual scalars, or integers, takes for another.
constexpr std::array others{0.5, -0.5, 0.25, 1.5, 3.0, -3.0, 4.0, -7.0, 10.0, 100.0};
constexpr int drawn_scalars = 6;
// alpha and beta; a small one shows only where no large one is beside it.
constexpr std::array<std::array<double, 2>, 9> extreme_scalars{{{1e-10, 0},
                                                                {1e-10, 1e-10},
                                                                {0, 1e-10},
                                                                {0, -1e-20},
                                                                {1e-20, -1e-20},
                                                                {1e10, 0},
                                                                {1, 1e10},
                                                                {1e10, -1},
                                                                {0, 1e15}}};

/// Whether integers are exact beside it.
bool is_small_whole(double x) { return x == std::floor(x) && std::abs(x) <= 2; }

/// An argument that no product can have, beside the ones of a right call.
struct wrong_argument {
  std::string text;  ///< "lda 6 < 7"
  test_case told;
};

template <element T>
class interface_rung {
 public:
  explicit interface_rung(context<T>& x) : x_(x) {}

  void climb() {
    empty_products();
    nothing_to_multiply();
    scalars();
    bits_under_beta_one();
    conjugate_transposes();
    wrong_arguments();
    if (x_.report().calls > 0) x_.set_summary(summary());
  }

 private:
  /// Each problem once, whatever the limits make of it.
  void check(test_case t) {
    if (x_.enough()) return;
    t = x_.adapted(t);
    t.seed = 0;
    if (!had_.insert(to_string(t)).second) return;
    t.seed = x_.seed(1, had_.size());
    if (x_.affordable(t)) x_.check(t);
  }

  test_case sized(std::int64_t m, std::int64_t n, std::int64_t k, int form, double alpha, double beta) const {
    test_case t;
    t.dtype = dtype_of<T>;
    t.m = m, t.n = n, t.k = k;
    t.alpha = alpha, t.beta = beta;
    t.fill = is_small_whole(alpha) && is_small_whole(beta) ? fill::integer : fill::normal;
    // Gaps in every second form: an empty operand may have any leading dimension from its tight one on.
    return in_form(t, form, form % 2 == 0 ? gaps{} : gaps{3, 1, 2});
  }

  /// Every size 0 in every combination: C = beta C where k = 0, and otherwise nothing happens.
  void empty_products() {
    constexpr std::array<std::array<double, 2>, 4> scalings{{{1, 0}, {1, 1}, {2, -1}, {0, 0.7}}};
    for (int zero = 1; zero < 8; ++zero)
      for (int form = 0; form < storage_forms; ++form)
        for (auto const& [alpha, beta] : scalings)
          check(sized(zero & 1 ? 0 : 13, zero & 2 ? 0 : 19, zero & 4 ? 0 : 11, form, alpha, beta));
  }

  /// C = beta C without a look at A and B, which hold NaN; beta = -0 is 0 as well.
  void nothing_to_multiply() {
    for (int form = 0; form < storage_forms; ++form)
      for (double const beta : {0.0, -0.0, 1.0, -1.0, 2.0, 0.7, 2.7}) {
        check(sized(23, 18, 12, form, 0, beta));
        check(sized(37, 29, 0, form, 1, beta));
        check(sized(5, 3, 0, form, -0.0, beta));
        check(sized(6, 4, 5, form, -0.0, beta));
      }
  }

  void scalars() {
    // The last past what is kept for small products.
    constexpr std::array<std::array<std::int64_t, 3>, 4> all_sizes{
        {{7, 5, 3}, {33, 35, 17}, {70, 67, 34}, {131, 140, 150}}};
    auto const sizes = std::span(all_sizes).first(x_.level() == level::quick ? 3 : 4);
    int form = 0;
    for (auto const& [m, n, k] : sizes)
      for (double const alpha : alphas)
        for (double const beta : betas) check(sized(m, n, k, form++ % storage_forms, alpha, beta));
    auto const beside_usual_ones = [&](double scalar) {
      for (auto const& [alpha, beta] : {std::array{scalar, 0.0}, {scalar, 1.0}, {1.0, scalar}, {-1.0, scalar}}) {
        auto const& [m, n, k] = sizes[static_cast<std::size_t>(form) % sizes.size()];
        check(sized(m, n, k, form++ % storage_forms, alpha, beta));
      }
    };
    for (double const scalar : others) beside_usual_ones(scalar);
    random drawn(x_.seed(4));
    for (int i = 0; i < drawn_scalars; ++i) beside_usual_ones(16 * drawn.uniform() - 8);
    for (int each = 0; each < storage_forms; ++each) check(sized(17, 21, 9, each, 1, -0.0));
    // So small or large that a comparison with a tolerance, or a cut-off, takes them for another. Not of a kernel that
    // may fold alpha into operands of a narrow range.
    if (x_.kernel().precision != precision::element) return;
    for (auto const& [alpha, beta] : extreme_scalars)
      for (auto const& [m, n, k] : sizes) check(sized(m, n, k, form++ % storage_forms, alpha, beta));
  }

  /// What becomes of C's bits under C = 1 C. Legal either way: 0 + -0 is 0.
  void bits_under_beta_one() {
    test_case t = x_.adapted(sized(9, 8, 7, 0, 0, 1));
    if (t.alpha != 0 || t.beta != 1) return;
    operands<T> data;
    data.a.assign(static_cast<std::size_t>(t.m * t.k), T{1});
    data.b.assign(static_cast<std::size_t>(t.k * t.n), T{1});
    data.c.assign(static_cast<std::size_t>(t.m * t.n), -T{0});
    auto const seen = x_.call(t, data);
    if (!seen.finished()) return;
    bool kept = true;
    for (auto const value : seen.c) kept = kept && value == 0 && std::signbit(value);
    x_.add_fact("alpha = 0, beta = 1", kept ? "C keeps its bits" : "-0 in C becomes +0");
  }

  // ---- conjugate transposes ----

  /// For real elements the reference takes them for transposes; an interface that has them leaves it open to a kernel
  /// to take none, so this is told and not judged. On squares, where no leading dimension tells one from the other.
  void conjugate_transposes() {
    if (!x_.kernel().has_conjugate_transpose) return;
    int tried = 0, refused = 0;
    std::string other;
    for (int form = 0; form < storage_forms; ++form) {
      auto t = x_.adapted(sized(24, 24, 24, form, 1, 0));
      bool const transposes = t.trans_a != (t.layout_a != t.layout_c) || t.trans_b != (t.layout_b != t.layout_c);
      t.seed = x_.seed(3, static_cast<std::uint64_t>(form));
      if (!transposes || !x_.affordable(t)) continue;
      auto const data = draw<T>(t, x_.kernel().precision);
      call_options quiet;
      quiet.quiet = true;
      auto const plain = x_.call(t, data, quiet);
      quiet.conjugated = true;
      if (!plain.finished()) continue;
      ++tried;
      auto const seen = x_.call(t, data, quiet);
      if (is_refusal(seen))
        ++refused;
      else if (other.empty())
        other = difference(plain, seen);
    }
    if (tried == 0) return x_.add_fact("CblasConjTrans", "not tried: the kernel takes no transposes");
    if (!other.empty()) return x_.add_fact("CblasConjTrans", "gives another result: " + other);
    x_.add_fact("CblasConjTrans", refused == 0       ? "is taken as a transpose"
                                  : refused == tried ? "is refused"
                                                     : fmt::format("is refused in {} of {} calls", refused, tried));
  }

  /// An answer other than a product: an error, an end in order, or C as it was.
  static bool is_refusal(trial<T> const& seen) {
    bool const ended = seen.how.status == call_status::died && seen.how.exited;
    if (!seen.finished()) return ended || seen.how.status == call_status::threw;
    return seen.damage.empty() && count_poison<T>(seen.c).untouched == std::ssize(seen.c);
  }

  /// Between what a transpose gave and what its conjugate does; empty if they are the same.
  static std::string difference(trial<T> const& plain, trial<T> const& seen) {
    if (!seen.finished()) return seen.how.reason;
    if (!seen.damage.empty()) return seen.damage;
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < plain.c.size(); ++i) differ += !(plain.c[i] == seen.c[i]);
    return differ == 0 ? "" : fmt::format("{} of {} elements differ from the transpose's", differ, plain.c.size());
  }

  // ---- wrong arguments ----

  static std::vector<wrong_argument> wrong_ones(test_case const& t) {
    std::vector<wrong_argument> out;
    auto const add = [&](std::string text, auto member, std::int64_t value) {
      wrong_argument w{std::move(text), t};
      w.told.*member = value;
      out.push_back(std::move(w));
    };
    using size = std::pair<char, std::int64_t test_case::*>;
    for (auto const& [name, member] : {size{'m', &test_case::m}, {'n', &test_case::n}, {'k', &test_case::k}})
      for (std::int64_t const value : {-1, -8}) add(fmt::format("{} = {}", name, value), member, value);
    struct leading {
      char const* name;
      std::int64_t test_case::*member;
      std::int64_t tight;
    };
    for (auto const& ld : {leading{"lda", &test_case::lda, tight_lda(t)},
                           {"ldb", &test_case::ldb, tight_ldb(t)},
                           {"ldc", &test_case::ldc, tight_ldc(t)}})
      for (std::int64_t const value : {ld.tight - 1, std::int64_t{0}})
        add(fmt::format("{} = {}, which must be at least {},", ld.name, value, ld.tight), ld.member, value);
    return out;
  }

  void wrong_arguments() {
    // 16 and 32 suit what multiples a kernel asks for; the sizes differ so that no leading dimension fits by chance.
    std::set<std::string> forms;
    for (int form = 0; form < storage_forms && !x_.enough(); ++form) {
      test_case t = x_.adapted(in_form(sized(24, 16, 32, form, 1, 0), form));
      t.seed = 0;
      if (!forms.insert(to_string(t)).second) continue;
      t.seed = x_.seed(2, static_cast<std::uint64_t>(form));
      if (!x_.affordable(t)) continue;
      for (double const beta : {0.0, 1.0}) {
        t.beta = beta;
        if (x_.adapted(t).beta != beta || (beta != 0 && x_.level() == level::quick)) continue;
        for (auto const& w : wrong_ones(t)) {
          if (x_.enough() || hung_) break;  // a hang tells enough, and costs the time limit
          try_wrong(t, w);
        }
      }
    }
    if (tried_ == 0) return;
    if (x_.kernel().reports_errors) {
      x_.add_fact("wrong arguments", fmt::format("{} of {} reported, nothing written", refused_, tried_));
      return;
    }
    // The interface promises no answer to them, so this is told and not judged.
    std::string text;
    auto const add = [&text](std::int64_t count, char const* what) {
      if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    };
    add(refused_, "refused");
    add(ended_, "ended the process in order");
    add(ignored_, "returned, nothing written");
    add(computed_, "computed all the same");
    add(crashed_, "crashed or hung");
    x_.add_fact("wrong arguments", fmt::format("{} of {}", text, tried_));
    if (!crash_.empty()) x_.add_fact("crashes on", crash_);
  }

  void try_wrong(test_case const& t, wrong_argument const& w) {
    auto const data = draw<T>(t, x_.kernel().precision);
    auto const seen = x_.call(t, data, {.as = w.told, .quiet = true});
    ++tried_;
    bool const answered = seen.how.status == call_status::threw || seen.how.status == call_status::refused;
    bool const in_order = seen.how.status == call_status::died && seen.how.exited;
    bool const died = seen.how.status == call_status::died || seen.how.status == call_status::hung;
    if (answered && seen.damage.empty()) return void(++refused_);
    if (x_.kernel().reports_errors) return blame(t, w, seen);
    if (in_order) return void(++ended_);
    if (!died) return void(++(seen.damage.empty() ? ignored_ : computed_));
    ++crashed_;
    hung_ = seen.how.status == call_status::hung;
    if (crash_.empty()) crash_ = w.text + ": " + seen.how.reason;
  }

  void blame(test_case const& t, wrong_argument const& w, trial<T> const& seen) {
    failure f;
    f.test = t;
    f.what = seen.how.status == call_status::died   ? failure_class::crash
             : seen.how.status == call_status::hung ? failure_class::hang
             : seen.damage.empty()                  ? failure_class::accepted
                                                    : failure_class::written_outside;
    f.reason = w.text + (seen.finished() ? " was accepted" : " was answered with: " + seen.how.reason);
    if (!seen.damage.empty()) f.reason += "; " + seen.damage;
    x_.fail(std::move(f));
  }

  std::string summary() const {
    if (x_.report().failed > 0) return {};
    std::string text = "zero sizes and the rules of alpha and beta hold";
    if (x_.kernel().reports_errors && tried_ > 0) text += "; wrong arguments are reported";
    return text;
  }

  context<T>& x_;
  std::set<std::string> had_;
  std::int64_t tried_ = 0, refused_ = 0, ended_ = 0, ignored_ = 0, computed_ = 0, crashed_ = 0;
  std::string crash_;
  bool hung_ = false;
};

}  // namespace

template <element T>
void climb_interface(context<T>& x) {
  interface_rung<T>(x).climb();
}

template void climb_interface<float>(context<float>&);
template void climb_interface<double>(context<double>&);

}  // namespace tandem::harness
