// What maxas_64 and maxas_256 share: the arrangement of Scott Gray's maxas SGEMM as far as CUDA C++ reaches. Half of a
// block's warps fetch A and half B, through textures, into registers, while the chunk before is multiplied; two chunks
// take turns in shared memory, with one barrier each; and a thread's fragments of the next step of k are read before
// the multiply-adds of this one. C leaves by way of shared memory, so that a warp writes whole pieces of rows.
#pragma once

#include "gpu/kernels/block_product.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A square tile, 8 steps of k a chunk, 8 x 8 elements a thread.
template <class T, int edge, int blocks>
using maxas_tiling = block_tiling<T, edge, edge, 8, 8, 8, 1, 2, blocks>;

/// The most elements that an operand may span, gaps included: 2^27 fit a texture, which begins at a multiple of 512
/// bytes.
inline constexpr std::int64_t most_texels = (std::int64_t{1} << 27) - 512 / 4;

/// An operand as a texture whose texels are `width` neighbours of a line; what is counted along lines is in texels.
struct texture_operand {
  cudaTextureObject_t texture;
  int first, ld;        // of element (0, 0), between lines
  std::int64_t extent;  // elements along C's edge
};

/// One thread's part of each chunk of an operand whose lines run along k, or along C's edge: the fetchers stand side by
/// side along lines, and go on over as many lines as they fill.
template <class Tiling, int width, bool along_k>
class texture_part {
  using T = typename Tiling::element;
  static constexpr int edge = Tiling::bm, bk = Tiling::bk, fetchers = Tiling::threads / 2;
  static constexpr int line = (along_k ? bk : edge) / width;  // texels
  static constexpr int count = edge * bk / width / fetchers;  // texels of a thread

 public:
  static constexpr int pitch = edge + 16 / int{sizeof(T)};  // of a step of k in shared memory

  __device__ texture_part(texture_operand const& from, std::int64_t x0) : texture_(from.texture), ld_(from.ld) {
    extent_ = static_cast<int>(min(from.extent - x0, std::int64_t{edge}));
    int const fetcher = static_cast<int>(threadIdx.x) % fetchers, corner = static_cast<int>(x0);
    along_ = fetcher % line, across_ = fetcher / line;
    index_ = from.first + (along_k ? corner * ld_ : corner / width) + across_ * ld_ + along_;
  }

  /// Fetches the next chunk, of which `left` steps lie in the matrix; zeros outside. A texture gives zeros only beyond
  /// its ends, so what lies outside the matrix is asked for there.
  __device__ __forceinline__ void fetch_next(T (&staged)[count * width], int left) {
#pragma unroll
    for (int r = 0; r < count; ++r) {
      int const x = along_k ? across(r) : along(r) * width, p = along_k ? along(r) * width : across(r);
      int const index = index_ + (along(r) - along_) + (across(r) - across_) * ld_;
      bool const inside = x < extent_ && p < left;
      if constexpr (width == 4) {
        float4 const v = tex1Dfetch<float4>(texture_, inside ? index : -1);
        staged[4 * r] = v.x, staged[4 * r + 1] = v.y, staged[4 * r + 2] = v.z, staged[4 * r + 3] = v.w;
      } else {
        staged[r] = fetch_element<T>(texture_, inside ? index : -1);
      }
    }
    index_ += along_k ? bk / width : bk * ld_;
  }

  /// Writes it to shared memory, (bk, edge), padded.
  __device__ __forceinline__ void store(T const (&staged)[count * width], T* chunk) const {
#pragma unroll
    for (int r = 0; r < count; ++r) {
      if constexpr (along_k) {
#pragma unroll
        for (int w = 0; w < width; ++w) chunk[(along(r) * width + w) * pitch + across(r)] = staged[r * width + w];
      } else if constexpr (width == 4) {
        *reinterpret_cast<float4*>(chunk + across(r) * pitch + along(r) * width) =
            make_float4(staged[4 * r], staged[4 * r + 1], staged[4 * r + 2], staged[4 * r + 3]);
      } else {
        chunk[across(r) * pitch + along(r)] = staged[r];
      }
    }
  }

 private:
  // Where the r-th texel lies.
  __device__ int along(int r) const { return along_ + r * fetchers % line; }
  __device__ int across(int r) const { return across_ + r * fetchers / line; }

  cudaTextureObject_t texture_;
  int ld_, extent_, along_, across_, index_;
};

