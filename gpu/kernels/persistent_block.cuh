// The frame of kernels that remove the last round of blocks, which leaves multiprocessors idle: a block stays on its
// multiprocessor and runs through tiles of C and, at last, its part of the tiles left over. How its threads multiply is
// the tiling's business.
#pragma once

#include "gpu/kernels/align.cuh"
#include "gpu/kernels/along_rows.cuh"
#include "gpu/kernels/async_tiles.cuh"
#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/register_tiles.cuh"
#include "gpu/kernels/shares.cuh"
#include "gpu/kernels/thread_elements.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

template <class T>
operand_place place_of_a(problem const& p) {
  return {!p.trans_a, begins_with_vectors<T>(p.a, p.lda), consists_of_vectors<T>(p.a, p.lda, p.trans_a ? p.m : p.k)};
}
template <class T>
operand_place place_of_b(problem const& p) {
  return {p.trans_b, begins_with_vectors<T>(p.b, p.ldb), consists_of_vectors<T>(p.b, p.ldb, p.trans_b ? p.k : p.n)};
}

/// How C lies: whether its rows consist of vectors; and whether it is on its side, the transpose of a row-major matrix.
struct c_place {
  bool vectors, on_its_side;
};

/// When a thread starts its copies of a chunk: all at the beginning, or, of single elements, a share each with the
/// first steps of k, or with every second one. Loads from shared memory wait for the copies that stand before them; but
/// more than one start costs registers.
enum class copy_pace { at_once, with_first_steps, with_every_second };

/// A block of warps_m x warps_n warps with wm x wn elements of C each; `stages` chunks of bk steps of k in shared
/// memory; `blocks` of them on a multiprocessor. Of such warps it has `groups` times as many, each group with its share
/// of every chunk's steps: so a small tile has as many warps, with as large parts of C, as a large one. `sums_meet`: in
/// shared memory, before they are written.
///
/// A tiling is such a block, and has besides:
/// - tm x tn, a thread's elements of C, and place(), where they are; write(), which writes them;
/// - layout_a and layout_b, how a chunk lies in shared memory where the operand is contiguous in k, or is not;
///   takes_by_vectors(), whether an operand can be brought there so, of those along k only if `vectors_along_k`, of two
///   only both if `all_by_vectors`; `ends_between_vectors`: whether no line of theirs ends within one; copies(), which
///   operands to copy first; what that and deal_tiles() go by: rate and of_element;
/// - `steps` of k that multiply() takes at once, from fragment_a and fragment_b elements that read() brings to
///   registers, from first_a() and first_b() of the thread's place on, to_next() further of each step; body(), the
///   innermost loop's, with operands by registers or not; pace(), of copies where some are of single elements, and
///   those of B across k or not;
/// - starts_ahead: the copies of the next tile's first chunks start before this one is written, which then leaves all
///   stages but the last alone;
/// - lies_down: C lies on its side where that makes it one row of tiles, shorter than C is high;
/// - least_code, as gemm_row has it.
template <class T, int warps_m, int warps_n, int wm_, int wn_, int bk_, int stages_, int blocks_, int groups_,
          bool sums_meet_>
struct persistent_block {
  using element = T;
  static constexpr int wm = wm_, wn = wn_, bm = warps_m * wm, bn = warps_n * wn, bk = bk_;
  static constexpr int groups = groups_, group_k = bk / groups;
  static constexpr int group_threads = 32 * warps_m * warps_n, threads = groups * group_threads;
  static constexpr int stages = stages_, blocks = blocks_;
  static constexpr bool sums_meet = sums_meet_;
  static constexpr int tile_rows = 8;   // of tiles that are computed at about the same time
  static constexpr int least_code = 0;  // runs anywhere
  static constexpr bool starts_ahead = false, lies_down = false;
  static constexpr copy_pace pace(bool) { return copy_pace::at_once; }

  // The sums lie where the chunks were, a row of C a line.
  static constexpr int pitch_c = bn + vector_width<T>;
  template <class Layout_a, class Layout_b>
  static constexpr std::size_t shared_bytes() {
    std::size_t const chunks = static_cast<std::size_t>(stages) * (Layout_a::size + Layout_b::size);
    std::size_t const sums = static_cast<std::size_t>(groups) * bm * pitch_c;
    return (sums_meet && sums > chunks ? sums : chunks) * sizeof(T);
  }

