// Packing: every layout, transpose and leading dimension becomes panels that the microkernel reads front to back.
// Included once by each instruction set's file, inside its target; so no include guard and no inline std:: code.
// Needs <cstdint>, <cstring>, "hwy/cache_control.h", "hwy/highway.h" and lanes-inl.hpp before it.
HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The edge of the blocks that are transposed in registers: vectors of 32 bytes where there are any.
template <class T>
constexpr int transpose_edge = (HWY_MAX_BYTES >= 32 ? 32 : 16) / sizeof(T);

template <class T>
using edge_vector = hn::FixedTag<T, transpose_edge<T>>;

// Rows become columns.
template <class D, int E, class T = hn::TFromD<D>>
HWY_INLINE void transpose(hn::Vec<D> (&v)[E]) {
  D const d;
  hn::Vec<D> t[E];
  HWY_UNROLL(8)
  for (int i = 0; i < E; i += 2)
    t[i] = hn::InterleaveLower(d, v[i], v[i + 1]), t[i + 1] = hn::InterleaveUpper(d, v[i], v[i + 1]);
  if constexpr (sizeof(T) == sizeof(float)) {
    hn::Repartition<double, D> const pairs;
    hn::Vec<decltype(pairs)> p[E];
    HWY_UNROLL(8)
    for (int i = 0; i < E; ++i) p[i] = hn::BitCast(pairs, t[i]);
    HWY_UNROLL(8)
    for (int i = 0; i < E; i += 4)
      for (int half = 0; half < 2; ++half) {
        t[i + 2 * half] = hn::BitCast(d, hn::InterleaveLower(pairs, p[i + half], p[i + 2 + half]));
        t[i + 2 * half + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, p[i + half], p[i + 2 + half]));
      }
  }
  // So far within 16 bytes.
  if constexpr (E * sizeof(T) == 32) {
    HWY_UNROLL(8)
    for (int i = 0; i < E / 2; ++i) {
      v[i] = hn::ConcatLowerLower(d, t[i + E / 2], t[i]);
      v[i + E / 2] = hn::ConcatUpperUpper(d, t[i + E / 2], t[i]);
    }
  } else {
    HWY_UNROLL(8)
    for (int i = 0; i < E; ++i) v[i] = t[i];
  }
}

// Transposes a block of at most `rows` rows, `stride` apart, and `depth` columns, which are stored `apart`; zeros
// behind the last row.
template <class T>
HWY_INLINE void transpose_block(T const* HWY_RESTRICT src, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                                T* HWY_RESTRICT out, std::int64_t apart) {
  constexpr int E = transpose_edge<T>;
  edge_vector<T> const d;
  hn::Vec<edge_vector<T>> v[E];
  if (rows >= E && depth >= E) {
    HWY_UNROLL(8)
    for (int r = 0; r < E; ++r) v[r] = hn::LoadU(d, src + r * stride);
    transpose<edge_vector<T>, E>(v);
    HWY_UNROLL(8)
    for (int c = 0; c < E; ++c) hn::StoreU(v[c], d, out + c * apart);
    return;
  }
  first_lanes<edge_vector<T>> const there(static_cast<std::size_t>(depth < E ? depth : E));
  HWY_UNROLL(8)
  for (int r = 0; r < E; ++r) v[r] = r < rows ? there.load(src + r * stride) : hn::Zero(d);
  transpose<edge_vector<T>, E>(v);
  HWY_UNROLL(8)
  for (int c = 0; c < E; ++c)
    if (c < depth) hn::StoreU(v[c], d, out + c * apart);
}

