// A block's product of a tile of C over a range of k, for the rungs that deal k out to blocks or to a block's warps:
// chunks of A and B come by cp.async, several ahead of the arithmetic, 16 bytes a copy where base and leading dimension
// allow it; the threads stand in groups, each of which takes its share of every chunk's steps of k; the groups' sums
// meet in shared memory, in the groups' order, and leave along C's rows.
#pragma once

#include "gpu/kernels/along_rows.cuh"
#include "gpu/kernels/copy_inside.cuh"
#include "gpu/kernels/operands.cuh"
#include "gpu/kernels/thread_elements.cuh"
#include "gpu/kernels/vector.cuh"
#include "gpu/row.hpp"

namespace TANDEM_KERNEL_NAMESPACE {

/// How a block is made: C's tile bm x bn, chunks of bk steps of k of which each of `groups` takes bk / groups, a thread
/// tm x tn, `stages` chunks in shared memory, `blocks` of them on a multiprocessor.
template <class T, int bm_, int bn_, int bk_, int tm_, int tn_, int groups_, int stages_, int blocks_>
struct block_tiling {
  using element = T;
  static constexpr int bm = bm_, bn = bn_, bk = bk_, tm = tm_, tn = tn_;
  static constexpr int groups = groups_, stages = stages_, blocks = blocks_;
  static constexpr int vector = 16 / sizeof(T);  // elements
  static constexpr int group_k = bk / groups;
  static constexpr int threads_m = bm / tm, threads_n = bn / tn;
  static constexpr int group_threads = threads_m * threads_n, threads = groups * group_threads;

  // A warp's threads, rows x columns. The lanes take their bits in turns, so that i and i^1 or i and i^2 read the same
  // 16 bytes of each operand, which halves the passes of such loads over shared memory.
  static constexpr int most_lanes_n = threads_m < 4 ? 32 / threads_m : 8;
  static constexpr int lanes_n = threads_n < most_lanes_n ? threads_n : most_lanes_n;
  static constexpr int lanes_m = 32 / lanes_n;

  // Of k that a thread reads at once of an operand that lies along k: 16 bytes, or 8 where a thread's part of C leaves
  // no registers for more.
  static constexpr int registers = 65536 / (threads * blocks);
  static constexpr int steps = registers - tm * tn * int{sizeof(T)} / 4 > 64 ? vector : vector / 2;

  // An operand contiguous in k is kept so, a line an element of C's edge; an odd number of 16 bytes apart, neighbouring
  // lines fall into different banks. The other kind lies a line a step of k.
  static constexpr int pitch_k = bk + vector;
  static constexpr int elements(int bx, bool along_k) { return along_k ? bx * pitch_k : bk * bx; }
  // The groups' sums lie where the chunks were.
  static constexpr int pitch_c = bn + vector;
  static constexpr std::size_t shared_bytes(bool trans_a, bool trans_b) {
    std::size_t const chunks = static_cast<std::size_t>(stages) * (elements(bm, !trans_a) + elements(bn, trans_b));
    std::size_t const sums = static_cast<std::size_t>(groups) * bm * pitch_c;
    return (chunks > sums ? chunks : sums) * sizeof(T);
  }

