// The loop, compiled for every instruction set, and the choice among them at run time.
#include "tools/bench/fma_peak.hpp"

#include <algorithm>
#include <cstdint>

#include "tools/bench/timed_threads.hpp"

// Vectors of SVE have no size, so there are no arrays of them: Arm's machines are measured with NEON.
// clang-format off
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/fma_peak.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tandem::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as hide a multiply-add's latency (4 cycles, 2 to 4 a cycle) and find registers: before AVX-512
// x86 has 16.
constexpr int sums = HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3 ? 12 : 16;

// Returns the flop done; the result goes where the compiler cannot know that nobody reads it.
template <class T>
double multiply_add(std::int64_t steps, double* sink) {
  hn::ScalableTag<T> const d;
  auto const x = hn::Set(d, static_cast<T>(0.999)), y = hn::Set(d, static_cast<T>(0.001));
  hn::Vec<decltype(d)> sum[sums];
  for (auto& s : sum) s = y;
  for (std::int64_t i = 0; i < steps; ++i)
    for (auto& s : sum) s = hn::MulAdd(s, x, y);
  auto total = sum[0];
  for (int i = 1; i < sums; ++i) total = hn::Add(total, sum[i]);
  *sink = static_cast<double>(hn::GetLane(total));
  return 2.0 * sums * static_cast<double>(hn::Lanes(d)) * static_cast<double>(steps);
}

double multiply_add_f32(std::int64_t steps, double* sink) { return multiply_add<float>(steps, sink); }
double multiply_add_f64(std::int64_t steps, double* sink) { return multiply_add<double>(steps, sink); }

}  // namespace
}  // namespace tandem::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::bench {

HWY_EXPORT(multiply_add_f32);
HWY_EXPORT(multiply_add_f64);

double fma_peak(dtype type, int threads) {
  // Samples of some 0.3 ms; many, because on a machine that others use, too, some fall between their turns.
  constexpr std::int64_t steps = 1 << 16;
  double best = 0, spent = 0;
  while (spent < 0.3) {
    double flop = 0;
    double const seconds = timed_threads(threads, [&](int thread) {
      double sink = 0;
      double const done = type == dtype::f32 ? HWY_DYNAMIC_DISPATCH(multiply_add_f32)(steps, &sink)
                                             : HWY_DYNAMIC_DISPATCH(multiply_add_f64)(steps, &sink);
      double volatile const seen = sink;
      static_cast<void>(seen);
      if (thread == 0) flop = done * threads;
    });
    best = std::max(best, flop / seconds);
    spent += seconds;
  }
  return best;
}

char const* widest_instruction_set() {
  auto const targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);  // the best is the lowest bit
}

}  // namespace tandem::bench
#endif
