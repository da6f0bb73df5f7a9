// Removes the limit of the plain units: a warp's tensor core multiplies doubles at twice their rate, from fragments
// that the lanes of a warp hold together. Each sum is a chain of fused multiply-adds in the order of k, as it is
// elsewhere.
#pragma once

#include "gpu/kernels/persistent_block.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// A tile as it lies in memory, lines along k or across it. The 16 lanes that read at once take four neighbours of each
/// of four lines, which fall into different banks, because the fours of a line lie in another order, the f-th of line l
/// at f ^ l % 4. From its first element on a lane finds the others at places that are the same for all lanes, or, where
/// they are `odd`, the same from lane_to_odd() on.
template <class T, int bx_, int bk_, bool contiguous_in_k_>
struct fragment_layout {
  using element = T;
  static constexpr int bx = bx_, bk = bk_;
  static constexpr bool contiguous_in_k = contiguous_in_k_, transposed = false;
  static constexpr int line = contiguous_in_k ? bk : bx, size = bx * bk;
  static constexpr int period = 4;  ///< lines, after which the same elements change places
  static_assert(sizeof(T) == 8 && line % 16 == 0, "lines begin at one bank");

  __device__ static constexpr int at(int p, int x) {
    return contiguous_in_k ? x * bk + (p ^ x % 4 * 4) : p * bx + (x ^ p % 4 * 4);
  }

  /// From the element (p, x) of a lane's first step to that p steps of k (0 or 4) and x elements (a multiple of 8) on.
  __device__ static constexpr bool is_odd(int p, int x) { return (contiguous_in_k ? p / 4 : x / 8) % 2 != 0; }
  __device__ static constexpr int from_first(int p, int x) { return contiguous_in_k ? x * bk : p * bx + x / 16 * 16; }
  __device__ static int lane_to_odd(int across, int along) {
    return contiguous_in_k ? (across % 2 != 0 ? -4 : 4) : (along / 2 != 0 ? -8 : 8);
  }
  /// From a lane's first element of one step to that of the next, of two.
  __device__ static int lane_to_next(int across) { return contiguous_in_k ? (across / 2 % 2 != 0 ? -8 : 8) : 8 * bx; }
};

/// A lane's elements of C: of each 8 x 8 of the warp's tile one row's two neighbours.
struct lane_place {
  static constexpr int row_width = 1, row_step = 8, col_step = 8;
  int row, col;
  __device__ int row_of(int i) const { return row + i * 8; }
  __device__ int col_of(int j) const { return col + j / 2 * 8 + j % 2; }
};

/// Warps that multiply wm x wn elements of C with 8 steps of k at once.
template <class T, int warps_m, int warps_n, int wm, int wn, int bk, int stages, int blocks, int groups = 1>
struct tensor_tiling : persistent_block<T, warps_m, warps_n, wm, wn, bk, stages, blocks, groups, (groups > 1)> {
  using block = persistent_block<T, warps_m, warps_n, wm, wn, bk, stages, blocks, groups, (groups > 1)>;
  static constexpr int tm = wm / 8, tn = wn / 4;
  static constexpr int steps = 8, each_a = steps / 2, each_b = steps / 4;  // of a product of 16 x 8 elements
  static constexpr int fragment_a = wm / 16 * each_a, fragment_b = wn / 8 * each_b;
  template <bool contiguous_in_k>
  using layout_a = fragment_layout<T, block::bm, bk, contiguous_in_k>;
  template <bool contiguous_in_k>
  using layout_b = fragment_layout<T, block::bn, bk, contiguous_in_k>;
  static_assert(wm % 16 == 0 && wn % 8 == 0, "whole products");
  static_assert(block::group_k == 2 * steps, "lane_to_next() is between two steps");

  static constexpr bool vectors_along_k = true, all_by_vectors = true, ends_between_vectors = true;
  static bool takes_by_vectors(operand_place o) { return o.whole_vectors; }
  static constexpr int least_code = 90;
  static constexpr bool starts_ahead = groups == 1;
  static constexpr loop_body body(bool) { return loop_body::chunk; }
  /// As persistent_tiling's.
  static constexpr double rate = 25e6, of_element = 8, of_element_along_k = 11;