  static_assert(bm % tm == 0 && bn % tn == 0 && bk % groups == 0, "a block holds whole thread tiles and groups");
  static_assert(group_threads % 32 == 0 && threads <= 1024, "a group is whole warps");
  static_assert(threads_m % lanes_m == 0 && threads_n % lanes_n == 0 && lanes_m <= 8, "a warp tile is whole");
  static_assert(group_k % vector == 0 && bm % vector == 0 && bn % vector == 0, "copies of 16 bytes, and reads along k");
  static_assert(bk * sizeof(T) % 32 == 0, "a line of a chunk and 16 bytes are an odd number of 16 bytes");
  static_assert(stages >= 2, "a chunk to come besides the one in use");
};

template <class Tiling>
constexpr gpu::tiling tiling_of() {
  return {.bm = Tiling::bm,
          .bn = Tiling::bn,
          .bk = Tiling::bk,
          .wm = Tiling::lanes_m * Tiling::tm,
          .wn = Tiling::lanes_n * Tiling::tn,
          .tm = Tiling::tm,
          .tn = Tiling::tn,
          .groups = Tiling::groups};
}

/// Which element of a tile's edge a thread's r-th is: vectors of `width`, dealt to the threads in turn.
template <int threads_x, int width>
__device__ __forceinline__ int element_of(int thread, int r) {
  return (r / width * threads_x + thread) * width + r % width;
}

/// One operand's way to shared memory, chunk by chunk: lines [x0, x0 + bx) of its edge of C, with 0 outside.
template <class Tiling, int bx, bool along_k>
class chunk_source {
  using T = typename Tiling::element;
  static constexpr int line = along_k ? Tiling::bk : bx, lines = along_k ? bx : Tiling::bk;
  static constexpr int pitch = along_k ? Tiling::pitch_k : bx;

 public:
  /// `wide`: base and leading dimension are multiples of 16 bytes.
  __device__ chunk_source(T const* operand, std::int64_t ld, bool wide, std::int64_t extent, std::int64_t x0,
                          std::int64_t p0)
      : ld_(ld), wide_(wide) {
    extent_ = static_cast<int>(min(extent - x0, std::int64_t{bx}));
    int const thread = static_cast<int>(threadIdx.x);
    along_ = wide ? thread % (line / Tiling::vector) * Tiling::vector : thread % line;
    across_ = wide ? thread / (line / Tiling::vector) : thread / line;
    from_ = operand + ((along_k ? x0 : p0) + across_) * ld + (along_k ? p0 : x0) + along_;
  }

  /// Starts the copies of the next chunk, of which `left` steps of k, at least one, lie in the range.
  __device__ void copy_next(T* chunk, int left) {
    if (wide_)
      copy<Tiling::vector>(chunk, left);
    else
      copy<1>(chunk, left);
    from_ += along_k ? std::int64_t{Tiling::bk} : Tiling::bk * ld_;
  }

 private:
  template <int width>
  static constexpr int step = Tiling::threads / (line / width);  // lines that the block copies at once

  template <int width>
  __device__ __forceinline__ void copy(T* chunk, int left) {
    // Every thread copies the same column of lines; those that are left over copy nothing.
    if (Tiling::threads % (line / width) != 0 && across_ >= step<width>) return;
    int const inside = (along_k ? left : extent_) - along_, end = along_k ? extent_ : left;
    T const* from = from_;
#pragma unroll 4
    for (int i = 0; i < lines; i += step<width>) {
      int const at = across_ + i;
      if (lines % step<width> != 0 && at >= lines) break;
      copy_inside<width>(chunk + at * pitch + along_, from, at < end ? inside : 0);
      from += step<width> * ld_;
    }
  }

  T const* from_;  // this thread's first element of the next chunk
  std::int64_t ld_;
  bool wide_;
  int extent_, along_, across_;
};

/// This thread's place in the block.
template <class Tiling>
struct block_place {
  int group, m, n;  // m and n among its group's threads