  /// The thread's warp in its group: its first row and column in the tile.
  __device__ static int warp() { return static_cast<int>(threadIdx.x) % group_threads / 32; }
  __device__ static int warp_row() { return warp() % warps_m * wm; }
  __device__ static int warp_col() { return warp() / warps_m * wn; }

  static_assert(stages >= 3, "a chunk in use, one that has come, and others on their way");
};

/// What a thread's innermost loop has of a chunk's steps. Loads that end in registers stay as far ahead of their stores
/// as they stand only if there is a loop between them: unrolled, the compiler moves them down to save registers. And a
/// short body comes sooner from memory where other kernels have run before; but the fastest is mostly the whole chunk.
enum class loop_body {
  chunk,          ///< all
  pair,           ///< two, with a branch for the chunk's last two
  pair_and_last,  ///< two; the chunk's last two stand behind the loop
};

/// How an operand's tiles come to shared memory: by vectors, or element by element.
template <class Layout, int threads, bool vectors, bool ends_between>
using tiles_of = std::conditional_t<Layout::transposed && vectors, register_tiles<Layout, threads>,
                                    async_tiles<Layout, threads, vectors, ends_between>>;

/// Starts the copy of a tile's next chunk, if there is one `to_copy`. `whole`: their tiles lie inside the operands.
template <bool whole, class Tiles_a, class Tiles_b, class T>
__device__ __forceinline__ void copy_chunk(T* smem_a, T* smem_b, Tiles_a& a_tiles, Tiles_b& b_tiles, int stage,
                                           int& to_copy) {
  if (to_copy > 0) {
    a_tiles.template copy<whole>(smem_a + stage * Tiles_a::layout::size);
    b_tiles.template copy<whole>(smem_b + stage * Tiles_b::layout::size);
  }
  --to_copy;
  commit_async();
}

/// Starts the copies of a tile's first chunks, `stages` - 1 of its `chunks`, of which the first has `first` steps of k.
/// Returns how many are left to copy, or less than 0.
template <class tiling, bool whole, class Tiles_a, class Tiles_b, class T>
__device__ __forceinline__ int start_chunks(T* smem_a, T* smem_b, Tiles_a& a_tiles, Tiles_b& b_tiles, int first,
                                            int chunks) {
  int to_copy = chunks - 1;
  a_tiles.fetch_part(first);
  b_tiles.fetch_part(first);
  __syncthreads();  // others may still read what was there before
  a_tiles.copy_part(smem_a, first);
  b_tiles.copy_part(smem_b, first);
  a_tiles.store(smem_a);
  b_tiles.store(smem_b);
  commit_async();
#pragma unroll 1
  for (int stage = 1; stage < tiling::stages - 1; ++stage)
    copy_chunk<whole>(smem_a, smem_b, a_tiles, b_tiles, stage, to_copy);
  return to_copy;
}

