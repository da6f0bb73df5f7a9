// Candidates for tests of the ladder, made from functions on harness_test::element_access; and one rung's verdict on
// them.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <tandem/harness/candidate.hpp>
#include <tandem/harness/judge.hpp>

#include "tests/unit/harness_kernels.hpp"

namespace harness_test {

/// f(element_access<T>) on the canonical problem, with nothing settled before it.
template <class T, class F>
tandem::harness::candidate planted(std::string name, F f) {
  tandem::harness::candidate out;
  out.name = std::move(name);
  out.dtype = tandem::dtype_of<T>;
  out.run = [f = std::move(f)](tandem::harness::gemm_call const& x) {
    auto p = canonical(x.test);
    bool const turned = x.test.layout_c == tandem::layout::col_major;
    p.a = turned ? x.b : x.a;
    p.b = turned ? x.a : x.b;
    p.c = x.c;
    f(element_access<T>{p});
    return 0;
  };
  return out;
}

/// A right kernel that settles the degenerate cases itself, and checks no argument.
template <class T>
void multiply_anything(element_access<T> const& x) {
  for (std::int64_t i = 0; i < x.p.m; ++i)
    for (std::int64_t j = 0; j < x.p.n; ++j) x.store(i, j, x.p.alpha == 0 ? T{0} : x.dot(i, j, x.p.k));
}

/// What the reference BLAS refuses.
inline void check_arguments(tandem::problem const& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0) throw std::invalid_argument("a negative size");
  auto const least = [](std::int64_t tight) { return tight > 1 ? tight : 1; };
  if (p.lda < least(p.trans_a ? p.m : p.k)) throw std::invalid_argument("lda");
  if (p.ldb < least(p.trans_b ? p.k : p.n)) throw std::invalid_argument("ldb");
  if (p.ldc < least(p.n)) throw std::invalid_argument("ldc");
}

inline tandem::harness::judgement climb(tandem::harness::candidate const& kernel, tandem::harness::rung rung,
                                        std::uint64_t seed = 1,
                                        tandem::harness::level level = tandem::harness::level::quick) {
  tandem::harness::judge_options options;
  options.level = level;
  options.seed = seed;
  options.only = {rung};
  options.diagnose = false;
  return judge(kernel, options);
}

/// This rung's report; a default one if it was not touched.
inline tandem::harness::rung_report report_of(tandem::harness::judgement const& j, tandem::harness::rung rung) {
  for (auto const& r : j.rungs)
    if (r.rung == rung) return r;
  return {};
}

/// The witness's words; empty where the rung has none.
inline std::string reason_of(tandem::harness::judgement const& j, tandem::harness::rung rung) {
  auto const r = report_of(j, rung);
  return r.witness ? r.witness->reason : std::string();
}

inline std::string fact_of(tandem::harness::judgement const& j, tandem::harness::rung rung, std::string const& name) {
  for (auto const& [key, value] : report_of(j, rung).facts)
    if (key == name) return value;
  return {};
}

}  // namespace harness_test
