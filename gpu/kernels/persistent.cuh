// Removes the last round of blocks, which leaves multiprocessors idle: a block stays on its multiprocessor and runs
// through tiles of C and, at last, an even share of the steps of k of the tiles left over. Besides, what alpha scales
// before it is stored leaves the accumulators where the multiply-adds like them: stored as they are, four at a time,
// they would stand side by side, and half of the multiply-adds find their three operands in one bank of registers.
#pragma once

#include "gpu/kernels/align.cuh"
#include "gpu/kernels/along_rows.cuh"
#include "gpu/kernels/async_tiles.cuh"
#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/shares.cuh"
#include "gpu/kernels/thread_elements.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A block of warps_m x warps_n warps, each of 4 x 8 lanes with tm x tn elements of C; `stages` chunks of bk steps of k
/// in shared memory; `blocks` of them on a multiprocessor. Of such warps it has `groups` times as many, each group with
/// its share of every chunk's steps: so a small tile has as many warps, with as large parts of C, as a large one.
template <class T, int warps_m, int warps_n, int bk_, int tm_, int tn_, int stages_, int blocks_, int groups_ = 1>
struct persistent_tiling {
  using element = T;
  static constexpr int lanes_m = 4, lanes_n = 8;
  static constexpr int tm = tm_, tn = tn_, wm = lanes_m * tm, wn = lanes_n * tn;
  static constexpr int bm = warps_m * wm, bn = warps_n * wn, bk = bk_;
  static constexpr int groups = groups_, group_k = bk / groups;
  static constexpr int group_threads = 32 * warps_m * warps_n, threads = groups * group_threads;
  static constexpr int stages = stages_, blocks = blocks_;
  static constexpr int tile_rows = 8;  // of tiles that are computed at about the same time

  template <bool contiguous_in_k>
  using layout_a = async_layout<T, bm, bk, contiguous_in_k>;
  template <bool contiguous_in_k>
  using layout_b = async_layout<T, bn, bk, contiguous_in_k>;

  // The groups' sums lie where the chunks were, a row of C a line.
  static constexpr int pitch_c = bn + vector_width<T>;
  static constexpr std::size_t shared_bytes(bool trans_a, bool trans_b) {
    std::size_t const chunks =
        static_cast<std::size_t>(stages) * ((trans_a ? layout_a<false>::size : layout_a<true>::size) +
                                            (trans_b ? layout_b<true>::size : layout_b<false>::size));
    std::size_t const sums = groups == 1 ? 0 : static_cast<std::size_t>(groups) * bm * pitch_c;
    return (chunks > sums ? chunks : sums) * sizeof(T);
  }

  static_assert(bk % groups == 0 && group_k % 2 == 0, "fragments alternate between two sets of registers");
  // A warp's rows of C, lanes_m vectors of them, on their way to lines that do not begin at multiples of 16 bytes.
  static constexpr int rows_at_once = lanes_m * vector_width<T>;

  static_assert(stages >= 3, "a chunk in use, one that has come, and others on their way");
  static_assert(warps_m * warps_n * rows_at_once * wn <= stages * bk * (bm + bn), "C's rows fit where the chunks were");
};

/// Lanes in pairs: i and i^1 read the same columns, i and i^2 the same rows, which halves the passes of their 16-byte
/// loads over shared memory.
template <class tiling>
__device__ __forceinline__ auto place_in_tile() {
  using T = typename tiling::element;
  constexpr int width = vector_width<T>, warps_m = tiling::bm / tiling::wm;
  int const warp = static_cast<int>(threadIdx.x) % tiling::group_threads / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const lane_m = lane % 2 + lane / 2 / tiling::lanes_n * 2, lane_n = lane / 2 % tiling::lanes_n;
  return thread_place<T, tiling::lanes_m * width, tiling::lanes_n * width>{
      warp % warps_m * tiling::wm + lane_m * width, warp / warps_m * tiling::wn + lane_n * width};
}

/// As read_fragment, from a line of the tile.
template <int step, class T, int count>
__device__ __forceinline__ void read_line(T (&fragment)[count], T const* line) {
  constexpr int width = vector_width<T>;
#pragma unroll
  for (int i = 0; i < count / width; ++i) load_vector(&fragment[i * width], line + i * step);
}

