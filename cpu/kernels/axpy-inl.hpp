// y = alpha x + y with one fused multiply-add an element: vectors where both strides are 1, else lane by lane.
// Included once by each instruction set's file, inside its target and behind lanes-inl.hpp; so no include guard and no
// inline std:: code. Needs <cstdint> and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Of n elements `stride` apart, one after the other.
template <class T>
HWY_INLINE void axpy_one_by_one(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y,
                                std::int64_t stride_y) {
  hn::CappedTag<T, 1> const one;
  auto const va = hn::Set(one, alpha);
  for (std::int64_t i = 0; i < n; ++i) {
    T* const at = y + i * stride_y;
    hn::StoreU(hn::MulAdd(va, hn::LoadU(one, x + i * stride_x), hn::LoadU(one, at)), one, at);
  }
}

/// Of fewer elements than a vector has.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void axpy_part(D d, std::int64_t n, T alpha, T const* x, T* y) {
  if constexpr (has_mask_registers) {
    first_lanes<D> const part(static_cast<std::size_t>(n));
    part.store(hn::MulAdd(hn::Set(d, alpha), part.load(x), part.load(y)), y);
  } else {
    axpy_one_by_one(n, alpha, x, 1, y, 1);
  }
}

/// In vectors of `bytes` bytes. Stores that cross a line take twice their time, so y's begin on lines; and what a few
/// vectors read is there before one of them is written, which a processor could take for what it reads next.
template <class T, int bytes>
void axpy(std::int64_t n, T alpha, T const* x, std::int64_t stride_x, T* y, std::int64_t stride_y) {
  static_assert(HWY_NATIVE_FMA, "the result must not depend on the instruction set");
  if (stride_x != 1 || stride_y != 1) return axpy_one_by_one(n, alpha, x, stride_x, y, stride_y);
  constexpr int size = sizeof(T), N = bytes / size, group = 4;
  hn::CappedTag<T, N> const d;
  using V = hn::Vec<decltype(d)>;
  static_assert(hn::MaxLanes(d) == N);
  constexpr std::int64_t worth_aligning = 8 * N;
  if (n >= worth_aligning) {
    auto const past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y) / size % N);
    if (past != 0) {
      std::int64_t const head = N - past;
      axpy_part(d, head, alpha, x, y);
      x += head, y += head, n -= head;
    }
  }
  auto const va = hn::Set(d, alpha);
  for (; n >= group * N; n -= group * N, x += group * N, y += group * N) {
    V const y0 = hn::MulAdd(va, hn::LoadU(d, x), hn::LoadU(d, y));
    V const y1 = hn::MulAdd(va, hn::LoadU(d, x + N), hn::LoadU(d, y + N));
    V const y2 = hn::MulAdd(va, hn::LoadU(d, x + 2 * N), hn::LoadU(d, y + 2 * N));
    V const y3 = hn::MulAdd(va, hn::LoadU(d, x + 3 * N), hn::LoadU(d, y + 3 * N));
    hn::StoreU(y0, d, y);
    hn::StoreU(y1, d, y + N);
    hn::StoreU(y2, d, y + 2 * N);
    hn::StoreU(y3, d, y + 3 * N);
  }
  for (; n >= N; n -= N, x += N, y += N) hn::StoreU(hn::MulAdd(va, hn::LoadU(d, x), hn::LoadU(d, y)), d, y);
  if (n > 0) axpy_part(d, n, alpha, x, y);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