/// Adds the products of `chunks` chunks, at least one, after start_chunks() has left `to_copy` of them.
template <class tiling, bool whole, class Tiles_a, class Tiles_b, class Place, class T>
__device__ __forceinline__ void add_chunks(T (&acc)[tiling::tm][tiling::tn], T* smem_a, T* smem_b, Tiles_a& a_tiles,
                                           Tiles_b& b_tiles, int chunks, int to_copy, Place const& place) {
  using layout_a = typename Tiles_a::layout;
  using layout_b = typename Tiles_b::layout;
  constexpr int stages = tiling::stages, size_a = layout_a::size, size_b = layout_b::size;
  constexpr int reads = tiling::group_k / tiling::steps;  // of a chunk
  static_assert(tiling::group_k % tiling::steps == 0 && reads % 2 == 0, "fragments alternate between two sets");
  constexpr bool by_registers = Tiles_a::by_registers || Tiles_b::by_registers;
  constexpr bool any_single = Tiles_a::is_single || Tiles_b::is_single;
  constexpr auto pace =
      any_single ? tiling::pace(Tiles_b::is_single && !layout_b::contiguous_in_k) : copy_pace::at_once;
  wait_async<stages - 2>();
  __syncthreads();

  T a[2][tiling::fragment_a], b[2][tiling::fragment_b];  // of some steps of k, and of the next
  int const step = static_cast<int>(threadIdx.x) / tiling::group_threads * tiling::group_k;  // its group's first
  T const* const from_a = smem_a + tiling::template first_a<layout_a>(place, step);
  T const* const from_b = smem_b + tiling::template first_b<layout_b>(place, step);
  T const *at_a = from_a, *at_b = from_b;
  tiling::template read<layout_a, layout_b>(a[0], b[0], at_a, at_b, place);
  auto const after = [](int stage) { return stage + 1 == stages ? 0 : stage + 1; };
  int stage = 0, free_stage = stages - 1;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    [[maybe_unused]] shared_address first_a = {}, first_b = {};
    if constexpr (pace == copy_pace::at_once) {
      copy_chunk<whole>(smem_a, smem_b, a_tiles, b_tiles, free_stage, to_copy);
    } else {
      first_a = a_tiles.first_target(smem_a + free_stage * size_a);
      first_b = b_tiles.first_target(smem_b + free_stage * size_b);
      --to_copy;
    }
    bool const is_last = chunk + 1 == chunks;
    int const next = after(stage);
    a_tiles.template fetch<whole>(!is_last);
    b_tiles.template fetch<whole>(!is_last);
    constexpr int pairs = reads / 2;
    auto const copy_share = [&]([[maybe_unused]] int now) {
      if constexpr (pace != copy_pace::at_once) {
        constexpr int every = pace == copy_pace::with_every_second ? 2 : 1, parts = pairs;
        int const part = now / every;
        if (now % every != 0 || part >= parts) return;
        a_tiles.template copy_share<whole, parts>(first_a, part, to_copy >= 0);
        b_tiles.template copy_share<whole, parts>(first_b, part, to_copy >= 0);
        if (part == parts - 1) commit_async();
      }
    };
    // Two steps, from one set of fragments and from the other.
    auto const add_pair = [&](bool last_of_chunk, [[maybe_unused]] int pair) {
      if (last_of_chunk) {  // before its barrier, so that nobody waits for the stores there
        a_tiles.store(smem_a + next * size_a);
        b_tiles.store(smem_b + next * size_b);
      }
#pragma unroll
      for (int set = 0; set < 2; ++set) {
        if (set == 0 || !last_of_chunk) {
          at_a += tiling::template to_next<layout_a>();
          at_b += tiling::template to_next<layout_b>();
        } else {
          wait_async<stages - 2>();
          __syncthreads();
          // After the last chunk, something that is there. (Where nothing was stored to it, the next stage is better
          // found here: earlier, it costs tensor cores 5 %.)
          if constexpr (by_registers) {
            if (!is_last) stage = next;
          } else if (chunk + 1 < chunks) {
            stage = after(stage);
          }
          free_stage = after(free_stage);
          at_a = from_a + stage * size_a;
          at_b = from_b + stage * size_b;
        }
        tiling::template read<layout_a, layout_b>(a[1 - set], b[1 - set], at_a, at_b, place);
        copy_share(2 * pair + set);
        tiling::multiply(acc, a[set], b[set]);
      }
    };
    constexpr auto body = pace == copy_pace::at_once ? tiling::body(by_registers) : loop_body::chunk;
    constexpr int apart = body == loop_body::pair_and_last ? 1 : 0;
    [[maybe_unused]] constexpr int at_once = body == loop_body::chunk ? pairs : 1;  // only nvcc and clang unroll by it
#pragma unroll at_once
    for (int pair = 0; pair < pairs - apart; ++pair) add_pair(apart == 0 && pair == pairs - 1, pair);
    if constexpr (apart == 1) add_pair(true, pairs - 1);
  }
}

