// Parts of vectors: what an edge of a matrix leaves of one; and sums that become elements of C.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint> and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int lanes = HWY_LANES(T);

// Masked loads and stores that leave the memory of other lanes alone; with mask registers a masked load costs what
// another one does.
#if HWY_ARCH_X86
constexpr bool has_masks = HWY_TARGET <= HWY_AVX2, has_mask_registers = HWY_TARGET <= HWY_AVX3;
#else
constexpr bool has_masks = false, has_mask_registers = false;
#endif

// Sixteen vectors, where others have 32.
constexpr bool has_few_registers = HWY_ARCH_X86 && !has_mask_registers;

// What is used several times stays in its register: GCC would rather load it again for each use, and a load across
// cache lines takes two turns.
template <class V>
HWY_INLINE V in_register(V v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// A vector that was multiplied is still there behind this: g++ would let a sum take its register, and move others
// about.
template <class V>
HWY_INLINE void keep([[maybe_unused]] V const& v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm volatile("" : : "v"(v.raw));
#endif
}

// R rows, from each of which something is read at a time. A pointer serves three of them, since x86 reaches base +
// index * {1, 2} in one address: with one for each row there are too few registers, and what the compiler keeps in
// vector registers instead costs the arithmetic its turns.
template <class T, int R>
struct rows_of {
  static constexpr int bases = (R + 2) / 3;
  // Elements from row to row, and of a step along them.
  HWY_INLINE rows_of(T const* first, std::int64_t row, std::int64_t along)
      : stride(row * static_cast<std::int64_t>(sizeof(T))), step(along * static_cast<std::int64_t>(sizeof(T))) {
    base[0] = reinterpret_cast<char const*>(first);
    for (int i = 1; i < bases; ++i) base[i] = base[i - 1] + 3 * stride;
  }
  HWY_INLINE T const* at(int r) const { return reinterpret_cast<T const*>(base[r / 3] + r % 3 * stride); }
  HWY_INLINE bool lie_together() const { return step == sizeof(T); }
  HWY_INLINE void advance() {
    HWY_UNROLL(6)
    for (int i = 0; i < bases; ++i) base[i] += step;
  }
  HWY_INLINE void advance_together(int steps) {
    HWY_UNROLL(6)
    for (int i = 0; i < bases; ++i) base[i] += steps * static_cast<int>(sizeof(T));
  }
  char const* base[bases];
  std::int64_t stride, step;  // bytes
};

// Stores the first `count` lanes of D, piece by piece, if they are not all.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_pieces([[maybe_unused]] D d, [[maybe_unused]] hn::Vec<D> v, [[maybe_unused]] std::size_t count,
                             [[maybe_unused]] T* HWY_RESTRICT to) {
  if constexpr (hn::MaxLanes(D()) > 1) {
    constexpr std::size_t of_half = hn::MaxLanes(D()) / 2;
    hn::Half<D> const half;
    auto rest = hn::LowerHalf(half, v);
    if ((count & of_half) != 0) {
      hn::StoreU(rest, half, to);
      rest = hn::UpperHalf(half, v), to += of_half;
    }
    store_pieces(half, rest, count, to);
  }
}