// Each block of 16 bytes by itself: of Q vectors, element q of the one of place p changes places with p of place q.
template <class D, int Q, class T = hn::TFromD<D>>
HWY_INLINE void transpose_blocks(hn::Vec<D> (&v)[Q]) {
  static_assert(Q * sizeof(T) == 16);
  D const d;
  auto const low = hn::InterleaveLower(d, v[0], v[1]), high = hn::InterleaveUpper(d, v[0], v[1]);
  if constexpr (Q == 2) {
    v[0] = low, v[1] = high;
  } else {
    hn::Repartition<double, D> const pairs;
    auto const low2 = hn::InterleaveLower(d, v[2], v[3]), high2 = hn::InterleaveUpper(d, v[2], v[3]);
    auto const p = hn::BitCast(pairs, low), q = hn::BitCast(pairs, low2);
    auto const r = hn::BitCast(pairs, high), s = hn::BitCast(pairs, high2);
    v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, p, q)), v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, p, q));
    v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, r, s)), v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, r, s));
  }
}

// A vector of blocks of 16 bytes, load_block(0), load_block(1) and so on.
template <class D, int first = 0, class Load>
HWY_INLINE hn::Vec<D> load_blocks(D d, Load const& load_block) {
  constexpr int blocks = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 16;
  if constexpr (blocks == 1) {
    return load_block(first);
  } else {
    hn::Half<D> const half;
    return hn::Combine(d, load_blocks<hn::Half<D>, first + blocks / 2>(half, load_block),
                       load_blocks<hn::Half<D>, first>(half, load_block));
  }
}

// The columns of 16 bytes of as many rows as D has lanes. Loads bring the rows' blocks to where shuffles within blocks
// are enough.
template <class D, int Q, class T = hn::TFromD<D>>
HWY_INLINE void load_transposed(T const* HWY_RESTRICT src, std::int64_t stride, hn::Vec<D> (&v)[Q]) {
  hn::FixedTag<T, Q> const block;
  // Opaque, so that the compiler finds the rows' addresses from this one, and does not keep one for each.
  asm("" : "+r"(src));
  rows_of<T, hn::MaxLanes(D())> const lines(src, stride, 0);
  HWY_UNROLL(4)
  for (int q = 0; q < Q; ++q)
    v[q] = load_blocks(D(), [&](int i) HWY_ATTR { return hn::LoadU(block, lines.at(i * Q + q)); });
  transpose_blocks<D, Q>(v);
}

// 16 bytes of as many rows as D has lanes, of which `rows` are there, become as many columns, `apart` from each other;
// zeros behind the last row.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void transpose_rows(T const* HWY_RESTRICT src, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                               T* HWY_RESTRICT out, std::int64_t apart) {
  D const d;
  constexpr int Q = 16 / sizeof(T), N = hn::MaxLanes(D());
  hn::FixedTag<T, Q> const block;
  hn::Vec<D> v[Q];
  if (rows >= N && depth >= Q) {
    load_transposed<D, Q>(src, stride, v);
    HWY_UNROLL(4)
    for (int q = 0; q < Q; ++q) hn::StoreU(v[q], d, out + q * apart);
    return;
  }
  first_lanes<hn::FixedTag<T, Q>> const there(static_cast<std::size_t>(depth < Q ? depth : Q));
  HWY_UNROLL(4)
  for (int q = 0; q < Q; ++q)
    v[q] = load_blocks(
        d, [&](int i) HWY_ATTR { return i * Q + q < rows ? there.load(src + (i * Q + q) * stride) : hn::Zero(block); });
  transpose_blocks<D, Q>(v);
  HWY_UNROLL(4)
  for (int q = 0; q < Q; ++q)
    if (q < depth) hn::StoreU(v[q], d, out + q * apart);
}

