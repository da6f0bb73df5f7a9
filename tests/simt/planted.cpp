// The planted kernels compiled for a session, and how each is launched.
#define TANDEM_KERNEL_NAMESPACE tandem::simt::planted::instrumented

#include "tests/simt/planted.hpp"

#include <tandem/simt/words.hpp>

#include "tests/simt/async.cuh"
#include "tests/simt/barriers.cuh"
#include "tests/simt/global_races.cuh"
#include "tests/simt/outside.cuh"
#include "tests/simt/right.cuh"
#include "tests/simt/shared_races.cuh"
#include "tests/simt/uninitialised.cuh"

namespace tandem::simt::planted {
namespace {

using namespace instrumented;

constexpr index3 one{1, 1, 1}, tiles{3, 3, 1}, warp{32, 1, 1}, two_warps{64, 1, 1}, square{16, 16, 1};

// clang-format off
constexpr planted_kernel all[] = {
    {"right_tile", right_tile, tiles, square},
    {"right_tile", right_tile, tiles, square, 0, 40, 36, 20, 5},
    {"no_barrier_after_loads", no_barrier_after_loads, tiles, square},
    {"no_barrier_before_next_loads", no_barrier_before_next_loads, tiles, square},
    {"right_thread_tile", right_thread_tile, {2, 2, 1}, {256, 1, 1}, 0, 70, 66, 21, 1},
    {"race_of_float4_in_k_tail", race_of_float4_in_k_tail, {2, 2, 1}, {256, 1, 1}, 0, 70, 66, 21, 1},
    {"two_threads_write_one_word", two_threads_write_one_word, one, two_warps},
    {"all_threads_write_the_same_value", all_threads_write_the_same_value, one, two_warps},
    {"race_in_both_branches", race_in_both_branches, one, two_warps},
    {"one_barrier_on_one_line", one_barrier_on_one_line, one, two_warps},
    {"exchange_without_syncwarp", exchange_without_syncwarp, one, warp},
    {"exchange_with_syncwarp", exchange_with_syncwarp, one, warp},
    {"exchange_with_partial_syncwarp", exchange_with_partial_syncwarp, one, warp},
    {"exchange_with_shuffle_for_a_barrier", exchange_with_shuffle_for_a_barrier, one, warp},
    {"first_reader_writes", first_reader_writes, one, warp},
    {"syncwarp_for_two_warps", syncwarp_for_two_warps, one, two_warps},
    {"atomic_and_plain", atomic_and_plain, one, two_warps},
    {"atomics_and_barrier", atomics_and_barrier, one, two_warps},
    {"double_buffer", double_buffer, one, two_warps},
    {"double_buffer_wrong_index", double_buffer_wrong_index, one, two_warps},
    {"race_in_last_block", race_in_last_block, {23, 1, 1}, two_warps},
    {"race_in_dynamic_shared", race_in_dynamic_shared, one, two_warps, 256},
    {"sum_in_dynamic_shared", sum_in_dynamic_shared, one, two_warps, 256},
    {"race_of_doubles", race_of_doubles, one, two_warps},
    {"race_of_float4", race_of_float4, one, two_warps},
    {"neighbours_in_a_word", neighbours_in_a_word<char>, one, two_warps},
    {"neighbours_in_a_word", neighbours_in_a_word<short>, one, two_warps},
    {"race_of_bytes", race_of_bytes, one, two_warps},
    {"own_update_after_own_write", own_update_after_own_write, one, two_warps},
    {"write_what_the_other_half_reads", write_what_the_other_half_reads, one, warp},

    {"two_threads_write_an_element", two_threads_write_an_element, one, two_warps},
    {"two_blocks_write_an_element", two_blocks_write_an_element, {3, 1, 1}, warp},
    {"blocks_write_the_same_value", blocks_write_the_same_value, {3, 1, 1}, warp},
    {"block_reads_anothers_element", block_reads_anothers_element, {2, 1, 1}, warp},
    {"block_writes_what_others_read", block_writes_what_others_read, {3, 1, 1}, warp},
    {"split_k_without_atomics", split_k_without_atomics, {4, 1, 1}, warp},
    {"split_k_with_atomics", split_k_with_atomics, {4, 1, 1}, warp},
    {"atomic_and_plain_in_global", atomic_and_plain_in_global, one, warp},
    {"last_block_adds_up", last_block_adds_up, {4, 1, 1}, warp},
    {"last_block_without_fence", last_block_without_fence, {4, 1, 1}, warp},
    {"block_reads_its_own_elements", block_reads_its_own_elements, {4, 1, 1}, two_warps},
    {"halves_of_a_word", halves_of_a_word, one, two_warps},
    {"one_block_writes_zero", one_block_writes_zero, {2, 1, 1}, warp},
    {"reads_what_all_blocks_update", reads_what_all_blocks_update, {2, 1, 1}, warp},
    {"last_block_without_barrier", last_block_without_barrier, {4, 1, 1}, warp},
    {"chain_of_blocks", chain_of_blocks, {4, 1, 1}, warp},
    {"chain_of_blocks_fenced_by_the_reader", chain_of_blocks_fenced_by_the_reader, {2, 1, 1}, warp},

    {"barrier_in_divergent_code", barrier_in_divergent_code, one, two_warps},
    {"early_return_before_barrier", early_return_before_barrier, one, two_warps},
    {"early_return_before_last_barrier", early_return_before_last_barrier, one, two_warps},
    {"other_barrier_in_each_branch", other_barrier_in_each_branch, one, two_warps},
    {"nothing_but_other_barriers", nothing_but_other_barriers, one, two_warps},
    {"barrier_in_loop_of_each_thread", barrier_in_loop_of_each_thread, one, two_warps},
    {"barrier_in_uniform_loop", barrier_in_uniform_loop, one, two_warps},
    {"early_exit", early_exit, one, two_warps},
    {"butterflies", butterflies, one, two_warps},
    {"halves_of_a_warp", halves_of_a_warp, one, warp},
    {"spin_on_a_later_thread", spin_on_a_later_thread, one, two_warps},
    {"half_at_barrier_half_at_shuffle", half_at_barrier_half_at_shuffle, one, two_warps},
    {"masks_that_do_not_agree", masks_that_do_not_agree, one, two_warps},
    {"mask_without_the_caller", mask_without_the_caller, one, warp},
    {"syncwarp_mask_without_the_caller", syncwarp_mask_without_the_caller, one, warp},
    {"shuffle_from_exited_lane", shuffle_from_exited_lane, one, warp},
    {"shuffle_from_lane_that_never_was", shuffle_from_lane_that_never_was, one, {40, 1, 1}},
    {"shuffle_from_outside_the_mask", shuffle_from_outside_the_mask, one, warp},
    {"other_shuffle_in_each_branch", other_shuffle_in_each_branch, one, warp},
    {"shuffle_meets_syncwarp", shuffle_meets_syncwarp, one, warp},
    {"vote_meets_vote", vote_meets_vote, one, warp},

    {"reads_padding_column", reads_padding_column, one, square},
    {"k_tail_not_filled", k_tail_not_filled, tiles, square, 0, 40, 36, 10},
    {"read_in_both_branches", read_in_both_branches, one, two_warps},
    {"first_use_of_other_buffer", first_use_of_other_buffer, one, two_warps},
    {"uninitialised_dynamic", uninitialised_dynamic, one, two_warps, 256},
    {"left_by_the_block_before", left_by_the_block_before, {2, 1, 1}, warp},
    {"histogram_not_zeroed", histogram_not_zeroed, one, two_warps},
    {"half_of_a_float4_written", half_of_a_float4_written, one, warp},
    {"one_byte_not_written", one_byte_not_written, one, two_warps},
    {"never_written", never_written, one, two_warps},

    {"past_last_row", past_last_row, tiles, square},
    {"past_k", past_k, {3, 1, 1}, square},
    {"index_below_zero", index_below_zero, one, warp},
    {"reads_gap_between_rows", reads_gap_between_rows, {3, 1, 1}, {36, 1, 1}, 0, 40, 36, 20, 5},
    {"writes_gap_between_rows", writes_gap_between_rows, {3, 1, 1}, two_warps, 0, 40, 36, 20, 5},
    {"reads_gap_between_columns", reads_gap_between_columns, one, {36, 3, 1}, 0, 40, 36, 20, 5},
    {"float4_leaves_operand", float4_leaves_operand, {2, 1, 1}, warp, 0, 5, 36, 26},
    {"float4_leaves_row", float4_leaves_row, one, {5, 4, 1}, 0, 40, 36, 18, 6},
    {"misaligned_by_ld", misaligned_by_ld, one, {1, 4, 1}, 0, 40, 36, 20, 1},
    {"misaligned_double2", misaligned_double2, one, warp},
    {"misaligned_double", misaligned_double, one, warp},
    {"misaligned_in_shared", misaligned_in_shared, one, {8, 1, 1}},
    {"writes_input", writes_input, one, warp},
    {"updates_input", updates_input, one, warp},
    {"past_dynamic_shared", past_dynamic_shared, one, two_warps, 240},
    {"dynamic_shared_not_launched", dynamic_shared_not_launched, one, warp},
    {"past_static_array", past_static_array, one, warp},
    {"float4_leaves_static_array", float4_leaves_static_array, one, {9, 1, 1}},
    {"below_static_array", below_static_array, one, warp},
    {"odd_arrays", odd_arrays, one, warp},
    {"past_odd_array", past_odd_array, one, {8, 1, 1}},
    {"null_pointer", null_pointer, one, warp},
    {"past_array_in_a_case", past_array_in_a_case, one, warp},
    {"wild_pointer", wild_pointer, one, warp},
    {"one_thread_strays", one_thread_strays, one, two_warps},
    {"copies_structures", copies_structures, one, warp},
    {"copies_bytes", copies_bytes, one, warp},

    {"right_copy", right_copy, one, two_warps},
    {"right_copy_of_a_part", right_copy_of_a_part, one, {16, 1, 1}, 0, 40, 36, 23, 1},
    {"right_stages", right_stages, one, two_warps},
    {"read_before_wait", read_before_wait, one, two_warps},
    {"wait_without_commit", wait_without_commit, one, two_warps},
    {"wait_for_too_few_groups", wait_for_too_few_groups, one, two_warps},
    {"waited_without_barrier", waited_without_barrier, one, two_warps},
    {"write_over_a_copy", write_over_a_copy, one, two_warps},
    {"copy_over_what_is_read", copy_over_what_is_read, one, two_warps},
    {"misaligned_copy", misaligned_copy, one, {15, 1, 1}},
    {"misaligned_copy_of_a_part", misaligned_copy_of_a_part, one, {15, 1, 1}},
    {"copy_from_outside", copy_from_outside, one, {16, 1, 1}},
    {"texture_out_of_range", texture_out_of_range, one, warp},

    {"warp_synchronous_sum", warp_synchronous_sum, one, two_warps},
    {"three_dimensions", three_dimensions, {2, 3, 2}, {11, 7, 1}},
    {"three_dimensions", three_dimensions, {2, 3, 2}, {1, 11, 7}},
    {"array_of_two_purposes", array_of_two_purposes, one, two_warps},
    {"static_and_dynamic", static_and_dynamic, one, two_warps, 256},
    {"turns_of_lanes", turns_of_lanes, one, warp},
    {"chain_of_pairs", chain_of_pairs, one, warp},
    {"add_rows", add_rows, {18, 1, 1}, {18, 1, 1}, 0, 20, 18, 18, 3},
    {"neighbours_in_a_row", neighbours_in_a_row, {2, 1, 1}, {24, 1, 1}},
    {"halves_with_a_word_each", halves_with_a_word_each, one, warp},
    {"constants", constants, one, warp},
    {"large_array", large_array, one, warp},
};
// clang-format on

}  // namespace

std::span<planted_kernel const> kernels() { return all; }

void run(planted_kernel const& p, operands const& g) {
  launch(p.kernel, dim3(p.grid.x, p.grid.y, p.grid.z), dim3(p.block.x, p.block.y, p.block.z), p.dynamic_bytes, nullptr,
         g);
}

void run_right_kernel(operands const& g) { launch(right_tile, dim3(3, 3), dim3(16, 16), 0, nullptr, g); }

void run_add(operands const& g) { launch(add_rows, dim3(static_cast<unsigned>(g.m)), dim3(32), 0, nullptr, g); }

}  // namespace tandem::simt::planted
