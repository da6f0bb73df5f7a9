// y = alpha x + y with one fused multiply-add an element: full vectors where both strides are 1, else lane by lane.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint> and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void axpy(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y) {
  static_assert(HWY_NATIVE_FMA, "the result must not depend on the instruction set");
  std::int64_t i = 0;
  if (stride_x == 1 && stride_y == 1) {
    hn::ScalableTag<T> const d;
    constexpr int N = HWY_LANES(T);
    auto const va = hn::Set(d, alpha);
    for (; i + N <= n; i += N) hn::StoreU(hn::MulAdd(va, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  hn::CappedTag<T, 1> const one;
  auto const va = hn::Set(one, alpha);
  for (; i < n; ++i) {
    T* const yi = y + i * stride_y;
    hn::StoreU(hn::MulAdd(va, hn::LoadU(one, x + i * stride_x), hn::LoadU(one, yi)), one, yi);
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
