// Removes the way through registers of `z_order`'s tiles: cp.async copies from global to shared memory without holding
// a thread up, so that several tiles (stages - 1) are on their way while one is multiplied, and memory's latency is
// hidden by depth. Copies of 4 bytes (8 in double) need no alignment and transpose what is contiguous in k, so any
// leading dimension will do.
#pragma once

#include "gpu/kernels/along_rows.cuh"
#include "gpu/kernels/async_load.cuh"
#include "gpu/kernels/block_order.cuh"
#include "gpu/kernels/forms.cuh"
#include "gpu/kernels/tile_layout.cuh"
#include "gpu/kernels/warp_place.cuh"

namespace TANDEM_KERNEL_NAMESPACE {

/// `blocks` of them share a multiprocessor.
template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int stages, int blocks, bool trans_a,
          bool trans_b, bool vectors>
__global__ void __launch_bounds__(bm / tm * (bn / tn), blocks)
    async_copy(gemm_operands<T> g, bool vectors_of_c, tile_group group) {
  static_assert(stages >= 2, "one tile is multiplied while others are on their way");
  static_assert(bk % 2 == 0, "the fragments of a tile's first step are always the same of the two");
  constexpr int threads = bm / tm * (bn / tn);
  using layout_a = tile_layout<T, bm, bk, false>;
  using layout_b = tile_layout<T, bn, bk, false>;
  T* const smem_a = dynamic_shared<T>();               // (stages, bk, bm)
  T* const smem_b = smem_a + stages * layout_a::size;  // (stages, bk, bn)
  auto const place = warp_place<T, bm, bn, wm, wn, tm, tn>(lane_order::z);
  static_assert(threads / 32 * along_rows_size<tn, 1> <= stages * layout_a::size, "rows of C have a place there");

  let_next_kernel_start();
  wait_for_kernel_before();
  for_each_tile<bm, bn>(g.m, g.n, group, [&](std::int64_t i0, std::int64_t j0) {
    async_tile_loader<T, layout_a, bm, bk, threads, !trans_a, vectors> next_a(g.a, g.lda, g.m, i0);
    async_tile_loader<T, layout_b, bn, bk, threads, trans_b, vectors> next_b(g.b, g.ldb, g.n, j0);
    T acc[tm][tn] = {};    // (tm, tn)
    T a[2][tm], b[2][tn];  // (2, tm), (2, tn)
    auto const copy = [&](int stage, bool is_there) {
      next_a.copy(smem_a + stage * layout_a::size, is_there);
      next_b.copy(smem_b + stage * layout_b::size, is_there);
      commit_async();
    };
    auto const read = [&](int fragment, int stage, int p) {
      read_fragment<layout_a, place.row_step>(a[fragment], smem_a + stage * layout_a::size, p, place.row);
      read_fragment<layout_b, place.col_step>(b[fragment], smem_b + stage * layout_b::size, p, place.col);
    };
    // All but the last stages - 2 groups of copies are there, everybody's.
    auto const wait = [] {
      wait_async<stages - 2>();
      __syncthreads();
    };

    std::int64_t const all = tiles(g.k, bk);
    // Behind the last tile one is read that nobody multiplies: an old one, or one of zeros.
    bool const ragged = g.m - i0 < bm || g.n - j0 < bn;
    for (int stage = 0; stage < stages; ++stage)
      if (ragged || stage == all) {
        next_a.clear(smem_a + stage * layout_a::size, stage == all);
        next_b.clear(smem_b + stage * layout_b::size, stage == all);
      }
    int const first_steps = static_cast<int>(g.k - (all - 1) * bk);
    next_a.copy_first(smem_a, first_steps);
    next_b.copy_first(smem_b, first_steps);
    commit_async();
    for (int stage = 1; stage < stages - 1; ++stage) copy(stage, stage < all);
    wait();
    read(0, 0, 0);
    int stage = 0, free = stages - 1;
    for (std::int64_t left = all; left > 0; --left) {
      copy(free, left >= stages);
      int const next = stage + 1 < stages ? stage + 1 : 0;
#pragma unroll
      for (int p = 0; p < bk; ++p) {
        if (p + 1 < bk) {
          read((p + 1) % 2, stage, p + 1);
        } else {
          wait();
          read(0, next, 0);
        }
        add_outer_product(acc, a[p % 2], b[p % 2]);
      }
      free = stage;
      stage = next;
    }
    if (vectors_of_c) {
      write_elements(g, i0, j0, place, acc, true);
    } else {
      wait_async<0>();
      write_along_rows<1>(g, i0, j0, place, acc, smem_a);
    }
    __syncthreads();  // the next tile of C begins in a stage that others may still read
  });
}

template <class T, int bm, int bn, int bk, int wm, int wn, int tm, int tn, int stages, int blocks,
          tile_group group = n_first>
void launch_async_copy(problem const& p, CUstream_st* stream) {
  constexpr std::size_t bytes =
      stages * sizeof(T) * (tile_layout<T, bm, bk, false>::size + tile_layout<T, bn, bk, false>::size);
  // Only what is not contiguous in k is copied by vectors.
  bool const vectors =
      (!p.trans_a || begins_with_vectors<T>(p.a, p.lda)) && (p.trans_b || begins_with_vectors<T>(p.b, p.ldb));
  auto const start = [&]<bool trans_a, bool trans_b, bool in_vectors>() {
    constexpr bool any = trans_a || !trans_b;
    launch_after(async_copy < T, bm, bn, bk, wm, wn, tm, tn, stages, blocks, trans_a, trans_b, any && in_vectors >,
                 ordered_grid(p.m, p.n, bm, bn, group), dim3(bm / tm * (bn / tn)), bytes, stream, operands_of<T>(p),
                 begins_with_vectors<T>(p.c, p.ldc), group);
  };
  with_constants(start, p.trans_a, p.trans_b, vectors);
}

}  // namespace TANDEM_KERNEL_NAMESPACE