/// Back along a row and along the next, or columns where these are the shorter ones, so that neighbouring multiply-adds
/// share an operand. The other way round is slower by 1 %: as the compiler then gives out the registers.
template <class T, int tm, int tn>
__device__ __forceinline__ void add_outer_product_in_turns(T (&acc)[tm][tn], T const (&a)[tm], T const (&b)[tn]) {
  constexpr bool rows = tm >= tn;
  constexpr int turns = rows ? tm : tn, length = rows ? tn : tm;
#pragma unroll
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int x = 0; x < length; ++x) {
      int const along = turn % 2 == 1 ? x : length - 1 - x, i = rows ? turn : along, j = rows ? along : turn;
      acc[i][j] = fma(a[i], b[j], acc[i][j]);
    }
}

/// Adds the products of `chunks` chunks, at least one, of which the first has `first` steps of k, `stages` - 1 of them
/// on their way. `whole`: their tiles lie inside the operands.
template <class tiling, bool whole, class Tiles_a, class Tiles_b, class Place, class T>
__device__ __forceinline__ void add_chunks(T (&acc)[tiling::tm][tiling::tn], T* smem_a, T* smem_b, Tiles_a& a_tiles,
                                           Tiles_b& b_tiles, int first, int chunks, Place const& place) {
  constexpr int group_k = tiling::group_k, stages = tiling::stages, tm = tiling::tm, tn = tiling::tn;
  constexpr int pitch_a = Tiles_a::layout::pitch, size_a = Tiles_a::layout::size;
  constexpr int pitch_b = Tiles_b::layout::pitch, size_b = Tiles_b::layout::size;
  int to_copy = chunks - 1;  // besides the first
  auto const copy_chunk = [&](int stage) {
    if (to_copy > 0) {
      a_tiles.template copy<whole>(smem_a + stage * size_a);
      b_tiles.template copy<whole>(smem_b + stage * size_b);
    }
    --to_copy;
    commit_async();
  };
  __syncthreads();  // others may still read what was there before
  a_tiles.copy_part(smem_a, first);
  b_tiles.copy_part(smem_b, first);
  commit_async();
  for (int stage = 1; stage < stages - 1; ++stage) copy_chunk(stage);
  wait_async<stages - 2>();
  __syncthreads();

  T a[2][tm], b[2][tn];  // (2, tm), (2, tn): of a step of k, and of the next
  int const step = static_cast<int>(threadIdx.x) / tiling::group_threads * group_k;  // its group's first of a chunk
  T const* const from_a = smem_a + step * pitch_a + place.row;
  T const* const from_b = smem_b + step * pitch_b + place.col;
  T const *line_a = from_a, *line_b = from_b;
  // The longer fragment first, for the sake of the registers again.
  auto const read_step = [&](int p) {
    if constexpr (tn > tm) read_line<Place::col_step>(b[p], line_b);
    read_line<Place::row_step>(a[p], line_a);
    if constexpr (tn <= tm) read_line<Place::col_step>(b[p], line_b);
  };
  read_step(0);
  int stage = 0, free_stage = stages - 1;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    copy_chunk(free_stage);
#pragma unroll
    for (int p = 0; p < group_k; ++p) {
      if (p < group_k - 1) {
        line_a += pitch_a;
        line_b += pitch_b;
      } else {
        wait_async<stages - 2>();
        __syncthreads();
        // After the last chunk, something that is there.
        if (chunk + 1 < chunks) stage = stage + 1 == stages ? 0 : stage + 1;
        free_stage = free_stage + 1 == stages ? 0 : free_stage + 1;
        line_a = from_a + stage * size_a;
        line_b = from_b + stage * size_b;
      }
      read_step((p + 1) % 2);
      add_outer_product_in_turns(acc, a[p % 2], b[p % 2]);
    }
  }
}