/// Adds up the groups' sums in shared memory, in the groups' order, and writes the tile of C at (i0, j0) along C's
/// lines, by vectors where it consists of them.
template <class tiling, class Place, class T>
__device__ __forceinline__ void add_groups(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                           Place const& place, T const (&acc)[tiling::tm][tiling::tn], T* smem,
                                           c_place of_c) {
  constexpr int width = vector_width<T>, pitch = tiling::pitch_c;
  int const thread = static_cast<int>(threadIdx.x);
  T* const of_group = smem + thread / tiling::group_threads * (tiling::bm * pitch);  // (bm, bn), padded
  __syncthreads();                                                                   // others may still read chunks
  T const one = times_one(g);
#pragma unroll
  for (int i = 0; i < tiling::tm; ++i) {
    T* const row = of_group + place.row_of(i) * pitch;
#pragma unroll
    for (int j = 0; j + width <= tiling::tn; j += width) store_scaled(row + place.col_of(j), &acc[i][j], one);
#pragma unroll
    for (int j = tiling::tn / width * width; j < tiling::tn; ++j) row[place.col_of(j)] = one * acc[i][j];
  }
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
  auto const write = [&]<int count, bool down>() {
    constexpr int cols = tiling::bn / count;
#pragma unroll 4
    for (int at = thread; at < tiling::bm * cols; at += tiling::threads) {
      int const i = down ? at % tiling::bm : at / cols, j = down ? at / tiling::bm : at % cols * count;
      std::int64_t const row = i0 + i, col = j0 + j;
      if (row >= g.m || col >= g.n) continue;
      T sums[count];
      sum(sums, i, j);
      T* const c = g.c + (down ? col * g.ldc + row : row * g.ldc + col);
      if constexpr (count == 1)
        write_result(*c, g.alpha, sums[0], g.beta);
      else
        write_vector(c, sums, g.alpha, g.beta);
    }
  };
  if (of_c.vectors)
    write.template operator()<width, false>();
  else if (tiling::lies_down && of_c.on_its_side)
    write.template operator()<1, tiling::lies_down>();
  else  // neighbours by neighbouring threads
    write.template operator()<1, false>();
}

template <class T>
struct persistent_product {
  gemm_operands<T> g;
  std::int64_t extent_a, extent_b;  ///< of the operands as they lie there, copies with zeros beyond the matrix
  shares shared;
  T* parts;
  c_place of_c;
};

/// `across`, `along`: what lies across or along k comes by vectors.
template <class tiling, bool trans_a, bool trans_b, bool across, bool along>
__global__ void __launch_bounds__(tiling::threads, tiling::blocks)
    persistent(persistent_product<typename tiling::element> product) {
  if (tiling::least_code > compiled_for) return;  // no row that needs it is taken there
  using T = typename tiling::element;
  gemm_operands<T> const& g = product.g;
  shares const& s = product.shared;
  using layout_a = typename tiling::template layout_a<!trans_a>;
  using layout_b = typename tiling::template layout_b<trans_b>;
  constexpr int bm = tiling::bm, bn = tiling::bn, bk = tiling::bk, stages = tiling::stages;
  // Where neither lies along k, the compiler finds better registers if it does not know.
  constexpr bool ends_between = tiling::ends_between_vectors && (!trans_a || trans_b);
  using tiles_a = tiles_of<layout_a, tiling::threads, trans_a ? across : along, ends_between>;
  using tiles_b = tiles_of<layout_b, tiling::threads, trans_b ? along : across, ends_between>;
  tiles_a a_tiles(g.a, g.lda, product.extent_a);
  tiles_b b_tiles(g.b, g.ldb, product.extent_b);
  constexpr bool all_whole = tiles_a::fills && tiles_b::fills;
  // Where both operands lie along k, a tile's lines are inside or not, which takes no loop of its own.
  constexpr bool two_loops = !all_whole && (trans_a || !trans_b || !along);
  T* const smem_a = dynamic_shared<T>();               // (stages, bk, bm), padded
  T* const smem_b = smem_a + stages * layout_a::size;  // (stages, bk, bn), padded
  auto const place = tiling::place();
  wait_for_kernel_before();
  let_next_kernel_start();  // now that what was before has ended, for kernels that go beside this one

  auto const chunks_of = [](stretch const& part) { return static_cast<int>(part.end - part.begin); };
  // Returns how many steps of k its first chunk has: that of a tile those that are left over, so that all others are
  // whole.
  auto const move_to = [&](stretch const& part) {
    auto const tile = find_tile<tiling::tile_rows>(s, part.tile);
    int const left_over = static_cast<int>(g.k - (s.chunks - 1) * bk);
    std::int64_t const p0 = part.begin == 0 ? 0 : left_over + (part.begin - 1) * bk;
    a_tiles.move_to(tile.m * bm, p0);
    b_tiles.move_to(tile.n * bn, p0);
    return part.begin == 0 ? left_over : bk;
  };
  [[maybe_unused]] stretch next = {};
  [[maybe_unused]] auto const start_ahead = [&](int number) {
    next = find_stretch(s, blockIdx.x, number);
    if (!next.empty()) start_chunks<tiling, false>(smem_a, smem_b, a_tiles, b_tiles, move_to(next), chunks_of(next));
  };
  if constexpr (tiling::starts_ahead) start_ahead(0);
  for (int number = 0;; ++number) {
    auto const now = tiling::starts_ahead ? next : find_stretch(s, blockIdx.x, number);
    if (now.empty()) break;
    int const chunks = chunks_of(now);
    [[maybe_unused]] int const first = tiling::starts_ahead ? 0 : move_to(now);
    T acc[tiling::tm][tiling::tn] = {};  // (tm, tn)
    auto const add = [&]<bool whole>() {
      int to_copy = chunks - (stages - 1);
      if constexpr (!tiling::starts_ahead)
        to_copy = start_chunks<tiling, whole>(smem_a, smem_b, a_tiles, b_tiles, first, chunks);
      add_chunks<tiling, whole>(acc, smem_a, smem_b, a_tiles, b_tiles, chunks, to_copy, place);
    };
    if (all_whole || (two_loops && a_tiles.whole() && b_tiles.whole()))
      add.template operator()<true>();
    else
      add.template operator()<false>();

    // Found once more: kept, these values would take registers from the loop over k.
    keep(number);
    if constexpr (tiling::starts_ahead) start_ahead(number + 1);
    auto const done = find_stretch(s, blockIdx.x, number);
    auto const place_of_tile = find_tile<tiling::tile_rows>(s, done.tile);
    std::int64_t i0 = place_of_tile.m * bm, j0 = place_of_tile.n * bn;
    auto to = g;
    bool const is_part = done.end - done.begin < s.chunks;
    if (is_part) {
      i0 = j0 = 0;
      to.m = bm, to.n = to.ldc = bn, to.alpha = 1, to.beta = 0;
      to.c = product.parts + find_part(s, blockIdx.x, done) * bm * bn;
    }
    auto const& of_c = product.of_c;
    tiling::write(to, i0, j0, place, acc, smem_a, {of_c.vectors || is_part, of_c.on_its_side && !is_part});
  }
}

