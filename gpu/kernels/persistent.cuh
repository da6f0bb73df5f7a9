// Removes the last round of blocks, as persistent_block.cuh says, by threads that multiply for themselves. What alpha
// scales before it is stored leaves the accumulators where the multiply-adds like them: stored as they are, four at a
// time, they would stand side by side, and half of the multiply-adds find their three operands in one bank of
// registers. A thread's part of C need not be whole vectors, so that there are tiles between the powers of two: of a C
// of 100 x 100, a tile of 104 x 104 computes 8 % for nothing, one of 128 x 128 64 %.
#pragma once

#include "gpu/kernels/persistent_block.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// How tiles of bk steps of k with bx elements each lie in shared memory: a step of k is a line. Where elements of one
/// line of memory go to different steps, these are an odd number of vectors long, so that they fall into different
/// banks.
template <class T, int bx_, int bk_, bool contiguous_in_k_>
struct step_layout {
  using element = T;
  static constexpr int bx = bx_, bk = bk_;
  static constexpr bool contiguous_in_k = contiguous_in_k_;  ///< of the operand
  static constexpr bool transposed = contiguous_in_k;        ///< on the way
  static constexpr int vectors = bx / vector_width<T>;
  static constexpr int pitch = (contiguous_in_k && vectors % 2 == 0 ? vectors + 1 : vectors) * vector_width<T>;
  static_assert(bx % vector_width<T> == 0, "whole vectors");
  static constexpr int size = bk * pitch, period = 1;

  /// Where element x of step p lies.
  __device__ static constexpr int at(int p, int x) { return p * pitch + x; }
};

/// A thread's elements along an edge of its warp's tile, where `lanes` threads have `count` each: vectors that
/// alternate with those of the others, and what is less than a vector behind all of these, one by one.
template <class T, int lanes, int count>
struct dealt_edge {
  static constexpr int width = vector_width<T>, whole = count / width * width;
  static constexpr int step = lanes * width;  // between its vectors
  int first, first_single;

  __device__ dealt_edge(int warp, int lane) : first(warp + lane * width), first_single(warp + whole * lanes + lane) {}
  __device__ int at(int i) const {
    return i < whole ? first + i / width * step + i % width : first_single + (i - whole) * lanes;
  }
  /// As read_fragment, from a line of the tile, `line` at its first element.
  __device__ __forceinline__ void read(T (&fragment)[count], T const* line) const {
#pragma unroll
    for (int i = 0; i < whole; i += width) load_vector(&fragment[i], line + i * lanes);
    T const* const singles = line + (first_single - first);
#pragma unroll
    for (int i = whole; i < count; ++i) fragment[i] = singles[(i - whole) * lanes];
  }
};

/// A thread's elements of the block's tile.
template <class T, int lanes_m, int lanes_n, int tm, int tn>
struct dealt_place {
  static constexpr int row_width = vector_width<T>;  // rows together
  static constexpr int row_step = dealt_edge<T, lanes_m, tm>::step, col_step = dealt_edge<T, lanes_n, tn>::step;
  dealt_edge<T, lanes_m, tm> rows;
  dealt_edge<T, lanes_n, tn> cols;
  int row, col;  // the first

  __device__ dealt_place(int warp_row, int warp_col, int lane_m, int lane_n)
      : rows(warp_row, lane_m), cols(warp_col, lane_n), row(rows.first), col(cols.first) {}
  __device__ int row_of(int i) const { return rows.at(i); }
  __device__ int col_of(int j) const { return cols.at(j); }
};

/// Whether a thread's part of C consists of vectors. What does not is written by way of shared memory.
template <class T, int tm, int tn>
inline constexpr bool are_vectors = tm % vector_width<T> == 0 && tn % vector_width<T> == 0;

/// Warps of 4 x 8 lanes with tm x tn elements of C each. `by_registers`: what lies along k comes by vectors, through
/// registers; not doubles, of which a vector has two, and not where no registers are left: single elements are copied
/// as many chunks ahead as there are stages. `in_pairs`: loop_body::pair for all operands, where that was measured to
/// be faster, as was `pace`.
template <class T, int warps_m, int warps_n, int bk, int tm_, int tn_, int stages, int blocks, int groups = 1,
          bool by_registers = sizeof(T) == 4, bool in_pairs = false, copy_pace pace_ = copy_pace::at_once,
          bool lies_down_ = false>