/// Adds up the groups' sums in shared memory, in the groups' order, and writes the tile of C at (i0, j0) along its
/// rows, by vectors where they begin at multiples of 16 bytes.
template <class tiling, class Place, class T>
__device__ __forceinline__ void add_groups(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                           Place const& place, T const (&acc)[tiling::tm][tiling::tn], T* smem,
                                           bool vectors) {
  constexpr int width = vector_width<T>, pitch = tiling::pitch_c;
  int const thread = static_cast<int>(threadIdx.x);
  T* const of_group = smem + thread / tiling::group_threads * (tiling::bm * pitch);  // (bm, bn), padded
  __syncthreads();                                                                   // others may still read chunks
  T const one = times_one(g);
#pragma unroll
  for (int i = 0; i < tiling::tm; ++i)
#pragma unroll
    for (int j = 0; j < tiling::tn; j += width)
      store_scaled(of_group + place.row_of(i) * pitch + place.col_of(j), &acc[i][j], one);
  __syncthreads();
  auto const sum = [&]<int count>(T(&sums)[count], int i, int j) {
    load_vector<count>(sums, smem + i * pitch + j);
#pragma unroll
    for (int group = 1; group < tiling::groups; ++group) {
      T more[count];
      load_vector<count>(more, smem + (group * tiling::bm + i) * pitch + j);
#pragma unroll
      for (int x = 0; x < count; ++x) sums[x] += more[x];
    }
  };
  auto const write = [&]<int count>() {
    constexpr int cols = tiling::bn / count;
#pragma unroll 4
    for (int at = thread; at < tiling::bm * cols; at += tiling::threads) {
      int const i = at / cols, j = at % cols * count;
      std::int64_t const row = i0 + i, left = g.n - j0 - j;
      if (row >= g.m || left <= 0) continue;
      T sums[count];
      sum(sums, i, j);
      T* const c = g.c + row * g.ldc + j0 + j;
      if constexpr (count == 1)
        write_result(*c, g.alpha, sums[0], g.beta);
      else
        write_results(c, sums, left < count ? static_cast<int>(left) : count, true, g.alpha, g.beta);
    }
  };
  if (vectors)
    write.template operator()<width>();
  else  // neighbours by neighbouring threads
    write.template operator()<1>();
}

template <class T>
struct persistent_product {
  gemm_operands<T> g;
  std::int64_t extent_a, extent_b;  ///< of the operands as they lie there, copies with zeros beyond the matrix
  shares shared;
  T* parts;
  bool vectors_of_c;
};

template <class tiling, bool trans_a, bool trans_b, bool vectors>
__global__ void __launch_bounds__(tiling::threads, tiling::blocks)
    persistent(persistent_product<typename tiling::element> product) {
  auto const& [g, extent_a, extent_b, s, parts, vectors_of_c] = product;
  using T = typename tiling::element;
  constexpr int bm = tiling::bm, bn = tiling::bn, bk = tiling::bk, stages = tiling::stages;
  async_tiles<T, bm, bk, tiling::threads, !trans_a, vectors> a_tiles(g.a, g.lda, extent_a);
  async_tiles<T, bn, bk, tiling::threads, trans_b, vectors> b_tiles(g.b, g.ldb, extent_b);
  T* const smem_a = dynamic_shared<T>();                                // (stages, bk, bm), padded
  T* const smem_b = smem_a + stages * decltype(a_tiles)::layout::size;  // (stages, bk, bn), padded
  auto const place = place_in_tile<tiling>();
  wait_for_kernel_before();
  let_next_kernel_start();  // now that what was before has ended, for kernels that go beside this one

  for (int number = 0;; ++number) {
    auto const now = find_stretch(s, number);
    if (now.empty()) break;
    auto const tile = find_tile<tiling::tile_rows>(s, now.tile);
    // The first chunk of a tile has the steps that are left over of k, so that all others are whole.
    int const left_over = static_cast<int>(g.k - (s.chunks - 1) * bk), chunks = static_cast<int>(now.end - now.begin);
    int const first = now.begin == 0 ? left_over : bk;
    std::int64_t const p0 = now.begin == 0 ? 0 : left_over + (now.begin - 1) * bk;
    a_tiles.move_to(tile.m * bm, p0);
    b_tiles.move_to(tile.n * bn, p0);
    T acc[tiling::tm][tiling::tn] = {};  // (tm, tn)
    if (a_tiles.whole() && b_tiles.whole())
      add_chunks<tiling, true>(acc, smem_a, smem_b, a_tiles, b_tiles, first, chunks, place);
    else
      add_chunks<tiling, false>(acc, smem_a, smem_b, a_tiles, b_tiles, first, chunks, place);

    // Found once more: kept, these values would take registers from the loop over k.
    asm volatile("" : "+r"(number));
    auto const done = find_stretch(s, number);
    auto const place_of_tile = find_tile<tiling::tile_rows>(s, done.tile);
    std::int64_t i0 = place_of_tile.m * bm, j0 = place_of_tile.n * bn;
    auto to = g;
    bool const is_part = done.end - done.begin < s.chunks;
    if (is_part) {
      i0 = j0 = 0;
      to.m = bm, to.n = to.ldc = bn, to.alpha = 1, to.beta = 0;
      to.c = parts + (2 * std::int64_t{blockIdx.x} + (done.begin == 0 ? 1 : 0)) * bm * bn;
    }
    if constexpr (tiling::groups > 1)
      add_groups<tiling>(to, i0, j0, place, acc, smem_a, vectors_of_c || is_part);
    else if (vectors_of_c || is_part)
      write_elements(to, i0, j0, place, acc, true);
    else
      write_along_rows<vector_width<T>>(to, i0, j0, place, acc, smem_a);
  }
}