  __device__ block_place() {
    int const thread = static_cast<int>(threadIdx.x), in_group = thread % Tiling::group_threads;
    group = thread / Tiling::group_threads;
    int const lane = in_group % 32, warp = in_group / 32;
    constexpr int warps_n = Tiling::threads_n / Tiling::lanes_n;
    int lane_m = 0, lane_n = 0, bit_m = 1, bit_n = 1;
#pragma unroll
    for (int bit = 1, turn = 0; bit < 32; bit *= 2, turn ^= 1) {
      bool const to_m = bit_n == Tiling::lanes_n || (turn == 0 && bit_m < Tiling::lanes_m);
      int const set = (lane & bit) != 0 ? 1 : 0;
      if (to_m)
        lane_m += set * bit_m, bit_m *= 2;
      else
        lane_n += set * bit_n, bit_n *= 2;
    }
    m = warp / warps_n * Tiling::lanes_m + lane_m;
    n = warp % warps_n * Tiling::lanes_n + lane_n;
  }
};

/// The widest access that makes up a thread tile's edge.
template <class Tiling, int t, bool along_k>
inline constexpr int fragment_width = along_k || t % 2 != 0     ? 1
                                      : t % Tiling::vector == 0 ? Tiling::vector
                                                                : 2;

/// acc += the products of the group's steps of k of a chunk. Of an operand along k a thread's elements of a step lie in
/// one bank of the registers, so each step's multiply-adds go in turns, which leaves one of their operands where it
/// was.
template <class Tiling, bool a_along_k, bool b_along_k>
__device__ __forceinline__ void multiply_chunk(typename Tiling::element (&acc)[Tiling::tm][Tiling::tn],
                                               typename Tiling::element const* chunk_a,
                                               typename Tiling::element const* chunk_b,
                                               block_place<Tiling> const& place) {
  using T = typename Tiling::element;
  constexpr int tm = Tiling::tm, tn = Tiling::tn, steps = a_along_k || b_along_k ? Tiling::steps : 1;
  [[maybe_unused]] constexpr int unrolled =
      steps == 1 ? Tiling::steps : 1;  // further, and ptxas reads ahead of the registers it has
  constexpr int width_a = fragment_width<Tiling, tm, a_along_k>, width_b = fragment_width<Tiling, tn, b_along_k>;
  auto const row = [&](int r) { return element_of<Tiling::threads_m, width_a>(place.m, r); };
  auto const col = [&](int r) { return element_of<Tiling::threads_n, width_b>(place.n, r); };
#pragma unroll unrolled
  for (int q = 0; q < Tiling::group_k; q += steps) {
    int const p = place.group * Tiling::group_k + q;
    T a[steps][tm];  // (steps, tm)
    if constexpr (a_along_k) {
#pragma unroll
      for (int i = 0; i < tm; ++i) {
        T line[steps];
        load_vector<steps>(line, chunk_a + row(i) * Tiling::pitch_k + p);
#pragma unroll
        for (int e = 0; e < steps; ++e) a[e][i] = line[e];
      }
    } else {
#pragma unroll
      for (int e = 0; e < steps; ++e)
#pragma unroll
        for (int i = 0; i < tm; i += width_a) load_vector<width_a>(&a[e][i], chunk_a + (p + e) * Tiling::bm + row(i));
    }
    T b[steps][tn];  // (steps, tn)
    if constexpr (b_along_k) {
#pragma unroll
      for (int j = 0; j < tn; ++j) {
        T line[steps];
        load_vector<steps>(line, chunk_b + col(j) * Tiling::pitch_k + p);
#pragma unroll
        for (int e = 0; e < steps; ++e) b[e][j] = line[e];
      }
    }
#pragma unroll
    for (int e = 0; e < steps; ++e) {
      if constexpr (!b_along_k) {  // here, not before: so the compiler reads further ahead
#pragma unroll
        for (int j = 0; j < tn; j += width_b) load_vector<width_b>(&b[e][j], chunk_b + (p + e) * Tiling::bn + col(j));
      }
      add_outer_product_in_turns(acc, a[e], b[e]);
    }
  }
}

/// The tile of op(A) op(B) at (i0, j0), summed over the steps [p0, p1) of k, not none, a multiple of 16 bytes from the
/// start: calls out(i, j, sum) once for each of its elements inside C, (i, j) counted from the tile's corner, along
/// rows or down columns by neighbouring threads.
template <class Tiling, bool trans_a, bool trans_b, class F>
__device__ __forceinline__ void block_product(gemm_operands<typename Tiling::element> const& g, bool wide_a,
                                              bool wide_b, std::int64_t i0, std::int64_t j0, std::int64_t p0,
                                              std::int64_t p1, bool down_columns, F const& out) {
  using T = typename Tiling::element;
  constexpr int bm = Tiling::bm, bn = Tiling::bn, bk = Tiling::bk, stages = Tiling::stages;
  constexpr int elements_a = Tiling::elements(bm, !trans_a), elements_b = Tiling::elements(bn, trans_b);
  T* const shared = dynamic_shared<T>();
  T* const chunks_b = shared + stages * elements_a;  // after A's

  chunk_source<Tiling, bm, !trans_a> a(g.a, g.lda, wide_a, g.m, i0, p0);
  chunk_source<Tiling, bn, trans_b> b(g.b, g.ldb, wide_b, g.n, j0, p0);
  int const chunks = static_cast<int>(tiles(p1 - p0, bk)),
            last = static_cast<int>(p1 - p0 - (chunks - 1) * std::int64_t{bk});
  auto const copy_next = [&](int stage, int chunk) {
    if (chunk < chunks) {
      int const left = chunk + 1 == chunks ? last : bk;
      a.copy_next(shared + stage * elements_a, left);
      b.copy_next(chunks_b + stage * elements_b, left);
    }
    commit_async();  // of nothing as well, so that the groups count chunks
  };

  block_place<Tiling> const place;
  T acc[Tiling::tm][Tiling::tn] = {};  // (tm, tn)
  for (int chunk = 0; chunk < stages - 1; ++chunk) copy_next(chunk, chunk);
  int stage = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    wait_async<stages - 2>();
    __syncthreads();  // the chunk is there, and the one before it is no longer in use
    copy_next(stage == 0 ? stages - 1 : stage - 1, chunk + stages - 1);
    multiply_chunk<Tiling, !trans_a, trans_b>(acc, shared + stage * elements_a, chunks_b + stage * elements_b, place);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  __syncthreads();

  constexpr int width_a = fragment_width<Tiling, Tiling::tm, !trans_a>;
  constexpr int width_b = fragment_width<Tiling, Tiling::tn, trans_b>;
  static_assert(width_b == 1 || width_b == Tiling::vector, "neighbours of a row of C are stored by whole vectors");
  T const one = times_one(g);
  T* const sums = shared + place.group * (bm * Tiling::pitch_c);  // (groups, bm, bn), padded
#pragma unroll
  for (int i = 0; i < Tiling::tm; ++i)
#pragma unroll
    for (int j = 0; j < Tiling::tn; j += width_b) {
      T* const to = sums + element_of<Tiling::threads_m, width_a>(place.m, i) * Tiling::pitch_c +
                    element_of<Tiling::threads_n, width_b>(place.n, j);
      if constexpr (width_b > 1)
        store_scaled(to, &acc[i][j], one);
      else
        *to = one * acc[i][j];
    }
  __syncthreads();
  int const rows = static_cast<int>(min(g.m - i0, std::int64_t{bm}));
  int const cols = static_cast<int>(min(g.n - j0, std::int64_t{bn}));
  for (int e = static_cast<int>(threadIdx.x); e < bm * bn; e += Tiling::threads) {
    int const i = down_columns ? e % bm : e / bn, j = down_columns ? e / bm : e % bn;
    if (i >= rows || j >= cols) continue;
    T sum = shared[i * Tiling::pitch_c + j];
#pragma unroll
    for (int group = 1; group < Tiling::groups; ++group) sum += shared[(group * bm + i) * Tiling::pitch_c + j];
    out(i, j, sum);
  }
  __syncthreads();  // before another product's chunks
}

/// Whether copies of 16 bytes can read a stored matrix of so many lines.
template <class T>
bool is_wide(T const* data, std::int64_t ld, std::int64_t lines) {
  auto const step = lines == 1 ? 0 : static_cast<std::uintptr_t>(ld) * sizeof(T);
  return (reinterpret_cast<std::uintptr_t>(data) | step) % 16 == 0;
}

/// The four kernels of a technique for op(A) and op(B).
template <class Kernel>
Kernel by_transposes(bool trans_a, bool trans_b, Kernel nn, Kernel nt, Kernel tn, Kernel tt) {
  return trans_a ? (trans_b ? tt : tn) : (trans_b ? nt : nn);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