struct persistent_tiling : persistent_block<T, warps_m, warps_n, 4 * tm_, 8 * tn_, bk, stages, blocks, groups,
                                            (groups > 1 || !are_vectors<T, tm_, tn_>)> {
  using block = persistent_block<T, warps_m, warps_n, 4 * tm_, 8 * tn_, bk, stages, blocks, groups,
                                 (groups > 1 || !are_vectors<T, tm_, tn_>)>;
  static constexpr int lanes_m = 4, lanes_n = 8, tm = tm_, tn = tn_, width = vector_width<T>;
  static constexpr int steps = 1, fragment_a = tm, fragment_b = tn;
  using place_in_tile = dealt_place<T, lanes_m, lanes_n, tm, tn>;
  template <bool contiguous_in_k>
  using layout_a = step_layout<T, block::bm, bk, contiguous_in_k>;
  template <bool contiguous_in_k>
  using layout_b = step_layout<T, block::bn, bk, contiguous_in_k>;

  // A warp's rows of C, lanes_m vectors of them, on their way to a C that does not consist of vectors.
  static constexpr int rows_at_once = lanes_m * width;
  static_assert(block::sums_meet ||
                    warps_m * warps_n * rows_at_once * block::wn <= stages * bk * (block::bm + block::bn),
                "C's rows fit where the chunks were");

  /// With 128 sums a thread and less than four groups registers are spilled, unless B's elements lie across k.
  static constexpr copy_pace pace(bool elements_of_b_across_k) {
    return tm * tn < 128 || groups >= 4 || elements_of_b_across_k ? pace_ : copy_pace::at_once;
  }
  static constexpr bool vectors_along_k = by_registers, all_by_vectors = false, ends_between_vectors = false;
  static constexpr bool lies_down = lies_down_;
  static_assert(!lies_down || block::sums_meet, "C's columns are written from shared memory");
  static constexpr loop_body body(bool by_registers_now) {
    if (in_pairs) return loop_body::pair;
    return by_registers_now ? loop_body::pair_and_last : loop_body::chunk;
  }
  static bool takes_by_vectors(operand_place o) { return o.along_k ? vectors_along_k && o.whole_vectors : o.vectors; }
  /// Measured on an H200 and an H100: multiply-adds in a microsecond; how many of them an element takes that is brought
  /// by itself, across k or along it, or in a vector that is transposed, or of lines that end within a vector, so that
  /// tiles at their ends ask what is there.
  static constexpr double rate = sizeof(T) == 4 ? 22.5e6 : 11e6;
  static constexpr bool spread = pace_ != copy_pace::at_once && groups >= 4;
  static constexpr double of_element = sizeof(T) == 8 || spread ? 4 : 6;
  static constexpr double of_element_along_k = sizeof(T) == 8 ? 4 : spread ? 5 : 14;
  static constexpr double of_transposed = 6, of_ragged = 10;

  static gpu::operand_copies copies(problem const& p) {
    auto const a = place_of_a<T>(p), b = place_of_b<T>(p);
    return cheapest_copies<persistent_tiling>(p, [&](gpu::operand_copies copied) {
      auto const by_elements = [](bool copy, operand_place o) { return !copy && !o.along_k && !o.vectors; };
      bool const all_by_elements = by_elements(copied.a, a) || by_elements(copied.b, b);
      auto const cost = [&](bool copy, operand_place o) {
        bool const along_k = o.along_k && !copy;
        if (along_k) return all_by_elements || !takes_by_vectors(o) ? of_element_along_k : of_transposed;
        if (all_by_elements) return of_element;
        return copy || o.whole_vectors ? 0.0 : of_ragged;
      };
      return element_costs{cost(copied.a, a), cost(copied.b, b)};
    });
  }

  /// Lanes in pairs: i and i^1 read the same columns, i and i^2 the same rows, which halves the passes of their 16-byte
  /// loads over shared memory.
  __device__ __forceinline__ static place_in_tile place() {
    int const lane = static_cast<int>(threadIdx.x) % 32;
    int const lane_m = lane % 2 + lane / 2 / lanes_n * 2, lane_n = lane / 2 % lanes_n;
    return {block::warp_row(), block::warp_col(), lane_m, lane_n};
  }

  template <class Layout>
  __device__ __forceinline__ static int first_a(place_in_tile const& place, int step) {
    return Layout::at(step, place.row);
  }
  template <class Layout>
  __device__ __forceinline__ static int first_b(place_in_tile const& place, int step) {
    return Layout::at(step, place.col);
  }
  template <class Layout>
  __device__ __forceinline__ static int to_next() {
    return Layout::at(1, 0);
  }
  /// The longer fragment first, for the sake of the registers again.
  template <class Layout_a, class Layout_b>
  __device__ __forceinline__ static void read(T (&a)[tm], T (&b)[tn], T const* at_a, T const* at_b,
                                              place_in_tile const& place) {
    if constexpr (tn > tm) place.cols.read(b, at_b);
    place.rows.read(a, at_a);
    if constexpr (tn <= tm) place.cols.read(b, at_b);
  }
  __device__ __forceinline__ static void multiply(T (&acc)[tm][tn], T const (&a)[tm], T const (&b)[tn]) {
    add_outer_product_in_turns(acc, a, b);
  }

  __device__ __forceinline__ static void write(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                               place_in_tile const& place, T const (&acc)[tm][tn], T* smem,
                                               c_place of_c) {
    if constexpr (block::sums_meet)
      add_groups<persistent_tiling>(g, i0, j0, place, acc, smem, of_c);
    else if (of_c.vectors)
      write_vectors(g, i0, j0, place, acc);
    else
      write_along_rows<width>(g, i0, j0, place, acc, smem);
  }
};

}  // namespace TANDEM_KERNEL_NAMESPACE
