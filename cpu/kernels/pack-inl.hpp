// Packing: every layout, transpose and leading dimension becomes panels that the microkernel reads front to back.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, <cstring> and "hwy/highway.h" before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Transposes a 4 x 4 block: rows `stride` apart become columns, stored `W` apart.
template <int W>
HWY_INLINE void transpose_block(float const* HWY_RESTRICT src, std::int64_t stride, float* HWY_RESTRICT out) {
  hn::FixedTag<float, 4> const d;
  hn::FixedTag<double, 2> const pairs;
  auto const r0 = hn::LoadU(d, src), r1 = hn::LoadU(d, src + stride);
  auto const r2 = hn::LoadU(d, src + 2 * stride), r3 = hn::LoadU(d, src + 3 * stride);
  auto const low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  auto const low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  auto const high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  auto const high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + W);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * W);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * W);
}

// The same for a 2 x 2 block.
template <int W>
HWY_INLINE void transpose_block(double const* HWY_RESTRICT src, std::int64_t stride, double* HWY_RESTRICT out) {
  hn::FixedTag<double, 2> const d;
  auto const r0 = hn::LoadU(d, src), r1 = hn::LoadU(d, src + stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + W);
}

template <class T>
constexpr int transpose_edge = 16 / sizeof(T);

// A full panel whose depth is contiguous in the source. A cache line of each group of rows is used up before the next
// group is touched: with a power of two between rows, W lines at once would evict each other.
template <int W, class T>
HWY_INLINE void pack_transposed(T const* HWY_RESTRICT src, std::int64_t stride_w, std::int64_t depth,
                                T* HWY_RESTRICT out) {
  constexpr int edge = transpose_edge<T>;
  constexpr int line = 64 / sizeof(T);
  std::int64_t d0 = 0;
  for (; d0 + edge <= depth;) {
    std::int64_t const d1 = d0 + line <= depth ? d0 + line : d0 + (depth - d0) / edge * edge;
    // The rows of the next panel: they are far apart, where no hardware prefetcher looks.
    for (int w = 0; w < W; ++w) hwy::Prefetch(src + (W + w) * stride_w + d0);
    for (int w = 0; w < W; w += edge)
      for (std::int64_t d = d0; d < d1; d += edge)
        transpose_block<W>(src + w * stride_w + d, stride_w, out + d * W + w);
    d0 = d1;
  }
  for (; d0 < depth; ++d0)
    for (int w = 0; w < W; ++w) out[d0 * W + w] = src[w * stride_w + d0];
}

// Whole panels whose width is contiguous in the source. 1 KiB of each of its rows goes to panels side by side: with
// less, pages of 4 KiB are come back to often; with a whole row, the panels' lines, which may be a power of two apart,
// evict each other from L1.
template <class T, int W>
void pack_contiguous(T const* HWY_RESTRICT src, std::int64_t stride_d, std::int64_t width, std::int64_t depth,
                     T* HWY_RESTRICT out) {
  constexpr int ahead = 4, line = 64 / sizeof(T);  // the rows to come are too far apart for hardware to see
  constexpr std::int64_t stretch = W * sizeof(T) >= 1024 ? W : 1024 / (W * sizeof(T)) * W;
  for (std::int64_t w0 = 0; w0 < width; w0 += stretch) {
    std::int64_t const w1 = width - w0 < stretch ? width : w0 + stretch;
    for (std::int64_t d = 0; d < depth; ++d) {
      T const* const row = src + d * stride_d;
      for (std::int64_t w = w0; w < w1; w += line) hwy::Prefetch(row + ahead * stride_d + w);
      for (std::int64_t w = w0; w < w1; w += W) std::memcpy(out + w * depth + d * W, row + w, W * sizeof(T));
    }
  }
}

template <class T, int W>
void pack(T const* HWY_RESTRICT src, std::int64_t stride_w, std::int64_t stride_d, std::int64_t width,
          std::int64_t depth, T* HWY_RESTRICT out) {
  std::int64_t const whole = width / W * W, rest = width - whole;
  if (stride_w == 1) {
    pack_contiguous<T, W>(src, stride_d, whole, depth, out);
  } else if constexpr (W % transpose_edge<T> == 0) {
    for (std::int64_t w = 0; w < whole; w += W)
      pack_transposed<W>(src + w * stride_w, stride_w, depth, out + w * depth);
  } else {
    for (std::int64_t w = 0; w < whole; ++w)
      for (std::int64_t d = 0; d < depth; ++d) out[w / W * W * depth + d * W + w % W] = src[w * stride_w + d];
  }
  if (rest == 0) return;
  src += whole * stride_w;
  out += whole * depth;
  for (std::int64_t d = 0; d < depth; ++d) {
    for (std::int64_t w = 0; w < rest; ++w) out[d * W + w] = src[w * stride_w + d * stride_d];
    for (std::int64_t w = rest; w < W; ++w) out[d * W + w] = 0;
  }
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
