// Which problems a check runs: from shape files, and from the tile edges that the kernels themselves declare.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tandem/harness/problem.hpp>
#include <tandem/harness/shapes.hpp>
#include <tandem/kernel.hpp>

namespace tandem::harness {

struct case_options {
  std::uint64_t seed = 1;                  ///< the same seed gives the same problems with the same data
  std::vector<tandem::dtype> dtypes = {};  ///< only these; empty: all
  std::optional<bool> trans_a = {};        ///< every problem with this transpose of A; unset: both
  std::optional<bool> trans_b = {};        ///< likewise of B
  std::optional<harness::fill> fill = {};  ///< only this fill; unset: both
  bool only_shapes = false;                ///< the shapes, and nothing of the harness's own
  double edge_flops = 5e6;        ///< the largest problem made for a tile edge; larger ones get small other sizes
  double both_fills_flops = 1e7;  ///< a shape above it gets one fill, in turn
};

/// One level of a tiling; an edge of 0 means that the dimension is not cut.
using tile_shape = std::array<std::int64_t, 3>;  // m, n, k

/// Every level of the tilings that the kernels of this element type declare, for a large, a middling and a small
/// problem, each once. Throws std::runtime_error, with the kernel's name, when a `plan` throws.
std::vector<tile_shape> tile_shapes(std::span<kernel const> kernels, tandem::dtype dtype);

/// The problems for these kernels, deterministic for a seed:
/// - sizes 0 to 3 in every dimension, k = 0 and 1, m = 0 and n = 0;
/// - all 4 transposes x 8 mixtures of layouts, and all alphas x betas, on small sizes, each with both fills;
/// - every declared tile edge - 1, 0, + 1 in each of m, n and k, both fills; the edges 64, 128 and 256 in any case;
///   and the sizes at which each level first cuts a dimension in two;
/// - the shapes, row-major as their files mean them; a shape of a type that no kernel computes becomes one problem,
///   which `check` answers with `unsupported`.
/// Leading dimensions (tight or padded), offsets (0 to 3 elements), alpha and beta rotate through all of them.
std::vector<test_case> make_cases(std::span<shape const> shapes, std::span<kernel const> kernels,
                                  case_options const& options = {});

}  // namespace tandem::harness