/// How the blocks share C, an H200's two or so at once, whatever the device is: so the bits depend on the problem
/// alone.
template <class tiling>
shares deal_tiles(problem const& p) {
  constexpr int at_once = dealt_multiprocessors * tiling::blocks, least = 64 / tiling::bk, extra = 64 / tiling::bk;
  return deal(tiles(p.m, tiling::bm), tiles(p.n, tiling::bn), tiles(p.k, tiling::bk), at_once, least, extra);
}

template <class tiling>
gpu::k_cut cut_persistent(problem const& p) {
  return deal_tiles<tiling>(p).shared_tiles == 0 ? gpu::k_cut{} : gpu::k_cut{.unit = "share"};
}

template <class T>
operand_place place_of_a(problem const& p) {
  return {!p.trans_a, begins_with_vectors<T>(p.a, p.lda)};
}
template <class T>
operand_place place_of_b(problem const& p) {
  return {p.trans_b, begins_with_vectors<T>(p.b, p.ldb)};
}

template <class tiling>
gpu::operand_copies copies_of_persistent(problem const& p) {
  using T = typename tiling::element;
  return worth_copying<T>(p, tiling::bm, tiling::bn, place_of_a<T>(p), place_of_b<T>(p));
}

/// `beside` launches kernels that need not wait for this one.
template <class tiling>
void launch_persistent(problem const& p, CUstream_st* stream, auto const& beside) {
  using T = typename tiling::element;
  constexpr int bm = tiling::bm, bn = tiling::bn;
  persistent_product<T> s{};
  s.g = operands_of<T>(p);
  s.extent_a = p.m, s.extent_b = p.n;
  s.shared = deal_tiles<tiling>(p);
  s.vectors_of_c = begins_with_vectors<T>(p.c, p.ldc);
  auto const a = place_of_a<T>(p), b = place_of_b<T>(p);
  auto const copies = copies_of_persistent<tiling>(p);
  if (copies.a) s.extent_a = tiles(p.m, bm) * bm;
  if (copies.b) s.extent_b = tiles(p.n, bn) * bn;
  std::int64_t const size_a = copies.a ? p.k * s.extent_a : 0, size_b = copies.b ? p.k * s.extent_b : 0;
  std::int64_t const size_parts = s.shared.shared_tiles == 0 ? 0 : 2 * s.shared.sharers() * bm * bn;
  workspace<T> const memory(size_a + size_b + size_parts, stream);
  T *const aligned_a = memory.data(), *const aligned_b = aligned_a + size_a;
  s.parts = aligned_b + size_b;
  aligned_copy<T> copy_a{}, copy_b{};
  if (copies.a) {
    copy_a = {aligned_a, s.extent_a, s.g.a, p.lda, p.m, p.k, !p.trans_a};
    s.g.a = aligned_a, s.g.lda = s.extent_a;
  }
  if (copies.b) {
    copy_b = {aligned_b, s.extent_b, s.g.b, p.ldb, p.n, p.k, p.trans_b};
    s.g.b = aligned_b, s.g.ldb = s.extent_b;
  }
  if (copies.a || copies.b) launch_align(copy_a, copy_b, stream);
  auto const start = [&]<bool trans_a, bool trans_b, bool wide>() {
    auto const grid = dim3(static_cast<unsigned>(s.shared.blocks));
    auto const bytes = tiling::shared_bytes(trans_a, trans_b);
    launch_after(persistent<tiling, trans_a, trans_b, wide>, grid, dim3(tiling::threads), bytes, stream, s);
  };
  bool const a_along_k = a.along_k && !copies.a, b_along_k = b.along_k && !copies.b;
  bool const wide = (a_along_k || a.vectors || copies.a) && (b_along_k || b.vectors || copies.b);
  with_constants(start, !a_along_k, b_along_k, wide);
  beside();
  if (s.shared.shared_tiles == 0) return;
  constexpr int elements = add_threads * vector_width<T>;
  static_assert(bm * bn % elements == 0, "whole blocks add up a tile");
  launch_after(add_parts<T, bm, bn, tiling::tile_rows>,
               dim3(bm * bn / elements, static_cast<unsigned>(s.shared.shared_tiles)), dim3(add_threads), 0, stream,
               s.g, s.shared, static_cast<T const*>(s.parts));
}

template <class tiling>
void launch_persistent(problem const& p, CUstream_st* stream) {
  launch_persistent<tiling>(p, stream, [] {});
}

}  // namespace TANDEM_KERNEL_NAMESPACE
