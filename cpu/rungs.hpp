// The plain rungs: single-threaded loops without packing or vectors, which show the road to `gemm.cpp`.
#pragma once

#include <tandem/kernel.hpp>

namespace tandem::cpu {

/// Each element of C is one dot product.
template <class T>
void inner_product(problem const& p, execution const& e);

/// C is the sum of k rank-one updates.
template <class T>
void outer_product(problem const& p, execution const& e);

/// The edge of the cubes that `blocked` works on.
inline constexpr std::int64_t blocked_edge = 64;

/// The outer product on blocks that stay in the L1 cache.
template <class T>
void blocked(problem const& p, execution const& e);

/// C = beta C; beta = 0 writes zeros and reads nothing.
template <class T>
void scale(problem const& p);

extern template void inner_product<float>(problem const&, execution const&);
extern template void inner_product<double>(problem const&, execution const&);
extern template void outer_product<float>(problem const&, execution const&);
extern template void outer_product<double>(problem const&, execution const&);
extern template void blocked<float>(problem const&, execution const&);
extern template void blocked<double>(problem const&, execution const&);
extern template void scale<float>(problem const&);
extern template void scale<double>(problem const&);

}  // namespace tandem::cpu