  static gpu::operand_copies copies(problem const& p) {
    bool const vectors_a = takes_by_vectors(place_of_a<T>(p)), vectors_b = takes_by_vectors(place_of_b<T>(p));
    return cheapest_copies<tensor_tiling>(p, [&](gpu::operand_copies copied) {
      if ((copied.a || vectors_a) && (copied.b || vectors_b)) return element_costs{};
      return element_costs{p.trans_a || copied.a ? of_element : of_element_along_k,
                           !p.trans_b || copied.b ? of_element : of_element_along_k};
    });
  }

  /// A fragment's lanes: 8 rows of A, or columns of B or rows of C, and 4 of k, or pairs of columns of C.
  __device__ static int across() { return static_cast<int>(threadIdx.x) % 32 / 4; }
  __device__ static int along() { return static_cast<int>(threadIdx.x) % 4; }
  __device__ __forceinline__ static lane_place place() {
    return {block::warp_row() + across(), block::warp_col() + along() * 2};
  }

  template <class Layout>
  __device__ __forceinline__ static int first_a(lane_place const&, int step) {
    return Layout::at(step + along(), block::warp_row() + across());
  }
  template <class Layout>
  __device__ __forceinline__ static int first_b(lane_place const&, int step) {
    return Layout::at(step + along(), block::warp_col() + across());
  }
  template <class Layout>
  __device__ __forceinline__ static int to_next() {
    return Layout::lane_to_next(across());
  }
  template <class Layout_a, class Layout_b>
  __device__ __forceinline__ static void read(T (&a)[fragment_a], T (&b)[fragment_b], T const* at_a, T const* at_b,
                                              lane_place const&) {
    T const* const odd_a = at_a + Layout_a::lane_to_odd(across(), along());
    T const* const odd_b = at_b + Layout_b::lane_to_odd(across(), along());
#pragma unroll
    for (int i = 0; i < fragment_a; ++i) {
      int const p = i % each_a / 2 * 4, x = i / each_a * 16 + i % 2 * 8;
      a[i] = (Layout_a::is_odd(p, x) ? odd_a : at_a)[Layout_a::from_first(p, x)];
    }
#pragma unroll
    for (int j = 0; j < fragment_b; ++j) {
      int const p = j % each_b * 4, x = j / each_b * 8;
      b[j] = (Layout_b::is_odd(p, x) ? odd_b : at_b)[Layout_b::from_first(p, x)];
    }
  }
  __device__ __forceinline__ static void multiply(T (&acc)[tm][tn], T const (&a)[fragment_a],
                                                  T const (&b)[fragment_b]) {
    add_product_of_warp<steps>(acc, a, b);
  }

  __device__ __forceinline__ static void write(gemm_operands<T> const& g, std::int64_t i0, std::int64_t j0,
                                               lane_place const& place, T const (&acc)[tm][tn], T* smem, c_place of_c) {
    if constexpr (groups > 1) {
      add_groups<tensor_tiling>(g, i0, j0, place, acc, smem, of_c);
    } else if (of_c.vectors) {
      write_vectors(g, i0, j0, place, acc);
    } else {
      __syncthreads();  // others may still read the last stage's chunk
      write_warp_along_rows<1>(g, i0, j0, place, acc, in_last_stage(smem));
    }
  }

 private:
  static constexpr int last_a = block::bm * bk, last_b = block::bn * bk;  // elements of a stage
  static constexpr int rows_size = along_single_rows_size<T, tn, 4>;
  static_assert(groups > 1 || last_a / rows_size + last_b / rows_size >= warps_m * warps_n, "C's rows fit in there");

  /// A warp's place for rows of C in the last stage, where no chunk of the next tile is on its way.
  __device__ static T* in_last_stage(T* smem) {
    constexpr int warps_in_a = last_a / rows_size;
    int const warp = block::warp();
    T* const a = smem + (stages - 1) * last_a;
    T* const b = smem + stages * last_a + (stages - 1) * last_b;
    return warp < warps_in_a ? a + warp * rows_size : b + (warp - warps_in_a) * rows_size;
  }
};

}  // namespace TANDEM_KERNEL_NAMESPACE