template <class Tiling, int width, bool trans_a, bool trans_b>
__device__ __forceinline__ void maxas(gemm_operands<typename Tiling::element> const& g, texture_operand const& a,
                                      texture_operand const& b) {
  using T = typename Tiling::element;
  constexpr int edge = Tiling::bm, bk = Tiling::bk, tm = Tiling::tm, tn = Tiling::tn, vector = Tiling::vector;
  using part_a = texture_part<Tiling, width, !trans_a>;
  using part_b = texture_part<Tiling, width, trans_b>;
  constexpr int pitch = part_a::pitch;
  static_assert(Tiling::threads_m * pitch <= 4 * bk * pitch, "a row of each thread fits where the chunks were");
  __shared__ __align__(16) T shared[2][2][bk * pitch];  // (stages, A and B, bk, edge), padded

  int const thread = static_cast<int>(threadIdx.x);
  bool const fetches_a = thread < Tiling::threads / 2;
  block_place<Tiling> const place;
  auto const row = [&](int i) { return element_of<Tiling::threads_m, vector>(place.m, i); };
  auto const col = [&](int j) { return element_of<Tiling::threads_n, vector>(place.n, j); };

  std::int64_t const j0 = std::int64_t{blockIdx.x} * edge;
  for (std::int64_t tile = blockIdx.y; tile < tiles(g.m, edge); tile += gridDim.y) {
    std::int64_t const i0 = tile * edge;
    part_a from_a(a, i0);
    part_b from_b(b, j0);
    T staged[2 * edge * bk / Tiling::threads];
    int left = static_cast<int>(g.k);
    auto const fetch_next = [&] { fetches_a ? from_a.fetch_next(staged, left) : from_b.fetch_next(staged, left); };
    auto const store = [&](int stage) {
      fetches_a ? from_a.store(staged, shared[stage][0]) : from_b.store(staged, shared[stage][1]);
    };
    T acc[tm][tn] = {};  // (tm, tn)
    fetch_next();
    store(0);
    __syncthreads();
    for (int stage = 0; left > 0; stage ^= 1) {
      left -= bk;
      if (left > 0) fetch_next();
      T fragments_a[2][tm], fragments_b[2][tn];  // (this step and the next, tm), (…, tn)
      auto const read = [&](int p) {
#pragma unroll
        for (int i = 0; i < tm; i += vector)
          load_vector<vector>(&fragments_a[p % 2][i], shared[stage][0] + p * pitch + row(i));
#pragma unroll
        for (int j = 0; j < tn; j += vector)
          load_vector<vector>(&fragments_b[p % 2][j], shared[stage][1] + p * pitch + col(j));
      };
      read(0);
#pragma unroll
      for (int p = 0; p < bk; ++p) {
        if (p + 1 < bk) read(p + 1);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
          for (int j = 0; j < tn; ++j) acc[i][j] = fma(fragments_a[p % 2][i], fragments_b[p % 2][j], acc[i][j]);
      }
      if (left > 0) store(stage ^ 1);  // which all threads left a barrier ago
      __syncthreads();
    }

    // A row of each thread at a time.
    T* const rows = shared[0][0];  // (threads_m, edge), padded
#pragma unroll
    for (int i = 0; i < tm; ++i) {
#pragma unroll
      for (int j = 0; j < tn; j += vector) store_vector(&rows[place.m * pitch + col(j)], &acc[i][j]);
      __syncthreads();
      for (int e = thread; e < Tiling::threads_m * edge; e += Tiling::threads) {
        std::int64_t const at = i0 + element_of<Tiling::threads_m, vector>(e / edge, i), to = j0 + e % edge;
        if (at < g.m && to < g.n)
          write_result(g.c[at * g.ldc + to], g.alpha, rows[e / edge * pitch + e % edge], g.beta);
      }
      __syncthreads();
    }
  }
}

/// A stored operand and its texture.
template <class T, class Texel>
class operand_texture {
  static constexpr int width = sizeof(Texel) / sizeof(T);

 public:
  operand_texture(T const* data, std::int64_t ld, std::int64_t lines, std::int64_t length, std::int64_t extent,
                  CUstream_st* stream)
      : before_(reinterpret_cast<std::uintptr_t>(data) % 512 / sizeof(Texel)),
        texture_(reinterpret_cast<Texel const*>(data) - before_,
                 before_ + static_cast<std::size_t>(((lines - 1) * ld + length) / width), stream),
        ld_(lines == 1 ? 0 : static_cast<int>(ld / width)),
        extent_(extent) {}
  texture_operand operand() const { return {texture_.object(), static_cast<int>(before_), ld_, extent_}; }

 private:
  std::size_t before_;  // texels, as a texture begins at a multiple of 512 bytes
  linear_texture<Texel> texture_;
  int ld_;
  std::int64_t extent_;
};

/// Launches the one of a technique's kernels for op(A) and op(B).
template <class Tiling, class Texel, class Kernel>
void launch_maxas(problem const& p, CUstream_st* stream, Kernel nn, Kernel nt, Kernel tn, Kernel tt) {
  using T = typename Tiling::element;
  auto const g = operands_of<T>(p);
  operand_texture<T, Texel> const a(g.a, g.lda, p.trans_a ? g.k : g.m, p.trans_a ? g.m : g.k, g.m, stream);
  operand_texture<T, Texel> const b(g.b, g.ldb, p.trans_b ? g.n : g.k, p.trans_b ? g.k : g.n, g.n, stream);
  launch(by_transposes(p.trans_a, p.trans_b, nn, nt, tn, tt), tile_grid(g.m, g.n, Tiling::bm, Tiling::bn),
         dim3(Tiling::threads), 0, stream, g, a.operand(), b.operand());
}

/// Whether both operands are made of whole aligned float4.
inline bool are_float4(problem const& p) {
  auto const are = [](void const* data, std::int64_t ld, std::int64_t lines, std::int64_t length) {
    return is_wide(static_cast<float const*>(data), ld, lines) && length % 4 == 0;
  };
  return p.dtype == dtype::f32 && are(p.a, p.lda, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k) &&
         are(p.b, p.ldb, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