/// What the kernel multiplies: the problem, or that with C on its side.
template <class tiling>
bool lies_on_its_side(problem const& p) {
  return tiling::lies_down && p.n < p.m && p.n <= tiling::bm;
}
template <class tiling>
problem seen_by(problem const& p) {
  return lies_on_its_side<tiling>(p) ? gpu::turned(p) : p;
}

template <class tiling>
block_times times_of(problem const& p) {
  // Fitted, as time_of(): bytes in a microsecond that come from memory, and that are written and read again; the
  // second-level cache keeps `near`.
  constexpr double memory = 2e6, there_and_back = 1.5e6, near = 24 << 20, size = sizeof(typename tiling::element);
  constexpr double tile = double{tiling::bm} * tiling::bn, bytes = tile * size;
  // Of an operand that is read anew for neighbouring tiles, so much comes from memory again.
  constexpr double again = 0.7;
  auto const from_memory = [&](std::int64_t extent, std::int64_t beside) {
    double const all = size * static_cast<double>(extent) * static_cast<double>(p.k);
    auto const neighbours = std::min<std::int64_t>(beside, tiling::tile_rows) - 1;
    return all > near ? all * (1 + again * static_cast<double>(neighbours)) : all;
  };
  double const read = from_memory(p.m, tiles(p.n, tiling::bn)) + from_memory(p.n, tiles(p.m, tiling::bm));
  return {.blocks = tiling::blocks,
          .chunk = tile * tiling::bk * dealt_multiprocessors / tiling::rate,
          .part = bytes / there_and_back,
          .from_memory = read / memory};
}

/// How the blocks share C, an H200's two or so at once, whatever the device is: so the bits depend on the problem
/// alone.
template <class tiling>
shares deal_tiles(problem const& p) {
  constexpr int least = 64 / tiling::bk;
  return deal(tiles(p.m, tiling::bm), tiles(p.n, tiling::bn), tiles(p.k, tiling::bk), least, times_of<tiling>(p));
}

