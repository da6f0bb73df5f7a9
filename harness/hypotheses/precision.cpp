// Fewer bits: of the operands, of the result, or of what is summed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/hypotheses/hypotheses.hpp"

namespace tandem::harness {
namespace {

/// x to so many significant bits, to nearest even or toward zero; exponents are not limited.
double with_bits(double x, int bits, bool truncate) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  double const scaled = std::ldexp(std::frexp(x, &exponent), bits);
  return std::ldexp(truncate ? std::trunc(scaled) : std::nearbyint(scaled), exponent - bits);
}

}  // namespace

/// The operands rounded to fewer bits, subnormals taken as zero, or the result rounded.
template <element T>
void try_precision(evidence<T>& e) {
  auto const& t = e.test();
  struct format {
    char const* name;
    int bits;
  };
  static constexpr format formats[] = {{"f32", 24}, {"tf32 or f16", 11}, {"bf16", 8}};
  auto const same = [](double x) { return x; };
  for (auto const& f : formats) {
    if (t.dtype == dtype::f32 && f.bits >= 24) continue;
    for (bool const truncate : {false, true}) {
      auto const round = [bits = f.bits, truncate](double x) { return with_bits(x, bits, truncate); };
      auto const how =
          fmt::format("rounded to {} ({} significant bits{})", f.name, f.bits, truncate ? ", toward zero" : "");
      e.propose(fmt::format("A and B are {}", how),
                [=](auto const& w) { return update(w, sums_of(w, round, round).back()); });
      e.propose(fmt::format("A is {}", how), [=](auto const& w) { return update(w, sums_of(w, round, same).back()); });
      e.propose(fmt::format("B is {}", how), [=](auto const& w) { return update(w, sums_of(w, same, round).back()); });
      e.propose(fmt::format("the result is {}", how), [=](auto const& w) { return round(w.wanted); });
    }
  }
  auto const smallest = static_cast<double>(std::numeric_limits<T>::min());
  auto const flush = [smallest](double x) { return std::abs(x) < smallest ? 0 : x; };
  e.propose("subnormal elements of A and B are taken as zero",
            [=](auto const& w) { return flush(update(w, sums_of(w, flush, flush).back())); });
  e.propose("a subnormal result becomes zero", [=](auto const& w) { return flush(w.wanted); });
}

/// All errors small beside the terms: bits were lost, or very few terms.
template <element T>
void try_lost_bits(evidence<T>& e) {
  double most = 0;
  for (auto const& w : e.witnesses()) {
    double const error = std::abs(w.got - w.wanted) / w.magnitude;
    if (!std::isfinite(error)) return;
    most = std::max(most, error);
  }
  if (most == 0 || most > 0x1p-6) return;
  e.propose(
      fmt::format("errors are small, up to 2^{:.1f} (|alpha| |A| |B| + |beta| |C|): bits are lost, as in a sum of "
                  "about {:.0f} significant bits, or few of the {} terms",
                  std::log2(most), -std::log2(most), e.test().k),
      [](witness<T> const& w) { return w.got; });
}

template void try_precision(evidence<float>&);
template void try_precision(evidence<double>&);
template void try_lost_bits(evidence<float>&);
template void try_lost_bits(evidence<double>&);

}  // namespace tandem::harness
