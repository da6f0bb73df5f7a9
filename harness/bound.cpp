// Unit roundoffs and Higham's gamma.
#include <tandem/harness/bound.hpp>

#include <limits>

namespace tandem::harness {

double unit_roundoff(dtype type) noexcept {
  switch (type) {
    case dtype::f32: return 0x1p-24;
    case dtype::f64: return 0x1p-53;
    case dtype::f16: return 0x1p-11;
    case dtype::bf16: return 0x1p-8;
  }
  return std::numeric_limits<double>::infinity();
}

double gamma(double n, dtype type) noexcept {
  double const nu = n * unit_roundoff(type);
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

}  // namespace tandem::harness