template <class tiling>
gpu::k_cut cut_persistent(problem const& p) {
  auto const s = deal_tiles<tiling>(seen_by<tiling>(p));
  bool const in_slices = s.slices > 0;
  return {.unit = s.shared_tiles == 0 ? nullptr
                  : in_slices         ? "slice"
                                      : "share",
          .length = in_slices ? s.share * tiling::bk : 0,
          .on_its_side = lies_on_its_side<tiling>(p),
          .blocks = s.blocks,
          .shared_tiles = s.shared_tiles,
          .share = s.share};
}

/// What lies across or along k once operands are copied, and whether all of it can be brought by vectors.
struct operand_forms {
  bool a_along_k, b_along_k;
  bool across, along;
};
template <class tiling>
operand_forms forms_of(problem const& p, gpu::operand_copies copied) {
  using T = typename tiling::element;
  auto const a = place_of_a<T>(p), b = place_of_b<T>(p);
  bool const a_along_k = a.along_k && !copied.a, b_along_k = b.along_k && !copied.b;
  bool const vectors_a = copied.a || tiling::takes_by_vectors(a), vectors_b = copied.b || tiling::takes_by_vectors(b);
  return {a_along_k, b_along_k, (a_along_k || vectors_a) && (b_along_k || vectors_b),
          (!a_along_k || vectors_a) && (!b_along_k || vectors_b)};
}

/// Of the operands that the kernel sees.
template <class tiling>
gpu::operand_paths paths_of(problem const& whole) {
  auto const p = seen_by<tiling>(whole);
  auto const copied = tiling::copies(p);
  auto const forms = forms_of<tiling>(p, copied);
  bool const all = forms.across && forms.along;
  auto const is_single = [&](bool along_k) {
    return !(along_k ? all && tiling::vectors_along_k : tiling::all_by_vectors ? all : forms.across);
  };
  return {copied, is_single(forms.a_along_k), is_single(forms.b_along_k)};
}

/// `beside` launches kernels that need not wait for this one.
template <class tiling>
void launch_persistent(problem const& whole, CUstream_st* stream, auto const& beside) {
  using T = typename tiling::element;
  constexpr int bm = tiling::bm, bn = tiling::bn;
  bool const on_its_side = lies_on_its_side<tiling>(whole);
  auto const p = seen_by<tiling>(whole);
  persistent_product<T> s{};
  s.g = operands_of<T>(p);
  s.extent_a = p.m, s.extent_b = p.n;
  s.shared = deal_tiles<tiling>(p);
  s.of_c = {!on_its_side && consists_of_vectors<T>(p.c, p.ldc, p.n), on_its_side};
  auto const copies = tiling::copies(p);
  auto const forms = forms_of<tiling>(p, copies);
  if (copies.a) s.extent_a = tiles(p.m, bm) * bm;
  if (copies.b) s.extent_b = tiles(p.n, bn) * bn;
  std::int64_t const size_a = copies.a ? p.k * s.extent_a : 0, size_b = copies.b ? p.k * s.extent_b : 0;
  std::int64_t const size_parts = s.shared.parts() * bm * bn;
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
  auto const start = [&]<bool trans_a, bool trans_b, bool across, bool along>() {
    auto const grid = dim3(static_cast<unsigned>(s.shared.blocks));
    using layout_a = typename tiling::template layout_a<!trans_a>;
    using layout_b = typename tiling::template layout_b<trans_b>;
    auto const bytes = tiling::template shared_bytes<layout_a, layout_b>();
    // No more kernels than are of use: vectors along k beside elements across it are not.
    constexpr bool any_across = trans_a || !trans_b, any_along = !trans_a || trans_b;
    constexpr bool all = (across || !any_across) && (along || !any_along);
    constexpr bool vectors_across = any_across && (tiling::all_by_vectors ? all : across);
    constexpr bool vectors_along = any_along && all && tiling::vectors_along_k;
    constexpr auto kernel = persistent<tiling, trans_a, trans_b, vectors_across, vectors_along>;
    launch_after(kernel, grid, dim3(tiling::threads), bytes, stream, s);
  };
  with_constants(start, !forms.a_along_k, forms.b_along_k, forms.across, forms.along);
  beside();
  launch_add_parts<T, bm, bn, tiling::tile_rows>(s.g, s.shared, s.parts, on_its_side, stream);
}

template <class tiling>
void launch_persistent(problem const& p, CUstream_st* stream) {
  launch_persistent<tiling>(p, stream, [] {});
}

}  // namespace TANDEM_KERNEL_NAMESPACE