// The first lanes of a vector; nothing behind them is read or written.
template <class D, class T = hn::TFromD<D>>
struct first_lanes {
  HWY_INLINE explicit first_lanes(std::size_t lanes) : count(lanes) {
    if constexpr (has_masks) mask = hn::FirstN(D(), lanes);
  }
  // Zeros in the other lanes.
  HWY_INLINE hn::Vec<D> load(T const* HWY_RESTRICT from) const {
    D const d;
    if constexpr (has_masks) {
      return hn::MaskedLoad(mask, d, from);
    } else {
      if (count == hn::MaxLanes(d)) return hn::LoadU(d, from);
      HWY_ALIGN T part[hn::MaxLanes(D())] = {};
      hn::SafeCopyN(count, d, from, part);
      return hn::Load(d, part);
    }
  }
  HWY_INLINE void store(hn::Vec<D> v, T* HWY_RESTRICT to) const {
    D const d;
    if constexpr (has_mask_registers) {
      hn::BlendedStore(v, mask, d, to);
    } else if constexpr (has_masks) {
      if (count == hn::MaxLanes(d)) return hn::StoreU(v, d, to);
      store_pieces(d, v, count, to);
    } else {
      HWY_ALIGN T part[hn::MaxLanes(D())];
      hn::Store(v, d, part);
      hn::SafeCopyN(count, d, part, to);
    }
  }
  // The same so that what is read soon after from the other lanes' memory does not wait, as it would behind a mask.
  HWY_INLINE void store_exactly(hn::Vec<D> v, T* HWY_RESTRICT to) const {
    if (count == hn::MaxLanes(D())) return hn::StoreU(v, D(), to);
    store_pieces(D(), v, count, to);
  }
  std::size_t count;
  hn::Mask<D> mask;
};

// The same for a number of lanes that is known beforehand. Without mask registers they are stored in pieces: masked
// stores of AVX2 take a Zen some twenty cycles each.
template <class D, int count, class T = hn::TFromD<D>>
struct fixed_lanes {
  static constexpr int N = static_cast<int>(hn::MaxLanes(D()));
  static_assert(0 < count && count <= N);
  HWY_INLINE hn::Vec<D> load(T const* HWY_RESTRICT from) const {
    if constexpr (count == N) return hn::LoadU(D(), from);
    return first_lanes<D>(count).load(from);
  }
  HWY_INLINE void store(hn::Vec<D> v, T* HWY_RESTRICT to) const {
    if constexpr (count < N && has_mask_registers)
      first_lanes<D>(count).store(v, to);
    else
      store_exactly(v, to);
  }
  HWY_INLINE void store_exactly(hn::Vec<D> v, T* HWY_RESTRICT to) const {
    if constexpr (count == N) {
      hn::StoreU(v, D(), to);
    } else {
      using half = hn::Half<D>;
      fixed_lanes<half, (count < N / 2 ? count : N / 2)>().store_exactly(hn::LowerHalf(half(), v), to);
      if constexpr (count > N / 2)
        fixed_lanes<half, count - N / 2>().store_exactly(hn::UpperHalf(half(), v), to + N / 2);
    }
  }
};

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_lanes(D, T const* HWY_RESTRICT from, std::size_t count) {
  return first_lanes<D>(count).load(from);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_lanes(D, hn::Vec<D> v, T* HWY_RESTRICT to, std::size_t count) {
  first_lanes<D>(count).store(v, to);
}

// Whether a sum is added to C or subtracted, which is fma(alpha, sum, beta old) to the bit, the signs of zeros and of
// NaN included, without multiplications: few terms would feel them, and a Zen has units that only add beside those that
// multiply.
template <class T>
HWY_INLINE bool is_added(T alpha, T beta) {
  return beta == 1 && alpha == 1;
}
template <class T>
HWY_INLINE bool is_subtracted(T alpha, T beta) {
  return beta == 1 && alpha == -1;
}

// alpha sum + beta old, where old is not read if beta = 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> combined(D d, hn::Vec<D> sum, T alpha, T beta, T const* HWY_RESTRICT old,
                               first_lanes<D> const& there) {
  auto const va = hn::Set(d, alpha);
  if (beta == 0) return alpha == 1 ? sum : hn::Mul(va, sum);
  auto const before = there.count == hn::MaxLanes(d) ? hn::LoadU(d, old) : there.load(old);
  return hn::MulAdd(va, sum, hn::Mul(hn::Set(d, beta), before));
}
template <class D, class T>
HWY_INLINE hn::Vec<D> combined(D d, hn::Vec<D> sum, T alpha, T beta, T const* HWY_RESTRICT old, std::size_t count) {
  return combined(d, sum, alpha, beta, old, first_lanes<D>(count));
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