// A panel of the first W of `width` rows, or of fewer, whose depth is contiguous in the source. A cache line of each
// group of rows is used up before the next group is touched: with a power of two between rows, W lines at once would
// evict each other.
template <int W, class T>
HWY_INLINE void pack_transposed(T const* HWY_RESTRICT src, std::int64_t stride_w, std::int64_t width,
                                std::int64_t depth, T* HWY_RESTRICT out) {
  constexpr int edge = transpose_edge<T>, line = 64 / sizeof(T), block = 16 / sizeof(T), N = lanes<T>;
  constexpr int group = W % N == 0 && N > edge ? N : edge;
  static_assert(W % edge == 0 && line % edge == 0);
  std::int64_t const later = width < 2 * W ? width : 2 * W;
  for (std::int64_t d0 = 0; d0 < depth; d0 += line) {
    std::int64_t const d1 = d0 + line <= depth ? d0 + line : depth;
    // The rows of the next panel: they are far apart, where no hardware prefetcher looks.
    for (std::int64_t w = W; w < later; ++w) hwy::Prefetch(src + w * stride_w + d0);
    for (int w = 0; w < W; w += group) {
      // Vectors wider than a square block's take 16 bytes of a whole group; what is less is left to square blocks.
      std::int64_t const in_squares = group > edge && width - w >= group ? d0 + (d1 - d0) / block * block : d0;
      for (std::int64_t d = d0; d < in_squares; d += block)
        transpose_rows<hn::CappedTag<T, group>>(src + w * stride_w + d, stride_w, group, block, out + d * W + w, W);
      for (std::int64_t d = in_squares; d < d1; d += edge)
        for (int e = w; e < w + group; e += edge)
          transpose_block(src + e * stride_w + d, stride_w, width - e, d1 - d, out + d * W + e, W);
    }
  }
}

// A vector of each of two to four columns that lie together.
template <int cols, class D, class T = hn::TFromD<D>>
HWY_INLINE void load_interleaved(D d, T const* HWY_RESTRICT from, hn::Vec<D> (&v)[4]) {
  if constexpr (cols == 2)
    hn::LoadInterleaved2(d, from, v[0], v[1]);
  else if constexpr (cols == 3)
    hn::LoadInterleaved3(d, from, v[0], v[1], v[2]);
  else
    hn::LoadInterleaved4(d, from, v[0], v[1], v[2], v[3]);
}

// The same for rows of two or three elements that lie together, as far as whole vectors go; returns how many those are.
template <int cols, class T>
HWY_INLINE std::int64_t turn_together(T const* HWY_RESTRICT src, std::int64_t rows, T* HWY_RESTRICT out,
                                      std::int64_t apart) {
  hn::ScalableTag<T> const d;
  constexpr int N = lanes<T>;
  std::int64_t r = 0;
  for (; r + N <= rows; r += N) {
    hn::Vec<decltype(d)> v[4];
    load_interleaved<cols>(d, src + cols * r, v);
    HWY_UNROLL(3)
    for (int c = 0; c < cols; ++c) hn::StoreU(v[c], d, out + c * apart + r);
  }
  return r;
}

// out[c * apart + r] = src[r * stride + c]; `apart` is a multiple of a vector's elements, and no less than `rows`.
// Square blocks as far as there are columns for them, then 16 bytes of more rows at a time, the last of which overlap
// those before.
template <class T>
void turn(T const* HWY_RESTRICT src, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* HWY_RESTRICT out,
          std::int64_t apart) {
  constexpr int edge = transpose_edge<T>, block = 16 / sizeof(T);
  if (cols == 1) {
    for (std::int64_t r = 0; r < rows; ++r) out[r] = src[r * stride];
    return;
  }
  std::int64_t const squares = cols / edge * edge;
  for (std::int64_t r = 0; r < rows; r += edge)
    for (std::int64_t c = 0; c < squares; c += edge)
      transpose_block(src + r * stride + c, stride, rows - r, edge, out + c * apart + r, apart);
  std::int64_t const together = stride != cols ? 0
                                : cols == 2    ? turn_together<2>(src, rows, out, apart)
                                : cols == 3    ? turn_together<3>(src, rows, out, apart)
                                               : 0;
  for (std::int64_t r = together; r < rows; r += lanes<T>)
    for (std::int64_t next = squares; next < cols; next += block) {
      std::int64_t const c = next + block <= cols || cols < block ? next : cols - block;
      transpose_rows<hn::ScalableTag<T>>(src + r * stride + c, stride, rows - r, cols - c, out + c * apart + r, apart);
    }
}

// Whole panels whose width is contiguous in the source. 1 KiB of each of its rows goes to panels side by side: with
// less, pages of 4 KiB are come back to often; with a whole row, the panels' lines, which may be a power of two apart,
// evict each other from L1. Of AVX2's narrow panels some rows go together, so that more than a line is written at a
// time. The rows to come are too far apart for hardware to see, or so short that it does not look far enough for DRAM.
template <class T, int W>
void pack_contiguous(T const* HWY_RESTRICT src, std::int64_t stride_d, std::int64_t width, std::int64_t depth,
                     T* HWY_RESTRICT out) {
  constexpr int line = 64 / sizeof(T), together = HWY_MAX_BYTES == 32 ? 4 : 1;
  constexpr bool asks_beside = together > 1 && W >= line;
  constexpr std::int64_t rows_ahead = 4, elements_ahead = 8192 / sizeof(T);
  std::int64_t const ahead = rows_ahead * stride_d < elements_ahead ? elements_ahead / stride_d : rows_ahead;
  constexpr std::int64_t stretch = W * sizeof(T) >= 1024 ? W : 1024 / (W * sizeof(T)) * W;
  for (std::int64_t w0 = 0; w0 < width; w0 += stretch) {
    std::int64_t const w1 = width - w0 < stretch ? width : w0 + stretch;
    auto const ask = [=](T const* row, std::int64_t from, std::int64_t to) HWY_ATTR {
      for (std::int64_t w = from; w < to; w += line) hwy::Prefetch(row + ahead * stride_d + w);
    };
    auto const copy = [=](std::int64_t d, int rows) HWY_ATTR {
      T const* const first = src + d * stride_d;
      if constexpr (!asks_beside)
        for (int r = 0; r < rows; ++r) ask(first + r * stride_d, w0, w1);
      for (std::int64_t w = w0; w < w1; w += W)
        for (int r = 0; r < rows; ++r) {
          T const* const row = first + r * stride_d;
          if constexpr (asks_beside) ask(row, w, w + W);
          std::memcpy(out + w * depth + (d + r) * W, row + w, W * sizeof(T));
        }
    };
    std::int64_t d = 0;
    for (; d + together <= depth; d += together) copy(d, together);
    for (; d < depth; ++d) copy(d, 1);
  }
}

// The columns behind the last whole panel.
template <class T, int W>
void pack_rest(T const* HWY_RESTRICT src, std::int64_t stride_d, std::int64_t width, std::int64_t depth,
               T* HWY_RESTRICT out) {
  constexpr int edge = transpose_edge<T>;
  edge_vector<T> const d;
  for (std::int64_t p = 0; p < depth; ++p, src += stride_d, out += W)
    for (int w = 0; w < W; w += edge) {
      std::int64_t const left = width - w;
      auto const v = left >= edge ? hn::LoadU(d, src + w)
                     : left > 0   ? load_lanes(d, src + w, static_cast<std::size_t>(left))
                                  : hn::Zero(d);
      hn::StoreU(v, d, out + w);
    }
}

template <class T, int W>
void pack(T const* HWY_RESTRICT src, std::int64_t stride_w, std::int64_t stride_d, std::int64_t width,
          std::int64_t depth, T* HWY_RESTRICT out) {
  if (stride_w == 1) {
    std::int64_t const whole = width / W * W, rest = width - whole;
    pack_contiguous<T, W>(src, stride_d, whole, depth, out);
    if (rest > 0) pack_rest<T, W>(src + whole, stride_d, rest, depth, out + whole * depth);
    return;
  }
  for (std::int64_t w = 0; w < width; w += W)
    pack_transposed<W>(src + w * stride_w, stride_w, width - w, depth, out + w * depth);
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
